"""Which files a caller means."""

import glob
import os
from collections.abc import Iterable
from typing import TypeAlias

from tfrecs.errors import MissingFileError, SpecError

Path: TypeAlias = str | os.PathLike[str]
Paths: TypeAlias = Path | Iterable[Path]


def expand_paths(paths: Paths) -> list[str]:
    """Return the files that `paths` names: one path or pattern, or several, in order.

    A name that exists is taken as it is, even if it contains `*`, `?` or `[`; any other name with
    one of these is a pattern (`**` crosses directories), and its matches come sorted.

    Raises:
        MissingFileError: A pattern matches no file, or there is nothing in `paths`.

    Example:
        >>> for shard in ("b.tfrecord", "a.tfrecord"):
        ...     _ = open(shard, "wb").close()
        >>> expand_paths("?.tfrecord")
        ['a.tfrecord', 'b.tfrecord']
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = [file for path in given for file in _expand(path)]
    if not found:
        raise MissingFileError("no files: the list of paths is empty")
    return found


def _expand(path: Path) -> list[str]:
    name = os.fspath(path)
    if not isinstance(name, str):
        raise SpecError(f"a path must be str or os.PathLike, not {type(name).__name__}")
    if not glob.has_magic(name) or os.path.lexists(name):
        return [name]
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - keeps the names as given
    if not matches:
        raise MissingFileError(f"{name}: no file matches this pattern", path=name)
    return matches
