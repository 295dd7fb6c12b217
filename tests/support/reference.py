"""What to parse, and what comes of it, in one form for every library: TensorFlow's, ours, our own.

Map: a spec names features by the classes below, and `build` makes a library's own of it; `column`
brings any library's result into the forms Dense, Sparse and Ragged, which compare exactly. What a
spec must give for a record is in reference_rules.py, and what a record holds in reference_wire.py.

Floats are kept as their 32 bits, so that NaNs, signs of zero and payloads compare exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from reference_wire import Value

# ---------------------------------------------------------------- the spec


@dataclass(frozen=True)
class Fixed:
    """FixedLenFeature: exactly `prod(shape)` values a record; `default` is flat, floats as bits."""

    shape: tuple[int, ...]
    dtype: str
    default: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class Var:
    """VarLenFeature: any number of values a record."""

    dtype: str


@dataclass(frozen=True)
class Repeated:
    """FixedLenSequenceFeature: elements of one shape, as many as there are; `padding` as bits."""

    shape: tuple[int, ...]
    dtype: str
    allow_missing: bool = True
    padding: Value | None = None


@dataclass(frozen=True)
class Scattered:
    """SparseFeature: values at the indices that other features hold."""

    indices: tuple[str, ...]
    values: str
    dtype: str
    size: tuple[int, ...]
    already_sorted: bool = False


@dataclass(frozen=True)
class Divided:
    """RaggedFeature: values, divided into rows by other features.

    A partition is its class and its key (of UniformRowLength, its length), outermost first.
    """

    dtype: str
    values: str | None = None
    partitions: tuple[tuple[str, Any], ...] = ()
    splits: str = "int32"
    validate: bool = False


Feature: TypeAlias = Fixed | Var | Repeated | Scattered | Divided
Spec: TypeAlias = Mapping[str, Feature]


class SequenceSpec(NamedTuple):
    """What to parse of a SequenceExample; None or {} asks for nothing."""

    context: Spec
    lists: Spec


def wire_keys(name: str, feature: Feature) -> list[str]:
    """The keys in the record that a feature is made of, its values' first."""
    if isinstance(feature, Scattered):
        return [feature.values, *feature.indices]
    if isinstance(feature, Divided):
        keys = [key for kind, key in feature.partitions if kind != "UniformRowLength"]
        return [name if feature.values is None else feature.values, *keys]
    return [name]


def asked(spec: Spec) -> frozenset[bytes]:
    """All keys that a spec looks at."""
    return frozenset(k.encode() for name, feature in spec.items() for k in wire_keys(name, feature))


def build(library: Any, spec: Spec) -> dict[str, Any]:
    """The spec in a library's own classes (`tf.io` and `tfrecs` name them alike)."""
    return {name: _build_one(library, feature) for name, feature in spec.items()}


def _build_one(library: Any, feature: Feature) -> Any:
    match feature:
        case Var(dtype):
            return library.VarLenFeature(dtype)
        case Fixed(shape, dtype, None):
            return library.FixedLenFeature(list(shape), dtype)
        case Fixed(shape, dtype, default):
            assert default is not None
            values = array(dtype, default).reshape(shape)
            return library.FixedLenFeature(list(shape), dtype, values)
        case Repeated(shape, dtype, allow_missing, padding):
            value = None if padding is None else array(dtype, [padding]).reshape(())
            return library.FixedLenSequenceFeature(list(shape), dtype, allow_missing, value)
        case Scattered(indices, values, dtype, size, already_sorted):
            return library.SparseFeature(list(indices), values, dtype, list(size), already_sorted)
        case Divided(dtype, values, partitions, splits, validate):
            made = [getattr(library.RaggedFeature, kind)(key) for kind, key in partitions]
            return library.RaggedFeature(dtype, values, made, splits, validate)


def array(dtype: str, values: Sequence[Value]) -> np.ndarray[Any, Any]:
    """A NumPy array of the values; bytes become objects, because NumPy's own strings drop NULs."""
    if dtype == "string":
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out
    if dtype == "float32":
        return np.array(values, dtype=np.uint32).view(np.float32)
    return np.array(values, dtype=np.int64)


# ---------------------------------------------------------------- results


class Dense(NamedTuple):
    """A dense column: dtype, shape and the values, row by row."""

    dtype: str
    shape: tuple[int, ...]
    values: list[Value]


class Sparse(NamedTuple):
    """A sparse column: dtype, the position of each value, the values, the shape."""

    dtype: str
    indices: list[list[int]]
    values: list[Value]
    dense_shape: list[int]


class Ragged(NamedTuple):
    """A ragged column: the row splits of each level, outermost first, their dtype, the values."""

    splits: list[list[int]]
    splits_dtype: str
    flat: Dense


Column: TypeAlias = Dense | Sparse | Ragged
Columns: TypeAlias = dict[str, Column]


class SequenceColumns(NamedTuple):
    """What parse_sequence_example gives; of a single one, `lengths` is {}."""

    context: Columns
    lists: Columns
    lengths: Columns


def column(result: Any) -> Column:
    """A column in our form, of an array or anything with TensorFlow's attributes."""
    if hasattr(result, "nested_row_splits"):
        splits = [np.asarray(level) for level in result.nested_row_splits]
        (dtype,) = {str(level.dtype) for level in splits}
        return Ragged([level.tolist() for level in splits], dtype, _dense(result.flat_values))
    if not hasattr(result, "dense_shape"):
        return _dense(result)
    values = _dense(result.values)
    indices, shape = np.asarray(result.indices), np.asarray(result.dense_shape)
    assert indices.dtype == shape.dtype == np.int64
    assert indices.shape == (len(values.values), len(shape))
    return Sparse(values.dtype, indices.tolist(), values.values, shape.tolist())


def columns(result: Mapping[str, Any]) -> Columns:
    return {name: column(value) for name, value in result.items()}


def settled(result: Columns, spec: Spec) -> Columns:
    """Columns that compare equal if they differ only in what TensorFlow leaves open.

    That is the order of values at one and the same position of a SparseFeature.
    """
    return {
        name: _settled(found) if isinstance(spec.get(name), Scattered) else found
        for name, found in result.items()
    }


def _settled(found: Any) -> Sparse:
    pairs = list(zip(found.indices, found.values, strict=True))
    values = [
        value
        for _, group in groupby(pairs, key=lambda pair: pair[0])
        for value in sorted(value for _, value in group)
    ]
    return Sparse(found.dtype, found.indices, values, found.dense_shape)


def _dense(result: Any) -> Dense:
    values = np.asarray(result)
    if values.dtype == object:
        return Dense("string", values.shape, values.ravel().tolist())
    if values.dtype == np.float32:
        return Dense("float32", values.shape, values.view(np.uint32).ravel().tolist())
    assert values.dtype == np.int64, values.dtype
    return Dense("int64", values.shape, values.ravel().tolist())
