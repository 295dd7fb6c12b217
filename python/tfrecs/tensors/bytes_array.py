"""An array of byte strings, which NumPy does not have."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.checks import checked_codec, encoded_text
from tfrecs._internal.wording import counted
from tfrecs.errors import SpecError
from tfrecs.tensors.coercion import IntArray, array_of, integers_of, shape_of, shown
from tfrecs.tensors.decoded import Decoded


class BytesArray:
    """An N-dimensional array of byte strings: one buffer, and offsets into it.

    Indexing with an integer gives `bytes` (or a smaller BytesArray), slicing the first axis gives a
    view, indexing with integers or booleans gives a copy. It compares element by element with
    bytes, str and sequences, turns into an object array under `numpy.asarray`, and is an Arrow
    array (large_binary, in fixed-size lists for more dimensions).

    Attributes:
        data: The bytes of all values, uint8, shape (total length,).
        offsets: Where each value ends in `data`, with a leading start: int64, shape (size + 1,).
        shape: The shape.

    Example:
        >>> import tfrecs
        >>> names = tfrecs.BytesArray.from_values([b"ada", "grace", b""])
        >>> names[1], names[:2].tolist(), (names == "ada").tolist()
        (b'grace', [b'ada', b'grace'], [True, False, False])
    """

    __slots__ = ("_columns", "_data", "_index", "_offsets", "shape")
    __hash__ = None  # type: ignore[assignment]  # compares element by element, as ndarray does

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        offsets: IntArray,
        shape: Sequence[int] | None = None,
    ) -> None:
        """Make an array of the values between consecutive `offsets` of `data`.

        Raises:
            SpecError: These are no bytes and offsets, or they do not have this shape.
        """
        self._data = data if _is_array_of(data, np.uint8) else _bytes_in(data)
        self._offsets = offsets if _is_array_of(offsets, np.int64) else _offsets_in(offsets)
        offsets = self._offsets
        if not len(offsets):
            raise SpecError("offsets must have at least one element, the start of the first value")
        # The native columns of which this array is one, for handing it out without a copy.
        self._columns: _core.Columns | None = None
        self._index = 0
        self.shape = (len(offsets) - 1,) if shape is None else shape_of(shape, "shape")
        if self.size != len(offsets) - 1:
            count = len(offsets) - 1
            raise SpecError(f"shape {self.shape} does not hold {counted(count, 'value')}")

    @classmethod
    def maker(cls, index: int, shape: tuple[int, ...]) -> "Callable[[Decoded], BytesArray]":
        """Return what makes an array over native column `index` of any batch.

        The column has elements of this shape; it is looked at when needed.
        """
        new = object.__new__

        def make(batch: Decoded) -> BytesArray:
            array = new(cls)
            array._columns, array._index = batch.columns, index  # noqa: SLF001 - one of this class
            array.shape = batch.rows + shape if shape else batch.rows
            return array

        return make

    def __reduce__(self) -> Any:
        """Pickle the values, without the native column, and of a slice only its own."""
        start, stop = int(self.offsets[0]), int(self.offsets[-1])
        return BytesArray, (self.data[start:stop], self.offsets - start, self.shape)

    def _load(self) -> None:
        if self._columns is None:
            raise AttributeError("this BytesArray was never initialised")
        _, memory, offsets, *_ = self._columns.column(self._index)
        self._data = np.frombuffer(memory, np.uint8)  # type: ignore[call-overload, unused-ignore]
        self._offsets = np.frombuffer(offsets, np.int64)  # type: ignore[call-overload, unused-ignore]

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The bytes of all values."""
        if not hasattr(self, "_data"):
            self._load()
        return self._data

    @property
    def offsets(self) -> IntArray:
        """Where each value ends in `data`, with a leading start."""
        if not hasattr(self, "_offsets"):
            self._load()
        return self._offsets

    @classmethod
    def from_values(cls, values: Iterable[bytes | str]) -> "BytesArray":
        """Make a 1-D array of `values`; str becomes UTF-8."""
        encoded = [_encoded(value) for value in values]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(value) for value in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @property
    def size(self) -> int:
        """How many values there are."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The length of all values together."""
        return int(self.offsets[-1] - self.offsets[0])

    def __len__(self) -> int:
        """Return the length of the first axis."""
        if not self.shape:
            raise TypeError("len() of a 0-d BytesArray")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the first axis."""
        return map(self.__getitem__, range(len(self)))  # which threads may share

    def item(self) -> bytes:
        """Return the value of an array of size 1."""
        if self.size != 1:
            raise SpecError(f"item() needs an array of one value, this has {self.size}")
        return self.data[self.offsets[0] : self.offsets[1]].tobytes()

    def __bytes__(self) -> bytes:
        """Return the value of an array of size 1."""
        return self.item()

    def __getitem__(self, index: Any) -> Any:
        """Return the value (bytes), or the part of the array, at `index`."""
        if isinstance(index, int | np.integer) and self.ndim == 1 and not isinstance(index, bool):
            place = row_place(index, self.shape[0])
            return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()
        if isinstance(index, int | np.integer) and self.ndim > 1 and not isinstance(index, bool):
            place = row_place(index, self.shape[0])
            return self._rows(place, place + 1).reshape(self.shape[1:])
        if isinstance(index, slice) and self.ndim >= 1:
            start, stop, step = index.indices(self.shape[0])
            if step == 1:
                return self._rows(start, max(start, stop))
        places = np.arange(self.size).reshape(self.shape)[index]
        return self._at(places)

    def _rows(self, start: int, stop: int) -> "BytesArray":
        each = math.prod(self.shape[1:])
        offsets = self.offsets[start * each : stop * each + 1]
        return BytesArray(self.data, offsets, (stop - start, *self.shape[1:]))

    def _at(self, places: Any) -> Any:
        if np.ndim(places) == 0:
            return self.data[self.offsets[places] : self.offsets[places + 1]].tobytes()
        flat = np.ravel(places)
        lengths = self.offsets[flat + 1] - self.offsets[flat]
        offsets = np.zeros(len(flat) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        steps = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        data = self.data[np.repeat(self.offsets[flat], lengths) + steps]
        return BytesArray(data, offsets, np.shape(places))

    def reshape(self, *shape: int | Sequence[int]) -> "BytesArray":
        """Return the same values in another shape; one dimension may be -1."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        resolved = np.empty(self.shape, np.bool_).reshape(wanted).shape  # type: ignore[arg-type]
        return BytesArray(self.data, self.offsets, resolved)

    def ravel(self) -> "BytesArray":
        """Return the same values in one dimension."""
        return self.reshape(-1)

    def tolist(self) -> Any:
        """Return the values as nested lists of bytes (as bytes, if there are no dimensions)."""
        return self.__array__().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return an object array of bytes, or one of `dtype`."""
        if copy is False:
            raise ValueError("an array of bytes objects cannot be made without a copy")
        values = np.empty(self.size, np.object_)
        values[:] = self.to_records().tolist()
        array = values.reshape(self.shape)
        return array if dtype is None else array.astype(dtype)

    def astype_str(
        self, encoding: str = "utf-8", errors: str = "strict"
    ) -> npt.NDArray[np.object_]:
        """Return the values decoded, as an object array of str.

        Raises:
            UnicodeDecodeError: A value is not in this encoding.
            SpecError: There is no such encoding, or way of handling errors.
        """
        checked_codec(encoding, errors)
        values = np.empty(self.size, np.object_)
        values[:] = [value.decode(encoding, errors) for value in self.to_records().tolist()]
        return values.reshape(self.shape)

    def to_records(self) -> _core.Records:
        """Return the values, row-major, as Records."""
        start, stop = int(self.offsets[0]), int(self.offsets[-1])
        return _core.Records.from_buffers(
            np.ascontiguousarray(self.data[start:stop]),
            np.ascontiguousarray(self.offsets - start, np.int64),
        )

    def __eq__(self, other: object) -> Any:
        """Compare element by element, broadcasting as NumPy does; str compares as its UTF-8."""
        if isinstance(other, str):
            other = _encoded(other)
        if isinstance(other, list | tuple):
            flat = [_encoded(value) if isinstance(value, str) else value for value in other]
            other = np.array(flat, np.object_)
        if isinstance(other, BytesArray):
            other = other.__array__()
        return self.__array__() == np.asarray(other, np.object_)

    def __ne__(self, other: object) -> Any:
        """Compare element by element."""
        return np.logical_not(self == other)

    def __repr__(self) -> str:
        """Show the shape and the first values."""
        first = self.ravel()[:3].tolist()
        shown = [f"{value[:24]!r}{'…' * (len(value) > 24)}" for value in first]  # noqa: PLR2004
        more = ", …" if self.size > len(first) else ""
        return f"BytesArray(shape={self.shape}, nbytes={self.nbytes}, [{', '.join(shown)}{more}])"

    def _column(self) -> tuple[_core.Columns, int]:
        if self._columns is not None:
            return self._columns, self._index
        rows = self.shape[0] if self.shape else 1
        offsets = np.ascontiguousarray(self.offsets)
        pieces: Any = ("", self.data, offsets, list(self.shape[1:]), [], None)
        return _core.Columns.build(rows, [pieces]), 0

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Hand the values over by Arrow's PyCapsule interface."""
        columns, index = self._column()
        return columns.column_to_arrow(index)


