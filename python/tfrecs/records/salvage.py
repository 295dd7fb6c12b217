"""Damaged files: every record that damage did not touch, and where the others were."""

import os
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import overload

from tfrecs import _core
from tfrecs._internal.checks import checked_batch, checked_compression, checked_limits, checked_text
from tfrecs._internal.shared_iterators import SharedIterator
from tfrecs.errors import Error, ExistingFileError, SpecError
from tfrecs.records.reader import Records
from tfrecs.records.writer import FileWriter, RecordWriter
from tfrecs.storage.journal import FinishedSet, finish_sets
from tfrecs.storage.paths import Path, local_path

_AHEAD = 1024  # records read at once for whoever takes them one by one


@dataclass(frozen=True)
class SkippedRegion:
    """Bytes of a damaged file that hold no record any more.

    Attributes:
        begin: The first byte: its offset in the file, or, where the file is compressed, in what
            comes out of it.
        end: The offset of the byte after the last one. It is `begin` where a compressed stream is
            not sound (its trailer is missing, say), but no record is lost by that.
        reason: What is wrong at `begin`, as the exception that a strict reader would raise.

    Example:
        >>> import tfrecs
        >>> region = tfrecs.SkippedRegion(32, 64, tfrecs.CorruptRecordError("a flipped bit"))
        >>> region.nbytes, str(region.reason)
        (32, 'a flipped bit')
    """

    begin: int
    end: int
    reason: Error

    @property
    def nbytes(self) -> int:
        """How many bytes are lost."""
        return self.end - self.begin


class Salvage(_core.Exclusive, Iterator[bytes | SkippedRegion]):
    """What salvage() returns: an iterator over records and skipped regions, in their order.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("whole.tfrecord") as out:
        ...     out.write_batch([b"one", b"two"])
        >>> found = tfrecs.salvage("whole.tfrecord")
        >>> isinstance(found, tfrecs.Salvage), list(found), found.lost_bytes
        (True, [b'one', b'two'], 0)
    """

    def __init__(self, salvage: _core.Salvage, path: str) -> None:
        """Wrap the native object."""
        self.path = path
        self._salvage = salvage
        self._records: Iterator[bytes] = iter(())

    @property
    def compression_type(self) -> str:
        """How the file is compressed: "", "GZIP" or "ZLIB"."""
        return self._salvage.compression_type

    @property
    def lost_bytes(self) -> int:
        """How many bytes the regions skipped so far have."""
        return self._salvage.lost[0]

    @property
    def lost_regions(self) -> int:
        """How many regions have been skipped so far: at most as many as records were lost."""
        return self._salvage.lost[1]

    @property
    def mended(self) -> int:
        """How many records so far had damaged headers, and were proved by their data."""
        return self._salvage.lost[2]

    def _next(self) -> bytes | SkippedRegion:
        """Return the next record or region."""
        while True:
            record = next(self._records, None)
            if record is not None:
                return record
            piece = self._piece(_AHEAD)
            if isinstance(piece, SkippedRegion):
                return piece
            self._records = iter(piece)

    def batches(self, n: int = 4096) -> Iterator[Records | SkippedRegion]:
        """Iterate over Records of at most `n` records, and regions, without an object a record.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("three.tfrecord") as out:
            ...     out.write_batch([b"a", b"b", b"c"])
            >>> [len(batch) for batch in tfrecs.salvage("three.tfrecord").batches(2)]
            [2, 1]
        """
        return SharedIterator(self._batches(checked_batch(n)))

    def _batches(self, n: int) -> Generator[Records | SkippedRegion, None, None]:
        while True:
            try:
                yield self._piece(n)
            except StopIteration:
                return

    def _piece(self, n: int) -> Records | SkippedRegion:
        piece = self._salvage.next_piece(n)
        if piece is None:
            raise StopIteration
        return SkippedRegion(*piece) if isinstance(piece, tuple) else piece

    def close(self) -> None:
        """Close the file. Closing twice is no error."""
        self._salvage.close()


