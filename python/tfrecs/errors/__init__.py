"""What can go wrong, as a tree of exceptions.

    tfrecs.Error
    ├── CorruptRecordError   (ValueError)   the bytes are there, and they are wrong
    ├── TruncatedFileError   (EOFError)     the file ends too early
    ├── NotTFRecordError     (ValueError)   the file is something else: it says what
    ├── ParseError           (ValueError)   a sound record does not hold what was asked for
    ├── SpecError            (ValueError)   the request itself makes no sense
    ├── StateError           (ValueError)   the object cannot do this now: closed, failed before
    ├── LimitError           (ValueError)   it is more than the caller allows
    ├── OutOfMemoryError     (MemoryError)  there is no memory for so large a record
    ├── MissingLibraryError  (ModuleNotFoundError)  an optional library is not installed
    └── FileError            (OSError)      the operating system refused
        ├── MissingFileError     (FileNotFoundError)
        ├── DirectoryError       (IsADirectoryError)
        ├── ExistingFileError    (FileExistsError)
        └── DeniedFileError      (PermissionError)

    tfrecs.SkippedFilesWarning   (UserWarning)  files in a folder that are not TFRecord
    tfrecs.MissingFeatureWarning (UserWarning)  no record has a feature that was asked for

Each is also the built-in exception that a person would catch, and the one of `tf.errors` that
TensorFlow would raise (status.py), and carries what is known of where it happened as attributes.
"""

import errno as errno_numbers
import os
import sys
import warnings
from typing import Any

from tfrecs.errors.tf_errors import (
    AlreadyExistsError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
)


