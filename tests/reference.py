"""What parse_example must return, in plain Python: slow, short, sharing no code with tfrecs.

Map: `decode` reads one serialized Example by the rules of protobuf's wire format; `parse` and
`parse_single` apply TensorFlow's rules for FixedLenFeature and VarLenFeature to what it found;
`column` brings any library's result (TensorFlow's, tfrecs', our own) into one comparable form.

Floats are kept as their 32 bits, so that NaNs, signs of zero and payloads compare exactly.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

KINDS = {1: "string", 2: "float32", 3: "int64"}
FIELDS = {kind: number for number, kind in KINDS.items()}
VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)
MAX_DEPTH = 100

Value = Any  # int or bytes; a float is the int of its 32 bits
Decoded = dict[bytes, tuple[str | None, list[Value]]]


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


Spec = Mapping[str, Fixed | Var]


def build(library: Any, spec: Spec) -> dict[str, Any]:
    """The spec in a library's own classes (`tf.io` and `tfrecs` name them alike)."""
    return {name: _build_one(library, feature) for name, feature in spec.items()}


def _build_one(library: Any, feature: Fixed | Var) -> Any:
    if isinstance(feature, Var):
        return library.VarLenFeature(feature.dtype)
    if feature.default is None:
        return library.FixedLenFeature(list(feature.shape), feature.dtype)
    default = array(feature.dtype, feature.default).reshape(feature.shape)
    return library.FixedLenFeature(list(feature.shape), feature.dtype, default)


def array(dtype: str, values: Sequence[Value]) -> np.ndarray[Any, Any]:
    """A NumPy array of the values; bytes become objects, because NumPy's own strings drop NULs."""
    if dtype == "string":
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out
    if dtype == "float32":
        return np.array(values, dtype=np.uint32).view(np.float32)
    return np.array(values, dtype=np.int64)


# ---------------------------------------------------------------- protobuf's wire format


class MalformedError(ValueError):
    """The bytes are no protobuf message of this type."""


def decode(record: bytes, only: frozenset[bytes] | None = None) -> Decoded:
    """An Example's features by key, by protobuf's rules.

    Args:
        record: the serialized Example.
        only: be lazy: decode the features of these keys only, and no list that a later one
            replaces.

    Raises:
        MalformedError: no protobuf parser would take these bytes. (Keys need not be UTF-8.)
    """
    entries: dict[bytes, bytes] = {}
    for number, wire, payload in fields(record):
        if (number, wire) == (1, BYTES):
            _read_features(payload, entries, lazy=only is not None)
    wanted = {k: v for k, v in entries.items() if only is None or k in only}
    return {key: _read_feature(feature, lazy=only is not None) for key, feature in wanted.items()}


def _read_features(payload: bytes, entries: dict[bytes, bytes], *, lazy: bool) -> None:
    for number, wire, entry in fields(payload):
        if (number, wire) != (1, BYTES):
            continue
        key, parts = _read_entry(entry)
        for part in parts if not lazy else ():
            _read_feature(part, lazy=False)  # each must be sound, also if another replaces it
        # The last entry of a key replaces the earlier ones whole; within one entry, a message
        # field that occurs twice is merged, which is to join its bytes.
        entries[key] = b"".join(parts)


def _read_entry(entry: bytes) -> tuple[bytes, list[bytes]]:
    key, parts = b"", []
    for number, wire, payload in fields(entry):
        if (number, wire) == (1, BYTES):
            key = payload
        elif (number, wire) == (2, BYTES):
            parts.append(payload)
    return key, parts


def _read_feature(feature: bytes, *, lazy: bool) -> tuple[str | None, list[Value]]:
    kind: str | None = None
    lists: list[bytes] = []
    for number, wire, payload in fields(feature):
        if wire != BYTES or number not in KINDS:
            continue
        if KINDS[number] != kind:  # the last member of a oneof wins, and clears the other
            if kind and not lazy:
                _read_lists(kind, lists)
            kind, lists = KINDS[number], []
        lists.append(payload)
    return kind, _read_lists(kind, lists) if kind else []


def _read_lists(kind: str, lists: list[bytes]) -> list[Value]:
    return [value for payload in lists for value in _read_list(kind, payload)]


def _read_list(kind: str, payload: bytes) -> Iterator[Value]:
    for number, wire, item in fields(payload):
        if number != 1:
            continue
        if kind == "string" and wire == BYTES:
            yield item
        elif kind == "int64" and wire == VARINT:
            yield _signed(item)
        elif kind == "float32" and wire == FIXED32:
            yield item
        elif wire == BYTES:
            yield from _read_packed(kind, item)


def _read_packed(kind: str, payload: bytes) -> Iterator[Value]:
    if kind == "float32":
        if len(payload) % 4:
            raise MalformedError("a packed float list is not a multiple of 4 bytes")
        yield from struct.unpack(f"<{len(payload) // 4}I", payload)
    else:
        at = 0
        while at < len(payload):
            value, at = _varint(payload, at)
            yield _signed(value)


def fields(message: bytes) -> Iterator[tuple[int, int, Any]]:
    """Each field's number, wire type and payload; of a group, which we do not know, None."""
    at = 0
    while at < len(message):
        number, wire, at = _tag(message, at)
        payload, at = _payload(message, at, number, wire, depth=1)
        yield number, wire, payload


