"""`tf.python_io`: what `tf.io` was called in TensorFlow 1."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

from tfrecs.errors import TruncatedFileError
from tfrecs.records.reader import RecordReader
from tfrecs.tf.functions.file_io import path_of
from tfrecs.tf.functions.suggestions import no_such
from tfrecs.tf.functions.writing import TFRecordCompressionType, TFRecordOptions, TFRecordWriter

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]

# How many records are skipped at a time.
_AT_ONCE = 1000


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yield the records of a file, as bytes.

    At the end of the file `next()` looks whether it has grown since, as TensorFlow does.

    Raises:
        NotFoundError: There is no such file.
        DataLossError: It is damaged, or truncated; a record that is completed later is read.

    Example:
        >>> from tfrecs import tf
        >>> with tf.python_io.TFRecordWriter("two.tfrecord") as out:
        ...     out.write(b"one")
        ...     out.write(b"two")
        >>> list(tf.python_io.tf_record_iterator("two.tfrecord"))
        [b'one', b'two']
    """
    return _Growing(path_of(path), TFRecordOptions.get_compression_type_string(options))


class _Growing(Iterator[bytes]):
    """The records of a file that may grow while it is read."""

    def __init__(self, path: str, compression_type: str) -> None:
        self._path, self._compression_type = path, compression_type
        self._lock = threading.Lock()
        self._count, self._is_over = 0, False
        self._open()

    def _open(self) -> None:
        # The size is asked for first: what is appended meanwhile must not go unseen.
        self._size = self._size_now()
        self._reader = RecordReader(self._path, self._compression_type)

    def _size_now(self) -> int | None:
        return os.path.getsize(self._path) if os.path.exists(self._path) else None  # noqa: PTH110, PTH202 - of text

    def __next__(self) -> bytes:
        with self._lock:
            if self._is_over and self._size_now() != self._size:
                self._open_again()
            try:
                record = next(self._reader)
            except (StopIteration, TruncatedFileError):
                self._is_over = True
                raise
            self._count += 1
            return record

    def _open_again(self) -> None:
        """Begin again after the records that were read."""
        self._reader.close()
        self._open()
        self._is_over = False
        left = self._count
        while left:
            left -= len(self._reader.read_batch(min(left, _AT_ONCE))) or left


def __getattr__(name: str) -> Any:
    raise no_such("tf.python_io", name, __all__)
