"""Decoding one value or many, on several threads, each error with its position."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.checks import checked_threads
from tfrecs._internal.wording import counted, plural
from tfrecs.errors import Error, ParseError, SpecError
from tfrecs.media.waiting import run_threads
from tfrecs.tensors import BytesArray

OnError: TypeAlias = Literal["raise", "skip"]
Contents: TypeAlias = (
    BytesArray | _core.Records | Sequence[bytes] | npt.NDArray[np.object_] | bytes | memoryview
)

Value = TypeVar("Value")
Values = TypeVar("Values")


@dataclass(frozen=True, slots=True)
class DecodedBatch(Generic[Values]):
    """What could be decoded of a batch, and what could not: the result with `on_error="skip"`.

    Attributes:
        values: What would be the result of a batch of the sound values alone.
        indices: Which value of the batch each of them was: int64, shape (sound values,).
        skipped: An error for each of the others, in order; its `record` is the place in the batch,
            or the record's number in its file if the records were given.

    Example:
        >>> import numpy as np, tfrecs
        >>> good = tfrecs.encode_image(np.zeros((2, 3, 1), np.uint8))
        >>> images = tfrecs.decode_image([good, b"broken", good], on_error="skip", feature="image")
        >>> images
        DecodedBatch(2 values, 1 skipped)
        >>> len(images.values), images.indices.tolist()
        (2, [0, 2])
        >>> print(images.skipped[0])
        record 1: feature "image": unknown image format: it is no JPEG, PNG, GIF, BMP or WebP image
    """

    values: Values
    indices: npt.NDArray[np.int64]
    skipped: tuple[ParseError, ...]

    def __repr__(self) -> str:
        """Show how many values there are, and how many there are not."""
        values = counted(len(self.indices), "value")
        return f"DecodedBatch({values}, {len(self.skipped)} skipped)"


@dataclass(frozen=True, slots=True)
class MediaSource:
    """Where values come from, for the texts of errors.

    Attributes:
        feature: The feature's name, if known.
        records: The records that the values were parsed from, if known: as many as values.
        example_names: A name for each value, if there are any.
    """

    feature: str | None = None
    records: _core.Records | None = None
    example_names: Sequence[str] | None = None

    def check(self, count: int) -> None:
        """Refuse positions that are not one a value."""
        _check_kind("records", self.records, _core.Records)
        _check_kind("example_names", self.example_names, (Sequence, np.ndarray, BytesArray))
        for what, given in (("records", self.records), ("example_names", self.example_names)):
            if given is not None and len(given) != count:
                entries = f"{len(given)} {plural(len(given), 'entry', 'entries')}"
                raise SpecError(f"{what} has {entries} for {counted(count, 'value')}")

    def error(self, reason: str, place: int | None = None) -> ParseError:
        """Return the error for the value at `place` of a batch; None: for a single value."""
        name = None
        if self.example_names is not None:
            name = str(self.example_names[place or 0])
        if self.records is not None:
            return self.records.parse_error(place or 0, reason, self.feature, name)
        parts = [
            "" if place is None else f"record {place}: ",
            "" if name is None else f"Name: {name}, ",
            "" if self.feature is None else f'feature "{self.feature}": ',
        ]
        text = "".join(parts) + reason
        return ParseError(text, record=place, feature=self.feature, reason=reason)


def _check_kind(what: str, given: object, kinds: Any) -> None:
    if given is not None and not isinstance(given, kinds):
        raise SpecError(f"{what} cannot be {type(given).__name__}: {given!r:.60}")


def single(contents: object) -> bytes | None:
    """Return the bytes, if `contents` is one value; None if it is a batch.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(contents, bytes):
        return contents
    if isinstance(contents, bytearray | memoryview):
        return bytes(contents)
    if isinstance(contents, BytesArray | np.ndarray) and contents.ndim == 0:
        return _checked(contents.item())
    if isinstance(contents, str):
        raise TypeError("contents must be bytes, not str: for a file, give what is in it")
    return None


