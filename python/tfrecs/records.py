"""Files of records: reading, writing, counting, verifying."""

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tfrecs import _core
from tfrecs.errors import Error, SpecError, StateError
from tfrecs.limits import checked_threads
from tfrecs.paths import Path, Paths, expand_paths

Records = _core.Records


class RecordReader(_core.Iteration, Iterator[bytes]):
    """Reads the records of one file in order, as bytes.

    Everything before damage is delivered first; then the error names file, record, offset and
    reason.

    Args:
        path: The file.
        compression_type: "auto" decides from the file's first bytes, whatever its name; "", "GZIP"
            or "ZLIB" (TensorFlow's names) insist.
        verify: Whether to check the checksum of each record's data. False is for files whose writer
            did not compute it; the checksum of the length is checked always.
        input_buffer_size: Accepted because TensorFlow has it; it means nothing here.
        window_bits: Likewise: the stream itself says how large its window is.

    Raises:
        NotTFRecordError: The file is of another format.
        FileError: It cannot be opened.
        SpecError: There is no such compression_type.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("two.tfrecord") as out:
        ...     out.write_batch([b"one", b"two"])
        >>> with tfrecs.RecordReader("two.tfrecord") as records:
        ...     print(list(records))
        [b'one', b'two']
    """

    def __init__(
        self,
        path: Path,
        compression_type: str | None = "auto",
        verify: bool = True,
        *,
        input_buffer_size: int | None = None,
        window_bits: int | None = None,
    ) -> None:
        """Open the file."""
        del input_buffer_size, window_bits
        self.path = os.fsdecode(path)
        self._reader = _core.Reader(self.path, compression_type or "", verify)
        self._iterate_over(self._reader)

    @property
    def compression_type(self) -> str:
        """How the file is compressed: "", "GZIP" or "ZLIB"."""
        return self._reader.compression_type

    def read_batch(self, n: int) -> Records:
        """Return the next records: `n`, fewer before the end or before damage, none at the end.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("five.tfrecord") as out:
            ...     out.write_batch([b"%d" % i for i in range(5)])
            >>> reader = tfrecs.RecordReader("five.tfrecord")
            >>> len(reader.read_batch(3)), len(reader.read_batch(3)), len(reader.read_batch(3))
            (3, 2, 0)
        """
        if n < 1:
            raise ValueError(f"a batch has at least one record, not {n}")
        return self._reader.read_batch(min(n, sys.maxsize))

    def close(self) -> None:
        """Close the file. Closing twice is no error."""
        self._reader.close()

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
        self.close()

    def __repr__(self) -> str:
        """Show the path."""
        return f"RecordReader({self.path!r})"


