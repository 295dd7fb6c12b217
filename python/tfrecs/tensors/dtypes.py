"""The types of values: what people call them, and NumPy's dtype for each.

A record holds int64, float32 and byte strings, as TensorFlow's parsers give them. Ours convert
while decoding to any narrower or wider type that a value fits. Byte strings can hold numbers of any
type.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tfrecs._internal.optional import integration
from tfrecs.errors import SpecError, feature_error

# What a value is on the wire, by the type that is asked for.
WIRE_TYPES = {
    "bytes": "bytes",
    **dict.fromkeys(("int64", "int32", "int16", "int8"), "int64"),
    **dict.fromkeys(("uint64", "uint32", "uint16", "uint8", "bool"), "int64"),
    **dict.fromkeys(("float32", "float64", "float16", "bfloat16"), "float32"),
}
_SYNONYMS = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "str": "bytes",
    "string": "bytes",
}
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
_QUANTISED = {
    "qint8": "int8",
    "qint16": "int16",
    "qint32": "int32",
    "quint8": "uint8",
    "quint16": "uint16",
}
_NUMPY_CODE = re.compile(r"[<>=|]?[biufc]\d+|\?")  # such as "<i4"


def dtype_name(dtype: Any, feature: str | None) -> str:
    """Return the key of WIRE_TYPES for whatever way of saying so `dtype` is; int is int64.

    Raises:
        SpecError: It is none of them; the error names the feature, if that is known.
    """
    word = _feature_word(dtype)
    if word in WIRE_TYPES:
        return word
    narrower = ", or a narrower or wider integer, bool or float type"
    raise _not_allowed(dtype, feature, narrower)


def kind_of(dtype: Any, feature: str) -> str:
    """Return "int64", "float32" or "bytes", the three that a record holds.

    Raises:
        SpecError: `dtype` is none of them; the error names the feature.
    """
    word = _feature_word(dtype)
    if WIRE_TYPES.get(word) == word:
        return word
    raise _not_allowed(dtype, feature, "")


def _feature_word(dtype: Any) -> str:
    word = _word(dtype)
    return "int64" if word == "int" else word


def _not_allowed(dtype: Any, feature: str | None, others: str) -> SpecError:
    reason = (
        f"dtype {dtype!r} is not in the list of allowed values: float32 (float), int64 (int), "
        f"string (bytes, str){others}"
    )
    return SpecError(reason) if feature is None else feature_error(feature, reason)


def type_name(dtype: Any, argument: str) -> str:
    """Return one name for whatever way of saying so `dtype` is; byte strings are "bytes".

    As in TensorFlow, float is float32, and int is nothing, because it could mean two types. Whether
    there is a type of that name is not looked at.

    Raises:
        SpecError: It names no type; the error names the argument.
    """
    word = _word(dtype)
    if word == "int" or not word.isidentifier():
        raise SpecError(f"{argument} {dtype!r} is not the name of one type, such as 'int32'")
    return word


def _word(dtype: Any) -> str:
    """Return the name of a dtype: Python's type, TensorFlow's or NumPy's object, or a name."""
    if isinstance(dtype, str) and not _NUMPY_CODE.fullmatch(dtype):
        return _SYNONYMS.get(dtype, dtype)
    # A NumPy dtype equals Python's type but has another name: np.dtype("int64") == int.
    if isinstance(dtype, type) and dtype in {int, float, bool, bytes, str}:
        return _SYNONYMS.get(dtype.__name__, dtype.__name__)
    named = getattr(dtype, "name", None)  # tf.DType
    if isinstance(named, str) and not isinstance(dtype, np.dtype):
        return _SYNONYMS.get(named, named)
    try:
        resolved = None if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError):
        resolved = None
    if resolved is None:
        return ""
    return "bytes" if resolved.kind in "SUOT" else resolved.name


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype of numbers of a type.

    Raises:
        ModuleNotFoundError: It is a type of ml_dtypes, which is not installed.
        SpecError: There is no such type.
    """
    if name in FLOATS_OF_ML_DTYPES or name in _SUB_BYTE:
        return integration("ml_dtypes").small_dtype(name)  # type: ignore[no-any-return]
    try:
        return np.dtype(_QUANTISED.get(name, name))
    except TypeError:
        raise SpecError(f"there is no type {name!r}") from None


def fits(values: Sequence[Any], word: str) -> bool:
    """Whether values of the wire type of `word` fit it: floats may be rounded, not overflow."""
    if word in {"float32", "int64", "bytes"}:
        return True  # of float32, TensorFlow makes infinities
    if WIRE_TYPES[word] == "float32":
        wide = np.array(values, np.float64)
        with np.errstate(over="ignore"):
            narrow = wide.astype(np.float32).astype(numpy_dtype(word))
        return bool((np.isinf(narrow) == np.isinf(wide)).all())
    if word == "bool":
        return set(values) <= {0, 1}
    limits = np.iinfo(word)
    return all(limits.min <= value <= limits.max for value in values)
