"""`tf.DType`: names of types that are also what NumPy, and the features of tfrecs, take."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs.tensors.dtypes import numpy_dtype, type_name


class DType:
    """A type of values, such as `tf.int64` and `tf.string`.

    Equal to whatever else names the same type: `tf.int64 == np.int64 == "int64"`.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        """Keep the name."""
        self.name = name

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy's class for it; of strings, object."""
        return object if self.name == "string" else self.dtype.type

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype: what `np.dtype(tf.int64)` looks for."""
        return np.dtype(object) if self.name == "string" else numpy_dtype(self.name)

    @property
    def is_floating(self) -> bool:
        """Whether it has real numbers."""
        return self.name == "bfloat16" or self.dtype.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Whether it has integers."""
        return self.dtype.kind in "iu"

    @property
    def is_bool(self) -> bool:
        """Whether it has truth values."""
        return self.name == "bool"

    @property
    def is_complex(self) -> bool:
        """Whether it has complex numbers."""
        return self.dtype.kind == "c"

    @property
    def size(self) -> int:
        """How many bytes a value has."""
        return 1 if self.name == "string" else self.dtype.itemsize

    @property
    def min(self) -> Any:
        """The smallest number."""
        return self._limits().min

    @property
    def max(self) -> Any:
        """The largest number."""
        return self._limits().max

    def _limits(self) -> Any:
        if self.is_floating:
            return np.finfo(self.dtype)
        return np.iinfo(self.dtype)

    def __eq__(self, other: object) -> bool:
        """Whether the other one names the same type."""
        try:
            return self.name == as_dtype(other).name
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        """Return that of the name."""
        return hash(self.name)

    def __str__(self) -> str:
        """Return what TensorFlow prints."""
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        """Return how it is written."""
        return f"tf.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name."""
        return DType, (self.name,)


def as_dtype(type_value: Any) -> DType:
    """Return the DType of whatever names a type; Python's int is int32, and float float32.

    Raises:
        TypeError: It names none.
    """
    if isinstance(type_value, DType):
        return type_value
    if type_value is int:
        return int32
    if isinstance(type_value, np.dtype) and type_value.kind in "SUO":
        return string
    try:
        name = type_name(type_value, "dtype")
    except ValueError as error:
        raise TypeError(
            f"Cannot convert the argument {type_value!r} to a TensorFlow DType."
        ) from error
    return string if name == "bytes" else DType(name)


def as_numpy(given: DType | npt.DTypeLike) -> np.dtype[Any]:
    """Return NumPy's dtype of whatever names a type."""
    return as_dtype(given).dtype


float16 = half = DType("float16")
float32 = DType("float32")
float64 = double = DType("float64")
bfloat16 = DType("bfloat16")
int8 = DType("int8")
int16 = DType("int16")
int32 = DType("int32")
int64 = DType("int64")
uint8 = DType("uint8")
uint16 = DType("uint16")
uint32 = DType("uint32")
uint64 = DType("uint64")
bool_ = DType("bool")
complex64 = DType("complex64")
complex128 = DType("complex128")
string = DType("string")