class RecordWriter:
    """Writes records to one file, which appears under its name whole or not at all.

    Until close() succeeds, the name shows what it showed before: the bytes go to a temporary
    sibling, which is synced and renamed. A `with` block that ends with an exception, and a writer
    that is dropped without close() (which warns), leave the old file as it was. Any error while
    writing is reported at write, flush or close, and then nothing is published.

    Uncompressed files are byte for byte those of TensorFlow's `tf.io.TFRecordWriter`. GZIP files
    are made of members of about 256 KB of records, which can be compressed, and later read, on
    several cores; flush() ends one. Whatever reads gzip reads them, TensorFlow too. ZLIB files are
    one stream, because that is all that the format has.

    Args:
        path: The file.
        compression_type: "auto" goes by the name (.gz and .gzip: GZIP; .zz and .zlib: ZLIB); "",
            "GZIP" or "ZLIB" insist.
        level: How hard to compress, 0 (not at all) to 9; None is 6.
        mode: "w" replaces a file, "x" refuses one that exists, "a" writes behind its records. In
            mode "a" the old records are read first; a torn record at the end of an uncompressed
            file is cut off with a warning, any other damage is refused. A gzip file gets one more
            member.
        atomic: False writes in place and shows every byte at once, as TensorFlow does: for logs
            that others follow. Devices and pipes are always written in place.
        sync: Whether close() waits until the bytes are on the disk, so that what is published
            survives a power cut whole. False leaves it to the system when they get there, as
            TensorFlow does; a file that can be made again need not wait.
        num_threads: How many threads compress a GZIP file; None is one for each core, 1 is the
            caller's own. An uncompressed file is written by one more thread from its fifth
            megabyte on, unless this is 1. The file is the same with any number.
        compression_level, window_bits, mem_level, compression_strategy, flush_mode,
            input_buffer_size: As in `tf.io.TFRecordOptions`: zlib's parameters, where the file is
            compressed, and ignored where it is not. With any of them a GZIP file is one stream,
            byte for byte that of the original zlib, which takes one thread and four times as long.
        output_buffer_size: Accepted because TensorFlow has it; it means nothing here.

    Raises:
        FileError: The file cannot be opened or written.
        SpecError: An option makes no sense.
        StateError: The writer is closed already.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("out.tfrecord.gz") as out:
        ...     out.write(b"a record")
        >>> list(tfrecs.RecordReader("out.tfrecord.gz"))
        [b'a record']
    """

    _writer: _core.Writer | None = None  # for __del__, when opening fails
    _pid = 0

    def __init__(
        self,
        path: Path,
        compression_type: str | None = "auto",
        level: int | None = None,
        mode: str = "w",
        *,
        atomic: bool = True,
        sync: bool = True,
        num_threads: int | None = None,
        compression_level: int | None = None,
        window_bits: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
    ) -> None:
        """Open the file."""
        del output_buffer_size
        self.path = os.fsdecode(path)
        self._atomic = atomic
        self._pid = os.getpid()  # a fork has a copy of this object, but the file is not its own
        zlib = (window_bits, mem_level, compression_strategy, flush_mode, input_buffer_size)
        as_zlib = any(option is not None for option in (compression_level, *zlib))
        threads = None if as_zlib else checked_threads(num_threads)
        level = compression_level if level is None else level
        deflate = (level, *zlib)
        codec = compression_type or ""
        self._writer = _core.Writer(self.path, codec, mode, atomic, sync, threads, deflate)
        if self._writer.repaired:
            warnings.warn(
                f"{self.path}: cut off {self._writer.repaired} bytes of a torn record at its end",
                RuntimeWarning,
                stacklevel=2,
            )

    @property
    def compression_type(self) -> str:
        """How the file is compressed: "", "GZIP" or "ZLIB"."""
        return self._core.compression_type

    @property
    def num_records(self) -> int:
        """How many records this writer has written."""
        return self._core.records

    @property
    def closed(self) -> bool:
        """Whether the writer takes no more records."""
        return self._core.closed

    def write(self, record: bytes | bytearray | memoryview) -> None:
        """Add a record."""
        self._core.write(record)

    def write_batch(self, records: Records | Iterable[bytes]) -> None:
        """Add records: those of Records without the GIL and without making an object of any."""
        self._core.write_batch(records)

    def flush(self) -> None:
        """Hand everything so far to the operating system, readable (compressed files too)."""
        self._core.flush()

    def close(self) -> None:
        """Complete the file and publish it under its name. Closing twice is no error."""
        self._core.close()

    def discard(self) -> None:
        """Give the file up: the old one, if any, stays as it was."""
        self._core.abandon()

    def finish(self) -> None:
        """Complete and sync the file, but leave it to close() or publish_as() to publish it."""
        self._core.finish()

    def publish_as(self, path: Path) -> None:
        """Publish a finished file under another name than the one it was opened for."""
        self._core.publish_as(path)

    @property
    def _core(self) -> _core.Writer:
        if self._writer is None:
            raise StateError("Writer was never opened.")
        return self._writer

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Publish the file; after an exception in the block, discard it (if it is atomic)."""
        if exception_type is None:
            self.close()
        elif self._atomic:
            self.discard()
        else:
            with suppress(Error):  # what ended the block is what the caller must hear of
                self.close()

    def __del__(self) -> None:
        """Warn about a writer that was never closed, and discard its file (if it is atomic)."""
        if self._pid == os.getpid() and self._writer is not None and not self._writer.closed:
            if self._atomic:
                self._writer.abandon()
            else:
                self._writer.close()
            warnings.warn(
                f"RecordWriter for {self.path!r} was never closed"
                + (": its records are discarded" if self._atomic else ""),
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    def __repr__(self) -> str:
        """Show the path and the number of records."""
        if self._writer is None:
            return f"RecordWriter({self.path!r}, never opened)"
        state = "closed" if self.closed else "open"
        return f"RecordWriter({self.path!r}, {self.num_records} records, {state})"


def count(paths: Paths, compression_type: str = "auto") -> int:
    """Return the number of records in one or more files, without checking their data.

    Args:
        paths: A file, a pattern, or a list of them.
        compression_type: As for RecordReader.

    Raises:
        Error: As RecordReader raises: files that end too early or are no TFRecords do not count.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("count-00000-of-00001") as out:
        ...     out.write_batch([b"a", b"b", b"c"])
        >>> tfrecs.count("count-*")
        3
    """
    return sum(_count_file(path, compression_type) for path in expand_paths(paths))


def _count_file(path: str, compression_type: str) -> int:
    if os.path.isfile(path):  # noqa: PTH113 - a str
        return _core.count_records(path, compression_type, checked_threads(None))
    # A pipe, which can only be opened so that a signal gets through.
    reader = _core.Reader(path, compression_type, verify=False)
    total = 0
    while skipped := reader.skip(1 << 16):
        total += skipped
    return total


@dataclass(frozen=True)
class FileReport:
    """What verify() found in one file.

    Attributes:
        path: The file.
        records: How many whole, undamaged records it has before any damage.
        compression_type: How it is compressed, or None if it could not be opened.
        error: What is wrong with it, or None.
    """

    path: str
    records: int
    compression_type: str | None = None
    error: Error | None = None


@dataclass(frozen=True)
class VerifyReport:
    """What verify() found.

    Attributes:
        files: A report for each file, in order.
    """

    files: list[FileReport] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with any file."""
        return all(file.error is None for file in self.files)

    @property
    def records(self) -> int:
        """How many sound records there are in all files together."""
        return sum(file.records for file in self.files)

    @property
    def errors(self) -> list[Error]:
        """What is wrong, in order."""
        return [file.error for file in self.files if file.error is not None]

    def __bool__(self) -> bool:
        """Return `ok`."""
        return self.ok