class Error(Exception):
    """The root of all exceptions that tfrecs raises on its own account.

    Attributes:
        path: The file, or None.
        record: The record's number in its file (in its batch, if it came from no file), from 0, or
            None.
        offset: The offset of the record's first byte in the file, or None; in a compressed file the
            offset in the decompressed stream.
        feature: The feature's name, or None.
        reason: What is wrong, without the position.

    Example:
        >>> import tfrecs
        >>> try:
        ...     tfrecs.decode_example(b"not an example")
        ... except tfrecs.Error as error:
        ...     print(type(error).__name__, "|", error.reason)
        ParseError | broken protobuf message: wire type 6 does not exist
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | os.PathLike[str] | None = None,
        record: int | None = None,
        offset: int | None = None,
        feature: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Keep the text and the position."""
        super().__init__(message)
        self.path = None if path is None else os.fspath(path)
        self.record = record
        self.offset = offset
        self.feature = feature
        self.reason = message if reason is None else reason

    def __str__(self) -> str:
        """Return the whole text, position and reason."""
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the position, so that errors cross process boundaries whole."""
        return _rebuilt, (type(self), str(self), self._position()), self.__dict__.copy()

    def _position(self) -> dict[str, Any]:
        """What the constructor takes beside the text."""
        names = ("path", "record", "offset", "feature", "reason")
        return {name: getattr(self, name) for name in names}


def _rebuilt(kind: type[Error], message: str, position: dict[str, Any]) -> Error:
    return kind(message, **position)


class CorruptRecordError(Error, DataLossError, ValueError):
    """A checksum does not match, or a compressed stream is broken.

    Example:
        >>> import pathlib, tfrecs
        >>> with tfrecs.RecordWriter("bad.tfrecord") as out:
        ...     out.write(b"some data")
        >>> damaged = bytearray(pathlib.Path("bad.tfrecord").read_bytes())
        >>> damaged[14] ^= 1
        >>> _ = pathlib.Path("bad.tfrecord").write_bytes(damaged)
        >>> try:
        ...     list(tfrecs.RecordReader("bad.tfrecord"))
        ... except tfrecs.CorruptRecordError as error:
        ...     print(error)
        bad.tfrecord: record 0 at byte 0: corrupted record: the checksum of its data does not match
    """


class TruncatedFileError(Error, DataLossError, EOFError):
    """The file, or the compressed stream in it, ends before its last record does.

    Example:
        >>> import pathlib, tfrecs
        >>> _ = pathlib.Path("cut.tfrecord").write_bytes(bytes(5))
        >>> try:
        ...     list(tfrecs.RecordReader("cut.tfrecord"))
        ... except tfrecs.TruncatedFileError as error:
        ...     print(error.reason)
        truncated record: the file ends after 5 of the 12 bytes of a record header
    """


class NotTFRecordError(Error, DataLossError, ValueError):
    """The file is of another format; the text says which.

    Example:
        >>> import pathlib, tfrecs
        >>> _ = pathlib.Path("page.tfrecord").write_text("<!DOCTYPE html><title>404</title>")
        >>> try:
        ...     list(tfrecs.RecordReader("page.tfrecord"))
        ... except tfrecs.NotTFRecordError as error:
        ...     print(error.reason)
        not a TFRecord file: it looks like an HTML page: a download that went wrong?
    """


class ParseError(Error, InvalidArgumentError, ValueError):
    """A record is sound, but its message is broken or does not have what was asked for.

    Example:
        >>> import tfrecs
        >>> record = tfrecs.encode_example({"age": 36})
        >>> try:
        ...     tfrecs.parse_example([record], {"name": tfrecs.FixedLenFeature([], "string")})
        ... except tfrecs.ParseError as error:
        ...     print(error)
        record 0: feature "name": (data type: string) is required but could not be found
    """


class SpecError(Error, InvalidArgumentError, ValueError):
    """The request makes no sense: a bad spec, an unknown option, a value that no feature can hold.

    Example:
        >>> import tfrecs
        >>> try:
        ...     tfrecs.encode_example({"mixed": [1, "two"]})
        ... except tfrecs.SpecError as error:
        ...     print(error.feature, "|", error.reason.split(";")[0])
        mixed | its values are int or bool and bytes or str
    """


def feature_error(name: str, reason: str) -> SpecError:
    """Return an error of what is asked of, or given for, the feature `name`."""
    return SpecError(f"feature {name!r}: {reason}", feature=name, reason=reason)


class StateError(Error, FailedPreconditionError, ValueError):
    """The object cannot do this in the state it is in.

    Example:
        >>> import tfrecs
        >>> out = tfrecs.RecordWriter("closed.tfrecord")
        >>> out.close()
        >>> try:
        ...     out.write(b"too late")
        ... except tfrecs.StateError as error:
        ...     print(error.reason)
        Writer is closed.
    """


class LimitError(Error, ResourceExhaustedError, ValueError):
    """A file asks for more memory or work than `max_record_bytes`, `max_decompressed_bytes` allow.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("zeros.tfrecord.gz") as out:
        ...     out.write(bytes(10_000_000))
        >>> try:
        ...     next(tfrecs.RecordReader("zeros.tfrecord.gz", max_record_bytes=1_000_000))
        ... except tfrecs.LimitError as error:
        ...     print(error.reason.partition(";")[0])
        the record has 10000000 bytes, and max_record_bytes allows 1000000
    """


class OutOfMemoryError(Error, ResourceExhaustedError, MemoryError):
    """There is no memory for a record as long as the one at this place, or for another thread.

    Example:
        >>> import tfrecs
        >>> issubclass(tfrecs.OutOfMemoryError, MemoryError)
        True
    """


class FileError(Error, OSError):
    """The operating system refused to open, read or write a file; `errno` says how.

    Example:
        >>> import tfrecs
        >>> try:
        ...     tfrecs.RecordReader("missing.tfrecord")
        ... except tfrecs.FileError as error:
        ...     print(type(error).__name__, isinstance(error, FileNotFoundError))
        MissingFileError True
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | os.PathLike[str] | None = None,
        record: int | None = None,
        reason: str | None = None,
        errno: int | None = None,
        **position: Any,
    ) -> None:
        """Keep the text and the position, and OSError's own attributes."""
        super().__init__(message, path=path, record=record, reason=reason, **position)
        self.errno = self._ERRNO if errno is None else errno
        self.strerror = self.reason
        self.filename = self.path

    _ERRNO: int | None = None  # of the kinds that have one of their own

    def _position(self) -> dict[str, Any]:
        return {**super()._position(), "errno": self.errno}


