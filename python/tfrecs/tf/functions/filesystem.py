"""`tf.io.gfile`: files and folders of this machine."""

from __future__ import annotations

import glob as globbing
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tfrecs.errors import file_error
from tfrecs.tf.functions.file_io import GFile, path_of, tried
from tfrecs.tf.functions.leaf import found
from tfrecs.tf.tensor.values import unwrapped

__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "walk",
]


def glob(pattern: Any) -> list[str]:
    """Return the files that match a pattern, or one of several, in order.

    Example:
        >>> from tfrecs import tf
        >>> tf.io.write_file("some/a.txt", "a")
        >>> tf.io.gfile.glob("some/*.txt")
        ['some/a.txt']
    """
    given = pattern if isinstance(pattern, list | tuple) else [pattern]
    return [file for one in given for file in _matches(path_of(one))]


def matching(pattern: Any) -> list[str]:
    """Return each file once that matches a pattern, or one of several, which may be a value."""
    given = unwrapped(pattern)
    one = isinstance(given, str | bytes | os.PathLike)
    return sorted(set(glob([given] if one else np.asarray(given, object).reshape(-1).tolist())))


def _matches(pattern: str) -> list[str]:
    # As TensorFlow, which says of what lies here that it lies here.
    here = pattern if os.path.dirname(pattern) else os.path.join(".", pattern)  # noqa: PTH118, PTH120
    return sorted(globbing.glob(here))  # noqa: PTH207 - keeps the names as given


def exists(path: Any) -> bool:
    """Whether there is such a file or folder."""
    return os.path.exists(path_of(path))  # noqa: PTH110 - of text


def isdir(path: Any) -> bool:
    """Whether it is a folder."""
    return os.path.isdir(path_of(path))  # noqa: PTH112 - of text


def listdir(path: Any) -> list[str]:
    """Return the names in a folder, in order."""
    return sorted(tried(os.listdir, path_of(path)))


def makedirs(path: Any) -> None:
    """Make a folder, and those that it is in, unless it is there."""
    tried(lambda name: Path(name).mkdir(parents=True, exist_ok=True), path_of(path))


def mkdir(path: Any) -> None:
    """Make a folder, unless it is there."""
    tried(lambda name: Path(name).mkdir(exist_ok=True), path_of(path))


def join(path: Any, *paths: Any) -> str:
    """Return a path of parts."""
    return os.path.join(path_of(path), *map(path_of, paths))  # noqa: PTH118 - of text


def walk(top: Any, topdown: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Return for a folder, and each one in it, the path, the folders and the files in it."""
    return os.walk(path_of(top), topdown)


def remove(path: Any) -> None:
    """Remove a file."""
    tried(os.remove, path_of(path))


def rmtree(path: Any) -> None:
    """Remove a folder and all that is in it."""
    tried(shutil.rmtree, path_of(path))


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file."""
    _check_free(dst, overwrite)
    tried(lambda name: shutil.copyfile(name, path_of(dst)), path_of(src))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file another name."""
    _check_free(dst, overwrite)
    tried(lambda name: Path(name).replace(path_of(dst)), path_of(src))


def _check_free(path: Any, overwrite: bool) -> None:
    if exists(path) and not overwrite:
        raise file_error(FileExistsError(17, "file already exists"), path_of(path))


def __getattr__(name: str) -> Any:
    """Return what `tf.gfile` of TensorFlow 1 had, or say which is nearest.

    Raises:
        AttributeError: There is none.
    """
    return found("tf.io.gfile", name, __all__)
