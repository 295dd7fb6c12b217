"""Writing a data set as several files."""

import os
import pathlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self

from tfrecs import _core
from tfrecs._internal.checks import checked_compression, checked_name, checked_threads
from tfrecs._internal.wording import counted
from tfrecs.errors import SpecError, StateError
from tfrecs.features import Features
from tfrecs.features.feature_json import features_to_data
from tfrecs.records.manifest_file import ShardEntry, manifest_text, sha256_of
from tfrecs.records.reader import Records
from tfrecs.records.whole_sets import outdated_manifests
from tfrecs.records.writer import FileWriter
from tfrecs.storage.journal import Move, finish_sets, is_interrupted, publish
from tfrecs.storage.paths import Path, final_path

# Each shard is an open file while records are written.
MOST_SHARDS = 1_000_000

# With more shards than this at a time, threads of each would be too many altogether.
MANY_SHARDS = 64


class _Shard(FileWriter):
    """A file of a set."""

    def move(self, name: str) -> Move:
        """Return the journal entry of the finished file, which is to get this name."""
        where = pathlib.Path(str(self.temporary_path))
        entry = self.entry(name, with_sha256=False)
        records = (entry.records, entry.record_bytes, entry.checksum)
        return Move(where.name, name, entry.size, records)

    def leave(self) -> None:
        """Leave the file, which is finished, to whoever gives it its name."""
        self._core.leave()

    def entry(self, name: str, with_sha256: bool) -> ShardEntry:
        """What a manifest says of the file, which is finished."""
        where = self.temporary_path or self.path
        records, record_bytes, checksum = self._core.digest or (0, 0, 0)
        return ShardEntry(
            name,
            records,
            record_bytes,
            pathlib.Path(where).stat().st_size,
            self.compression_type,
            f"{checksum:08x}",
            sha256_of(where) if with_sha256 else None,
        )


