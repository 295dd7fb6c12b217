"""Feature specs as plain data, and back: for JSON."""

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfrecs.errors import SpecError
from tfrecs.features import (
    Feature,
    Features,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RowLengths,
    RowLimits,
    RowSplits,
    RowStarts,
    SparseFeature,
    UniformRowLength,
    ValueRowIds,
    VarLenFeature,
    checked_name,
)
from tfrecs.tensors.dtypes import dtype_name

_FEATURES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        FixedLenFeature,
        VarLenFeature,
        SparseFeature,
        RaggedFeature,
        FixedLenSequenceFeature,
    )
}
_PARTITIONS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, UniformRowLength)
}


def features_to_data(features: Features) -> dict[str, dict[str, Any]]:
    """Return a spec as dicts, lists, strings and numbers: each feature's kind and its arguments.

    Raises:
        SpecError: Something is none of the feature classes, or has an argument that is no data.

    Example:
        >>> features_to_data({"age": VarLenFeature(int)})
        {'age': {'kind': 'VarLenFeature', 'dtype': 'int64'}}
    """
    return {checked_name(name): _feature_to_data(name, it) for name, it in features.items()}


def _feature_to_data(name: str, feature: Feature) -> dict[str, Any]:
    kind = type(feature).__name__
    if _FEATURES.get(kind) is not type(feature):
        raise SpecError(f"feature {name!r} is none of the feature classes: {feature!r}")
    data: dict[str, Any] = {"kind": kind}
    for field, value in zip(feature._fields, feature, strict=True):
        if field in {"dtype", "row_splits_dtype"}:
            found = dtype_name(value, name)
            data[field] = "string" if found == "bytes" else found
        elif field == "partitions":
            data[field] = [{"kind": type(it).__name__, **it._asdict()} for it in value]
        else:
            data[field] = _value_to_data(name, value)
    return data


def _value_to_data(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [_value_to_data(name, element) for element in value]
    raise SpecError(f"feature {name!r} has an argument that cannot be written down: {value!r}")


def features_from_data(data: Any) -> dict[str, Feature]:
    """Return the spec that features_to_data() made data of.

    Raises:
        SpecError: It is not such data.

    Example:
        >>> features_from_data({"age": {"kind": "VarLenFeature", "dtype": "int64"}})
        {'age': VarLenFeature(dtype='int64')}
    """
    try:
        return {checked_name(name): _feature_from_data(it) for name, it in data.items()}
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise SpecError(f"this is no spec of features: {error}") from error


def _feature_from_data(data: Mapping[str, Any]) -> Feature:
    arguments = {field: _value_from_data(value) for field, value in data.items()}
    kind = arguments.pop("kind")
    if "partitions" in arguments:
        parts = [dict(part) for part in data["partitions"]]
        arguments["partitions"] = [_PARTITIONS[part.pop("kind")](**part) for part in parts]
    feature: Feature = _FEATURES[kind](**arguments)
    return feature


def _value_from_data(value: Any) -> Any:
    if isinstance(value, list):
        return [_value_from_data(element) for element in value]
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return base64.b64decode(value["base64"], validate=True)
    if isinstance(value, dict) and value.keys() == {"float"}:
        return float(value["float"])
    return value
