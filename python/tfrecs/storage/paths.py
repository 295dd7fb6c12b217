"""Which files a caller means."""

import errno
import glob
import os
import pathlib
import re
import stat
from collections.abc import Iterable
from typing import Any, TypeAlias

from tfrecs._internal.checks import checked_name
from tfrecs.errors import ExistingFileError, MissingFileError, SpecError, file_error
from tfrecs.storage.leftovers import left_behind_of_pattern

Path: TypeAlias = str | os.PathLike[str]
Paths: TypeAlias = Path | Iterable[Path]


def expand_paths(paths: Paths) -> list[str]:
    """Return the files that `paths` names: one path or pattern, or several, in order.

    A name that exists is taken as it is, even if it contains `*`, `?` or `[`; any other name with
    one of these is a pattern (`**` crosses directories), and its matches come sorted.

    Raises:
        MissingFileError: A pattern matches no file, or there is nothing in `paths`.
        SpecError: It is no path, or a URL, or no name that a file can have.

    Example:
        >>> for shard in ("b.tfrecord", "a.tfrecord"):
        ...     _ = open(shard, "wb").close()
        >>> expand_paths("?.tfrecord")
        ['a.tfrecord', 'b.tfrecord']
    """
    given: Any = paths
    if isinstance(given, str | os.PathLike):
        given = [given]
    elif isinstance(given, bytes) or not isinstance(given, Iterable):
        raise _no_path(given)
    found = [file for path in given for file in _expand(path)]
    if not found:
        raise MissingFileError("no files: the list of paths is empty")
    return found


def local_path(path: Path) -> str:
    """Return the name of a single file, as it is, whatever is in it.

    Raises:
        SpecError: It is a URL, or no name that a file can have.

    Example:
        >>> local_path("what?.tfrecord")
        'what?.tfrecord'
    """
    name = checked_name(path)
    _refuse_url(name)
    return name


def size_of(path: str) -> int:
    """Return how many bytes a file has.

    Raises:
        FileError: It is gone, or cannot be looked at.

    Example:
        >>> import pathlib
        >>> _ = pathlib.Path("three").write_bytes(b"abc")
        >>> size_of("three")
        3
    """
    try:
        return os.stat(path).st_size  # noqa: PTH116 - the path is text
    except OSError as error:
        raise file_error(error, path) from error


def final_path(path: str | os.PathLike[str]) -> pathlib.Path:
    """Return where a file called `path` really goes: a link is not replaced, but its target.

    Example:
        >>> final_path("a/b").is_absolute()
        True
    """
    folder, name = os.path.split(os.path.realpath(path))
    return pathlib.Path(folder, name)


def check_regular(path: str) -> None:
    """Refuse a path that only a regular file may have, if there is something else.

    Raises:
        ExistingFileError: There is a folder, a pipe, a device or a socket of this name.

    Example:
        >>> check_regular("a-name-that-is-free")
        >>> try:
        ...     check_regular(".")
        ... except ExistingFileError as error:
        ...     print(error)
        .: there is a folder of this name, and only a file can be replaced
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - a str
    except OSError:  # whoever opens it says why
        return
    if stat.S_ISREG(mode):
        return
    what = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
    reason = f"there is {what} of this name, and only a file can be replaced"
    raise ExistingFileError(f"{path}: {reason}", path=path, reason=reason, errno=errno.EEXIST)


# gs://bucket/name, https://host/name
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def _no_path(given: Any) -> SpecError:
    what = "an empty one" if given == "" else type(given).__name__
    return SpecError(f"a path must be str or os.PathLike, not {what}")


def _refuse_url(name: str) -> None:
    if _URL.match(name) and not os.path.lexists(name):
        raise SpecError(f"{name}: a URL; tfrecs reads local files, so fetch it first", path=name)


def _expand(path: Path) -> list[str]:
    name: Any = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str) or not name:
        raise _no_path(name)
    _refuse_url(checked_name(name))
    if not glob.has_magic(name) or os.path.lexists(name):
        return [name]
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - keeps the names as given
    if not matches:
        reason = f"no file matches this pattern{left_behind_of_pattern(name)}"
        raise MissingFileError(f"{name}: {reason}", path=name, reason=reason)
    return matches
