"""Manifests: which files are a data set, and what is in them (docs/manifest.md)."""

import os
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass

from tfrecs import _core
from tfrecs._internal.checks import checked_name
from tfrecs._internal.wording import counted
from tfrecs.errors import CorruptRecordError, Error, MissingFileError, file_error
from tfrecs.features import Feature
from tfrecs.records.manifest_file import ShardEntry, read_entries, sha256_of
from tfrecs.records.reader import FileReport, VerifyReport
from tfrecs.storage.folders import find_files
from tfrecs.storage.paths import Path, Paths


@dataclass(frozen=True)
class Manifest:
    """Which files are a data set, in order, and what is in them; from read_manifest().

    Attributes:
        path: The manifest's own path.
        shards: What it says of each file.
        schema: What features the records have, if the writer was told.

    Example:
        >>> import tfrecs
        >>> template = "set-{shard}-of-{num_shards}"
        >>> with tfrecs.ShardedWriter(template, num_shards=2, manifest=True) as out:
        ...     out.write_batch([b"a", b"b", b"c"])
        >>> manifest = tfrecs.read_manifest("set.manifest.json")
        >>> manifest.paths, manifest.records, manifest.verify().ok
        (['set-0-of-2', 'set-1-of-2'], 3, True)
    """

    path: str
    shards: tuple[ShardEntry, ...]
    schema: dict[str, Feature] | None = None

    @property
    def paths(self) -> list[str]:
        """The files, in order."""
        folder = pathlib.Path(self.path).parent
        return [os.path.normpath(folder / shard.name) for shard in self.shards]

    @property
    def records(self) -> int:
        """How many records all files have together."""
        return sum(shard.records for shard in self.shards)

    @property
    def size(self) -> int:
        """How many bytes all files have together."""
        return sum(shard.size for shard in self.shards)

    def verify(self, paths: Paths | None = None, *, recompressed: bool = False) -> VerifyReport:
        """Read all files, and report what is not as the manifest says.

        A file that is missing, or was swapped with another; a record that was changed, lost, added,
        doubled or moved; a cut, also between records: each is noticed, down to accidents of one in
        2^32. Against somebody who wants them not to be noticed, only `sha256` helps, and only if
        they cannot change the manifest.

        Args:
            paths: The files that are used as this data set, if these are found by a pattern or in
                a folder: they must be those of the manifest, each once, in its order.
            recompressed: Whether other sizes, compressions and SHA-256 are as good: of the same
                records, written anew.

        Raises:
            MissingFileError: A pattern in `paths` matches no file.

        Example:
            >>> import tfrecs
            >>> template = "checked-{shard}-of-{num_shards}"
            >>> with tfrecs.ShardedWriter(template, num_shards=2, manifest=True) as out:
            ...     out.write_batch([b"a", b"b", b"c", b"d"])
            >>> with tfrecs.RecordWriter("checked-1-of-2") as out:
            ...     out.write(b"b")
            >>> report = tfrecs.read_manifest("checked.manifest.json").verify("checked-*-of-2")
            >>> [file.error.reason for file in report.files if file.error]
            ['the manifest says 34 bytes, the file has 17']
        """
        wanted = list(zip(self.paths, self.shards, strict=True))
        files = [_check(path, shard, recompressed) for path, shard in wanted]
        if paths is not None:
            files += _strangers(find_files(paths).files, self.paths)
        return VerifyReport(files)


def _check(path: str, shard: ShardEntry, recompressed: bool) -> FileReport:
    """What is wrong with one file."""
    try:
        if not pathlib.Path(path).exists():
            reason = "the manifest has a file that is not there"
            error = MissingFileError(f"{path}: {reason}", path=path, reason=reason)
            return FileReport(path, 0, None, error)
        size = pathlib.Path(path).stat().st_size
        if not recompressed and size != shard.size:
            return _differs(path, shard, counted(shard.size, "byte"), str(size))
        told = "auto" if recompressed else shard.compression_type
        records, record_bytes, checksum = _core.digest_file(path, told)
        found = (records, record_bytes, f"{checksum:08x}")
        if found != (shard.records, shard.record_bytes, shard.checksum):
            return _wrong_records(path, shard, found)
        if shard.sha256 is not None and not recompressed and sha256_of(path) != shard.sha256:
            return _differs(path, shard, "another SHA-256")
    except (Error, OSError) as error:  # such as a name that is too long for this file system
        known = error if isinstance(error, Error) else file_error(error, path)
        return FileReport(path, known.record or 0, shard.compression_type, known)
    return FileReport(path, records, told if told != "auto" else shard.compression_type)


def _wrong_records(path: str, shard: ShardEntry, found: tuple[int, int, str]) -> FileReport:
    records, record_bytes, checksum = found
    if records != shard.records:
        return _differs(path, shard, counted(shard.records, "record"), str(records))
    if record_bytes != shard.record_bytes:
        return _differs(
            path, shard, f"records of {counted(shard.record_bytes, 'byte')}", str(record_bytes)
        )
    return _differs(path, shard, f"records with the checksum {shard.checksum}", checksum)


def _differs(path: str, shard: ShardEntry, said: str, found: str | None = None) -> FileReport:
    reason = f"the manifest says {said}" + (f", the file has {found}" if found else "")
    error = CorruptRecordError(f"{path}: {reason}", path=path, reason=reason)
    return FileReport(path, 0, shard.compression_type, error)


def _strangers(used: list[str], wanted: list[str]) -> Iterator[FileReport]:
    """What is wrong with which files are used."""
    listed = {os.path.realpath(path): path for path in wanted}
    known = [path for path in used if os.path.realpath(path) in listed]
    for path in used:
        if os.path.realpath(path) not in listed:
            yield _misplaced(path, "the manifest does not have this file")
    seen = {os.path.realpath(path) for path in known}
    for real, path in listed.items():
        if real not in seen:
            yield _misplaced(path, "the manifest has this file, and it is not used")
    order = [real for real in listed if real in seen]
    for path, real in zip(known, order, strict=False):
        if os.path.realpath(path) != real:
            yield _misplaced(path, f"the manifest has {listed[real]} in its place")
            return
    for path in known[len(order) :]:
        yield _misplaced(path, "the manifest has this file once")


def _misplaced(path: str, reason: str) -> FileReport:
    error = CorruptRecordError(f"{path}: {reason}", path=path, reason=reason)
    return FileReport(path, 0, None, error)


def read_manifest(path: Path) -> Manifest:
    """Read what ShardedWriter wrote with `manifest`.

    Raises:
        FileError: It cannot be read.
        CorruptRecordError: It is no manifest, or was changed.
        SpecError: It is of a version that this version of tfrecs does not know.

    Example:
        >>> import tfrecs
        >>> template = "named-{shard}-of-{num_shards}"
        >>> age = tfrecs.FixedLenFeature([], "int64")
        >>> with tfrecs.ShardedWriter(
        ...     template, max_records=1000, manifest=True, schema={"age": age}
        ... ) as out:
        ...     out.write(tfrecs.encode_example({"age": 36}))
        >>> manifest = tfrecs.read_manifest(out.manifest_path)
        >>> manifest.paths, manifest.schema
        (['named-0-of-1'], {'age': FixedLenFeature(shape=[], dtype='int64', default_value=None)})
    """
    name = checked_name(path)
    shards, schema = read_entries(name)
    return Manifest(name, shards, schema)
