"""Protobuf's reading of Examples and SequenceExamples, in plain Python: slow, short, on its own.

`decode` and `decode_sequence` read serialized messages by the rules of protobuf's wire format;
`encode` and `encode_sequence` write what they read in the one way that every parser reads alike.
Floats are kept as their 32 bits, so that NaNs, signs of zero and payloads compare exactly.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

KINDS = {1: "string", 2: "float32", 3: "int64"}
FIELDS = {kind: number for number, kind in KINDS.items()}
VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)
MAX_DEPTH = 100

Value = Any  # int or bytes; a float is the int of its 32 bits
Feature = tuple[str | None, list[Value]]  # its kind (None: none is set) and its values
Decoded = Mapping[bytes, Feature]
T = TypeVar("T")


class _Counter:
    count = 0


# Tags and lengths written in more than 5 bytes, seen so far. Some of protobuf's parsers take them
# (Java's, Go's, prost), some refuse them (C++, upb).
long_varints = _Counter()


class MalformedError(ValueError):
    """The bytes are no protobuf message of this type."""


class SequenceMessage(NamedTuple):
    """A SequenceExample: the features of its context, and the steps of its feature lists."""

    context: Decoded
    lists: Mapping[bytes, list[Feature]]


# ---------------------------------------------------------------- messages


def decode(record: bytes, only: frozenset[bytes] | None = None) -> Decoded:
    """An Example's features by key, by protobuf's rules.

    Args:
        record: the serialized Example.
        only: be lazy: decode the features of these keys only, and no list that a later one
            replaces.

    Raises:
        MalformedError: no protobuf parser would take these bytes. (Keys need not be UTF-8.)
    """
    return _read_maps(record, 1, _read_feature, only)


def decode_sequence(
    record: bytes,
    context: frozenset[bytes] | None = None,
    lists: frozenset[bytes] | None = None,
) -> SequenceMessage:
    """A SequenceExample's features and feature lists by key; as `decode`."""
    return SequenceMessage(
        _read_maps(record, 1, _read_feature, context), _read_maps(record, 2, _read_steps, lists)
    )


def _read_maps(
    record: bytes, field: int, read: Callable[..., T], only: frozenset[bytes] | None
) -> dict[bytes, T]:
    """The map in this field of a message, which may be there several times."""
    lazy = only is not None
    entries: dict[bytes, bytes] = {}
    for number, wire, payload in fields(record):
        if (number, wire) == (field, BYTES):
            _read_map(payload, entries, read, lazy=lazy)
    wanted = {k: v for k, v in entries.items() if only is None or k in only}
    return {key: read(value, lazy=lazy) for key, value in wanted.items()}


def _read_map(
    payload: bytes, entries: dict[bytes, bytes], read: Callable[..., Any], *, lazy: bool
) -> None:
    for number, wire, entry in fields(payload):
        if (number, wire) != (1, BYTES):
            continue
        key, parts = _read_entry(entry)
        for part in parts if not lazy else ():
            read(part, lazy=False)  # each must be sound, also if another replaces it
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


def _read_steps(feature_list: bytes, *, lazy: bool) -> list[Feature]:
    return [
        _read_feature(payload, lazy=lazy)
        for number, wire, payload in fields(feature_list)
        if (number, wire) == (1, BYTES)
    ]


def _read_feature(feature: bytes, *, lazy: bool) -> Feature:
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


# ---------------------------------------------------------------- fields


def fields(message: bytes) -> Iterator[tuple[int, int, Any]]:
    """Each field's number, wire type and payload; of a group, which we do not know, None."""
    at = 0
    while at < len(message):
        number, wire, at = _tag(message, at)
        payload, at = _payload(message, at, number, wire, depth=1)
        yield number, wire, payload


def _tag(message: bytes, at: int) -> tuple[int, int, int]:
    tag, end = _varint(message, at)
    long_varints.count += end - at > 5
    if tag >= 1 << 32:
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
        start = at
        size, at = _varint(message, at)
        long_varints.count += at - start > 5
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


# ---------------------------------------------------------------- the encoder


def varint(value: int, padding: int = 0) -> bytes:
    """A varint; padding adds bytes that say nothing, which is legal up to 10 bytes in all."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    for _ in range(padding):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def delimited(number: int, payload: bytes) -> bytes:
    return tag(number, BYTES) + varint(len(payload)) + payload


def packed(dtype: str, values: Sequence[Value]) -> bytes:
    """One packed chunk of a list; bytes cannot be packed, there each value is a field."""
    if dtype == "string":
        return unpacked(dtype, values)
    return delimited(1, b"".join(number(dtype, value) for value in values))


def unpacked(dtype: str, values: Sequence[Value]) -> bytes:
    if dtype == "string":
        return b"".join(delimited(1, value) for value in values)
    head = tag(1, VARINT if dtype == "int64" else FIXED32)
    return b"".join(head + number(dtype, value) for value in values)


def number(dtype: str, value: Value) -> bytes:
    """One int64 or float as it is in a packed list."""
    return varint(value & (2**64 - 1)) if dtype == "int64" else struct.pack("<I", value)


def encode_feature(feature: Feature) -> bytes:
    kind, values = feature
    if kind is None:
        return b""
    return delimited(FIELDS[kind], packed(kind, values) if values else b"")


def encode(features: Decoded) -> bytes:
    """An Example of these features, as protobuf's own encoders write it."""
    return delimited(1, _encode_map({k: encode_feature(v) for k, v in features.items()}))


def encode_sequence(message: SequenceMessage) -> bytes:
    """A SequenceExample, as protobuf's own encoders write it."""
    lists = {
        key: b"".join(delimited(1, encode_feature(step)) for step in steps)
        for key, steps in message.lists.items()
    }
    return encode(message.context) + delimited(2, _encode_map(lists))


def _encode_map(values: Mapping[bytes, bytes]) -> bytes:
    entries = (delimited(1, key) + delimited(2, value) for key, value in values.items())
    return b"".join(delimited(1, entry) for entry in entries)