def salvage(
    path: Path,
    compression_type: str | None = "auto",
    mode: str = "skip_corrupt",
    *,
    max_lost_bytes: int | None = None,
    max_lost_records: int | None = None,
    max_record_bytes: int | None = None,
    max_decompressed_bytes: int | None = None,
) -> Salvage:
    """Iterate over all records of a damaged file that damage did not touch, and over what is lost.

    Each element is a record (bytes) or a SkippedRegion; together they are all of the file, in
    order. Every record returned is proved by the checksum of its data. A record of which only the
    header is damaged is returned.

    Args:
        path: A regular file, uncompressed or compressed. Of a damaged compressed file, what still
            comes out goes to a temporary file first.
        compression_type: As for RecordReader.
        mode: What to forgive: "strict", nothing, as RecordReader; "tolerate_tail", a record that
            the end of the file cuts off; "skip_corrupt", everything.
        max_lost_bytes: More lost bytes than these raise CorruptRecordError.
        max_lost_records: More lost records than these do. How many records a region held is not
            known; it counts as one.
        max_record_bytes: As for RecordReader.
        max_decompressed_bytes: As for RecordReader; but of a damaged file, None is 64 GiB after
            the records before the damage, or 64 times the file if that is more, because what comes
            out is written to disk.

    Raises:
        CorruptRecordError, TruncatedFileError: Damage that is not forgiven.
        LimitError: A record, or the file, is larger than is allowed. It is no damage, and no mode
            forgives it.
        NotTFRecordError: The file is of another format, and there is no record in it.
        FileError: It cannot be read.
        SpecError: An argument makes no sense, or the path is a pipe, or a URL.

    Example:
        >>> import pathlib, tfrecs
        >>> with tfrecs.RecordWriter("damaged.tfrecord") as out:
        ...     out.write_batch([b"one", b"two", b"three"])
        >>> content = bytearray(pathlib.Path("damaged.tfrecord").read_bytes())
        >>> content[31] ^= 1
        >>> _ = pathlib.Path("damaged.tfrecord").write_bytes(content)
        >>> for found in tfrecs.salvage("damaged.tfrecord"):
        ...     if isinstance(found, tfrecs.SkippedRegion):
        ...         print(f"lost: bytes {found.begin} to {found.end}: {found.reason.reason}")
        ...     else:
        ...         print(found)
        b'one'
        lost: bytes 19 to 38: corrupted record: the checksum of its data does not match
        b'three'
    """
    name = local_path(path)
    lost_bytes = _checked("max_lost_bytes", max_lost_bytes)
    lost_records = _checked("max_lost_records", max_lost_records)
    limits = checked_limits(max_record_bytes, max_decompressed_bytes)
    codec = checked_compression(compression_type)
    forgiven = checked_text("mode", mode)
    return Salvage(_core.Salvage(name, codec, forgiven, lost_bytes, lost_records, limits), name)


def _checked(what: str, limit: int | None) -> int | None:
    if limit is None:
        return None
    if isinstance(limit, bool) or not hasattr(limit, "__index__") or limit < 0:
        raise SpecError(f"{what} must be an integer that is not negative, or None, not {limit!r}")
    return min(limit.__index__(), sys.maxsize)


@dataclass(frozen=True)
class RepairReport:
    """What repair() did.

    Attributes:
        path: The damaged file.
        output: The clean copy.
        records: How many records it has.
        regions: What was skipped, in order.
        mended: How many of the records had damaged headers.
        compression_type: How the copy is compressed.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("sound.tfrecord") as out:
        ...     out.write(b"a")
        >>> report = tfrecs.repair("sound.tfrecord", "copy.tfrecord")
        >>> report.records, report.lost_bytes, report.was_damaged
        (1, 0, False)
    """

    path: str
    output: str
    records: int
    regions: tuple[SkippedRegion, ...]
    mended: int
    compression_type: str

    @property
    def lost_bytes(self) -> int:
        """How many bytes the regions have together."""
        return sum(region.nbytes for region in self.regions)

    @property
    def was_damaged(self) -> bool:
        """Whether anything was wrong with the file."""
        return bool(self.regions or self.mended)


