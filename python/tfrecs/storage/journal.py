"""Journals: the renames and removals left to do when a set of files is published.

n renames are not atomic. Before the first one, a hidden file `.NAME.tfrecs.journal` is published in
the folder of the files: JSON that lists the temporary files, the names they get, what they hold,
and the old files to remove. It is removed last. While it exists, reading the files as a set is an
error; the next writer of the set, or `tfrecs repair`, carries out what is left.

    {"format": "tfrecs journal", "version": 1,
     "moves": [{"from": ".a.tfrecs.7-0.tmp", "to": "a", "size": 19, "records": 1,
                "record_bytes": 3, "checksum": "1f00ab4e"}],
     "old": ["b"], "crc32": "..."}

Names are those of files in the journal's own folder. A file that holds no records has the CRC-32 of
its bytes instead of `records`, `record_bytes` and `checksum`.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfrecs import _core
from tfrecs._internal.checks import checked_name
from tfrecs._internal.logging import logger
from tfrecs._internal.wording import counted
from tfrecs.errors import CorruptRecordError, DeniedFileError, Error, FileError, file_error

FORMAT = "tfrecs journal"
VERSION = 1
END = ".tfrecs.journal"
# How much of a set's name the name of its journal shows; names have at most 255 bytes.
_SHOWN = 200


@dataclass(frozen=True)
class Move:
    """A complete file, which is to get its name.

    Attributes:
        source: Its temporary name, without the folder.
        target: Its name, without the folder.
        size: How many bytes it has.
        records: How many records, how many bytes these have, and their checksum; None: it is
            no file of records.
        crc32: Of its bytes, where it is none.
    """

    source: str
    target: str
    size: int
    records: tuple[int, int, str] | None
    crc32: str | None = None

    def is_whole(self, path: Path) -> bool:
        """Return whether the file at `path` is this one."""
        try:
            found = path.lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_size != self.size:
                return False
            if self.records is None:
                return f"{zlib.crc32(path.read_bytes()):08x}" == self.crc32
            records, record_bytes, checksum = _core.digest_file(path, "auto")
        except (OSError, Error):
            return False
        return (records, record_bytes, f"{checksum:08x}") == self.records


@dataclass(frozen=True)
class FinishedSet:
    """Outcome of recovering a set whose writer was killed while renaming its files.

    Attributes:
        journal: The journal, which is gone now.
        published: The files of the set, which are all there; none, if it was rolled back.
        removed: The files that were removed: old ones, or, if it was rolled back, those that
            waited for their names.

    Example:
        >>> import tfrecs
        >>> with tfrecs.ShardedWriter("sound-{shard}", 2) as out:
        ...     out.write_batch([b"a", b"b"])
        >>> [len(one.published) for one in tfrecs.repair(".")]  # nobody was killed
        []
    """

    journal: str
    published: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True)
class Journal:
    """Recovery to do in a folder.

    Attributes:
        path: The journal's own path.
        moves: The files that get their names.
        old: Names of the files that are removed then.
    """

    path: str
    moves: tuple[Move, ...]
    old: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Folder of the files."""
        return Path(self.path).parent

    def names(self) -> set[str]:
        """Return the names of all files that a reader of the set may come upon."""
        return {*self.old, *(move.target for move in self.moves)}

    def finish(self) -> FinishedSet:
        """Do what is left to do; where a file that waited is gone, roll back if that can be.

        Raises:
            FileError: Its writer is still at it, a file cannot be renamed, or the journal is
                another user's.
            CorruptRecordError: Some files have their names, and others are lost.
        """
        _check_owner(self.path)
        waiting = [move for move in self.moves if move.is_whole(self.folder / move.source)]
        published = [move for move in self.moves if move.is_whole(self.folder / move.target)]
        lost = [move for move in self.moves if move not in waiting and move not in published]
        if lost and len(waiting) + len(lost) == len(self.moves):
            return self._rolled_back(waiting)
        if lost:
            raise self._cannot_be_finished(lost)
        moves = [(self.folder / move.source, self.folder / move.target) for move in waiting]
        _core.finish_set(self.path, (moves, [self.folder / name for name in self.old], True))
        targets = tuple(os.fspath(self.folder / move.target) for move in self.moves)
        return FinishedSet(self.path, targets, tuple(os.fspath(self.folder / n) for n in self.old))

    def _rolled_back(self, waiting: Iterable[Move]) -> FinishedSet:
        sources = [self.folder / move.source for move in waiting]
        _core.finish_set(self.path, ([], sources, True))
        return FinishedSet(self.path, (), tuple(map(os.fspath, sources)))

    def _cannot_be_finished(self, lost: Sequence[Move]) -> CorruptRecordError:
        reason = (
            f"the set cannot be finished: {counted(len(lost), 'file')} of {len(self.moves)} lost, "
            f"such as {lost[0].target}; write it anew, or remove the journal to read what is there"
        )
        return CorruptRecordError(f"{self.path}: {reason}", path=self.path, reason=reason)


def _check_owner(path: str) -> None:
    """Refuse to rename and remove files on the word of a stranger."""
    if hasattr(os, "geteuid") and os.lstat(path).st_uid != os.geteuid():
        reason = "the journal is another user's, who alone can finish the set"
        raise DeniedFileError(f"{path}: {reason}", path=path, reason=reason)


def journal_path(folder: str | os.PathLike[str], name: str) -> str:
    """Return where the journal of a set of this name is, for its files in `folder`.

    Example:
        >>> journal_path("data", "train")
        'data/.train.tfrecs.journal'
    """
    encoded = os.fsencode(name)
    if len(encoded) > _SHOWN:
        name = f"{os.fsdecode(encoded[: _SHOWN // 2])}~{zlib.crc32(encoded):08x}"
    return os.path.join(folder, f".{name}{END}")  # noqa: PTH118 - keeps the folder as given


