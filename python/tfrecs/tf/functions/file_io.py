"""`tf.io.gfile.GFile`: a file that takes and gives text or bytes, as its mode says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import IO, Any, Self, TypeVar

from tfrecs._internal.checks import checked_text
from tfrecs.errors import SpecError, file_error
from tfrecs.errors.tf_errors import PermissionDeniedError
from tfrecs.storage.paths import local_path
from tfrecs.tf.compat import as_bytes
from tfrecs.tf.tensor.values import Tensor

T = TypeVar("T")

_MODES = ("r", "w", "a", "r+", "w+", "a+")


def path_of(given: Any) -> str:
    """Return a path that may be a value, bytes, or an object.

    Raises:
        SpecError: It is a URL.
    """
    return local_path(given.numpy() if isinstance(given, Tensor) else given)


def tried(function: Callable[[str], T], path: str) -> T:
    """Return what a function makes of a path.

    Raises:
        OSError: The operating system refuses, as the error of `tf.errors` that matches.
    """
    try:
        return function(path)
    except OSError as error:
        raise file_error(error, path) from error


class GFile:
    """As `tf.io.gfile.GFile`.

    `write` takes text and bytes in any mode; `read` gives bytes where the mode has a "b". The file
    is opened when it is first read or written.

    Example:
        >>> from tfrecs import tf
        >>> with tf.io.gfile.GFile("notes.txt", "wb") as out:
        ...     out.write("text")
        >>> tf.io.gfile.GFile("notes.txt").read()
        'text'
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        """Describe a file; it is not opened yet.

        Raises:
            InvalidArgumentError: The mode is none.
        """
        self._reader: IO[bytes] | None = None
        self._writer: IO[bytes] | None = None
        self._path = path_of(name)
        self._name, self._mode = name, checked_text("mode", mode)
        self._plain_mode = mode.replace("b", "")
        if self._plain_mode not in _MODES:
            raise SpecError(f"mode is not one of {', '.join(map(repr, _MODES))}: {mode!r}")

    @property
    def name(self) -> Any:
        """The name, as it was given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode, as it was given."""
        return self._mode

    def _readable(self) -> IO[bytes]:
        if self._plain_mode in ("w", "a"):
            raise PermissionDeniedError("File isn't open for reading")
        self.flush()
        if self._reader is None:
            self._reader = tried(lambda path: open(path, "rb"), self._path)  # noqa: PTH123, SIM115
        return self._reader

    def _writable(self) -> IO[bytes]:
        if self._plain_mode == "r":
            raise PermissionDeniedError("File isn't open for writing")
        if self._writer is None:
            mode = "ab" if "a" in self._mode else "wb"
            self._writer = tried(lambda path: open(path, mode), self._path)  # noqa: PTH123, SIM115
        return self._writer

    def _given(self, data: bytes) -> Any:
        return data if "b" in self._mode else data.decode()

    def write(self, file_content: Any) -> None:
        """Write bytes, or text as UTF-8.

        Raises:
            PermissionDeniedError: The mode is for reading.
        """
        self._writable().write(as_bytes(file_content))

    def read(self, n: int = -1) -> Any:
        """Return the next `n` bytes, or all that follow; as text unless the mode has a "b"."""
        return self._given(self._readable().read(n))

    def readline(self) -> Any:
        r"""Return the next line with its "\n"; "\r\n" is read as that."""
        line = self._readable().readline()
        return self._given(line[:-2] + b"\n" if line.endswith(b"\r\n") else line)

    def readlines(self) -> list[Any]:
        """Return all lines that follow."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the lines."""
        return iter(self.readline, self._given(b""))

    def __next__(self) -> Any:
        """Return the next line."""
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def size(self) -> int:
        """Return how many bytes the file has."""
        self.flush()
        return tried(os.path.getsize, self._path)

    def seek(self, offset: int, whence: int = 0) -> None:
        """Go to a place in the file, as Python's files do."""
        self._readable().seek(offset, whence)

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the place in the file."""
        return (self._writable() if self._plain_mode in ("w", "a") else self._readable()).tell()

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        for one in (self._writer, self._reader):
            if one is not None:
                one.close()
        self._writer = self._reader = None

    def __del__(self) -> None:
        """Close the file, as TensorFlow's does when nothing holds it."""
        if hasattr(self, "_reader"):
            self.close()

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
        self.close()
