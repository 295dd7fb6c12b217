"""Python's values as arrays: which type they get, and which types they can be asked for as.

Python's own numbers are checked strictly (1.5 is no int32, True no number), and arrays of NumPy,
its scalars too, are cast to whatever is asked for: that is how TensorFlow does it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs._internal.checks import UNREACHED, encoded_text
from tfrecs._internal.wording import counted
from tfrecs.errors import SpecError
from tfrecs.tf.tensor.dtypes import DType, as_numpy, string
from tfrecs.tf.tensor.operators import Operators

Array = npt.NDArray[Any]

# Python's numbers by NumPy's kinds, and the kinds of types that can hold them.
_HELD_BY = {"b": "b", "i": "iufcV", "u": "iufcV", "f": "fcV", "c": "c"}

# The types of numbers that True is one of: those that TensorFlow does not convert by way of NumPy.
_TAKE_BOOL = ("int32", "int64", "uint64", "float16", "float32", "float64", "complex128")


def array_of(value: Any, dtype: DType | None = None, shape: Any = None) -> Array:
    """Return a value as an array: Python's ints are int32, its floats float32, as TensorFlow's.

    Raises:
        TypeError: It is not of the type that is asked for, nor of one that it is made of.
        ValueError: It has not the shape, or is of text and numbers.
    """
    array = _array_of(value)
    takes_bool = dtype is not None and dtype.name in _TAKE_BOOL
    if isinstance(value, list | tuple) and array.dtype.kind != "b" and not takes_bool:
        _check_truths(value)
    if dtype is not None:
        is_array = isinstance(value, np.ndarray | np.generic | Operators)
        array = _as_type(array, dtype, may_cut=is_array)
    return array if shape is None else _filled(array, tuple(shape))


def integer(given: Any, what: str) -> int:
    """Return an argument as an integer: of at most 63 bits, beyond which all mean the same.

    Raises:
        SpecError: It is text or NaN; the text says of `what`.
        TypeError: It is something else.
    """
    try:
        number = int(given)
    except (ValueError, OverflowError):
        raise SpecError(f"{what} must be an integer, not {given!r:.60}") from None
    return max(-UNREACHED, min(number, UNREACHED))


def _array_of(value: Any) -> Array:
    is_python = not hasattr(value, "dtype") and not hasattr(value, "__array__")
    first = _first(value) if is_python else value
    if isinstance(first, str | bytes | bytearray):
        return _as_bytes(np.asarray(value, object))
    if isinstance(first, Operators):
        return np.asarray(_arrays(value), np.asarray(first).dtype)
    try:
        array = np.asarray(value)
    except ValueError as error:  # as TensorFlow says it
        raise SpecError(
            f"Can't convert non-rectangular Python sequence to Tensor: {value!r:.60}"
        ) from error
    if array.dtype.kind in "USO":
        return _as_bytes(np.asarray(value, object))
    if is_python and array.dtype.kind in "iu" and _fits_int32(array):
        array = array.astype(np.int32)
    elif is_python and array.dtype == np.float64:
        array = array.astype(getattr(first, "dtype", np.float32))
    return array


def _first(value: Any) -> Any:
    """Return the first value of nested lists: whose type is that of all."""
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return value


def _arrays(value: Any) -> Any:
    """Return nested lists of Tensors as those of arrays."""
    if isinstance(value, list | tuple):
        return [_arrays(one) for one in value]
    return np.asarray(value) if isinstance(value, Operators) else value


def _fits_int32(array: Array) -> bool:
    limits = np.iinfo(np.int32)
    return not array.size or bool(array.min() >= limits.min and array.max() <= limits.max)


def _as_bytes(array: Array) -> Array:
    made = np.empty(array.shape, object)
    made[...] = np.vectorize(_bytes_of, otypes=[object])(array) if array.size else array
    return made


def _bytes_of(one: Any) -> bytes:
    if not isinstance(one, str | bytes | bytearray):
        raise ValueError(  # noqa: TRY004 - as TensorFlow
            f"Can't convert {one!r} to a value of dtype string, nor mixed types"
        )
    return encoded_text("a value", one) if isinstance(one, str) else bytes(one)


def _check_truths(values: Any) -> None:
    if isinstance(_first(values), bool):
        raise ValueError(  # noqa: TRY004 - as TensorFlow
            "Can't convert a sequence of truth values and numbers to a value"
        )


def _as_type(array: Array, dtype: DType, *, may_cut: bool) -> Array:
    wanted = as_numpy(dtype)
    if not array.size:
        return np.empty(array.shape, wanted)
    fits = (dtype == string) == (array.dtype.kind == "O")
    if not may_cut and array.dtype.kind in _HELD_BY:
        is_truth = array.dtype.kind == "b" and dtype.name in _TAKE_BOOL
        fits = fits and (is_truth or wanted.kind in _HELD_BY[array.dtype.kind])
    if not fits:
        raise TypeError(f"Cannot convert {array.tolist()!r} to EagerTensor of dtype {dtype.name}")
    with np.errstate(invalid="ignore", over="ignore"):
        return array.astype(wanted)


def _filled(array: Array, shape: tuple[int, ...]) -> Array:
    if array.size == 1 and int(np.prod(shape)) != 1:
        return np.broadcast_to(array.reshape(()), shape).copy()
    if array.size != int(np.prod(shape)):
        raise TypeError(f"a value of {counted(array.size, 'element')} has no shape {shape}")
    return array.reshape(shape)