class ShardedWriter:
    """Writes records to several files, which all appear when it is closed.

    With `num_shards`, records go to the shards in turn, so that shards differ by at most one
    record. With `max_records` or `max_bytes`, one shard is filled after the other; then the
    template may name the number of shards only because the files get their names at the end.

    Args:
        path_template: The files' names, with `{shard}` and, if you like, `{num_shards}`, each with
            a format such as `{shard:05d}`.
        num_shards: How many shards to write.
        max_bytes: The most bytes of records (before compression) in a shard; a single larger record
            has a shard for itself.
        max_records: The most records in a shard.
        compression_type: As for RecordWriter.
        level: As for RecordWriter.
        num_threads: How many threads compress a GZIP shard (at most 1,024); None is one for each
            core where one shard is filled after the other, two where up to 64 are filled at a time,
            and where these are more, the caller's own.
        sync: As for RecordWriter.
        manifest: Whether to write a manifest, which names the files, what is in each, and checksums
            (docs/manifest.md), or where: True is beside the files, `train.manifest.json` for
            `train-{shard:05d}-of-{num_shards:05d}`. It is published last: while it is not there, or
            not of these files, the set is not complete. `read_manifest(path).verify()` says which.
        sha256: Whether the manifest has the SHA-256 of each file, against changes that are no
            accident; the files are then read once more.
        schema: What features the records have, for the manifest.

    Attributes:
        paths: The files, once they are published.
        manifest_path: Where the manifest is or will be, or None.

    Raises:
        FileError: A file cannot be written, or another writer has it open.
        SpecError: There is not exactly one limit, or the template cannot tell the shards apart.

    Example:
        >>> import tfrecs
        >>> with tfrecs.ShardedWriter("part-{shard:05d}-of-{num_shards:05d}", num_shards=2) as out:
        ...     out.write_batch([b"a", b"b", b"c"])
        >>> out.paths, tfrecs.count(out.paths)
        (['part-00000-of-00002', 'part-00001-of-00002'], 3)
    """

    def __init__(
        self,
        path_template: Path,
        num_shards: int | None = None,
        max_bytes: int | None = None,
        max_records: int | None = None,
        compression_type: str | None = "auto",
        level: int | None = None,
        num_threads: int | None = None,
        *,
        sync: bool = True,
        manifest: bool | Path = False,
        sha256: bool = False,
        schema: Features | None = None,
    ) -> None:
        """Check the options; the first file is opened with the first record."""
        limits = [limit for limit in (num_shards, max_bytes, max_records) if limit is not None]
        if len(limits) != 1 or limits[0] < 1:
            raise SpecError("give exactly one of num_shards, max_bytes and max_records, at least 1")
        if num_shards is not None and num_shards > MOST_SHARDS:
            raise SpecError(f"num_shards must be at most {MOST_SHARDS:,}, not {num_shards:,}")
        self._template = checked_name(path_template)
        self._folder = pathlib.Path.cwd()  # of relative paths, wherever the process goes
        self._num_shards = num_shards
        self._max_bytes = max_bytes
        self._max_records = max_records
        self._compression_type = checked_compression(compression_type)
        self._level = level
        self._sync = sync
        checked_threads(num_threads)
        self._num_threads = num_threads
        if num_threads is None and num_shards is not None and num_shards > 1:
            self._num_threads = 2 if num_shards <= MANY_SHARDS else 1
        self._writers: list[_Shard] = []
        self._bytes = 0
        self._records = 0
        self._closed = False
        self._finished: list[str] = []
        self._manifest: _core.WholeFile | None = None
        self.paths: list[str] = []
        self._check_names(num_shards or 2)
        if self._compression_type == "auto":
            _core.compression_of_name(self._path(0, num_shards or 1))
        self.manifest_path = self._manifest_name(manifest)
        if self.manifest_path is None and (sha256 or schema is not None):
            raise SpecError("sha256 and schema are for a manifest: give manifest=True, or its path")
        self._sha256 = sha256
        self._schema = schema
        features_to_data(schema or {})  # what cannot be written is refused before anything is
        self._finish_earlier()
        try:
            for _ in range(num_shards or 0):
                self._open_shard()
        except BaseException:
            self.discard()
            raise

    @property
    def num_records(self) -> int:
        """How many records were written so far."""
        return self._records

    def write(self, record: bytes) -> None:
        """Add a record."""
        self._writer_for(len(record)).write(record)
        self._records += 1
        self._bytes += len(record)

    def write_batch(self, records: Records | Iterable[bytes]) -> None:
        """Add records."""
        for record in records:
            self.write(record)

    def close(self) -> None:
        """Complete all files, then publish them, the manifest last. Closing twice is no error.

        Renaming several files is not one step for others, so a journal in their folder says what
        is left to do (`tfrecs.journal`): while it is there, reading them as a set is an error. The
        next ShardedWriter of this template, or `tfrecs repair FOLDER`, does what a process left
        undone that was killed meanwhile. Should publishing one of the files fail, those before it
        are taken back; but if one of these has replaced a file, the journal stays.
        """
        if self._closed:
            return
        try:
            publish_sets([self])
        finally:
            self.discard()

    def _complete(self) -> None:
        """Complete all files, which have no names yet."""
        if not self._writers:
            self._open_shard()
        total = len(self._writers)
        self._check_names(total)
        for writer in self._writers:
            writer.finish()
        self._finished = [self._path(shard, total) for shard in range(total)]

    def flush(self) -> None:
        """Hand everything so far to the operating system; see RecordWriter.flush()."""
        for writer in self._unfinished():
            writer.flush()

    def sync(self) -> None:
        """Flush, and wait until it is all on the disk: it then survives a power cut too."""
        for writer in self._unfinished():
            writer.sync()

    def _unfinished(self) -> list[_Shard]:
        if self._closed:
            raise StateError("Writer is closed.")
        if self._num_shards is not None:
            return self._writers
        return [*self._writers[:1], *self._writers[1:][-1:]]

    def _moves(self) -> Iterator[tuple[pathlib.Path, Move]]:
        """Yield what is to be published, and the folder of each; the manifest is the last."""
        for writer, path in zip(self._writers, self._finished, strict=True):
            where = final_path(self._folder / path)
            yield where.parent, writer.move(where.name)
        self._manifest = self._write_manifest(self._finished)
        if self._manifest is not None:
            where = final_path(self._folder / str(self.manifest_path))
            yield where.parent, _move_of(self._manifest, where.name)

    def _settle(self, *, is_published: bool) -> None:
        """Leave the files to a journal, or return their names if they are published."""
        for writer in self._writers:
            writer.leave()
        if self._manifest is not None:
            self._manifest.leave()
        if is_published:
            self.paths = self._finished

    def _write_manifest(self, paths: list[str]) -> _core.WholeFile | None:
        """The manifest, which has no name yet: whatever can go wrong with it does so here."""
        if self.manifest_path is None:
            return None
        where = self._folder / self.manifest_path
        entries = []
        for writer, path in zip(self._writers, paths, strict=True):
            name = os.path.relpath(self._folder / path, where.parent)
            entries.append(writer.entry(pathlib.Path(name).as_posix(), self._sha256))
        text = manifest_text(entries, self._schema)
        return _core.WholeFile(where, text.encode(), self._sync)

    def _manifest_name(self, manifest: bool | Path) -> str | None:
        if not isinstance(manifest, bool):
            return checked_name(manifest)
        folder, begin = self._begin()
        name = f"{begin}.manifest.json" if begin else "manifest.json"
        return os.path.join(folder, name) if manifest else None  # noqa: PTH118 - stays as given

    def _begin(self) -> tuple[str, str]:
        """Return the folder of the template, and what all names in it begin with."""
        folder, begin = os.path.split(self._template.partition("{")[0])
        return folder, begin.rstrip("-_. ")

    @property
    def _set_name(self) -> str:
        return self._begin()[1] or "set"

    def _finish_earlier(self) -> None:
        """Do what an earlier writer of this set has left undone that was killed."""
        for path in (self._path(0, self._num_shards or 1), self.manifest_path):
            if path is not None and (folder := final_path(self._folder / path).parent).is_dir():
                finish_sets(folder, self._set_name)

    def discard(self) -> None:
        """Give up all files that are not published."""
        self._closed = True
        for writer in self._writers:
            writer.discard()
        if self._manifest is not None:
            self._manifest.discard()

    def _writer_for(self, size: int) -> _Shard:
        if self._closed:
            raise StateError("Writer is closed.")
        if self._num_shards is not None:
            return self._writers[self._records % self._num_shards]
        if not self._writers or self._is_full(size):
            self._open_shard()
        return self._writers[-1]

    def _is_full(self, size: int) -> bool:
        writer = self._writers[-1]
        if self._max_records is not None:
            return writer.num_records >= self._max_records
        return writer.num_records > 0 and self._bytes + size > (self._max_bytes or 0)

    def _open_shard(self) -> None:
        shard = len(self._writers)
        if shard > 1 and self._num_shards is None:
            # A full shard needs no open file, and there may be many. But by the first one another
            # writer of the same set is refused.
            self._writers[-1].finish()
        self._bytes = 0
        path = self._path(shard, self._num_shards or 0)
        writer = _Shard(
            self._folder / path,
            digest=True,
            compression_type=self._compression_type,
            level=self._level,
            num_threads=self._num_threads,
            sync=self._sync,
        )
        self._writers.append(writer)

    def _check_names(self, num_shards: int) -> None:
        if len({self._path(shard, num_shards) for shard in range(num_shards)}) < num_shards:
            raise SpecError(f"the template {self._template!r} gives several shards the same name")

    def _path(self, shard: int, num_shards: int) -> str:
        try:
            return self._template.format(shard=shard, num_shards=num_shards)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise SpecError(f"bad path_template {self._template!r}: {error}") from error

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Publish the files; after an exception in the block, discard them."""
        if exception_type is None:
            self.close()
        else:
            self.discard()

    def __repr__(self) -> str:
        """Show the template and the number of shards and records."""
        shards = counted(len(self._writers), "shard")
        records = counted(self._records, "record")
        return f"ShardedWriter({self._template!r}, {shards}, {records})"


def publish_sets(sets: Sequence[ShardedWriter], old: Iterable[pathlib.Path] = ()) -> None:
    """Complete the files of several writers, publish them together, and remove old ones then.

    Raises:
        FileError: A file cannot get its name; see `ShardedWriter.close`.
    """
    for one in sets:
        one._complete()  # noqa: SLF001 - of this module
    moves = [move for one in sets for move in one._moves()]  # noqa: SLF001 - of this module
    new = {folder / move.target for folder, move in moves}
    replaced = [path.parent.resolve() / path.name for path in old if final_path(path) not in new]
    replaced += [path for path in _outdated({*new, *replaced}) if path not in new]
    name = sets[0]._set_name  # noqa: SLF001 - of this module
    folders = dict.fromkeys(os.fspath(folder) for folder, _ in moves)
    try:
        publish(name, moves, replaced, sync=all(one._sync for one in sets))  # noqa: SLF001
    except BaseException:
        if is_interrupted(folders, name):
            for one in sets:
                one._settle(is_published=False)  # noqa: SLF001 - of this module
        raise
    for one in sets:
        one._settle(is_published=True)  # noqa: SLF001 - of this module


def _outdated(replaced: set[pathlib.Path]) -> Iterator[pathlib.Path]:
    """Yield the manifests that are of nothing but what is replaced."""
    for folder in {path.parent for path in replaced}:
        names = {path.name for path in replaced if path.parent == folder}
        for name in outdated_manifests(folder, names):
            yield folder / name


def _move_of(manifest: _core.WholeFile, name: str) -> Move:
    where = pathlib.Path(str(manifest.temporary_path))
    content = where.read_bytes()
    return Move(where.name, name, len(content), None, f"{zlib.crc32(content):08x}")
