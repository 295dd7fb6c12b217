"""A folder that appears whole."""

from __future__ import annotations

import errno
import os
import pathlib
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from tfrecs.errors import ExistingFileError, file_error
from tfrecs.storage.paths import Path


@contextmanager
def new_folder(path: Path) -> Iterator[pathlib.Path]:
    """Make a folder that appears under its name with all that was written into it, in one step.

    Until then it is a hidden folder beside its place, which is what the block gets; after an
    exception that is removed. Nobody ever sees some of its files without the others: a single
    rename of a folder is one step, n renames of files are not (see `ShardedWriter.close`). What a
    killed process leaves is among the `leftovers()` of the folder around it.

    Args:
        path: The folder. Those above it are made if need be.

    Yields:
        The folder to write into.

    Raises:
        FileError: There is something of this name already, or it cannot be made.

    Example:
        >>> import tfrecs
        >>> with tfrecs.new_folder("published") as folder:
        ...     with tfrecs.ShardedWriter(folder / "train-{shard}", 2) as out:
        ...         out.write_batch([b"a", b"b", b"c"])
        >>> tfrecs.count("published")
        3
    """
    target = pathlib.Path(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100 - follows no link
    try:
        if not os.path.lexists(target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
        _check_free(target)
        # As all temporary files are named: leftovers() finds them.
        name = f".{target.name[:50]}.tfrecs.{os.getpid()}-{secrets.randbits(60)}.tmp"
        temporary = target.with_name(name)
        temporary.mkdir()
    except OSError as error:
        raise file_error(error, os.fspath(target)) from error
    try:
        yield temporary
        _publish(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _publish(temporary: pathlib.Path, target: pathlib.Path) -> None:
    try:
        _check_free(target)  # a rename would replace an empty folder
        temporary.rename(target)
        _sync(target.parent)
    except OSError as error:
        raise file_error(error, os.fspath(target)) from error


def _check_free(target: pathlib.Path) -> None:
    if os.path.lexists(target):
        reason = "there is something of this name already"
        text = f"{target}: {reason}"
        raise ExistingFileError(text, path=target, reason=reason, errno=errno.EEXIST)


def _sync(folder: pathlib.Path) -> None:
    """Make sure that the names in a folder are on the disk, where the system can open folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP}:
            raise
    finally:
        os.close(descriptor)
