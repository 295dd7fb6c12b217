"""Indices of files: where they are kept, and when they are made."""

import errno
import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Self

from tfrecs import _core
from tfrecs._internal.checks import (
    NO_LIMITS,
    Limits,
    checked_compression,
    checked_name,
    checked_threads,
)
from tfrecs._internal.logging import logger
from tfrecs._internal.wording import plural
from tfrecs.errors import Error, FileError, MissingFileError, SpecError, warn
from tfrecs.records.whole_sets import record_files
from tfrecs.storage.folders import find_files
from tfrecs.storage.paths import Paths, expand_paths

# The index of a smaller file is made as fast as it is read.
_WORTH_KEEPING = 1 << 20

_SUFFIX = ".tfrindex"


def build_index(
    paths: Paths,
    index_paths: Paths | None = None,
    *,
    format: str = "binary",  # noqa: A002 - what everybody calls it
    compression_type: str | None = "auto",
    num_threads: int | None = None,
) -> list[str]:
    """Write the index of each file, and return where they are.

    open() does this by itself where it pays. An index of one's own making is for folders that
    others will read and cannot write to, and for other programs.

    Args:
        paths: A file, a pattern, a folder (all TFRecord files in it), or a list of them.
        index_paths: Where to write, one for each file. None: beside each file, hidden
            (`.NAME.tfrindex`), where open() finds it; of format "text" `NAME.idx`.
        format: "binary" (docs/format.md), or "text": a line with offset and length for each record,
            as NVIDIA DALI's and vahidk's tfrecord2idx write it, for uncompressed files only.
        compression_type: As for RecordReader.
        num_threads: How many threads (at most 1,024); None is one for each core.

    Raises:
        SpecError: There is no such format; a text index of a compressed file; not as many
            `index_paths` as files, or two that are the same, or one of the files.
        FileError: An index cannot be written.
        Error: What is wrong with a file, with path, record and offset. Files before it have theirs.

    Example:
        >>> import pathlib, tfrecs
        >>> with tfrecs.RecordWriter("some.tfrecord") as out:
        ...     out.write_batch([b"a", b"bcd"])
        >>> tfrecs.build_index("some.tfrecord", format="text")
        ['some.tfrecord.idx']
        >>> print(pathlib.Path("some.tfrecord.idx").read_text(), end="")
        0 17
        17 19
    """
    return [
        where
        for where, _ in write_indices(paths, index_paths, format, compression_type, num_threads)
    ]


def write_indices(
    paths: Paths,
    index_paths: Paths | None,
    format: str,  # noqa: A002 - as above
    compression_type: str | None,
    num_threads: int | None,
) -> Iterator[tuple[str, _core.IndexedFile]]:
    """Write indices one by one; see build_index()."""
    if format not in ("binary", "text"):
        raise SpecError(f'format must be "binary" or "text", not {format!r}')
    files = record_files(paths)
    if index_paths is None:
        wanted = [f"{path}.idx" if format == "text" else _beside(path) for path in files]
    else:
        given = [index_paths] if isinstance(index_paths, str | os.PathLike) else index_paths
        wanted = [checked_name(path) for path in given]
        _one_for_each(files, wanted)
    _spare(files, wanted)
    codec, threads = checked_compression(compression_type), checked_threads(num_threads)
    built = _core.Indexing(files, codec, threads, NO_LIMITS)
    for where, file in zip(wanted, built, strict=True):
        file.save(where, format == "text")
        yield where, file


def _one_for_each(files: list[str], index_paths: list[str]) -> None:
    if len(files) != len(index_paths):
        raise SpecError(
            f"{len(files)} {plural(len(files), 'file needs', 'files need')} as many index_paths, "
            f"not {len(index_paths)}"
        )


def _spare(files: list[str], index_paths: list[str]) -> None:
    """Refuse to write one index over another, or over a file that is to be indexed."""
    real = [os.path.realpath(file) for file in files]
    taken = dict.fromkeys(real, "")
    for file, path in zip(real, index_paths, strict=True):
        if taken.setdefault(os.path.realpath(path), file) != file:
            why = "that is a file of records, or the place of another file's index"
            raise SpecError(f"{path}: no index can be written here: {why}", path=path)


@dataclass(frozen=True)
class Indexed:
    """A file with its index.

    Attributes:
        file: Both.
        place: Where the index is kept, or None.
        absolute: The same, wherever the process goes.
    """

    file: _core.IndexedFile
    place: str | None = None
    absolute: str | None = None

    @classmethod
    def at(cls, file: _core.IndexedFile, place: str) -> Self:
        """Return a file whose index is kept at `place`."""
        return cls(file, place, os.path.abspath(place))  # noqa: PTH100 - no Path is wanted