def _tag(message: bytes, at: int) -> tuple[int, int, int]:
    tag, end = _varint(message, at)
    if end - at > 5 or tag >= 1 << 32:
        raise MalformedError("a tag out of range")
    if tag >> 3 == 0:
        raise MalformedError("field number 0")
    return tag >> 3, tag & 7, end


def _payload(message: bytes, at: int, number: int, wire: int, depth: int) -> tuple[Any, int]:
    if wire == VARINT:
        return _varint(message, at)
    if wire == FIXED64:
        return struct.unpack("<Q", _take(message, at, 8))[0], at + 8
    if wire == FIXED32:
        return struct.unpack("<I", _take(message, at, 4))[0], at + 4
    if wire == BYTES:
        size, at = _varint(message, at)
        return _take(message, at, size), at + size
    if wire == GROUP:
        return None, _skip_group(message, at, number, depth)
    raise MalformedError(f"wire type {wire} out of place")


def _skip_group(message: bytes, at: int, group: int, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise MalformedError("nested too deep")
    while True:
        number, wire, at = _tag(message, at)
        if wire == END_GROUP:
            if number != group:
                raise MalformedError("the end of another group")
            return at
        _, at = _payload(message, at, number, wire, depth + 1)


def _take(message: bytes, at: int, size: int) -> bytes:
    if size > len(message) - at:
        raise MalformedError("cut short")
    return message[at : at + size]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i in range(10):
        byte = _take(message, at + i, 1)[0]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value & (2**64 - 1), at + i + 1
    raise MalformedError("a varint of more than 10 bytes")


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


# ---------------------------------------------------------------- the rules of parse_example


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


Columns = dict[str, Dense | Sparse]


class Fault(NamedTuple):
    """Why a record is refused; `feature` is None if the record as a whole cannot be read."""

    record: int
    feature: str | None
    reason: str  # "malformed" | "missing" | "kind" | "count"


class RejectedError(Exception):
    """parse_example must fail, for any one of these faults."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(faults)
        self.faults = faults


def parse(records: Sequence[bytes], spec: Spec, *, strict: bool = True) -> Columns:
    """parse_example. With strict=False, what does not matter to the result is not looked into."""
    rows = _rows(records, spec, strict)
    return {
        name: _batch_column(feature, [row[name] for row in rows]) for name, feature in spec.items()
    }


def parse_single(record: bytes, spec: Spec, *, strict: bool = True) -> Columns:
    """parse_single_example: the same without the batch dimension."""
    (row,) = _rows([record], spec, strict)
    return {name: _single_column(feature, row[name]) for name, feature in spec.items()}


def _rows(records: Sequence[bytes], spec: Spec, strict: bool) -> list[dict[str, list[Value]]]:
    faults: list[Fault] = []
    rows = [_row(i, record, spec, strict, faults) for i, record in enumerate(records)]
    if faults:
        raise RejectedError(faults)
    return rows


def _row(
    number: int, record: bytes, spec: Spec, strict: bool, faults: list[Fault]
) -> dict[str, list[Value]]:
    try:
        decoded = decode(record, None if strict else frozenset(map(str.encode, spec)))
    except MalformedError:
        faults.append(Fault(number, None, "malformed"))
        return {}
    row: dict[str, list[Value]] = {}
    for name, feature in spec.items():
        values = _values(decoded, name, feature)
        if isinstance(values, str):
            faults.append(Fault(number, name, values))
        else:
            row[name] = values
    return row


def _values(decoded: Decoded, name: str, feature: Fixed | Var) -> list[Value] | str:
    """The record's values of one feature, or the reason it is refused."""
    kind, values = decoded.get(name.encode(), (None, []))
    if kind is None:  # absent, or a Feature with no list in it: the same thing
        if isinstance(feature, Var):
            return []
        # A default of no elements counts as none: also for shape (0,) the key must be there.
        return list(feature.default) if feature.default else "missing"
    if kind != feature.dtype:
        return "kind"
    if isinstance(feature, Fixed) and len(values) != prod(feature.shape):
        return "count"
    return values


def _batch_column(feature: Fixed | Var, rows: list[list[Value]]) -> Dense | Sparse:
    values = [value for row in rows for value in row]
    if isinstance(feature, Fixed):
        return Dense(feature.dtype, (len(rows), *feature.shape), values)
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    return Sparse(feature.dtype, indices, values, [len(rows), max(map(len, rows), default=0)])


def _single_column(feature: Fixed | Var, row: list[Value]) -> Dense | Sparse:
    if isinstance(feature, Fixed):
        return Dense(feature.dtype, feature.shape, row)
    return Sparse(feature.dtype, [[j] for j in range(len(row))], row, [len(row)])


# ---------------------------------------------------------------- results of other libraries


def column(result: Any) -> Dense | Sparse:
    """A column in our form: of an array, or anything with indices, values and dense_shape."""
    if not hasattr(result, "dense_shape"):
        return _dense(result)
    values = _dense(result.values)
    indices, shape = np.asarray(result.indices), np.asarray(result.dense_shape)
    assert indices.dtype == shape.dtype == np.int64
    assert indices.shape == (len(values.values), len(shape))
    return Sparse(values.dtype, indices.tolist(), values.values, shape.tolist())


def _dense(result: Any) -> Dense:
    values = np.asarray(result)
    if values.dtype == object:
        return Dense("string", values.shape, values.ravel().tolist())
    if values.dtype == np.float32:
        return Dense("float32", values.shape, values.view(np.uint32).ravel().tolist())
    assert values.dtype == np.int64, values.dtype
    return Dense("int64", values.shape, values.ravel().tolist())
