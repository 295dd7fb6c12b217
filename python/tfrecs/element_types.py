"""The types of numbers in byte strings: what people call them, and NumPy's dtype for each."""

from typing import Any

import numpy as np

from tfrecs.errors import SpecError
from tfrecs.leaves import integration

# Types that NumPy has not: of ml_dtypes, and TensorFlow's quantised ones, which are plain integers
# with a meaning that is not written down.
FLOATS_OF_ML_DTYPES = frozenset(
    {
        "bfloat16",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
    }
)
_SUB_BYTE = frozenset({"float4_e2m1fn", "int2", "int4", "uint2", "uint4"})
QUANTISED = {
    "qint8": "int8",
    "qint16": "int16",
    "qint32": "int32",
    "quint8": "uint8",
    "quint16": "uint16",
}
_SYNONYMS = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "str": "bytes",
    "string": "bytes",
}


def type_name(dtype: Any, argument: str) -> str:
    """Return one name for whatever way of saying so `dtype` is; byte strings are "bytes".

    As in TensorFlow, float is float32, and int is nothing, because it could mean two types.

    Raises:
        SpecError: It names no type; the error names the argument.
    """
    word = _word(dtype)
    if word == "int" or not word:
        raise SpecError(f"{argument} {dtype!r} is not the name of one type, such as 'int32'")
    return _SYNONYMS.get(word, word)


def _word(dtype: Any) -> str:
    if isinstance(dtype, str) and dtype.isidentifier():
        return dtype
    # A NumPy dtype equals Python's type but has another name: np.dtype("int64") == int.
    if isinstance(dtype, type) and dtype in {int, float, bool, bytes, str}:
        return dtype.__name__
    named = getattr(dtype, "name", None)  # tf.DType
    if isinstance(named, str) and not isinstance(dtype, np.dtype):
        return named
    try:
        resolved = None if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError):
        resolved = None
    if resolved is None:
        return ""
    return "bytes" if resolved.kind in "SUOT" else resolved.name


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype of numbers of a type.

    Raises:
        ModuleNotFoundError: It is a type of ml_dtypes, which is not installed.
        SpecError: There is no such type.
    """
    if name in FLOATS_OF_ML_DTYPES or name in _SUB_BYTE:
        return integration("ml_dtypes").small_dtype(name)  # type: ignore[no-any-return]
    try:
        return np.dtype(QUANTISED.get(name, name))
    except TypeError:
        raise SpecError(f"there is no type {name!r}") from None
