"""What to parse from an Example: the feature classes of `tf.io`, without TensorFlow."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs.errors import SpecError


class FixedLenFeature(NamedTuple):
    """A feature with the same number of values in every record: a dense column.

    As `tf.io.FixedLenFeature`. Parsed in a batch of B records it gives an array of shape (B,
    *shape).

    Attributes:
        shape: The shape in one record, all dimensions known; `[]` is a scalar, `n` means `[n]`.
        dtype: int64, float32 or string, as a NumPy dtype, as Python's `int`, `float`, `bytes` or
            `str`, or as a name.
        default_value: What stands in for a missing feature: as many values as `shape` has elements.
            None makes the feature required.

    Example:
        >>> import tfrecs
        >>> records = [tfrecs.encode_example({"age": 36}), tfrecs.encode_example({})]
        >>> spec = {"age": tfrecs.FixedLenFeature([], "int64", default_value=-1)}
        >>> tfrecs.parse_example(records, spec)["age"]
        array([36, -1])
    """

    shape: int | Sequence[int]
    dtype: npt.DTypeLike
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values: a sparse tensor, or in a batch a ragged column.

    As `tf.io.VarLenFeature`.

    Attributes:
        dtype: int64, float32 or string, given as for FixedLenFeature.

    Example:
        >>> import tfrecs
        >>> records = [tfrecs.encode_example({"tags": tags}) for tags in (["a", "b"], ["c"])]
        >>> tags = tfrecs.parse_example(records, {"tags": tfrecs.VarLenFeature("string")})["tags"]
        >>> tags.values.tolist(), tags.dense_shape.tolist()
        ([b'a', b'b', b'c'], [2, 2])
    """

    dtype: npt.DTypeLike


Feature: TypeAlias = FixedLenFeature | VarLenFeature
Features: TypeAlias = Mapping[str, Feature]

# What the native decoder takes: name, dtype, layout, shape of an element, default values (None:
# required; a list, or for floats an array, which keeps every bit).
NativeFeature: TypeAlias = tuple[str, str, str, list[int] | None, Any]
NativeSpec: TypeAlias = tuple[NativeFeature, ...]

_MAX_DIM = 2**31 - 1  # of an Arrow fixed-size list

_KINDS = {
    "int64": "int64",
    "int": "int64",
    "float32": "float32",
    "float": "float32",
    "string": "bytes",
    "bytes": "bytes",
    "str": "bytes",
}


def native_spec(features: Features) -> NativeSpec:
    """Check `features` and put them in the form that the native decoder takes.

    Raises:
        SpecError: Something is wrong with a feature, which the text names.
    """
    return tuple(_native_feature(name, feature) for name, feature in features.items())


def _native_feature(name: Any, feature: Any) -> NativeFeature:
    if not isinstance(name, str):
        raise SpecError(f"a feature's name must be str, not {type(name).__name__}: {name!r}")
    if not is_encodable(name):
        raise SpecError(f"a feature's name must be encodable as UTF-8: {name!r}")
    match feature:
        case FixedLenFeature():
            kind, shape = kind_of(feature.dtype, name), _checked_shape(feature.shape, name)
            default = _checked_default(feature.default_value, kind, shape, name)
            return name, kind, "fixed", shape, default
        case VarLenFeature():
            return name, kind_of(feature.dtype, name), "ragged", None, None
    text = f"feature {name!r}: expected FixedLenFeature or VarLenFeature, got {feature!r}"
    raise SpecError(text, feature=name)


def kind_of(dtype: Any, name: str) -> str:
    """Return "int64", "float32" or "bytes" for whatever way of saying so `dtype` is."""
    for word in _words(dtype):
        if word in _KINDS:
            return _KINDS[word]
    raise SpecError(
        f"feature {name!r}: dtype {dtype!r} is not in the list of allowed values: "
        "float32 (float), int64 (int), string (bytes, str)",
        feature=name,
    )


def _words(dtype: Any) -> list[str]:
    """Possible names of a dtype: Python's type, a name, TensorFlow's or NumPy's object."""
    if isinstance(dtype, str):
        return [dtype]
    # A NumPy dtype equals Python's type but has another name: np.dtype("int64") == int.
    if isinstance(dtype, type) and dtype in {int, float, bytes, str}:
        return [dtype.__name__]
    named = getattr(dtype, "name", None)  # tf.DType and np.dtype
    if isinstance(named, str) and not isinstance(dtype, np.dtype):
        return [named]
    if dtype is None:
        return []
    try:
        resolved = np.dtype(dtype)
    except (TypeError, ValueError):
        return []
    return ["bytes" if resolved.kind in "SUOT" else resolved.name]


def _checked_shape(shape: Any, name: str) -> list[int]:
    if shape is None:
        raise SpecError(f"Missing shape for feature {name}.", feature=name)
    dims = list(shape) if isinstance(shape, Iterable) else [shape]
    if dims and dims[0] is None:
        raise SpecError(
            f"First dimension of shape for feature {name} unknown. "
            "Consider using FixedLenSequenceFeature.",
            feature=name,
        )
    if any(dim is None for dim in dims):
        raise SpecError(
            f"All dimensions of shape for feature {name} need to be known but received {dims}.",
            feature=name,
        )
    if not all(isinstance(dim, int | np.integer) and not isinstance(dim, bool) for dim in dims):
        raise SpecError(f"feature {name!r}: shape {shape!r} is no list of integers", feature=name)
    if any(dim < 0 for dim in dims):
        raise SpecError(f"feature {name!r}: Dimension {min(dims)} must be >= 0", feature=name)
    if max(dims, default=0) > _MAX_DIM or math.prod(map(int, dims)) > np.iinfo(np.int64).max:
        raise SpecError(f"feature {name!r}: shape {shape!r} is too large", feature=name)
    return [int(dim) for dim in dims]


def _checked_default(default: Any, kind: str, shape: list[int], name: str) -> Any:
    if default is None:
        return None
    values = [_converted(value, kind, name) for value in _flat(default)]
    wanted = math.prod(shape)
    if len(values) != wanted:
        raise SpecError(
            f"feature {name!r}: its default_value has {len(values)} values, but the requested "
            f"shape {shape} has {wanted} (there is no broadcasting)",
            feature=name,
        )
    if not values:
        return None  # as in TensorFlow: a default of no values is none
    if kind != "float32":
        return values
    try:
        with np.errstate(over="ignore"):  # as in TensorFlow, 1e300 becomes infinity
            return np.array(values, np.float32)
    except OverflowError as error:
        raise SpecError(f"feature {name!r}: its default_value: {error}", feature=name) from None


def _flat(default: Any) -> list[Any]:
    """Flatten nested lists and arrays row-major."""
    if isinstance(default, np.ndarray | np.generic):
        return list(np.ravel(default))
    if isinstance(default, list | tuple | range):
        return [leaf for item in default for leaf in _flat(item)]
    return [default]


def _converted(value: Any, kind: str, name: str) -> Any:
    if kind == "bytes" and isinstance(value, bytes):
        return bytes(value)
    if kind == "bytes" and isinstance(value, str) and is_encodable(value):
        return value.encode()
    is_int = isinstance(value, int | np.integer | np.bool_)
    if kind == "float32" and (is_int or isinstance(value, float | np.floating)):
        return value
    if kind == "int64" and is_int and -(2**63) <= int(value) < 2**63:
        return int(value)
    raise SpecError(
        f"feature {name!r}: its default_value {value!r} is no {kind.replace('bytes', 'string')}",
        feature=name,
    )


def is_encodable(text: str) -> bool:
    """Whether `text` has no lone surrogates, which UTF-8 cannot express."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
