"""Files cut into ranges that can be read apart from each other, exactly."""

import os
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from tfrecs import _core
from tfrecs._internal.checks import UNREACHED, checked_limit
from tfrecs._internal.shared_iterators import SharedIterator
from tfrecs._internal.wording import counted
from tfrecs.errors import SpecError, StateError
from tfrecs.records.index_files import indexed_files
from tfrecs.storage.paths import Paths


@dataclass(frozen=True)
class FileRange:
    """Records of one file that lie one after the other.

    Attributes:
        path: The file.
        begin: The offset of the first record's header, in bytes.
        end: The offset after the last record.
        first: The number of the first record in the file, from 0.
        num_records: How many records.
        size: How many bytes the file had when this was planned.
        compression_type: How it is compressed: "", "GZIP" or "ZLIB". A compressed file is not cut;
            `begin` and `end` are offsets in what it decompresses to.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("four.tfrecord") as out:
        ...     out.write_batch([b"a", b"b", b"c", b"d"])
        >>> part = tfrecs.plan_ranges("four.tfrecord", 2)[1].parts[0]
        >>> part.path, part.begin, part.end, part.first, part.num_records
        ('four.tfrecord', 34, 68, 2, 2)
    """

    path: str
    begin: int
    end: int
    first: int
    num_records: int
    size: int
    compression_type: str = ""


@dataclass(frozen=True)
class Range:
    """A part of a data set: what one worker reads. plan_ranges() makes them, read_range() reads.

    Attributes:
        parts: What it is of each file, in order.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("four.tfrecord") as out:
        ...     out.write_batch([b"a", b"b", b"c", b"d"])
        >>> (whole,) = tfrecs.plan_ranges("four.tfrecord", 1)
        >>> whole.num_records, whole.nbytes
        (4, 68)
    """

    parts: tuple[FileRange, ...]

    @property
    def num_records(self) -> int:
        """How many records."""
        return sum(part.num_records for part in self.parts)

    def __repr__(self) -> str:
        """Show how much it is, and of what."""
        paths = [part.path for part in self.parts]
        where = repr(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
        records = counted(self.num_records, "record")
        return f"Range({records} in {where}, {counted(self.nbytes, 'byte')})"

    @property
    def nbytes(self) -> int:
        """How many bytes the records have with their frames, uncompressed."""
        return sum(part.end - part.begin for part in self.parts)


def plan_ranges(
    paths: Paths,
    n: int,
    compression_type: str | None = "auto",
    *,
    num_threads: int | None = None,
) -> list[Range]:
    """Cut files into at most `n` ranges of about equally many bytes, each record in exactly one.

    Uncompressed files are cut anywhere between two records; no index is needed, and none is
    written. The cuts are exact whatever the records hold: a place counts as the beginning of a
    record only if the records before it lead there. Compressed files are not cut, but each goes to
    one range.

    Ranges are small, can be pickled and sent to other processes and machines, which then read
    without knowing of each other.

    Args:
        paths: A file, a pattern, or a list of them.
        n: How many ranges; there are fewer if there are not that many records.
        compression_type: As for RecordReader.
        num_threads: How many threads look for records (at most 1,024); None is one for each core.

    Raises:
        SpecError: `n` is no positive integer.
        Error: As open() raises.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("ten.tfrecord") as out:
        ...     out.write_batch([b"%d" % i for i in range(10)])
        >>> ranges = tfrecs.plan_ranges("ten.tfrecord", 3)
        >>> [range.num_records for range in ranges]
        [4, 3, 3]
        >>> list(tfrecs.read_range(ranges[1]))
        [b'4', b'5', b'6']
    """
    checked_limit("n", n)
    found = indexed_files(paths, compression_type, num_threads, keep=False)
    files = [one.file for one in found]
    starts = [0, *accumulate(file.size for file in files)]
    cuts = [*_cuts(files, starts, n), (len(files), 0, 0)]
    ranges = [Range(tuple(_parts(files, *pair))) for pair in pairwise(cuts)]
    return [one for one in ranges if one.parts]


# The number of a file, that of a record in it, and the offset of that record.
_Cut: TypeAlias = tuple[int, int, int]


def _cuts(files: list[_core.IndexedFile], starts: list[int], n: int) -> Iterator[_Cut]:
    """Yield where ranges begin; of the `n` places to cut at only those that differ."""
    size, number = starts[-1], 0
    while number < n:
        target = size * number // n
        which, record, offset = _cut(files, starts, target)
        yield which, record, offset
        # The next one whose target is after this cut.
        reached = max(target, starts[which] + offset)
        number = -(-(reached + 1) * n // size) if size else n


def _cut(files: list[_core.IndexedFile], starts: list[int], target: int) -> _Cut:
    """Return the first place to cut at that has that many bytes before it."""
    which = bisect_right(starts, target) - 1
    if which == len(files) or target == starts[which]:
        return min(which, bisect_left(starts, target)), 0, 0
    if files[which].compression_type:
        return which + 1, 0, 0
    return which, *files[which].first_from(target - starts[which])


def _parts(files: list[_core.IndexedFile], begin: _Cut, end: _Cut) -> Iterator[FileRange]:
    for which in range(begin[0], min(end[0] + 1, len(files))):
        file = files[which]
        first, offset = begin[1:] if which == begin[0] else (0, 0)
        last, limit = end[1:] if which == end[0] else (len(file), file.end())
        if last > first:
            path = os.fspath(file.path)
            codec = file.compression_type
            yield FileRange(path, offset, limit, first, last - first, file.size, codec)


def read_range(
    range: Range,  # noqa: A002 - what it is
    batch_size: int | None = None,
    *,
    verify: bool = True,
) -> Iterator[Any]:
    """Read the records of a range, in order.

    Args:
        range: Of plan_ranges().
        batch_size: None: bytes, one by one; else Records, of that many each, but for the last of a
            file.
        verify: Whether to check the checksum of each record's data.

    Raises:
        SpecError: It is no Range, or `batch_size` no positive integer.
        StateError: A file has another size than when the range was planned.
        Error: What is wrong with a file, with path, record and offset.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("ten.tfrecord") as out:
        ...     out.write_batch([b"%d" % i for i in range(10)])
        >>> for part in tfrecs.plan_ranges("ten.tfrecord", 2):
        ...     print([batch.tolist() for batch in tfrecs.read_range(part, batch_size=3)])
        [[b'0', b'1', b'2'], [b'3', b'4']]
        [[b'5', b'6', b'7'], [b'8', b'9']]
    """
    if not isinstance(range, Range):
        raise SpecError(
            f"read_range takes a Range of plan_ranges(), one by one, not {type(range).__name__}"
        )
    if batch_size is not None:
        batch_size = min(checked_limit("batch_size", batch_size), UNREACHED)
    return SharedIterator(_records(range, batch_size, verify))


def _records(
    range: Range,  # noqa: A002 - as above
    batch_size: int | None,
    verify: bool,
) -> Generator[Any, None, None]:
    for part in range.parts:
        reader = _reader(part, verify)
        if batch_size is None:
            yield from reader
        else:
            while batch := reader.read_batch(batch_size):
                yield batch


def _reader(part: FileRange, verify: bool) -> _core.Reader:
    reader = _core.Reader(part.path, part.compression_type, verify)
    size = os.stat(part.path).st_size  # noqa: PTH116 - a str
    if size != part.size:
        raise StateError(
            f"{part.path}: the file had {counted(part.size, 'byte')} when the range was "
            f"planned, and now has {size}; plan it again",
            path=part.path,
        )
    if not part.compression_type:
        reader.read_between(part.begin, part.end, part.first)
    return reader
