"""Any record of any files, at once."""

import operator
import os
import random
import sys
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from types import TracebackType
from typing import Any, Self, SupportsIndex, TypeAlias

from tfrecs import _core
from tfrecs._internal.checks import NO_LIMITS, Limits, checked_limits, checked_threads
from tfrecs._internal.logging import logger
from tfrecs._internal.shared_iterators import SharedIterator
from tfrecs._internal.wording import counted
from tfrecs.errors import Error, SpecError, StateError
from tfrecs.records.index_files import Indexed, found_index, indexed_files
from tfrecs.storage.paths import Paths

Records: TypeAlias = _core.Records

if sys.platform != "win32":
    import resource

# What iterating reads at once.
_AHEAD = 4 << 20

# Files that are kept open at most, of all sequences together.
_MOST_OPEN = 512


class IndexedRecords(_core.RecordSequence):
    """The records of files as one sequence: any of them, alone or many together. open() makes it.

    `records[i]` is a record as bytes, from the end for a negative `i`; `records[a:b]`,
    `records[[i, j]]` and `records[array]` are Records in the order asked for, read in as few
    pieces as there are and on several threads. What is read is checked: that a record of this
    length is where the index says, and the checksum of its data.

    It is a map-style dataset to PyTorch (`torch.utils.data.DataLoader(tfrecs.open(paths))`) and a
    random-access source to Grain (`grain.MapDataset.source(tfrecs.open(paths))`). It can be
    pickled, forked and used from several threads at the same time; copies in other processes open
    the files, and load the indices, for themselves, wherever they run.

    The files stay open until nobody holds it any more, or until `close()` or the end of a `with`
    block.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("letters.tfrecord") as out:
        ...     out.write_batch([b"a", b"b", b"c", b"d"])
        >>> records = tfrecs.open("letters.tfrecord")
        >>> len(records), records[2], records[-1], records[[3, 0]].tolist()
        (4, b'c', b'd', [b'd', b'a'])
    """

    def __init__(
        self,
        files: Iterable[Indexed],
        verify: bool,
        num_threads: int,
        limits: Limits = NO_LIMITS,
        memory_map: bool = False,
    ) -> None:
        """Be the records of `files`, one after the other."""
        self._files = tuple(files)
        self._verify = verify
        self._num_threads = num_threads
        self._limits = limits
        self._memory_map = memory_map
        self._closed = False
        self._paths = [os.fspath(one.file.path) for one in self._files]
        self._places = [one.place for one in self._files]
        self._ends = list(accumulate(len(one.file) for one in self._files))
        _core.keep_open(_files_to_keep_open())
        self._over([one.file for one in self._files], verify, num_threads, limits, memory_map)

    @property
    def paths(self) -> list[str]:
        """The files, in order."""
        return list(self._paths)

    @property
    def index_paths(self) -> list[str | None]:
        """Where the index of each file is kept; None for one that is only in memory."""
        return list(self._places)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Close the files, and forget their indices; whatever is asked for raises StateError then.

        What was read stays, and what other threads are reading just now is read to its end. To
        close it again is no error.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("letters.tfrecord") as out:
            ...     out.write_batch([b"a", b"b"])
            >>> with tfrecs.open("letters.tfrecord") as records:
            ...     first = records[0]
            >>> records.closed, first
            (True, b'a')
            >>> records[1]
            Traceback (most recent call last):
            tfrecs.errors.StateError: IndexedRecords is closed; tfrecs.open() opens its files again.
        """
        self._closed = True
        self._close()
        self._files, self._ends = (), []

    def __enter__(self) -> Self:
        """Return self, if it is not closed."""
        len(self)
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the files."""
        self.close()

    def locate(self, index: SupportsIndex) -> tuple[str, int]:
        """Return the file that a record is in, and its number there.

        Raises:
            IndexError: There is no such record.

        Example:
            >>> import tfrecs
            >>> for shard in range(2):
            ...     with tfrecs.RecordWriter(f"two-{shard}.tfrecord") as out:
            ...         out.write_batch([b"a", b"b", b"c"])
            >>> tfrecs.open("two-?.tfrecord").locate(4)
            ('two-1.tfrecord', 1)
        """
        place = operator.index(index)
        place = place + len(self) if place < 0 else place
        if not 0 <= place < len(self):
            raise IndexError(f"index {index} is out of range for {counted(len(self), 'record')}")
        which = bisect_right(self._ends, place)
        before = self._ends[which - 1] if which else 0
        return self._paths[which], place - before

    def sample(self, n: SupportsIndex, seed: SupportsIndex | None = None) -> Records:
        """Return `n` records, none twice, in random order: the same ones for the same seed.

        Raises:
            SpecError: There are not that many, or these are no integers.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("hundred.tfrecord") as out:
            ...     out.write_batch([b"%d" % i for i in range(100)])
            >>> records = tfrecs.open("hundred.tfrecord")
            >>> records.sample(3, seed=1) == records.sample(3, seed=1)
            True
        """
        try:
            count, seed = operator.index(n), None if seed is None else operator.index(seed)
        except TypeError as error:
            raise SpecError(f"n and seed must be integers, not {n!r} and {seed!r}") from error
        if not 0 <= count <= len(self):
            raise SpecError(f"cannot take {count} of {counted(len(self), 'record')}")
        chosen: Records = self[random.Random(seed).sample(range(len(self)), count)]
        return chosen

    # What all sequences have, by reading records; its types are not made to be borrowed.
    index: Any = Sequence.index
    count: Any = Sequence.count
    __contains__: Any = Sequence.__contains__
    __reversed__: Any = Sequence.__reversed__

    def __iter__(self) -> Iterator[bytes]:
        """Read all records in order, some at a time."""
        len(self)  # one that is closed says so at once
        return SharedIterator(self._each())

    def _each(self) -> Generator[bytes, None, None]:
        for start, stop in pairwise(self._cuts()):
            try:
                some = self[start:stop]
            except Error:
                # The records before the one that is damaged; and then the same error again.
                yield from (self[index] for index in range(start, stop))
            else:
                yield from some

    def _cuts(self) -> Iterator[int]:
        """Yield numbers of records with a few megabytes between them, as they are uncompressed."""
        yield 0
        last, room = 0, _AHEAD
        for one, end in zip(self._files, self._ends, strict=True):
            first, offset = end - len(one.file), 0
            while one.file.end() - offset > room:
                number, offset = one.file.first_from(offset + room)
                last, room = min(max(first + number, last + 1), end), _AHEAD
                yield last
                if last == end:  # whatever a damaged index says
                    offset = one.file.end()
            room -= max(one.file.end() - offset, 0)
        yield len(self)

    def __repr__(self) -> str:
        """Show how much it is."""
        name = repr(self._paths[0]) if len(self._paths) == 1 else f"{len(self._paths)} files"
        if self._closed:
            return f"IndexedRecords({name}, closed)"
        size = sum(one.file.size for one in self._files)
        records = counted(len(self), "record")
        return f"IndexedRecords({records} in {name}, {counted(size, 'byte')})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what opens the files again; an index that is kept nowhere goes with it."""
        len(self)  # none that is closed
        files = [
            (os.fspath(one.file.absolute), _portable(one), len(one.file), one.file.size)
            for one in self._files
        ]
        how = (self._verify, self._num_threads, self._limits, self._memory_map)
        return _reopened, (files, *how)


