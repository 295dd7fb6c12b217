"""Files that are read as one set: whether they are one.

A journal beside them says that their writer was killed half way; a manifest says what they were.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from tfrecs._internal.wording import counted
from tfrecs.errors import CorruptRecordError, Error, FileError, SkippedFilesWarning, SpecError, warn
from tfrecs.records.manifest_file import ShardEntry, read_entries
from tfrecs.storage.folders import find_files
from tfrecs.storage.journal import END, not_whole, read_journal
from tfrecs.storage.paths import Paths

MANIFEST_END = "manifest.json"


def record_files(paths: Paths) -> list[str]:
    """Return the TFRecord files that `paths` mean, as `find_files()`; warn of skipped ones.

    Files of a folder, of a pattern, or several, are read as one set, which must be whole.

    Raises:
        FileError: As for `find_files()` and `check_sets()`.
        CorruptRecordError: As for `check_sets()`.

    Example:
        >>> import pathlib, tfrecs, warnings
        >>> pathlib.Path("set").mkdir()
        >>> for name in ("set/b.tfrecord", "set/part-r-00000", "set/plain"):
        ...     with tfrecs.RecordWriter(name) as out:
        ...         out.write(b"a record")
        >>> _ = pathlib.Path("set/README.md").write_text("about the set")
        >>> with warnings.catch_warnings(record=True) as said:
        ...     warnings.simplefilter("always")
        ...     files = record_files("set")
        >>> files
        ['set/b.tfrecord', 'set/part-r-00000', 'set/plain']
        >>> print(said[0].message)
        skipped 1 file that is not TFRecord: set/README.md
    """
    found = find_files(paths)
    if found.skipped:
        warn(found.skipped_line(), SkippedFilesWarning)
    if not found.is_one_file:
        check_sets(found.files, are_all=not found.are_given)
    return found.files


def check_sets(files: Iterable[str], *, are_all: bool) -> None:
    """Refuse files that are no whole set.

    Args:
        files: What is to be read as a set.
        are_all: Whether they are all that a folder has, or that a pattern matches: what a manifest
            beside them names must be there then.

    Raises:
        FileError: A writer is giving the files their names, or was killed when it did.
        CorruptRecordError: They are not what a manifest in their folder says.
    """
    by_folder = defaultdict(list)
    for file in files:
        folder, name = os.path.split(file)
        by_folder[folder].append(name)
    for folder, names in by_folder.items():
        _check_folder(folder, names, are_all=are_all)


def _check_folder(folder: str, names: Sequence[str], *, are_all: bool) -> None:
    try:
        there = os.listdir(folder or ".")  # noqa: PTH208 - names are text
    except OSError:  # it can be entered, but not listed
        return
    for name in sorted(there):
        path = os.path.join(folder, name)  # noqa: PTH118 - keeps the folder as given
        if name.startswith(".") and name.endswith(END):
            journal = read_journal(path)
            if journal is not None and not journal.names().isdisjoint(names):
                raise not_whole(journal)
        elif name.endswith(MANIFEST_END):
            _check_manifest(path, names, are_all=are_all)


def outdated_manifests(folder: str | os.PathLike[str], replaced: Collection[str]) -> Iterator[str]:
    """Yield the manifests in a folder whose files are all being replaced."""
    for name in os.listdir(folder):  # noqa: PTH208 - names are text
        if name.endswith(MANIFEST_END):
            entries = entries_at(os.path.join(folder, name))  # noqa: PTH118 - as given
            if entries and all(entry in replaced for entry in entries):
                yield name


def entries_at(manifest: str) -> dict[str, ShardEntry]:
    """Return what a manifest of ours says of files; nothing for what is none, or is gone."""
    try:
        entries, _ = read_entries(manifest)
    except (CorruptRecordError, FileError, SpecError):
        return {}
    return {os.path.normpath(entry.name): entry for entry in entries}


def _check_manifest(manifest: str, names: Sequence[str], *, are_all: bool) -> None:
    folder, entries = os.path.dirname(manifest), entries_at(manifest)  # noqa: PTH120 - as given
    used = [name for name in names if name in entries]
    if not used:
        return
    for name in used:
        _check_size(manifest, os.path.join(folder, name), entries[name])  # noqa: PTH118 - as given
    shapes = {_shape(name) for name in entries}
    for name in names:
        if name not in entries and _shape(name) in shapes:
            raise _differs(manifest, f"does not name {name}, which is called as its files are")
    if not are_all:
        return
    for name in entries:
        path = os.path.join(folder, name)  # noqa: PTH118 - as given
        if not os.path.exists(path):  # noqa: PTH110 - a str
            raise _differs(manifest, f"names {name}, which is not there")


def _check_size(manifest: str, path: str, entry: ShardEntry) -> None:
    try:
        size = os.stat(path).st_size  # noqa: PTH116 - a str
    except OSError:  # whoever opens it says why
        return
    if size != entry.size:
        said = f"says that {entry.name} has {counted(entry.size, 'byte')}, and it has {size}"
        raise _differs(manifest, said)


def _shape(name: str) -> str:
    """Return a name without its numbers: those of a set differ by them only."""
    return re.sub(r"\d+", "#", name)


def _differs(manifest: str, said: str) -> Error:
    reason = (
        f"the set is not whole: the manifest {said}; Manifest.verify() tells all, and if the files "
        "are right, remove the manifest or write it anew"
    )
    return CorruptRecordError(f"{manifest}: {reason}", path=manifest, reason=reason)
