"""A tensor of rows of different lengths."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.optional import integration
from tfrecs._internal.wording import counted
from tfrecs.errors import SpecError
from tfrecs.tensors.bytes_array import (
    BytesArray,
    Values,
    row_place,
    values_of,
)
from tfrecs.tensors.coercion import IntArray, array_of, integers_of
from tfrecs.tensors.column_parts import pieces_of_rows
from tfrecs.tensors.dense import checked_size, row_major_places, scattered
from tfrecs.tensors.sparse import SparseTensor

SplitsArray: TypeAlias = npt.NDArray[np.int32] | IntArray


class RaggedTensor:
    """Rows of different lengths: their values one after the other, and where each row ends.

    As `tf.RaggedTensor`: the values may be rows themselves, to any depth, or arrays of one shape.
    Beyond it, an outermost row can be missing altogether, which is not the same as empty.

    Attributes:
        values: What the rows are cut from: an array or BytesArray of shape (total length, …), or a
            RaggedTensor.
        row_splits: Row i is values[row_splits[i]:row_splits[i + 1]]: int64 or int32, shape
            (rows + 1,).
        missing: Which rows have no such feature: bool, shape (rows,); None if all have.

    Example:
        >>> import tfrecs
        >>> ragged = tfrecs.RaggedTensor.from_rows([[1, 2], [], [3], None])
        >>> ragged.tolist(), ragged[0].tolist(), ragged.row_lengths().tolist()
        ([[1, 2], [], [3], None], [1, 2], [2, 0, 1, 0])
        >>> nested = tfrecs.RaggedTensor.from_rows([[[1, 2], [3]], []])
        >>> nested.ragged_rank, nested.shape, nested.to_dense(default=-1).tolist()
        (2, (2, None, None), [[[1, 2], [3, -1]], [[-1, -1], [-1, -1]]])
    """

    __slots__ = ("_source", "missing", "row_splits", "values")

    def __init__(
        self,
        values: "Values | Sequence[Any] | RaggedTensor",
        row_splits: SplitsArray | Sequence[int],
        missing: npt.NDArray[np.bool_] | None = None,
        *,
        _source: tuple[_core.Columns, int] | None = None,
    ) -> None:
        """Keep the parts; lists become arrays."""
        self.values = values if isinstance(values, RaggedTensor) else values_of(values)
        if not isinstance(self.values, RaggedTensor) and self.values.ndim == 0:
            raise SpecError("the values of a RaggedTensor have at least one dimension")
        splits: SplitsArray = integers_of(row_splits, "row_splits")
        if splits.ndim != 1 or not len(splits):
            raise SpecError("row_splits have one dimension and at least one element, 0")
        self.row_splits = splits
        self.missing = None if missing is None else _mask(missing, len(splits) - 1)
        self._source = _source

    def __reduce__(self) -> Any:
        """Pickle the rows, without the native column, and of a slice only its own values."""
        start, stop = _bounds(self)
        if self.row_splits.min() < 0:  # they do not fit the values, and stay so
            return RaggedTensor, (self.values, self.row_splits, self.missing)
        return RaggedTensor, (self.values[start:stop], self.row_splits - start, self.missing)

    @classmethod
    def from_rows(cls, rows: Iterable[Any], dtype: npt.DTypeLike | None = None) -> "RaggedTensor":
        """Make one of sequences of numbers or strings, or of such rows; None is a missing row."""
        rows = [None if row is None else list(row) for row in rows]
        flat = [value for row in rows if row is not None for value in row]
        values: Values | RaggedTensor
        if any(isinstance(value, list | tuple) for value in flat):
            values = cls.from_rows(flat, dtype)
        elif flat and isinstance(flat[0], bytes | str):
            values = BytesArray.from_values(flat)
        else:
            values = array_of(flat, "rows", dtype)
        return cls.from_row_lengths(values, [None if row is None else len(row) for row in rows])

    @classmethod
    def from_row_lengths(
        cls, values: "Values | RaggedTensor", lengths: Sequence[int | None]
    ) -> "RaggedTensor":
        """Make one of the values of all rows and the length of each; None is a missing row.

        Raises:
            SpecError: The lengths do not add up to the number of values, or one is negative.
        """
        splits = np.zeros(len(lengths) + 1, np.int64)
        known = integers_of([0 if length is None else length for length in lengths], "lengths")
        np.cumsum(known, out=splits[1:])
        if splits[-1] != len(values) or (np.diff(splits) < 0).any():
            raise SpecError(f"these lengths of rows do not divide {counted(len(values), 'value')}")
        missing = np.array([length is None for length in lengths], np.bool_)
        return cls(values, splits, missing if missing.any() else None)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Values, nested_row_splits: Sequence[SplitsArray]
    ) -> "RaggedTensor":
        """Make one of the innermost values and the row splits of every level, outermost first."""
        if not nested_row_splits:
            raise SpecError("a RaggedTensor has the row splits of at least one level")
        ragged = cls(flat_values, nested_row_splits[-1])
        for splits in reversed(nested_row_splits[:-1]):
            ragged = cls(ragged, splits)
        return ragged

    @property
    def flat_values(self) -> Values:
        """The values below all levels of rows: shape (total length, …)."""
        return self._levels()[-1].values  # type: ignore[return-value]

    @property
    def nested_row_splits(self) -> tuple[SplitsArray, ...]:
        """The row splits of every level, outermost first."""
        return tuple(level.row_splits for level in self._levels())

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are ragged."""
        return len(self._levels())

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape; None is a dimension in which rows differ."""
        return (len(self), *[None] * self.ragged_rank, *self.flat_values.shape[1:])

    def _levels(self) -> "list[RaggedTensor]":
        """This tensor and those it is made of, outermost first."""
        levels = [self]
        while isinstance(levels[-1].values, RaggedTensor):
            levels.append(levels[-1].values)
        return levels

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.row_splits) - 1

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows."""
        return map(self.__getitem__, range(len(self)))  # which threads may share

    def __getitem__(self, index: int | np.integer[Any] | slice) -> Any:
        """Return row `index` (None if it is missing), or the rows of a slice with step 1."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise SpecError("a RaggedTensor is sliced with step 1")
            missing = None if self.missing is None else self.missing[start:stop]
            return RaggedTensor(self.values, self.row_splits[start : max(start, stop) + 1], missing)
        if not isinstance(index, int | np.integer):
            raise TypeError(f"a RaggedTensor is indexed by an int or a slice, not {index!r}")
        place = row_place(index, len(self))
        if self.missing is not None and self.missing[place]:
            return None
        start, stop = self.row_splits[place : place + 2].clip(0).tolist()
        return self.values[start : max(start, stop)]

    def row_lengths(self) -> SplitsArray:
        """Return the length of each row: as `row_splits`, shape (rows,)."""
        return _lengths(self.row_splits)

    def tolist(self) -> list[Any]:
        """Return nested lists; None for a missing row."""
        start, stop = _bounds(self)
        flat = self.values[start:stop].tolist()
        splits = np.maximum(self.row_splits - start, 0).tolist()
        rows = [flat[begin:end] for begin, end in pairwise(splits)]
        for place in [] if self.missing is None else np.flatnonzero(self.missing).tolist():
            rows[place] = None
        return rows

    def _whole(self) -> tuple[list[IntArray], Values]:
        """Return the row splits of every level, beginning at 0, and the values they divide.

        Raises:
            SpecError: The row splits do not fit what they divide.
        """
        nested = []
        values: Values | RaggedTensor = self
        while isinstance(values, RaggedTensor):
            splits = values.row_splits.astype(np.int64)
            if splits[0] < 0 or splits[-1] > len(values.values) or (_lengths(splits) < 0).any():
                raise SpecError(
                    f"row_splits do not fit the {len(values.values)} values that they divide: they "
                    "ascend from 0 to that number"
                )
            nested.append(splits - splits[0])
            values = values.values[int(splits[0]) : int(splits[-1])]
        return nested, values

    def to_sparse(self) -> SparseTensor:
        """Return the same values as a SparseTensor of shape (rows, longest row, …).

        Raises:
            SpecError: The row splits do not fit the values.
        """
        nested, values = self._whole()
        indices = _coordinates(nested)
        shape = [len(self), *(_longest(splits) for splits in nested)]
        inner = values.shape[1:]
        if inner:
            each = np.indices(inner, np.int64).reshape(len(inner), -1).T
            tiled = np.tile(each, (len(indices), 1))
            indices = np.hstack([np.repeat(indices, len(each), axis=0), tiled])
        return SparseTensor(indices, values.reshape(-1), np.array([*shape, *inner], np.int64))

    def to_dense(self, default: Any = None) -> npt.NDArray[Any]:
        """Return an array of shape (rows, longest row, …), padded with `default` (0 or b"").

        Raises:
            SpecError: The row splits do not fit the values.
        """
        nested, values = self._whole()
        shape = (len(self), *(_longest(splits) for splits in nested))
        places = row_major_places(_coordinates(nested), shape)
        dense = scattered(values, places, checked_size(shape), default)
        return np.asarray(dense.reshape((*shape, *values.shape[1:])))

    def to_torch(self) -> Any:
        """Return a nested tensor with the jagged layout; needs PyTorch. A missing row is empty.

        Raises:
            SpecError: PyTorch has no such tensors: of byte strings, or with more than one ragged
                dimension.
        """
        return integration("torch").nested_tensor(self)

    def __repr__(self) -> str:
        """Show the number of values, their type and the shape."""
        values: Values | RaggedTensor = self
        while isinstance(values, RaggedTensor):
            start, stop = _bounds(values)
            values = values.values[start:stop]
        kind = "bytes" if isinstance(values, BytesArray) else str(values.dtype)
        count = counted(values.size, "value")
        return f"RaggedTensor({count} of {kind}, shape={self.shape})"

    def _column(self) -> tuple[_core.Columns, int]:
        if self._source is not None:
            return self._source
        pieces = pieces_of_rows("", self.flat_values, self.nested_row_splits, self.missing)
        return _core.Columns.build(len(self), [pieces]), 0

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Hand the rows over by Arrow's PyCapsule interface, as large_list with nulls."""
        columns, index = self._column()
        return columns.column_to_arrow(index)


