"""`tf.python_io`: what `tf.io` was called in TensorFlow 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfrecs.records import RecordReader
from tfrecs.tf.file_io import path_of
from tfrecs.tf.missing import no_such
from tfrecs.tf.writing import TFRecordCompressionType, TFRecordOptions, TFRecordWriter

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yield the records of a file, as bytes.

    Raises:
        NotFoundError: There is no such file.
        DataLossError: It is damaged, or cut.

    Example:
        >>> from tfrecs import tf
        >>> with tf.python_io.TFRecordWriter("two.tfrecord") as out:
        ...     out.write(b"one")
        ...     out.write(b"two")
        >>> list(tf.python_io.tf_record_iterator("two.tfrecord"))
        [b'one', b'two']
    """
    return RecordReader(path_of(path), TFRecordOptions.get_compression_type_string(options))


def __getattr__(name: str) -> Any:
    raise no_such("tf.python_io", name, __all__)