def publish(
    name: str, moves: Iterable[tuple[Path, Move]], old: Iterable[Path] = (), *, sync: bool = True
) -> None:
    """Give complete files their names and remove old ones: all, or a journal says what is left.

    Args:
        name: Of the set.
        moves: What is to get its name, in order; of each the folder, too.
        old: What is removed then.
        sync: Whether each step waits until the one before is on the disk.

    Raises:
        FileError: A file cannot be renamed. If one of another set was replaced by then, journals
            are left behind, and is_interrupted() says so; otherwise nothing has changed.
    """
    given, removed = list(moves), list(old)
    folders = dict.fromkeys([folder for folder, _ in given] + [path.parent for path in removed])
    journals = []
    for folder in folders:
        here = [move for where, move in given if where == folder]
        names = [path.name for path in removed if path.parent == folder]
        text = _text(here, names)
        journals.append(_core.WholeFile(journal_path(folder, name), text.encode(), sync))
    steps = [(folder / move.source, folder / move.target) for folder, move in given]
    _core.publish_set(journals, (steps, removed, sync))


def is_interrupted(folders: Iterable[str | os.PathLike[str]], name: str) -> bool:
    """Return whether there is a journal of this set."""
    return any(os.path.lexists(journal_path(folder, name)) for folder in folders)


def journals_in(folder: str | os.PathLike[str]) -> Iterator[Journal]:
    """Yield the journals in a folder.

    Raises:
        CorruptRecordError: One is none, or was changed.
        FileError: The folder or one of them cannot be read.
    """
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(END))  # noqa: PTH208
    except OSError as error:
        raise file_error(error, os.fspath(folder)) from error
    for name in names:
        if name.startswith("."):
            found = read_journal(os.path.join(folder, name))  # noqa: PTH118 - as given
            if found is not None:
                yield found


def awaited_in(folder: str | os.PathLike[str]) -> set[str]:
    """Return the temporary names of the files that the journals in a folder are about."""
    try:
        journals = [*journals_in(folder)]
    except Error:  # whoever reads the set, or finishes it, says what is wrong
        return set()
    return {move.source for journal in journals for move in journal.moves}


def finish_sets(folder: str | os.PathLike[str], name: str | None = None) -> list[FinishedSet]:
    """Finish, or roll back, what killed writers have left half done in a folder.

    Args:
        folder: The folder.
        name: Only the set of this name.
    """
    finished = []
    for journal in journals_in(folder):
        if name is None or journal.path == journal_path(folder, name):
            finished.append(journal.finish())
            logger.warning("%s: finished what a killed writer had begun", journal.path)
    return finished


def not_whole(journal: Journal) -> FileError:
    """Return the error for reading files of a set that is not whole, which says what to do."""
    if _core.is_locked(journal.path):
        what = "a writer is giving the files their names: try again when it is done"
    else:
        what = (
            "its writer was killed while it gave the files their names: "
            f"`tfrecs repair {journal.folder}` finishes that, or the writer's next run"
        )
    reason = f"the set is not whole: {what}"
    return FileError(f"{journal.path}: {reason}", path=journal.path, reason=reason)


def own_checksum(data: dict[str, Any]) -> str:
    """Return the CRC-32 of everything else, as JSON without spaces, in the order of the keys."""
    rest = {name: value for name, value in data.items() if name != "crc32"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"{zlib.crc32(text.encode()):08x}"


def _text(moves: Iterable[Move], old: Sequence[str]) -> str:
    data = {"format": FORMAT, "version": VERSION, "moves": [_as_json(move) for move in moves]}
    data["old"] = list(old)
    data["crc32"] = own_checksum(data)
    return json.dumps(data, indent=1) + "\n"


def _as_json(move: Move) -> dict[str, Any]:
    data: dict[str, Any] = {"from": move.source, "to": move.target, "size": move.size}
    if move.records is None:
        return {**data, "crc32": move.crc32}
    records, record_bytes, checksum = move.records
    return {**data, "records": records, "record_bytes": record_bytes, "checksum": checksum}


def read_journal(path: str) -> Journal | None:
    """Return what a journal says; None if it is gone.

    Raises:
        CorruptRecordError: It is none, or was changed.
        FileError: It cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | _NONBLOCK)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - opened above
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            text = file.read() if is_file else b""
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_error(error, path) from error
    try:
        data = json.loads(text)
        if data["format"] != FORMAT or data["crc32"] != own_checksum(data):
            raise _no_journal(path)
        moves = tuple(_move(entry) for entry in data["moves"])
        return Journal(path, moves, tuple(map(_name, data["old"])))
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        raise _no_journal(path) from error


_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def _move(entry: dict[str, Any]) -> Move:
    source, target, size = _name(entry["from"]), _name(entry["to"]), int(entry["size"])
    if not (source.startswith(".") and source.endswith(".tmp")):
        raise ValueError(source)
    if "crc32" in entry:
        return Move(source, target, size, None, str(entry["crc32"]))
    records = int(entry["records"]), int(entry["record_bytes"]), str(entry["checksum"])
    return Move(source, target, size, records)


def _name(name: Any) -> str:
    """Return the name of a file in the journal's folder: it leads nowhere else."""
    if not isinstance(name, str) or name in {"", ".", ".."} or "/" in name:
        raise ValueError(name)
    return checked_name(name)


def _no_journal(path: str) -> CorruptRecordError:
    reason = "this is not a sound journal: remove it, if nothing writes here"
    return CorruptRecordError(f"{path}: {reason}", path=path, reason=reason)