def _mask(missing: Any, rows: int) -> npt.NDArray[np.bool_]:
    mask = array_of(missing, "missing")
    if mask.dtype != np.bool_ or mask.shape != (rows,):
        raise SpecError(
            f"missing must be a bool array of shape ({rows},), not {mask.dtype} of {mask.shape}"
        )
    return mask


def _lengths(splits: SplitsArray) -> SplitsArray:
    """Return the lengths of rows; for short splits several times as fast as numpy.diff."""
    return splits[1:] - splits[:-1]


def _bounds(rows: RaggedTensor) -> tuple[int, int]:
    """Where the values of these rows begin and end; whatever the splits, a range."""
    start = max(int(rows.row_splits.min()), 0)
    return start, max(int(rows.row_splits.max()), start)


def _longest(splits: IntArray) -> int:
    return int(_lengths(splits).max(initial=0))


def _coordinates(nested: Sequence[IntArray]) -> IntArray:
    """Return the indices of every value: shape (values, levels + 1)."""
    if len(nested) == 1:
        count = int(nested[0][-1])
        return np.frombuffer(_core.coordinates(nested[0], count), np.int64).reshape(count, 2)  # type: ignore[call-overload, no-any-return, unused-ignore]
    indices = np.arange(len(nested[0]) - 1, dtype=np.int64).reshape(-1, 1)
    for splits in nested:
        # Of a row its indices, and what its values' places are too large by; then a line a value.
        rows = np.hstack([indices, -splits[:-1].reshape(-1, 1)])
        indices = np.repeat(rows, np.diff(splits), axis=0)
        indices[:, -1] += np.arange(splits[-1])
    return indices
