"""What a feature says of shapes and defaults, checked."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfrecs._internal.wording import counted
from tfrecs.errors import SpecError, feature_error
from tfrecs.features import is_encodable
from tfrecs.tensors.dtypes import WIRE_TYPES, fits

_MAX_DIM = 2**31 - 1  # of an Arrow fixed-size list
_MAX_SIZE = 2**63 - 1


def checked_shape(shape: Any, name: str) -> list[int]:
    """Return the shape of a FixedLenFeature as a list."""
    if shape is None:
        raise SpecError(f"Missing shape for feature {name}.", feature=name)
    dims = list(shape) if isinstance(shape, Iterable) else [shape]
    if not dims:
        return dims
    if dims[0] is None:
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
        raise feature_error(name, f"shape {shape!r} is no list of integers")
    if any(dim < 0 for dim in dims):
        raise feature_error(name, f"Dimension {min(dims)} must be >= 0")
    if max(dims, default=0) > _MAX_DIM or math.prod(map(int, dims)) > _MAX_SIZE:
        raise feature_error(name, f"shape {shape!r} is too large")
    return [int(dim) for dim in dims]


def checked_element_shape(shape: Any, name: str) -> list[int]:
    """Return the shape of a FixedLenSequenceFeature as a list."""
    dims = list(shape) if isinstance(shape, Iterable) else [shape]
    if shape is not None and any(dim is None for dim in dims):
        raise feature_error(
            name,
            "the shape of a FixedLenSequenceFeature is that of one element, all "
            f"dimensions known, but it is {dims}; leave out the one that varies",
        )
    checked = checked_shape(shape, name)
    if 0 in checked:
        raise feature_error(
            name, f"elements of shape {checked} have no values, so that their number is unknown"
        )
    return checked


def checked_default(default: Any, dtype: str, shape: list[int], name: str) -> Any:
    """Return the default_value of a FixedLenFeature as flat wire values, floats as an array."""
    if default is None:
        return None
    values = _checked_values(default, dtype, name)
    wanted = math.prod(shape)
    if len(values) != wanted:
        raise feature_error(
            name,
            f"its default_value has {counted(len(values), 'value')}, but the "
            f"requested shape {shape} has {wanted} (there is no broadcasting)",
        )
    return values if wanted else None  # as in TensorFlow: a default of no values is none


def checked_padding(default: Any, dtype: str, name: str) -> Any:
    """Return the default_value of a FixedLenSequenceFeature, a scalar or None."""
    if default is None:
        return None
    values = _checked_values(default, dtype, name)
    if len(values) != 1:
        raise feature_error(
            name,
            f"the default_value of a FixedLenSequenceFeature is one value to pad "
            f"with, but it has {len(values)}",
        )
    return values[0]


def _checked_values(default: Any, dtype: str, name: str) -> Any:
    """Return a default as flat wire values that fit the dtype."""
    kind = WIRE_TYPES[dtype]
    values = [_converted(value, kind, name) for value in _flat(default)]
    try:
        if not fits(values, dtype):
            raise feature_error(name, f"its default_value {default!r} does not fit {dtype}")
        with np.errstate(over="ignore"):  # as in TensorFlow, 1e300 becomes infinity
            return np.array(values, np.float32) if kind == "float32" else values
    except OverflowError as error:
        raise feature_error(name, f"its default_value: {error}") from None


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
    raise feature_error(
        name, f"its default_value {value!r} is no {kind.replace('bytes', 'string')}"
    )
