"""The TFRecord files of a folder.

A file counts if its name is a TFRecord's, whatever is in it: damage, a git-lfs pointer or an HTML
page under such a name is an error when it is read, never a file left out. Any other file counts if
its first bytes are a TFRecord's. The rest is skipped, and reported.

    names that count                             examples
    .tfrecord .tfrecords .tfrec .tf_record .tfr  a.tfrecord, a.tfrecord-00000-of-00010
    .record .records                             small-mnist-3.record
    part-* without an ending                     part-r-00000, part-00000.gz
    *tfevents*                                   events.out.tfevents.1596659864.host

An ending of a compression, such as `.gz`, may follow. A bare `-00000-of-00010` is no name of a
TFRecord: checkpoints and other formats use it too, so there the first bytes decide.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tfrecs import _core
from tfrecs.errors import (
    CorruptRecordError,
    LimitError,
    MissingFileError,
    NotTFRecordError,
    TruncatedFileError,
    file_error,
)
from tfrecs.storage.leftovers import has_leftover, left_behind, missing_file
from tfrecs.storage.paths import Paths, expand_paths

_COMPRESSED = r"(\.(gz|gzip|zz|zlib|zst|bz2|xz|lz4|snappy))?"
_NAME = re.compile(
    rf".*\.(tf_?rec(ord)?s?|tfr|records?){_COMPRESSED}(-\d+-of-\d+)?{_COMPRESSED}"
    rf"|part-[^.]*{_COMPRESSED}"
    r"|.*tfevents.*",
    re.IGNORECASE,
)

# Files of ours beside records, which are not reported: manifests, and indexes.
_OURS = re.compile(r"(.*\.)?manifest\.json|.*\.(idx|tfrindex)")

HEADER_BYTES = 12

# How many names of skipped files a warning has.
_MOST_NAMED = 3


@dataclass
class FoundFiles:
    """The files that paths mean.

    Attributes:
        files: Those that count, in order.
        skipped: Those in folders that do not.
        is_one_file: Whether one file was named, and not as one of a list.
        are_given: Whether each file was named: there are no folders and no patterns.
    """

    files: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    is_one_file: bool = False
    are_given: bool = False

    def skipped_line(self) -> str:
        """Return what was skipped in one line."""
        number = len(self.skipped)
        files = "1 file that is" if number == 1 else f"{number:,} files that are"
        more = ", …" if number > _MOST_NAMED else ""
        return f"skipped {files} not TFRecord: {', '.join(self.skipped[:_MOST_NAMED])}{more}"


def find_files(paths: Paths) -> FoundFiles:
    """Return the TFRecord files that `paths` mean: those they name, and those in folders they name.

    Raises:
        MissingFileError: A pattern matches no file, or a folder has no TFRecord file.
        FileError: A folder or file in it cannot be read.
        SpecError: It is no path, or a URL.
    """
    found = FoundFiles()
    if isinstance(paths, Iterable) and not isinstance(paths, str | bytes):
        paths = [*paths]
    for path in expand_paths(paths):
        if _is_folder(path):
            _add_folder(found, path)
        else:
            found.files.append(path)
    given = [paths] if isinstance(paths, str | os.PathLike) else [*paths]
    found.are_given = found.files == [os.fspath(path) for path in given]
    found.is_one_file = found.are_given and isinstance(paths, str | os.PathLike)
    return found


def has_record_name(name: str) -> bool:
    """Return whether the name of a file, without its folder, is a TFRecord's."""
    return _NAME.fullmatch(name) is not None


def _is_folder(path: str) -> bool:
    """Whether a path is a folder; a missing file whose writer was killed is an error here.

    Any other missing file is one when it is read: until then it may be there.
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - a str
    except FileNotFoundError as error:
        if has_leftover(path):
            raise missing_file(path) from error
        return False
    except OSError:
        return False


def _add_folder(found: FoundFiles, folder: str) -> None:
    files: list[str] = []
    skipped: list[str] = []
    for path in sorted(_walk(Path(folder))):
        if _counts(path):
            files.append(os.fspath(path))
        elif not _OURS.fullmatch(path.name):
            skipped.append(os.fspath(path))
    if not files:
        listed = FoundFiles(skipped=skipped).skipped_line() if skipped else "it has no others"
        reason = f"no TFRecord file in this folder ({listed}){left_behind(folder)}"
        raise MissingFileError(f"{folder}: {reason}", path=folder, reason=reason)
    found.files += files
    found.skipped += skipped


def _walk(folder: Path) -> Iterator[Path]:
    """Yield all that is not hidden below a folder; links to folders are not followed."""
    try:
        entries = [*os.scandir(folder)]
    except OSError as error:
        raise file_error(error, os.fspath(folder)) from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(folder / entry.name)
        else:
            yield folder / entry.name


def _counts(path: Path) -> bool:
    """Whether a file counts; a link that leads nowhere does by its name, and is an error then."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return has_record_name(path.name)
    if not stat.S_ISREG(mode):  # opening a pipe would wait; a link to a folder may lead in circles
        return False
    return has_record_name(path.name) or _begins_as_records(path)


def _begins_as_records(path: Path) -> bool:
    """Whether the header of a first record is there, and its checksum holds."""
    try:
        # A record of more than one byte is over the limit, which is said after its header is read.
        reader = _core.Reader(os.fspath(path), "auto", verify=False, limits=(1, None))
        try:
            return next(reader, None) is not None
        finally:
            reader.close()
    except LimitError:
        return True
    except TruncatedFileError:
        return path.stat().st_size >= HEADER_BYTES
    except (CorruptRecordError, NotTFRecordError):
        return False
