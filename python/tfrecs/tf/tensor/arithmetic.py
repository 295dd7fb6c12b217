"""Arithmetic with TensorFlow's rules for types: nothing is promoted, and not every type has it.

Two tensors must have one type. What is no tensor yet gets the type of the other operand, or is
refused (conversion.py). NumPy's own rules would make `int32 + float32` float64 without a word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs.errors import SpecError
from tfrecs.errors.tf_errors import UnimplementedError
from tfrecs.tf.tensor.conversion import array_of
from tfrecs.tf.tensor.dtypes import as_dtype
from tfrecs.tf.tensor.operators import Operators

Array = npt.NDArray[Any]

_SIGNED = frozenset({"int8", "int16", "int32", "int64"})
_INTEGERS = _SIGNED | {"uint8", "uint16", "uint32", "uint64"}
_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_COMPLEX = frozenset({"complex64", "complex128"})
_REAL = _INTEGERS | _FLOATS
_NUMBERS = _REAL | _COMPLEX

# The types that each function has, by the names of Python's operators and NumPy's functions.
_TYPES = {
    "add": _NUMBERS | {"string"},
    "sub": _NUMBERS,
    "mul": _NUMBERS | {"bool"},
    "multiply": _NUMBERS,
    "truediv": _NUMBERS,
    "floordiv": _REAL,
    "mod": _REAL,
    "pow": _SIGNED | _FLOATS | _COMPLEX,
    "matmul": _FLOATS | _COMPLEX | {"int32", "int64"},
    "neg": _SIGNED | _FLOATS | _COMPLEX,
    "abs": _SIGNED | _FLOATS | _COMPLEX,
    **dict.fromkeys(("lt", "le", "gt", "ge", "maximum", "minimum"), _REAL),
    **dict.fromkeys(("and_", "or_", "xor", "invert"), _INTEGERS | {"bool"}),
}

# Integers of up to 16 bits are divided as float32.
_SHORT = tuple(map(np.dtype, (np.uint8, np.int8, np.uint16, np.int16)))


def calculated(function: Callable[..., Any], *values: Any) -> Any:
    """Return what an operator makes of values, at least one of which may be a tensor.

    Raises:
        InvalidArgumentError: The operands have two types, or one that the operator does not have;
            or shapes that do not go together, or an integer is divided by zero.
        TypeError: A Python value cannot be of the tensor's type.
    """
    name = function.__name__
    arrays = operands(name, *values)
    _check_type(name, as_dtype(arrays[0].dtype).name)
    if name == "matmul" and min(array.ndim for array in arrays) < 2:  # noqa: PLR2004 - matrices
        raise SpecError("matmul takes arrays of two dimensions or more")
    if name in ("floordiv", "mod") and arrays[1].dtype.kind in "iu" and not np.all(arrays[1]):
        raise SpecError("integer division by zero")
    if name == "truediv" and arrays[0].dtype in _SHORT:
        arrays = [array.astype(np.float32) for array in arrays]
    given = [array[()] if array.dtype == object else array for array in arrays]
    try:
        with np.errstate(all="ignore"):  # numbers overflow, and become inf or nan, in silence there
            return function(*given)
    except ValueError as error:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise SpecError(f"{name} of arrays of shapes {shapes}: {error}") from error


def operands(name: str, *values: Any) -> list[Array]:
    """Return values as arrays of one type; Python's values are of that of the tensors.

    Raises:
        InvalidArgumentError: Two tensors have two types; the text names what `name` they are for.
        TypeError: A Python value cannot be of the tensor's type.
    """
    tensors = [np.asarray(value) for value in values if isinstance(value, Operators)]
    first = tensors[0] if tensors else array_of(values[0])
    if any(other.dtype != first.dtype for other in tensors):
        left, right = (as_dtype(other.dtype).name for other in tensors)
        text = f"{name} of {left} and {right}: both must have one type; see tf.cast"
        raise TypeError(text) if name == "truediv" else SpecError(text)
    dtype = as_dtype(first.dtype)
    if name == "mul" and dtype == "bool" and isinstance(values[0], Operators):
        return [first, _as_truths(values[1])]
    try:
        return [
            np.asarray(value) if isinstance(value, Operators) else array_of(value, dtype)
            for value in values
        ]
    except TypeError as error:
        # TensorFlow's addition takes what is no int32 for float32, and then refuses the two types.
        if name == "add" and isinstance(values[0], Operators):
            raise SpecError(str(error)) from error
        raise


def _as_truths(value: Any) -> Array:
    """Return numbers as truth values: TensorFlow takes them so beside a bool tensor.

    Raises:
        UnimplementedError: It is text.
    """
    array = np.asarray(value)
    if isinstance(value, Operators):
        return array
    if array.dtype.kind in "SUO":
        raise UnimplementedError(f"{value!r} is no truth value")
    return array.astype(bool)


def _check_type(name: str, dtype: str) -> None:
    if name not in _TYPES or dtype in _TYPES[name]:
        return
    text = f"there is no {name.strip('_')} of {dtype}"
    raise TypeError(text) if name == "truediv" else SpecError(text)