def _is_array_of(given: Any, dtype: Any) -> bool:
    return isinstance(given, np.ndarray) and given.dtype == dtype and given.ndim == 1


def _bytes_in(data: Any) -> npt.NDArray[np.uint8]:
    """Return the bytes of a buffer as an array.

    Raises:
        SpecError: It is no contiguous buffer of bytes.
    """
    try:
        view = memoryview(data)
        if view.itemsize == 1:
            return np.frombuffer(view.cast("B"), np.uint8)
    except TypeError:
        pass
    raise SpecError(f"data must be bytes or a contiguous uint8 array, not {shown(data)}")


def _offsets_in(offsets: Any) -> IntArray:
    array = integers_of(offsets, "offsets")
    if array.ndim != 1:
        raise SpecError(f"offsets must have one dimension, not shape {array.shape}")
    return array.astype(np.int64, copy=False)


def row_place(index: int | np.integer[Any], rows: int) -> int:
    """Return where row `index` is, which may count from the end."""
    if not -rows <= index < rows:
        raise IndexError(f"index {index} is out of bounds for {counted(rows, 'row')}")
    return int(index) % rows


def _encoded(value: Any) -> bytes:
    if isinstance(value, str):
        return encoded_text("a value of a BytesArray", value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"a BytesArray holds bytes and str, not {type(value).__name__}")


Values: TypeAlias = npt.NDArray[Any] | BytesArray


def values_of(values: Any) -> Values:
    """Return values as they are, or a list of them as an array."""
    if isinstance(values, BytesArray | np.ndarray):
        return values
    array = array_of(values, "values")
    return BytesArray.from_values(values) if array.dtype.kind in "SU" and array.ndim else array
