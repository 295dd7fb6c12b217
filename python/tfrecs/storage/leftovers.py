"""What writers have left behind that were killed."""

import errno
import fnmatch
import glob
import os
import pathlib
import shutil
from dataclasses import dataclass

from tfrecs import _core
from tfrecs._internal.checks import checked_name
from tfrecs.errors import FileError, MissingFileError, file_error
from tfrecs.storage.journal import awaited_in


@dataclass(frozen=True)
class Leftover:
    """A temporary file whose writer is gone; see leftovers().

    Attributes:
        path: Where it is; a folder, if it was to become one (`new_folder()`).
        target: The file that it was to become. A name of more than 180 bytes is shortened here.
        size: How many bytes it has.
    """

    path: str
    target: str
    size: int

    def remove(self) -> None:
        """Delete it, and with it records that may be nowhere else."""
        path = pathlib.Path(self.path)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def leftovers(path: str | os.PathLike[str]) -> list[Leftover]:
    """Return what killed writers have left of a file, or in a folder, sorted by path.

    A file gets its name when it is complete; until then its records are in a hidden sibling, which
    stays behind when the process is killed or the machine stops. The records that were flushed are
    there, and can be read: by RecordReader, up to the error at the end. RecordWriter(target,
    resume=True) continues with `.NAME.tfrecs.tmp`. A new writer of the same name without `resume`
    sets that aside, as `.NAME.tfrecs.0-1.tmp`; nothing but remove() ever deletes it. What is
    complete, and was waiting for other files of its set, has the number of its process in its name.

    A file that is being written is none of these; but on file systems without locks, and for files
    of a set that wait, that is only known of processes of this machine. Nor is a file that waits
    for its name in a journal (see `ShardedWriter.close`): `repair()` of the folder gives it that.

    Raises:
        FileError: The folder cannot be read.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("whole.tfrecord") as out:
        ...     out.write(b"a record")
        ...     tfrecs.leftovers("whole.tfrecord")
        []
        >>> for leftover in tfrecs.leftovers("."):
        ...     leftover.remove()
    """
    found = []
    awaited: dict[str, set[str]] = {}
    for where, target, is_taken, process in _core.find_temporaries(checked_name(path)):
        folder, name = os.path.split(where)
        if folder not in awaited:
            awaited[folder] = awaited_in(folder or ".")
        if not (is_taken or name in awaited[folder] or (process and _is_alive(process))):
            size = _size_of(where)
            if size is not None:
                found.append(Leftover(where, target, size))
    return found


def _size_of(where: str) -> int | None:
    """Return the size of a file; None if somebody has removed or renamed it meanwhile."""
    try:
        return pathlib.Path(where).stat().st_size
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_error(error, where) from error


def missing_file(path: str) -> MissingFileError:
    """Return the error for a file that is not there, with what may have been meant instead.

    Example:
        >>> print(missing_file("no.tfrecord"))
        no.tfrecord: No such file or directory
    """
    reason = f"{os.strerror(errno.ENOENT)}{_meant(path)}"
    return MissingFileError(f"{path}: {reason}", path=path, reason=reason, errno=errno.ENOENT)


def has_leftover(path: str) -> bool:
    """Return whether a killed writer has left something of a file."""
    try:
        return bool(leftovers(path))
    except FileError:  # there is no such folder
        return False


def left_behind(path: str) -> str:
    """Return what to say of a leftover of a file, or in a folder; nothing where there is none."""
    return _said_of(leftovers(path)) if has_leftover(path) else ""


def left_behind_of_pattern(pattern: str) -> str:
    """Return what to say of a leftover of a file that a pattern matches; nothing without one.

    Example:
        >>> left_behind_of_pattern("no-*.tfrecord")
        ''
    """
    folder, name = os.path.split(pattern)
    folders = [folder or "."]
    if glob.has_magic(folder):
        folders = sorted(glob.glob(folder))  # noqa: PTH207 - keeps the names as given
    found = [left for one in folders if has_leftover(one) for left in leftovers(one)]
    return _said_of([left for left in found if fnmatch.fnmatch(_name(left), name)])


def _name(left: Leftover) -> str:
    return os.path.basename(left.target)  # noqa: PTH119 - of a name that may be relative


def _said_of(found: list[Leftover]) -> str:
    if not found:
        return ""
    return (
        f"; a writer that was killed left {found[0].path}, which RecordReader reads "
        "and RecordWriter(..., resume=True) completes"
    )


def _meant(path: str) -> str:
    if said := left_behind(path):
        return said
    if glob.has_magic(path):
        return "; a pattern is expanded by open(), Dataset(), count() and verify()"
    return ""


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # there is no harmless way to ask
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True