Sequence.register(IndexedRecords)


def _files_to_keep_open() -> int:
    if sys.platform == "win32":
        return _MOST_OPEN
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_OPEN if limit == resource.RLIM_INFINITY else min(_MOST_OPEN, limit // 2)


def _portable(one: Indexed) -> bytes | str:
    return one.file.to_bytes() if one.absolute is None else one.absolute


def _reopened(
    files: list[tuple[str, bytes | str, int, int]],
    verify: bool,
    num_threads: int,
    limits: Limits,
    memory_map: bool,
) -> IndexedRecords:
    found = [_refound(*one) for one in files]
    return IndexedRecords(found, verify, num_threads, limits, memory_map)


def _refound(path: str, index: bytes | str, records: int, size: int) -> Indexed:
    if isinstance(index, bytes):
        found = _core.IndexedFile.from_bytes(path, index)
        one = None if found is None else Indexed(found)
    else:
        found = found_index(path, index)
        # The index may be gone, or on another machine, and the file the same.
        one = indexed_files([path], "auto", 1)[0] if found is None else Indexed(found, index, index)
    if one is None or (len(one.file), one.file.size) != (records, size):
        raise StateError(f"{path}: the file has changed since it was opened", path=path)
    return one


def open(  # noqa: A001 - as gzip.open
    paths: Paths,
    compression_type: str | None = "auto",
    *,
    verify: bool = True,
    index: str = "auto",
    index_paths: Paths | None = None,
    memory_map: bool = False,
    num_threads: int | None = None,
    max_record_bytes: int | None = None,
    max_decompressed_bytes: int | None = None,
) -> IndexedRecords:
    """Open files to read any record at once, compressed ones too.

    The first time this goes over the files: over the headers of records where they are not
    compressed, which takes as long as to count them, else over all of them. What it finds, the
    index, is kept for the next time: up to 3 bytes a record.

    Args:
        paths: A file, a pattern, a folder (all TFRecord files in it), or a list of them: one
            sequence of records in this order.
        compression_type: As for RecordReader.
        verify: Whether to check the checksum of a record's data whenever it is read. Its length
            is checked always.
        index: "auto" keeps the index of each file of more than 1 MiB beside it, hidden
            (`.NAME.tfrindex`), or, where that cannot be, in the user's cache folder; "memory"
            neither looks for one nor keeps any. An index that is damaged, or of another file than
            the one that is there now, is made anew.
        index_paths: Indices that lie elsewhere, one for each file: as build_index() writes them, or
            texts of DALI's or vahidk's tfrecord2idx. One that does not fit its file is not used,
            with a warning.
        memory_map: Whether files that are not compressed are mapped into memory: two to five times
            as fast for records that lie in the page cache. A file that somebody cuts, or a disk
            that fails, is an error, as it is without; the file has to be opened again then.
        num_threads: How many threads make indices and read batches (at most 1,024); None is one for
            each core.
        max_record_bytes: As for RecordReader; of a record that is asked for, too.
        max_decompressed_bytes: As for RecordReader, when an index is made.

    Raises:
        FileError: A file cannot be read, or is a pipe.
        NotTFRecordError: It is of another format.
        CorruptRecordError, TruncatedFileError: It is damaged; the text says where. salvage() reads
            what is left of it, and repair() makes a sound file of that.
        LimitError: More comes out of a file than is allowed.
        SpecError: An argument makes no sense.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("numbers.tfrecord.gz") as out:
        ...     out.write_batch([b"%d" % i for i in range(1000)])
        >>> records = tfrecs.open("numbers.tfrecord.gz")
        >>> records
        IndexedRecords(1000 records in 'numbers.tfrecord.gz', 6143 bytes)
        >>> records[123], records[-3:].tolist()
        (b'123', [b'997', b'998', b'999'])
    """
    if index not in ("auto", "memory"):
        raise SpecError(f'index must be "auto" or "memory", not {index!r}')
    kept = index == "auto"
    limits = checked_limits(max_record_bytes, max_decompressed_bytes)
    files = indexed_files(
        paths,
        compression_type,
        num_threads,
        index_paths=index_paths,
        look=kept,
        keep=kept,
        limits=limits,
    )
    for one in files:
        logger.debug("opened %s: %d records, index: %s", one.file.path, len(one.file), one.place)
    threads = checked_threads(num_threads)
    return IndexedRecords(files, bool(verify), threads, limits, bool(memory_map))
