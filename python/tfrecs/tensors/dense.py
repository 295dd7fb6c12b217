"""Values put in their places in a dense array."""

import math
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs.errors import SpecError
from tfrecs.tensors.bytes_array import BytesArray, Values
from tfrecs.tensors.coercion import IntArray


@overload
def scattered(
    values: npt.NDArray[Any], places: IntArray, size: int, default: Any
) -> npt.NDArray[Any]: ...
@overload
def scattered(values: BytesArray, places: IntArray, size: int, default: Any) -> BytesArray: ...
def scattered(values: Values, places: IntArray, size: int, default: Any) -> Values:
    """Return an array of `size` elements: `values` at `places`, and elsewhere `default`.

    Args:
        values: The values, along their first axis.
        places: A place for each, in 0 ≤ place < size.
        size: The length of the first axis of the result.
        default: A scalar; None is 0 or b"".
    """
    if isinstance(values, BytesArray):
        return _scattered_bytes(values, places, size, default)
    dense = _filled((size, *values.shape[1:]), values.dtype, default)
    dense[places] = values
    return dense


def _filled(shape: tuple[int, ...], dtype: np.dtype[Any], default: Any) -> npt.NDArray[Any]:
    try:
        filler = np.asarray(0 if default is None else default, dtype)
        if not any(filler.tobytes()):  # which -0.0 has not
            return np.zeros(shape, dtype)  # the system hands out zeroed pages as they are used
        return np.full(shape, filler, dtype)
    except (ValueError, OverflowError) as error:
        raise SpecError(f"default {default!r} does not fit values of {dtype}: {error}") from error


def rows_side_by_side(
    values: npt.NDArray[Any], row_splits: IntArray, longest: int, default: Any
) -> npt.NDArray[Any]:
    """Return an array of shape (rows, longest, …): contiguous `values` between `row_splits`.

    Args:
        values: The values, along their first axis.
        row_splits: Where each row ends, with a leading start.
        longest: The length of the longest row.
        default: A scalar for what the rows leave empty; None is 0.
    """
    shape = (len(row_splits) - 1, longest, *values.shape[1:])
    filler = np.full(values.shape[1:], 0 if default is None else default, values.dtype)
    given = values.reshape(-1).view(np.uint8)
    table = _core.side_by_side(given, row_splits, longest, filler.tobytes())
    return np.frombuffer(table, values.dtype).reshape(shape)  # type: ignore[call-overload, no-any-return, unused-ignore]


def _scattered_bytes(values: BytesArray, places: IntArray, size: int, default: Any) -> BytesArray:
    each = math.prod(values.shape[1:])
    shape = (size, *values.shape[1:])
    if default in (None, b"", "") and (places[1:] > places[:-1]).all():
        return _spread(values, places, size, each).reshape(shape)
    flat = values.ravel()
    index = np.full((size, each), flat.size, np.int64)
    index[places] = np.arange(flat.size).reshape(len(values), each)
    filler = BytesArray.from_values([b"" if default is None else default])
    start, end = int(flat.offsets[0]), int(flat.offsets[-1])
    data = np.concatenate([flat.data[start:end], filler.data])
    offsets = np.append(flat.offsets - start, end - start + filler.nbytes)
    padded: BytesArray = BytesArray(data, offsets)[index.ravel()]
    return padded.reshape(shape)


def _spread(values: BytesArray, places: IntArray, size: int, each: int) -> BytesArray:
    """Put values of ascending places among empty ones: the bytes stay where they are."""
    lengths = np.zeros((size, each), np.int64)
    lengths[places] = np.diff(values.offsets).reshape(len(values), each)
    offsets = np.empty(size * each + 1, np.int64)
    offsets[0] = values.offsets[0]
    np.cumsum(lengths, out=offsets[1:])
    offsets[1:] += offsets[0]
    return BytesArray(values.data, offsets)


def row_major_places(indices: IntArray, shape: tuple[int, ...]) -> IntArray:
    """Return the place of each index tuple in an array of `shape` laid out flat.

    Raises:
        SpecError: An index lies outside of the shape.
    """
    check_indices(indices, shape)
    dims = np.array(shape, np.int64)
    strides = np.cumprod(np.append(dims[1:], 1)[::-1])[::-1]
    return indices @ strides


def check_indices(indices: IntArray, shape: tuple[int, ...]) -> None:
    """Refuse index tuples that no array of `shape` has.

    Raises:
        SpecError: There is one; the text names the first.
    """
    line = _core.first_outside(indices, list(shape))
    if line is not None:
        first = indices[line].tolist()
        raise SpecError(f"index {first} lies outside of dense_shape {list(shape)}")


def checked_size(shape: tuple[int, ...]) -> int:
    """Return the number of elements of an array of `shape`.

    Raises:
        SpecError: No memory could hold them.
    """
    size = math.prod(shape)
    if size > np.iinfo(np.int64).max:
        raise SpecError(f"an array of shape {list(shape)} is too large")
    return size


def checked_shape(dense_shape: Any) -> tuple[int, ...]:
    """Return a dense_shape as a tuple.

    Raises:
        SpecError: A dimension is negative, which is to say unknown.
    """
    shape = tuple(int(dim) for dim in dense_shape)
    if min(shape, default=0) < 0:
        raise SpecError(f"dense_shape {list(shape)} has an unknown dimension")
    return shape
