"""Files of records: reading, counting, verifying."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from tfrecs import _core
from tfrecs._internal.checks import (
    NO_LIMITS,
    Limits,
    checked_batch,
    checked_compression,
    checked_limits,
    checked_threads,
)
from tfrecs.errors import Error, MissingFileError, OutOfMemoryError, SpecError
from tfrecs.records.whole_sets import record_files
from tfrecs.storage.leftovers import missing_file
from tfrecs.storage.paths import Path, Paths, local_path

Records = _core.Records


class RecordReader(_core.Iteration, Iterator[bytes]):
    """Reads the records of one file in order, as bytes.

    Everything before damage is delivered first; then the error names file, record, offset and
    reason.

    Args:
        path: The file.
        compression_type: "auto" decides from the file's first bytes, whatever its name; "", "GZIP"
            or "ZLIB" (in any spelling) insist.
        verify: Whether to check the checksum of each record's data. False is for files whose writer
            did not compute it; the checksum of the length is checked always.
        max_record_bytes: The longest record that is read. None is 4 GiB where the size of the file
            does not bound its records, in compressed files and pipes, and no limit elsewhere.
        max_decompressed_bytes: The most bytes that may come out of a compressed file; None is
            1 TiB.
        input_buffer_size: Accepted because TensorFlow has it; it means nothing here.
        window_bits: Likewise: the stream itself says how large its window is.

    Raises:
        NotTFRecordError: The file is of another format.
        FileError: It cannot be opened.
        SpecError: There is no such compression_type, or the path is a URL.
        LimitError: By reading: a record, or the file, is larger than is allowed.

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
        max_record_bytes: int | None = None,
        max_decompressed_bytes: int | None = None,
        input_buffer_size: int | None = None,
        window_bits: int | None = None,
    ) -> None:
        """Open the file."""
        del input_buffer_size, window_bits
        self.path = local_path(path)
        limits = checked_limits(max_record_bytes, max_decompressed_bytes)
        codec = checked_compression(compression_type)
        try:
            self._reader = _core.Reader(self.path, codec, verify, limits)
        except MissingFileError as error:
            raise missing_file(self.path) from error
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
        return self._reader.read_batch(checked_batch(n))

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


def count(
    paths: Paths,
    compression_type: str = "auto",
    *,
    max_record_bytes: int | None = None,
    max_decompressed_bytes: int | None = None,
) -> int:
    """Return the number of records in one or more files, without checking their data.

    Args:
        paths: A file, a pattern, a folder (all TFRecord files in it), or a list of them.
        compression_type: As for RecordReader.
        max_record_bytes: As for RecordReader.
        max_decompressed_bytes: As for RecordReader, of each file.

    Raises:
        Error: As RecordReader raises: files that end too early or are no TFRecords do not count.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("count-00000-of-00001") as out:
        ...     out.write_batch([b"a", b"b", b"c"])
        >>> tfrecs.count("count-*")
        3
    """
    limits = checked_limits(max_record_bytes, max_decompressed_bytes)
    codec = checked_compression(compression_type)
    return sum(_count_file(path, codec, limits) for path in record_files(paths))


def _count_file(path: str, compression_type: str, limits: Limits) -> int:
    if os.path.isfile(path):  # noqa: PTH113 - a str
        return _core.count_records(path, compression_type, checked_threads(None), limits)
    # A pipe, which can only be opened so that a signal gets through.
    reader = _core.Reader(path, compression_type, verify=False, limits=limits)
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


def verify(
    paths: Paths,
    compression_type: str = "auto",
    *,
    max_record_bytes: int | None = None,
    max_decompressed_bytes: int | None = None,
) -> VerifyReport:
    """Read files to their ends, check every checksum, and report what is wrong with each.

    Args:
        paths: A file, a pattern, a folder (all TFRecord files in it), or a list of them.
        compression_type: As for RecordReader.
        max_record_bytes: As for RecordReader. A file with a longer record is reported as wrong.
        max_decompressed_bytes: As for RecordReader, of each file; one of which more comes is
            reported as wrong.

    Raises:
        MissingFileError: A pattern matches no file. Whatever is wrong with a file is reported.
        SpecError: An argument makes no sense.

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
    limits = checked_limits(max_record_bytes, max_decompressed_bytes)
    files = record_files(paths)
    return VerifyReport(
        [verify_file(path, checked_compression(compression_type), limits) for path in files]
    )


def verify_file(
    path: str, compression_type: str = "auto", limits: Limits = NO_LIMITS
) -> FileReport:
    """Verify one file; see verify()."""
    try:
        reader = _core.Reader(path, compression_type, verify=True, limits=limits)
    except (SpecError, OutOfMemoryError):
        raise  # the request is wrong, or the machine, not the file
    except Error as error:
        return FileReport(path, 0, None, error)
    found = reader.compression_type
    try:
        while reader.skip(1 << 16):
            pass
    except OutOfMemoryError:
        raise
    except Error as error:
        return FileReport(path, reader.tell()[0], found, error)
    return FileReport(path, reader.tell()[0], found)