def batch(contents: object) -> "BytesArray | _core.Records | Sequence[bytes]":
    """Return `contents` as something with a length whose items are bytes.

    Raises:
        SpecError: It has more dimensions than one, or has lost bytes.
        TypeError: It is no batch.
    """
    if isinstance(contents, BytesArray | np.ndarray) and contents.ndim != 1:
        text = f"contents has shape {contents.shape}: take one dimension, such as by .ravel()"
        raise SpecError(text)
    if isinstance(contents, np.ndarray):
        if contents.dtype.kind == "S":
            raise SpecError(
                "contents is an array of dtype S, which has lost the zero bytes at the end of its "
                "values: make it with dtype object"
            )
        return contents.tolist()  # type: ignore[no-any-return]  # items are checked one by one
    if isinstance(contents, BytesArray | _core.Records | list | tuple):
        return contents
    raise TypeError(
        "contents must be bytes or a batch of bytes (BytesArray, Records, list, NumPy array of "
        f"objects), not {type(contents).__name__}"
    )


def _checked(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"contents must hold bytes, not {type(value).__name__}")


def decode_one(decode: Callable[[bytes], Value], data: bytes, source: MediaSource) -> Value:
    """Decode a single value.

    `decode` raises ParseError for what is wrong with the value, without a position.
    """
    source.check(1)
    try:
        return decode(data)
    except ParseError as error:
        raise source.error(error.reason) from error.__cause__


def decode_many(
    decode: Callable[[bytes], Value],
    values: "BytesArray | _core.Records | Sequence[bytes]",
    source: MediaSource,
    *,
    num_threads: int | None,
    on_error: OnError,
) -> tuple[list[Value], list[int], tuple[ParseError, ...]]:
    """Decode all values; return what came out, from which places, and the errors of the others.

    Raises:
        ParseError: With `on_error="raise"`, the error of the first value that is broken.
    """
    source.check(len(values))
    if source.records is None and isinstance(values, _core.Records):
        source = MediaSource(source.feature, values, source.example_names)
    work = _Work(decode, values, stop_at_error=on_error == "raise")
    work.run(min(checked_threads(num_threads), len(values)))
    located = [(place, work.errors[place]) for place in sorted(work.errors)]
    skipped = []
    for place, error in located:
        if not isinstance(error, ParseError):
            raise error
        found = source.error(error.reason, place)
        if on_error == "raise":
            raise found from error.__cause__
        skipped.append(found)
    places = sorted(work.results)
    return [work.results[place] for place in places], places, tuple(skipped)


class _Work(Generic[Value]):
    """Values in, results and errors by place out."""

    def __init__(
        self,
        decode: Callable[[bytes], Value],
        values: "BytesArray | _core.Records | Sequence[bytes]",
        *,
        stop_at_error: bool,
    ) -> None:
        self._decode = decode
        self._values = values
        self._stop_at_error = stop_at_error
        self._places: Iterator[int] = iter(range(len(values)))
        self._lock = Lock()
        self._stopped = False
        self.results: dict[int, Value] = {}
        self.errors: dict[int, Exception] = {}

    def run(self, threads: int) -> None:
        """Decode everything, on that many threads of its own if that is more than one.

        The threads end with the call, so that a process may fork after it.
        """
        if threads <= 1:
            self._take_turns()
            return
        try:
            for error in run_threads(self._take_turns, threads):
                if error is not None:
                    raise error
        finally:
            self._stopped = True  # such as by Ctrl-C: nobody begins another value

    def _take_turns(self) -> None:
        # Values are begun in order, so that no value before the first broken one is left out.
        while (place := self._next()) is not None:
            try:
                self.results[place] = self._decode(_checked(self._values[place]))
            except (Error, TypeError) as error:
                self.errors[place] = error
                if self._stop_at_error or not isinstance(error, ParseError):
                    self._stopped = True

    def _next(self) -> int | None:
        with self._lock:
            return None if self._stopped else next(self._places, None)


def checked_choice(what: str, given: object, choices: Sequence[str]) -> None:
    """Refuse an option that is not among its choices."""
    if given not in choices:
        raise SpecError(f"{what} must be one of {', '.join(map(repr, choices))}, not {given!r}")


def checked_dtype(dtype: Any, choices: Sequence[str]) -> str:
    """Return the name of a type, however it is given.

    Raises:
        SpecError: It is not among the choices.
    """
    # TensorFlow's dtypes have a name too; NumPy takes them for objects.
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if not isinstance(name, str):
        try:
            name = np.dtype(dtype).name
        except (TypeError, ValueError):
            name = repr(dtype)
    if name not in choices:
        raise SpecError(f"dtype must be one of {', '.join(choices)}, not {name}")
    return name


def broken(reason: str) -> ParseError:
    """Return the error for a value, before its position is known."""
    return ParseError(reason)
