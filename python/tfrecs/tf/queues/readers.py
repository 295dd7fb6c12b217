"""Readers of files whose names come from a queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from tfrecs import _core
from tfrecs.dataset import Dataset
from tfrecs.tf.functions.file_io import path_of
from tfrecs.tf.functions.writing import TFRecordOptions
from tfrecs.tf.graph.deferred import Deferred
from tfrecs.tf.queues.queue import FIFOQueue, side_by_side

# How many bytes of a compressed file are taken at a time.
_SOME = 2**16


class ReaderBase:
    """As `tf.ReaderBase`, the base of all readers.

    `read(queue)` gives a key and a value, in each run others. Several threads may share a reader:
    each record goes to one of them.
    """

    supports_serialize = False

    def __init__(self, opened: Callable[[str], Dataset]) -> None:
        """Begin with no file."""
        self._opened = opened
        self._turn = _core.Turn()
        self._begin()

    def _begin(self) -> None:
        self._rows: Iterator[Any] = iter(())
        self._is_open = False
        self._records = self._files = 0

    def read(self, queue: FIFOQueue, name: str | None = None) -> tuple[Deferred, Deferred]:
        """Return what will be the key, `file:record`, and the value of the next record."""
        return self._pair(lambda: self._some(queue, 1)[0], ())

    def read_up_to(
        self, queue: FIFOQueue, num_records: Any, name: str | None = None
    ) -> tuple[Deferred, Deferred]:
        """Return what will be the keys and values of that many records, or of the rest."""
        return self._pair(lambda: side_by_side(self._some(queue, int(num_records))), (None,))

    def num_records_produced(self, name: str | None = None) -> Deferred:
        """Return how many records will have been read."""
        return Deferred(lambda: np.int64(self._records))

    def num_work_units_completed(self, name: str | None = None) -> Deferred:
        """Return how many files will have been read to their ends."""
        return Deferred(lambda: np.int64(self._files))

    def reset(self, name: str | None = None) -> Deferred:
        """Return what forgets the file that is being read, and begins to count anew."""
        return Deferred(self._reset)

    def _reset(self) -> None:
        with self._turn:
            self._begin()

    def _pair(self, read: Callable[[], Any], shape: Any) -> tuple[Deferred, Deferred]:
        pair = Deferred(read)
        return pair[0].of_kind("string", shape), pair[1].of_kind("string", shape)

    def _some(self, queue: FIFOQueue, count: int) -> list[tuple[Any, Any]]:
        with self._turn:
            while not (found := list(islice(self._rows, count))):
                self._files, self._is_open = self._files + self._is_open, False
                ((name,),) = queue.take(1)
                self._rows, self._is_open = iter(self._pairs(path_of(name))), True
            self._records += len(found)
            return found

    def _pairs(self, path: str) -> Iterable[tuple[Any, Any]]:
        return self._opened(path).with_keys()


class TFRecordReader(ReaderBase):
    """As `tf.TFRecordReader`.

    Example:
        >>> from tfrecs import tf
        >>> with tf.python_io.TFRecordWriter("one.tfrecord") as out:
        ...     out.write(b"a record")
        >>> queue = tf.train.string_input_producer(["one.tfrecord"])
        >>> key, value = tf.TFRecordReader().read(queue)
        >>> with tf.Session() as sess:
        ...     sess.run({"key": key, "value": value})
        {'key': b'one.tfrecord:0', 'value': b'a record'}
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        """Read files that are compressed so."""
        how = TFRecordOptions.get_compression_type_string(options)
        super().__init__(lambda path: Dataset(path, compression_type=how, num_threads=1))


class TextLineReader(ReaderBase):
    """As `tf.TextLineReader`: lines, but the first `skip_header_lines` of each file."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        """Leave out that many lines."""
        skipped = {"skip_header_lines": int(skip_header_lines or 0)}
        super().__init__(lambda path: Dataset.from_lines(path, compression_type="", **skipped))


class FixedLengthRecordReader(ReaderBase):
    """As `tf.FixedLengthRecordReader`: records of one length, after a header."""

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        """Read records of that many bytes, of files that are compressed as `encoding` says.

        Each begins `hop_bytes` after the start of the one before; where that is not where it ends,
        files are read whole.
        """
        self._record, self._hop = int(record_bytes), int(hop_bytes or record_bytes)
        self._header, self._footer = int(header_bytes or 0), int(footer_bytes or 0)
        around = {"header_bytes": self._header, "footer_bytes": self._footer}
        self._encoding = encoding or ""
        super().__init__(
            lambda path: Dataset.from_fixed_length(
                path, int(record_bytes), compression_type=self._encoding, **around
            )
        )

    def _pairs(self, path: str) -> Iterable[tuple[Any, Any]]:
        return super()._pairs(path) if self._hop == self._record else self._hops(path)

    def _hops(self, path: str) -> Iterator[tuple[bytes, bytes]]:
        content = self._content(path)
        last = len(content) - self._footer - self._record
        for number, at in enumerate(range(self._header, last + 1, self._hop)):
            yield f"{path}:{number}".encode(), content[at : at + self._record]

    def _content(self, path: str) -> bytes:
        """Return a whole file, decompressed."""
        if not self._encoding:
            ((_, content),) = Dataset.from_files(path).with_keys()
            return bytes(content)
        single = Dataset.from_fixed_length(path, 1, compression_type=self._encoding)
        return b"".join(byte for some in single.batch(_SOME) for byte in some)


class IdentityReader(ReaderBase):
    """As `tf.IdentityReader`: key and value are what the queue gives."""

    def __init__(self, name: str | None = None) -> None:
        """Read nothing."""
        super().__init__(Dataset)

    def _pairs(self, path: str) -> Iterable[tuple[Any, Any]]:
        return [(path.encode(), path.encode())]


class WholeFileReader(ReaderBase):
    """As `tf.WholeFileReader`: the key is the name of a file, the value its content."""

    def __init__(self, name: str | None = None) -> None:
        """Read files whole."""
        super().__init__(Dataset.from_files)
