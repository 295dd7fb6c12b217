"""Cases as JSON: a spec, records, and what must come of them; bytes are in hex, floats are bits."""

from __future__ import annotations

from typing import Any

import reference
from reference import (
    Column,
    Columns,
    Dense,
    Feature,
    Ragged,
    SequenceColumns,
    SequenceSpec,
    Sparse,
    Spec,
)
from reference_rules import Fault
from reference_wire import Value

_FEATURES = {
    kind.__name__: kind
    for kind in (
        reference.Fixed,
        reference.Var,
        reference.Repeated,
        reference.Scattered,
        reference.Divided,
    )
}
_COLUMNS: dict[str, Any] = {kind.__name__: kind for kind in (Dense, Sparse, Ragged)}


def spec_json(spec: Spec | SequenceSpec) -> Any:
    if isinstance(spec, SequenceSpec):
        return [spec_json(part) for part in spec]
    return {name: _feature_json(feature) for name, feature in spec.items()}


def _feature_json(feature: Feature) -> list[Any]:
    values = [_value_json(value) for value in vars(feature).values()]
    return [type(feature).__name__, *values]


def _value_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, tuple | list):
        return [_value_json(item) for item in value]
    return value


def spec_of(found: Any) -> Any:
    if isinstance(found, list):
        return SequenceSpec(*map(spec_of, found))
    return {name: _FEATURES[kind](*map(_value_of, rest)) for name, (kind, *rest) in found.items()}


def _value_of(found: Any) -> Value:
    if isinstance(found, dict):
        return bytes.fromhex(found["hex"])
    return tuple(map(_value_of, found)) if isinstance(found, list) else found


def columns_json(columns: Columns | SequenceColumns) -> Any:
    if isinstance(columns, SequenceColumns):
        return [columns_json(part) for part in columns]
    return {name: _column_json(found) for name, found in columns.items()}


def _column_json(found: Column) -> list[Any]:
    if isinstance(found, Ragged):
        return ["Ragged", found.splits, found.splits_dtype, _column_json(found.flat)]
    fields = found._asdict()
    if found.dtype == "string":
        fields["values"] = [value.hex() for value in found.values]
    return [type(found).__name__, *fields.values()]


def columns_of(found: Any) -> Any:
    if isinstance(found, list):
        return SequenceColumns(*map(columns_of, found))
    return {name: column_of(part) for name, part in found.items()}


def column_of(found: list[Any]) -> Column:
    kind, *rest = found
    if kind == "Ragged":
        rest[2] = column_of(rest[2])
        return Ragged(*rest)
    column = _COLUMNS[kind](*rest)
    if column.dtype == "string":
        column = column._replace(values=[bytes.fromhex(value) for value in column.values])
    if isinstance(column, Dense):
        column = column._replace(shape=tuple(column.shape))
    return column  # type: ignore[no-any-return]


def faults_of(found: list[Any]) -> list[Fault]:
    return [Fault(record, feature, reason, tuple(keys)) for record, feature, reason, keys in found]
