"""Numbers that were stored as raw bytes: `tf.io.decode_raw`."""

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.wording import counted
from tfrecs.errors import ParseError, SpecError
from tfrecs.tensors import BytesArray, RaggedTensor
from tfrecs.tensors.byte_values import (
    ByteValues,
    Flat,
    array_over,
    as_records,
    byte_values,
    lengths_of,
)
from tfrecs.tensors.dtypes import FLOATS_OF_ML_DTYPES, numpy_dtype, type_name

_NUMBERS = FLOATS_OF_ML_DTYPES | {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
}
_ALLOWED = ", ".join(sorted(_NUMBERS))
_ANY_LENGTH = 0

Dims: TypeAlias = tuple[int, ...]
Shape: TypeAlias = (
    int | Sequence[int] | Sequence[Sequence[int]] | npt.NDArray[np.integer[Any]] | RaggedTensor
)


def decode_raw(
    input_bytes: ByteValues,
    out_type: npt.DTypeLike,
    little_endian: bool = True,
    fixed_length: int | None = None,
    *,
    shape: Shape | None = None,
) -> Any:
    r"""Read byte strings as the numbers whose memory they are.

    As `tf.io.decode_raw`; beyond it, every type of number and every shape of input, and `shape`.
    Bytes of a BytesArray that lie as NumPy needs them are not copied: who writes into the result
    then writes into that array.

    Args:
        input_bytes: One byte string, or many: a BytesArray of any shape, Records, nested lists, a
            NumPy array of objects. (NumPy's own byte strings, dtype S, have lost trailing zeros.)
        out_type: The type of the numbers: a NumPy dtype or its name; float8 and bfloat16 through
            ml_dtypes.
        little_endian: Whether the lowest byte of a number comes first. The result has the
            machine's own order.
        fixed_length: Cut or zero-pad each byte string to that many bytes (before they are swapped).
            Without it, all must have the same length.
        shape: The shape of the array in each byte string. For many byte strings it may also be one
            shape for each: an array of shape (B, rank), such as a feature that was stored beside
            the bytes, or B sequences.

    Returns:
        An array of shape (*shape of input, n), or with `shape` (*shape of input, *shape). With a
        shape for each byte string a list of B arrays, whether they are equal or not
        (`numpy.stack` makes one of equal ones).

    Raises:
        SpecError: An argument makes no sense.
        ParseError: The byte strings have different lengths, or one that no whole number of values
            has, or not the one that `shape` takes.

    Example:
        >>> import numpy as np, tfrecs
        >>> tfrecs.decode_raw([b"\1\0\2\0", b"\3\0\4\0"], "int16").tolist()
        [[1, 2], [3, 4]]
        >>> images = [np.zeros((2, 3), np.uint8), np.ones((4, 1), np.uint8)]
        >>> records = [
        ...     tfrecs.encode_example({"image": image.tobytes(), "shape": image.shape})
        ...     for image in images
        ... ]
        >>> spec = {
        ...     "image": tfrecs.FixedLenFeature([], "string"),
        ...     "shape": tfrecs.FixedLenFeature([2], "int64"),
        ... }
        >>> batch = tfrecs.parse_example(records, spec)
        >>> arrays = tfrecs.decode_raw(batch["image"], "uint8", shape=batch["shape"])
        >>> [array.shape for array in arrays]
        [(2, 3), (4, 1)]
    """
    name, dtype = _checked_type(out_type)
    length = _checked_length(fixed_length, dtype)
    values, dims = byte_values(input_bytes, "input_bytes")
    if not isinstance(little_endian, bool):
        raise SpecError(f"little_endian must be True or False, not {little_endian!r}")
    swap = little_endian != (sys.byteorder == "little")
    shapes = None if shape is None else _checked_shape(shape)
    if isinstance(shapes, list):
        _check_lists(shapes, dims, length)
        numbers = _decoded(values, name, dtype, swap=swap, length=_ANY_LENGTH)
        return _split(numbers, lengths_of(values), shapes)
    numbers = _decoded(values, name, dtype, swap=swap, length=length)
    return _reshaped(numbers, dims, shapes, 0 if length is None else length // dtype.itemsize)


def _checked_type(out_type: Any) -> tuple[str, np.dtype[Any]]:
    name = type_name(out_type, "out_type")
    if name not in _NUMBERS:
        raise SpecError(f"out_type {name!r} is not in the list of allowed values: {_ALLOWED}")
    _check_byte_order(out_type)
    return name, numpy_dtype(name)


def _check_byte_order(out_type: Any) -> None:
    is_code = isinstance(out_type, str) and not out_type.isidentifier()
    if (is_code or isinstance(out_type, np.dtype)) and np.dtype(out_type).str.startswith(">"):
        raise SpecError(
            f"out_type {out_type!r} has a byte order: give that as little_endian=False, and the "
            "type without it"
        )


def _checked_length(length: Any, dtype: np.dtype[Any]) -> int | None:
    if length is None:
        return None
    if not isinstance(length, int | np.integer) or isinstance(length, bool):
        raise SpecError(f"fixed_length must be an int, not {type(length).__name__}")
    if length <= 0:
        raise SpecError(f"fixed_length ({length}) must be greater than zero")
    if length > np.iinfo(np.int64).max:
        raise SpecError(f"fixed_length ({length}) is too large")
    if length % dtype.itemsize:
        raise SpecError(
            f"fixed_length ({length}) must be a multiple of the size of out_type ({dtype.itemsize})"
        )
    return int(length)


def _checked_shape(shape: Any) -> Dims | list[Dims]:
    """One shape as a tuple, a shape for each byte string as a list of tuples."""
    if isinstance(shape, RaggedTensor):
        return [_dims(row) for row in shape]
    if isinstance(shape, np.ndarray) and shape.ndim == 2:  # noqa: PLR2004
        return [_dims(row) for row in shape]
    if isinstance(shape, list | tuple) and any(isinstance(row, Iterable) for row in shape):
        return [_dims(row) for row in shape]
    return _dims(shape)


def _dims(shape: Any) -> Dims:
    dims = list(shape) if isinstance(shape, Iterable) else [shape]
    if not all(isinstance(dim, int | np.integer) and not isinstance(dim, bool) for dim in dims):
        raise SpecError(f"shape {shape!r} is no shape, and no sequence of shapes")
    if any(dim < 0 for dim in dims):
        raise SpecError(f"shape {tuple(map(int, dims))} has a negative dimension")
    return tuple(int(dim) for dim in dims)


def _check_lists(shapes: list[Dims], dims: Dims, length: int | None) -> None:
    if length is not None:
        raise SpecError("fixed_length makes no sense with a shape for each byte string")
    if dims != (len(shapes),):
        raise SpecError(
            f"there are {len(shapes)} shapes, and byte strings of shape {dims}: with a shape for "
            "each, both are one-dimensional and as many"
        )


def _decoded(
    values: Flat, name: str, dtype: np.dtype[Any], *, swap: bool, length: int | None
) -> npt.NDArray[Any]:
    """All numbers one after the other."""
    part = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    data = _in_memory(values, dtype, length)
    if data is None:
        step = part if swap else 1
        memory = _core.decode_raw(as_records(values), name, dtype.itemsize, step, length)
        numbers = array_over(memory).view(dtype)
    elif swap and part > 1:
        numbers = data.view(f"u{part}").byteswap().view(dtype)
    else:
        numbers = np.require(data.view(dtype), requirements=["A", "W"])
    # A byte that is neither 0 nor 1 is true, but NumPy counts with what is in it.
    return numbers.view(np.uint8) != 0 if dtype.kind == "b" else numbers


def _in_memory(
    values: Flat, dtype: np.dtype[Any], length: int | None
) -> npt.NDArray[np.uint8] | None:
    """The bytes of a BytesArray, if all are of use and none has to be complained of."""
    if not isinstance(values, BytesArray) or not values.data.flags.c_contiguous:
        return None
    data = values.data[values.offsets[0] : values.offsets[-1]]
    lengths = lengths_of(values)
    first = int(lengths[0]) if len(lengths) else 0
    if length == _ANY_LENGTH:
        return None if (lengths % dtype.itemsize).any() else data
    if (lengths != first).any() or (length is None and first % dtype.itemsize):
        return None
    if length is None or length == first:
        return data
    padded = np.zeros((len(lengths), length), np.uint8)
    kept = min(first, length)
    padded[:, :kept] = data.reshape(len(lengths), first)[:, :kept]
    return padded.reshape(-1)


def _reshaped(
    numbers: npt.NDArray[Any], dims: Dims, shape: Dims | None, fixed: int
) -> npt.NDArray[Any]:
    count = math.prod(dims)
    each = numbers.size // count if count else fixed
    if shape is None:
        return numbers.reshape((*dims, each))
    if count and math.prod(shape) != each:
        raise ParseError(
            f"each byte string has {counted(each, 'value')} of {numbers.dtype}, but shape {shape} "
            f"takes {math.prod(shape)}"
        )
    return numbers.reshape((*dims, *shape))


def _split(
    numbers: npt.NDArray[Any], lengths: npt.NDArray[np.int64], shapes: list[Dims]
) -> list[npt.NDArray[Any]]:
    arrays, start = [], 0
    for place, (length, shape) in enumerate(zip(lengths.tolist(), shapes, strict=True)):
        size, each = math.prod(shape), length // numbers.itemsize
        if size != each:
            values = f"{counted(each, 'value')} of {numbers.dtype}"
            reason = f"it has {values}, but shape {shape} takes {size}"
            raise ParseError(f"record {place}: {reason}", record=place, reason=reason)
        arrays.append(numbers[start : start + size].reshape(shape))
        start += size
    return arrays