def verify(paths: Paths, compression_type: str = "auto") -> VerifyReport:
    """Read files to their ends, check every checksum, and report what is wrong with each.

    Args:
        paths: A file, a pattern, or a list of them.
        compression_type: As for RecordReader.

    Raises:
        MissingFileError: A pattern matches no file. Whatever is wrong with a file is reported.

    Example:
        >>> import pathlib, tfrecs
        >>> with tfrecs.RecordWriter("sound.tfrecord") as out:
        ...     out.write(b"a")
        >>> content = pathlib.Path("sound.tfrecord").read_bytes()
        >>> _ = pathlib.Path("unsound.tfrecord").write_bytes(content[:-1])
        >>> report = tfrecs.verify("*sound.tfrecord")
        >>> [(file.path, file.records, file.error is None) for file in report.files]
        [('sound.tfrecord', 1, True), ('unsound.tfrecord', 0, False)]
    """
    return VerifyReport([verify_file(path, compression_type) for path in expand_paths(paths)])


def verify_file(path: str, compression_type: str = "auto") -> FileReport:
    """Verify one file; see verify()."""
    try:
        reader = _core.Reader(path, compression_type, verify=True)
    except SpecError:
        raise  # the request is wrong, not the file
    except Error as error:
        return FileReport(path, 0, None, error)
    found = reader.compression_type
    try:
        while reader.skip(1 << 16):
            pass
    except Error as error:
        return FileReport(path, reader.tell()[0], found, error)
    return FileReport(path, reader.tell()[0], found)