@overload
def repair(src: Path, dst: None = None) -> list[FinishedSet]: ...
@overload
def repair(
    src: Path,
    dst: Path,
    compression_type: str | None = "auto",
    *,
    output_compression_type: str | None = "auto",
    max_lost_bytes: int | None = None,
    max_lost_records: int | None = None,
    max_record_bytes: int | None = None,
    max_decompressed_bytes: int | None = None,
    overwrite: bool = True,
) -> RepairReport: ...
def repair(
    src: Path,
    dst: Path | None = None,
    compression_type: str | None = "auto",
    *,
    output_compression_type: str | None = "auto",
    max_lost_bytes: int | None = None,
    max_lost_records: int | None = None,
    max_record_bytes: int | None = None,
    max_decompressed_bytes: int | None = None,
    overwrite: bool = True,
) -> RepairReport | list[FinishedSet]:
    """Write all records of `src` that damage did not touch to `dst`, and report what is missing.

    The copy appears under its name when it is complete; `dst` may be `src` itself. After an error
    whatever `dst` was is still there.

    Of a folder, without `dst`, finish the sets of files whose writers were killed while they gave
    the files their names (see `ShardedWriter.close`), and report each as a FinishedSet; a set of
    which files are lost that nobody could read yet is taken back.

    Args:
        src: The damaged file, or a folder.
        dst: The clean copy. A file of this name is replaced, as RecordWriter does, unless
            `overwrite` is False. (`tfrecs repair` refuses, unless it is told to.) It is never a
            pipe or a device, and nobody may read it who may not read `src`.
        compression_type: How `src` is compressed, as for RecordReader.
        output_compression_type: How to compress `dst`. "auto" goes by its name if that ends in .gz,
            .gzip, .zz or .zlib, and is "same" otherwise and for `src` itself; "same" is as `src`;
            "", "GZIP" and "ZLIB" insist.
        max_lost_bytes: As for salvage().
        max_lost_records: As for salvage().
        max_record_bytes: As for salvage().
        max_decompressed_bytes: As for salvage().
        overwrite: Whether to replace a file that is called `dst` already.

    Raises:
        ExistingFileError: There is such a file, and it is not to be replaced, or it is no file.
        Error: As salvage() and RecordWriter raise.

    Example:
        >>> import pathlib, tfrecs
        >>> with tfrecs.RecordWriter("torn.tfrecord") as out:
        ...     out.write_batch([b"one", b"two"])
        >>> content = pathlib.Path("torn.tfrecord").read_bytes()
        >>> _ = pathlib.Path("torn.tfrecord").write_bytes(content[:-1])
        >>> report = tfrecs.repair("torn.tfrecord", "clean.tfrecord")
        >>> report.records, report.lost_bytes, tfrecs.verify("clean.tfrecord").ok
        (1, 18, True)
    """
    if dst is None:
        return _finished(local_path(src))
    found = salvage(
        src,
        compression_type,
        max_lost_bytes=max_lost_bytes,
        max_lost_records=max_lost_records,
        max_record_bytes=max_record_bytes,
        max_decompressed_bytes=max_decompressed_bytes,
    )
    output = local_path(dst)
    codec = _output_codec(found, output, output_compression_type)
    mode = "w" if overwrite else "x"
    return copy_sound(found, FileWriter(output, codec, mode=mode, sources=[found.path]))


def _finished(folder: str) -> list[FinishedSet]:
    if not os.path.isdir(folder):  # noqa: PTH112 - it does not raise if the name is too long
        raise SpecError(f"{folder}: a file: say where the clean copy goes")
    return finish_sets(folder)


def copy_sound(found: Salvage, out: RecordWriter) -> RepairReport:
    """Write the records that damage did not touch to `out`; both are closed then."""
    regions = []
    with closing(found):
        with out:
            for piece in found.batches():
                if isinstance(piece, SkippedRegion):
                    regions.append(piece)
                else:
                    out.write_batch(piece)
        codec, records = out.compression_type, out.num_records
        return RepairReport(found.path, out.path, records, tuple(regions), found.mended, codec)


def _output_codec(found: Salvage, dst: str, asked: str | None) -> str:
    """Return how to compress the clean copy."""
    if asked not in ("auto", "same"):
        return checked_compression(asked)
    in_place = os.path.realpath(dst) == os.path.realpath(found.path)
    named = None if asked == "same" or in_place else _core.compression_of_name(dst)
    return found.compression_type if named is None else named


class Original:
    """A second name of a file, with `.bak` after it, until it is clear whether it stays."""

    def __init__(self, path: str) -> None:
        """Give it the name.

        Raises:
            ExistingFileError: There is such a file already.
        """
        self.path = path
        self.backup = f"{path}.bak"
        self._stays = False
        if os.path.lexists(self.backup):
            message = f"{self.backup}: an earlier original is there already"
            raise ExistingFileError(message, path=self.backup)
        try:
            FilePath(self.backup).hardlink_to(path)
        except OSError:  # not every file system has links
            shutil.copy2(path, self.backup)

    def keep(self) -> str:
        """Let the second name stay, and return it."""
        self._stays = True
        return self.backup

    def settle(self) -> None:
        """Put the original back, unless it was to stay there."""
        if self._stays:
            return
        backup = FilePath(self.backup)
        if backup.samefile(self.path):  # a rename would leave both names
            backup.unlink()
        else:
            backup.replace(self.path)


@contextmanager
def kept_original(path: str) -> Iterator[Original]:
    """Whatever happens meanwhile, `path` is as it was afterwards, unless somebody calls keep()."""
    original = Original(path)
    try:
        yield original
    finally:
        original.settle()
