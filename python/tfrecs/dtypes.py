"""The types of values: what people call them, and how a record holds them.

A record holds int64, float32 and byte strings, as TensorFlow's parsers give them. Ours convert
while decoding to any narrower or wider type that a value fits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfrecs.errors import SpecError
from tfrecs.leaves import integration

# What a value is on the wire, by the type that is asked for.
WIRE_TYPES = {
    "bytes": "bytes",
    **dict.fromkeys(("int64", "int32", "int16", "int8"), "int64"),
    **dict.fromkeys(("uint64", "uint32", "uint16", "uint8", "bool"), "int64"),
    **dict.fromkeys(("float32", "float64", "float16", "bfloat16"), "float32"),
}
_SHORT_NAMES = {"int": "int64", "float": "float32", "string": "bytes", "str": "bytes"}


def dtype_name(dtype: Any, name: str) -> str:
    """Return the key of WIRE_TYPES for whatever way of saying so `dtype` is.

    Raises:
        SpecError: It is none of them; the error names the feature `name`.
    """
    word = _word(dtype)
    word = _SHORT_NAMES.get(word, word)
    if word in WIRE_TYPES:
        return word
    raise SpecError(
        f"feature {name!r}: dtype {dtype!r} is not in the list of allowed values: float32 (float), "
        "int64 (int), string (bytes, str), or a narrower or wider integer, bool or float type",
        feature=name,
    )


def _word(dtype: Any) -> str:
    """Return the name of a dtype: Python's type, TensorFlow's or NumPy's object, or a name."""
    if isinstance(dtype, str):
        return dtype
    # A NumPy dtype equals Python's type but has another name: np.dtype("int64") == int.
    if isinstance(dtype, type) and dtype in {int, float, bool, bytes, str}:
        return dtype.__name__
    named = getattr(dtype, "name", None)  # tf.DType and np.dtype
    if isinstance(named, str) and not isinstance(dtype, np.dtype):
        return named
    if dtype is None:
        return ""
    try:
        resolved = np.dtype(dtype)
    except (TypeError, ValueError):
        return ""
    return "bytes" if resolved.kind in "SUOT" else resolved.name


def numpy_dtype(word: str) -> np.dtype[Any]:
    """Return NumPy's dtype of numbers of a type in WIRE_TYPES; for bfloat16, that of ml_dtypes.

    Raises:
        ModuleNotFoundError: ml_dtypes, which bfloat16 needs, is not installed.
    """
    if word == "bfloat16":
        return integration("ml_dtypes").BFLOAT16  # type: ignore[no-any-return]
    return np.dtype(word)


def kind_of(dtype: Any, name: str) -> str:
    """Return "int64", "float32" or "bytes", the three that a record holds.

    Raises:
        SpecError: `dtype` is none of them; the error names the feature `name`.
    """
    word = _word(dtype)
    word = _SHORT_NAMES.get(word, word)
    if WIRE_TYPES.get(word) == word:
        return word
    raise SpecError(
        f"feature {name!r}: dtype {dtype!r} is not in the list of allowed values: "
        "float32 (float), int64 (int), string (bytes, str)",
        feature=name,
    )


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