def indexed_files(
    paths: Paths,
    compression_type: str | None,
    num_threads: int | None,
    *,
    index_paths: Paths | None = None,
    look: bool = True,
    keep: bool = True,
    limits: Limits = NO_LIMITS,
) -> list[Indexed]:
    """Return files with their indices, and make those that are missing.

    Args:
        paths: The files.
        compression_type: As for RecordReader.
        num_threads: How many threads make indices.
        index_paths: Where the indices are, one for each file.
        look: Whether to look for indices where they are kept.
        keep: Whether to keep those that are made, if they are worth it.
        limits: What checked_limits() returns.
    """
    files = record_files(paths)
    codec = checked_compression(compression_type)
    if index_paths is None:
        found = [_kept(path, codec) if look else None for path in files]
    else:
        found, keep = _given(files, index_paths), False
    missing = [path for path, one in zip(files, found, strict=True) if one is None]
    built = _core.Indexing(missing, codec, checked_threads(num_threads), limits)
    return [one or _keep(_built(built, path), keep) for one, path in zip(found, files, strict=True)]


def _built(built: _core.Indexing, path: str) -> _core.IndexedFile:
    """Return the index of the next file, which takes a pass over it."""
    begun = perf_counter()
    file = next(built)
    took = perf_counter() - begun
    logger.info("made the index of %s: %d records, %.3f s", path, len(file), took)
    return file


def is_indexed(paths: Paths, compression_type: str | None) -> bool:
    """Return whether an index of each file is kept, and fits."""
    codec = checked_compression(compression_type)
    return all(_kept(path, codec) for path in find_files(paths).files)


def _kept(path: str, codec: str) -> Indexed | None:
    """Return the file with the index that is kept of it, if there is one that fits."""
    for place in _places(path):
        file = found_index(path, place)
        if file is not None and codec in ("auto", file.compression_type):
            return Indexed.at(file, place)
        if file is None and _is_of_a_stranger(place, path):
            warn(
                f"{place} belongs to somebody who is neither you, nor the owner of {path}, nor "
                "root: it is not used, and a new index is made",
                RuntimeWarning,
            )
    return None


def found_index(path: str, place: str) -> _core.IndexedFile | None:
    """Return the file with the index at `place` if it fits; used where no index was named."""
    return _core.IndexedFile.load(path, place, was_found=True, is_local=_is_local(place))


def _is_local(place: str) -> bool:
    """Whether an index stays on this machine, where a file that replaced another is another one."""
    return os.path.dirname(place) == os.fspath(_cache_folder())  # noqa: PTH120 - of a text


def _is_of_a_stranger(place: str, path: str) -> bool:
    try:
        owner = os.stat(place).st_uid  # noqa: PTH116 - called for each file
        return os.name == "posix" and owner not in (0, os.geteuid(), os.stat(path).st_uid)  # noqa: PTH116
    except OSError:
        return False


def _given(files: list[str], index_paths: Paths) -> list[Indexed | None]:
    places = expand_paths(index_paths)
    _one_for_each(files, places)
    return [_from_place(path, place) for path, place in zip(files, places, strict=True)]


def _from_place(path: str, place: str) -> Indexed | None:
    file = _core.IndexedFile.load(path, place, was_found=False) or _from_text(path, place)
    if file is not None:
        return Indexed.at(file, place)
    warn(
        f"{place} is no index of {path} as it is now: it is stale, or damaged, or of another file; "
        "a new one is made in memory",
        RuntimeWarning,
    )
    return None


def _from_text(path: str, place: str) -> _core.IndexedFile | None:
    try:
        text = Path(place).read_text("ascii")
    except UnicodeDecodeError:
        return None
    except FileNotFoundError as error:
        raise MissingFileError(f"{place}: {error.strerror}", path=place) from error
    except OSError as error:
        raise FileError(f"{place}: {error.strerror}", path=place, errno=error.errno) from error
    return _core.IndexedFile.from_text(path, text)


def _keep(file: _core.IndexedFile, wanted: bool) -> Indexed:
    """Keep an index where the next process finds it, if that is worth it and can be done."""
    if wanted and file.size >= _WORTH_KEEPING:
        for place in _own_places(os.fspath(file.path)):
            try:
                Path(place).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                file.save(place, as_text=False, is_local=_is_local(place))
            except (Error, OSError) as error:
                if getattr(error, "errno", None) == errno.EBUSY:
                    break  # another process is just writing it
            else:
                logger.debug("keeps the index of %s in %s", file.path, place)
                return Indexed.at(file, place)
    return Indexed(file)


def _places(path: str) -> list[str]:
    """Where the index of a file may be kept: beside it, or in the user's cache folder."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:40]
    return [_beside(path), os.fspath(_cache_folder() / f"{name}{_SUFFIX}")]


def _own_places(path: str) -> list[str]:
    """Return where to keep an index by default: not in a folder of another user."""
    beside, cached = _places(path)
    folder = os.path.dirname(beside) or "."  # noqa: PTH120 - keeps the names as given
    is_ours = os.name != "posix" or os.stat(folder).st_uid == os.geteuid()  # noqa: PTH116
    return [beside, cached] if is_ours else [cached]


def _beside(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}{_SUFFIX}")  # noqa: PTH118 - keeps the names as given


def _cache_folder() -> Path:
    match sys.platform:
        case "win32":
            base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
        case "darwin":
            base = "~/Library/Caches"
        case _:
            base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(base)) / "tfrecs" / "indices"  # noqa: PTH111 - without a home it stays as it is
