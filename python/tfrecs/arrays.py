"""Arrays that NumPy does not have: of byte strings, of rows of different lengths, of few values.

Each is a thin layer over NumPy arrays that are views of the native decoder's memory. Nothing
becomes a Python object before somebody asks for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs.errors import SpecError

IntArray: TypeAlias = npt.NDArray[np.int64]

# A column as the native side takes it: name, values (or an Arrow array, and nothing else), offsets
# of byte strings, shape of a row, row splits, missing rows.
Pieces: TypeAlias = tuple[str, Any, IntArray | None, list[int], list[IntArray], Any]


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

    __slots__ = ("_source", "data", "offsets", "shape")
    __hash__ = None  # type: ignore[assignment]  # compares element by element, as ndarray does

    def __init__(
        self,
        data: npt.NDArray[np.uint8],
        offsets: IntArray,
        shape: Sequence[int] | None = None,
        *,
        _source: tuple[_core.Columns, int] | None = None,
    ) -> None:
        """Make an array of the values between consecutive `offsets` of `data`."""
        self.data = data
        self.offsets = offsets
        self.shape = (len(offsets) - 1,) if shape is None else tuple(int(dim) for dim in shape)
        if self.size != len(offsets) - 1:
            raise SpecError(f"shape {self.shape} does not hold {len(offsets) - 1} values")
        # The Arrow column that this array is the whole of, for handing it out without a copy.
        self._source = _source

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
        return int(np.prod(self.shape, dtype=np.int64))

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
        return (self[index] for index in range(len(self)))

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
            place = range(self.shape[0])[index]
            return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()
        if isinstance(index, int | np.integer) and self.ndim > 1 and not isinstance(index, bool):
            place = range(self.shape[0])[index]
            return self._rows(place, place + 1).reshape(self.shape[1:])
        if isinstance(index, slice) and self.ndim >= 1:
            start, stop, step = index.indices(self.shape[0])
            if step == 1:
                return self._rows(start, max(start, stop))
        places = np.arange(self.size).reshape(self.shape)[index]
        return self._at(places)

    def _rows(self, start: int, stop: int) -> "BytesArray":
        each = int(np.prod(self.shape[1:], dtype=np.int64))
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
        """
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
            other = other.encode()
        if isinstance(other, list | tuple):
            flat = [value.encode() if isinstance(value, str) else value for value in other]
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
        if self._source is not None:
            return self._source
        rows = self.shape[0] if self.shape else 1
        offsets = np.ascontiguousarray(self.offsets)
        pieces: Pieces = ("", self.data, offsets, list(self.shape[1:]), [], None)
        return _core.Columns.build(rows, [pieces]), 0

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Hand the values over by Arrow's PyCapsule interface."""
        columns, index = self._column()
        return columns.column_to_arrow(index)


def _encoded(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"a BytesArray holds bytes and str, not {type(value).__name__}")


Values: TypeAlias = npt.NDArray[Any] | BytesArray