class MissingFileError(FileError, NotFoundError, FileNotFoundError):
    """There is no such file, or a pattern matches none."""

    _ERRNO = errno_numbers.ENOENT


class DirectoryError(FileError, FailedPreconditionError, IsADirectoryError):
    """A file was expected and a directory found."""

    _ERRNO = errno_numbers.EISDIR


class ExistingFileError(FileError, AlreadyExistsError, FileExistsError):
    """A file is there that must not be."""

    _ERRNO = errno_numbers.EEXIST


class DeniedFileError(FileError, PermissionDeniedError, PermissionError):
    """The permission is missing."""

    _ERRNO = errno_numbers.EACCES


class MissingLibraryError(Error, ModuleNotFoundError):
    """An optional library is not installed; the text says how to install it.

    Attributes:
        name: The library, as it is imported.

    Example:
        >>> import tfrecs
        >>> issubclass(tfrecs.MissingLibraryError, ImportError)
        True
    """

    def __init__(self, message: str, *, name: str | None = None, **position: Any) -> None:
        """Keep the text, the library (of a submodule: the whole) and the position."""
        super().__init__(message, **position)
        self.name = None if name is None else name.partition(".")[0]

    def _position(self) -> dict[str, Any]:
        return super()._position() | {"name": self.name}


class SkippedFilesWarning(UserWarning):
    """A folder has files that are not TFRecord files, by their names and by their first bytes.

    Example:
        >>> import pathlib, tfrecs, warnings
        >>> pathlib.Path("mixed").mkdir()
        >>> _ = pathlib.Path("mixed/labels.txt").write_text("cat, dog")
        >>> with tfrecs.RecordWriter("mixed/a.tfrecord") as out:
        ...     out.write(b"a record")
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", tfrecs.SkippedFilesWarning)
        ...     tfrecs.count("mixed")
        1
    """


class MissingFeatureWarning(UserWarning):
    """None of the first 10,000 records has a feature that was asked for: a misspelt name?

    Example:
        >>> import tfrecs, warnings
        >>> records = [tfrecs.encode_example({"label": 1})] * 10_000
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", tfrecs.MissingFeatureWarning)
        ...     try:
        ...         tfrecs.parse_example(records, {"labels": tfrecs.VarLenFeature("int64")})
        ...     except tfrecs.MissingFeatureWarning as warning:
        ...         print(warning)
        none of the first 10,000 records has the feature 'labels'; did you mean "label"?
    """


def warn(text: str, kind: type[Warning]) -> None:
    """Warn of something at the line that called tfrecs."""
    frame, level = sys._getframe(), 1  # noqa: SLF001 - documented, if not by its name
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "tfrecs"


def no_thread() -> OutOfMemoryError:
    """Return the error for a thread that the operating system refuses to start."""
    reason = "cannot start a thread: the system allows no more of them"
    return OutOfMemoryError(reason)


_FILE_ERRORS: list[tuple[type[OSError], type[FileError]]] = [
    (FileNotFoundError, MissingFileError),
    (IsADirectoryError, DirectoryError),
    (FileExistsError, ExistingFileError),
    (PermissionError, DeniedFileError),
    (OSError, FileError),
]


def file_error(error: OSError, path: str | None = None) -> FileError:
    """Return an error of the operating system as one of ours, with its own path by default."""
    name = path or os.fsdecode(error.filename or "")
    reason = error.strerror or str(error)
    kind = next(ours for theirs, ours in _FILE_ERRORS if isinstance(error, theirs))
    text = f"{name}: {reason}" if name else reason
    return kind(text, path=name or None, reason=reason, errno=error.errno)
