"""The native decoder's columns as arrays over their memory."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs.tensors.bytes_array import BytesArray, Values
from tfrecs.tensors.column_parts import Pieces, pieces_of_rows
from tfrecs.tensors.decoded import Decoded
from tfrecs.tensors.dtypes import numpy_dtype
from tfrecs.tensors.ragged import RaggedTensor
from tfrecs.tensors.sparse import SparseTensor

Column: TypeAlias = npt.NDArray[Any] | BytesArray | RaggedTensor


def column_of(columns: _core.Columns, index: int) -> Column:
    """Return column `index` as arrays over its own memory."""
    dtype, memory, offsets, shape, splits, present = columns.column(index)
    if not splits:
        return dense_column(columns, index, dtype, shape)
    flat = _flat_values(dtype, memory, offsets)
    values: Values | RaggedTensor = flat.reshape((-1, *shape)) if shape else flat
    for inner in reversed(splits[1:]):
        values = RaggedTensor(values, view(inner, np.int64))
    missing = None if present is None else view(present, np.uint8) == 0
    return RaggedTensor(values, view(splits[0], np.int64), missing, _source=(columns, index))


def dense_column(columns: _core.Columns, index: int, dtype: str, shape: Sequence[int]) -> Values:
    """Return column `index`, which has elements of this type and shape, and no lists."""
    return dense_maker(index, dtype, tuple(shape))(Decoded(columns))


def dense_maker(index: int, dtype: str, shape: tuple[int, ...]) -> Callable[[Decoded], Values]:
    """Return what makes an array of column `index` of any batch, as `dense_column`.

    What does not depend on the batch is done here, once.
    """
    if dtype == "bytes":
        return BytesArray.maker(index, shape)
    number, frombuffer = numpy_dtype(dtype), np.frombuffer
    if not shape:
        return lambda batch: frombuffer(batch.columns.values(index), number)  # type: ignore[call-overload, no-any-return, unused-ignore]
    return lambda batch: frombuffer(batch.columns.values(index), number).reshape(batch.rows + shape)  # type: ignore[call-overload, no-any-return, unused-ignore]


def sparse_maker(index: int, dtype: str) -> Callable[[Decoded], SparseTensor]:
    """Return what makes a sparse tensor of column `index` of any batch: of lists of scalars."""
    number = np.dtype(np.uint8) if dtype == "bytes" else numpy_dtype(dtype)
    frombuffer = np.frombuffer

    def make(batch: Decoded) -> SparseTensor:
        values, offsets, indices, longest = _core.sparse_column(batch.columns, index)
        flat: Any = frombuffer(values, number)  # type: ignore[call-overload, unused-ignore]
        if offsets is not None:
            flat = BytesArray(flat, view(offsets, np.int64))
        places = view(indices, np.int64).reshape(-1, 2)
        return SparseTensor.of(places, flat, np.array([*batch.rows, longest], np.int64))

    return make


def _flat_values(dtype: str, memory: _core.Buffer, offsets: _core.Buffer | None) -> Values:
    if offsets is not None:
        return BytesArray(view(memory, np.uint8), view(offsets, np.int64))
    return view(memory, numpy_dtype(dtype))


def view(memory: _core.Buffer, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return native memory as an array over it."""
    return np.frombuffer(memory, dtype)  # type: ignore[call-overload, no-any-return, unused-ignore]


def ragged_pieces(name: str, ragged: RaggedTensor) -> Pieces:
    """Return a ragged column in the form that the native side takes."""
    return pieces_of_rows(name, ragged.flat_values, ragged.nested_row_splits, ragged.missing)