class SparseTensor:
    """A tensor most of whose elements are not there: what VarLenFeature gives.

    As `tf.sparse.SparseTensor`.

    Attributes:
        indices: Where each value stands: int64, shape (N, number of dimensions).
        values: The values: shape (N,).
        dense_shape: The shape of the whole: int64, shape (number of dimensions,).

    Example:
        >>> import numpy as np, tfrecs
        >>> sparse = tfrecs.SparseTensor(np.array([[0, 1]]), np.array([7]), np.array([2, 2]))
        >>> sparse.to_dense(default=-1).tolist()
        [[-1, 7], [-1, -1]]
    """

    __slots__ = ("dense_shape", "indices", "values")

    def __init__(self, indices: IntArray, values: Values, dense_shape: IntArray) -> None:
        """Keep the three parts."""
        self.indices = indices
        self.values = values
        self.dense_shape = dense_shape

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the three parts, so that they can be unpacked."""
        return iter((self.indices, self.values, self.dense_shape))

    def to_dense(self, default: Any = None) -> npt.NDArray[Any]:
        """Return an array with `default` (0 or b"") where there is no value."""
        values = np.asarray(self.values)
        if default is None:
            default = b"" if values.dtype == np.object_ else 0
        dense = np.full(tuple(self.dense_shape), default, values.dtype)
        dense[tuple(self.indices.T)] = values
        return dense

    def __repr__(self) -> str:
        """Show the number of values, their type and the shape."""
        kind = "bytes" if isinstance(self.values, BytesArray) else str(self.values.dtype)
        shape = tuple(self.dense_shape.tolist())
        return f"SparseTensor({len(self.values)} values of {kind}, dense_shape={shape})"


class RaggedTensor:
    """Rows of different lengths: their values one behind the other, and where each row ends.

    As `tf.RaggedTensor` with one ragged dimension; beyond it, a row can be missing altogether,
    which is not the same as empty.

    Attributes:
        values: The values of all rows, shape (total length,).
        row_splits: Row i is values[row_splits[i]:row_splits[i + 1]]: int64, shape (rows + 1,).
        missing: Which rows have no such feature: bool, shape (rows,); None if all have.

    Example:
        >>> import tfrecs
        >>> ragged = tfrecs.RaggedTensor.from_rows([[1, 2], [], [3], None])
        >>> ragged.tolist(), ragged[0].tolist(), ragged.row_lengths().tolist()
        ([[1, 2], [], [3], None], [1, 2], [2, 0, 1, 0])
    """

    __slots__ = ("_source", "missing", "row_splits", "values")

    def __init__(
        self,
        values: Values,
        row_splits: IntArray,
        missing: npt.NDArray[np.bool_] | None = None,
        *,
        _source: tuple[_core.Columns, int] | None = None,
    ) -> None:
        """Keep the parts."""
        if values.ndim != 1:
            raise SpecError(f"the values of a RaggedTensor have one dimension, not {values.ndim}")
        self.values = values
        self.row_splits = np.asarray(row_splits, np.int64)
        self.missing = missing
        self._source = _source

    @classmethod
    def from_rows(cls, rows: Iterable[Any], dtype: npt.DTypeLike | None = None) -> "RaggedTensor":
        """Make one of sequences of numbers or strings; None is a missing row."""
        rows = [None if row is None else list(row) for row in rows]
        flat = [value for row in rows if row is not None for value in row]
        is_bytes = bool(flat) and isinstance(flat[0], bytes | str)
        values = BytesArray.from_values(flat) if is_bytes else np.array(flat, dtype)
        return cls.from_row_lengths(values, [None if row is None else len(row) for row in rows])

    @classmethod
    def from_row_lengths(cls, values: Values, lengths: Sequence[int | None]) -> "RaggedTensor":
        """Make one of the values of all rows and the length of each; None is a missing row."""
        splits = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum([length or 0 for length in lengths], out=splits[1:])
        missing = np.array([length is None for length in lengths], np.bool_)
        return cls(values, splits, missing if missing.any() else None)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.row_splits) - 1

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows."""
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int | slice) -> Any:
        """Return row `index` (None if it is missing), or the rows of a slice with step 1."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise SpecError("a RaggedTensor is sliced with step 1")
            missing = None if self.missing is None else self.missing[start:stop]
            return RaggedTensor(self.values, self.row_splits[start : max(start, stop) + 1], missing)
        place = range(len(self))[index]
        if self.missing is not None and self.missing[place]:
            return None
        return self.values[self.row_splits[place] : self.row_splits[place + 1]]

    def row_lengths(self) -> IntArray:
        """Return the length of each row: int64, shape (rows,)."""
        return np.diff(self.row_splits)

    def tolist(self) -> list[Any]:
        """Return a list of lists; None for a missing row."""
        return [None if row is None else row.tolist() for row in self]

    def to_sparse(self) -> SparseTensor:
        """Return the same values as a SparseTensor of shape (rows, longest row)."""
        lengths = self.row_lengths()
        rows = np.repeat(np.arange(len(self), dtype=np.int64), lengths)
        start = int(self.row_splits[0])
        places = np.arange(start, start + len(rows)) - np.repeat(self.row_splits[:-1], lengths)
        longest = int(lengths.max(initial=0))
        values = self.values[start : int(self.row_splits[-1])]
        indices = np.stack([rows, places], axis=1)
        return SparseTensor(indices, values, np.array([len(self), longest], np.int64))

    def __repr__(self) -> str:
        """Show the number of rows and values and their type."""
        kind = "bytes" if isinstance(self.values, BytesArray) else str(self.values.dtype)
        return f"RaggedTensor({len(self)} rows, {int(np.sum(self.row_lengths()))} values of {kind})"

    def _column(self) -> tuple[_core.Columns, int]:
        if self._source is not None:
            return self._source
        return _core.Columns.build(len(self), [ragged_pieces("", self)]), 0

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Hand the rows over by Arrow's PyCapsule interface, as large_list with nulls."""
        columns, index = self._column()
        return columns.column_to_arrow(index)


Column: TypeAlias = npt.NDArray[Any] | BytesArray | RaggedTensor


def column_of(columns: _core.Columns, index: int) -> Column:
    """Return column `index` as arrays over its own memory."""
    dtype, memory, offsets, shape, splits, present = columns.column(index)
    values: Values
    if offsets is None:
        values = _view(memory, np.dtype(dtype))
    else:
        values = BytesArray(_view(memory, np.dtype(np.uint8)), _view(offsets, _INT64))
    if splits:
        missing = None if present is None else _view(present, np.dtype(np.uint8)) == 0
        row_splits = _view(splits[0], _INT64)
        return RaggedTensor(values, row_splits, missing, _source=(columns, index))
    full = (columns.num_rows, *shape)
    if isinstance(values, BytesArray):
        return BytesArray(values.data, values.offsets, full, _source=(columns, index))
    return values.reshape(full)


_INT64 = np.dtype(np.int64)


def _view(memory: _core.Buffer, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.frombuffer(memoryview(memory), dtype)  # type: ignore[arg-type, unused-ignore]


def ragged_pieces(name: str, ragged: RaggedTensor) -> Pieces:
    """Return a ragged column in the form that the native side takes."""
    missing = None if ragged.missing is None else np.ascontiguousarray(ragged.missing, np.uint8)
    splits = np.ascontiguousarray(ragged.row_splits)
    if isinstance(ragged.values, BytesArray):
        offsets = np.ascontiguousarray(ragged.values.offsets)
        return name, ragged.values.data, offsets, [], [splits], missing
    return name, np.ascontiguousarray(ragged.values), None, [], [splits], missing
