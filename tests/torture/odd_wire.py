"""Serialized Examples and SequenceExamples as trees of fields, mutated and written again.

Lengths stay right where a tree is changed, so that a mutation reaches the innermost lists. A few
changes are made to the bytes afterwards, which break lengths too.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)


class Field(NamedTuple):
    """A field of a message.

    Attributes:
        number: Its number.
        wire: Its wire type.
        content: An integer for a varint; fields for a message or a group; else bytes.
        tag_len, size_len: The least number of bytes for its tag and for its length.
    """

    number: int
    wire: int
    content: int | bytes | tuple[Field, ...]
    tag_len: int = 1
    size_len: int = 1


Fields = tuple[Field, ...]

_SMALL = [bytes([value]) for value in range(128)]


def varint(value: int, least: int = 1) -> bytes:
    """A varint of at least this many bytes."""
    if value < 128 and least == 1:
        return _SMALL[value]
    out = bytearray()
    while value > 127 or len(out) + 1 < least:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def encode(fields: Fields) -> bytes:
    """The fields as a message."""
    out = []
    for number, wire, content, tag_len, size_len in fields:
        out.append(varint(number << 3 | wire, tag_len))
        if isinstance(content, int):
            out.append(varint(content))
            continue
        body = encode(content) if isinstance(content, tuple) else content
        if wire == BYTES:
            out.append(varint(len(body), size_len))
        out.append(body)
        if wire == GROUP:
            out.append(varint(number << 3 | END_GROUP))
    return b"".join(out)


# ---------------------------------------------------------------- sound messages

_INTEGERS = [0, 1, 127, 128, 300, 2**31, 2**63 - 1, 2**63, 2**64 - 1]
_FLOATS = [bytes(4), b"\0\0\x80\x3f", b"\0\0\xc0\x7f", b"\xff\xff\x7f\x7f"]
_STRINGS = [b"", b"a", b"text", b"\xff\xfe", b"\x0a\x00", b"x" * 130]
_KEYS = [b"", b"a", b"b", b"label", "\u00e9".encode()]


def make_values(rng: Random, kind: int) -> Fields:
    """The fields of a BytesList (1), FloatList (2) or Int64List (3)."""
    count = rng.choice((0, 1, 1, 2, 3))
    if kind == 1:
        return tuple(Field(1, BYTES, rng.choice(_STRINGS)) for _ in range(count))
    if kind == 2:
        floats = [rng.choice(_FLOATS) for _ in range(count)]
        if rng.random() < 0.3:
            return tuple(Field(1, FIXED32, value) for value in floats)
        return (Field(1, BYTES, b"".join(floats)),)
    integers = [rng.choice(_INTEGERS) for _ in range(count)]
    if rng.random() < 0.3:
        return tuple(Field(1, VARINT, value) for value in integers)
    return (Field(1, BYTES, b"".join(map(varint, integers))),)


def make_feature(rng: Random) -> Fields:
    """The fields of a Feature: a list or, seldom, none."""
    kind = rng.choice((0, 1, 1, 1, 2, 2, 3, 3, 3))
    return (Field(kind, BYTES, make_values(rng, kind)),) if kind else ()


def make_steps(rng: Random) -> Fields:
    """The fields of a FeatureList."""
    return tuple(Field(1, BYTES, make_feature(rng)) for _ in range(rng.randrange(4)))


def make_map(rng: Random, *, of_steps: bool) -> Fields:
    """The fields of Features or FeatureLists."""
    make = make_steps if of_steps else make_feature
    return tuple(
        Field(1, BYTES, (Field(1, BYTES, rng.choice(_KEYS)), Field(2, BYTES, make(rng))))
        for _ in range(rng.choice((0, 1, 2, 2, 3)))
    )


def make_record(rng: Random, *, is_sequence: bool) -> Fields:
    """The fields of an Example or a SequenceExample."""
    features = Field(1, BYTES, make_map(rng, of_steps=False))
    if not is_sequence:
        return (features,)
    return (features, Field(2, BYTES, make_map(rng, of_steps=True)))


# ---------------------------------------------------------------- mutations


def mutate(rng: Random, fields: Fields) -> Fields:
    """The same, with one change at some depth."""
    if not fields:
        return (make_unknown(rng),)
    at = rng.randrange(len(fields))
    field = fields[at]
    if isinstance(field.content, tuple) and rng.random() < 0.8:
        changed: Fields = (field._replace(content=mutate(rng, field.content)),)
    else:
        changed = change(rng, field)
        if rng.random() < 0.2:  # somewhere else, beside it
            at = rng.randrange(len(fields))
            changed = (*changed, fields[at])
    return fields[:at] + changed + fields[at + 1 :]


def change(rng: Random, field: Field) -> Fields:
    """What stands in the place of a field."""
    return rng.choice(_CHANGES)(rng, field)


def remove(_: Random, __: Field) -> Fields:
    """Nothing."""
    return ()


def repeat(_: Random, field: Field) -> Fields:
    """The field twice."""
    return (field, field)


def renumber(rng: Random, field: Field) -> Fields:
    """The field under another number: of another kind, or unknown."""
    return (field._replace(number=rng.choice((0, 1, 1, 2, 2, 3, 3, 4, 16, 2**29 - 1, 2**29))),)


def replace(rng: Random, field: Field) -> Fields:
    """Another field of this number: of another wire type, or of other bytes."""
    return (make_unknown(rng)._replace(number=field.number),)


def add(rng: Random, field: Field) -> Fields:
    """The field, and an unknown one before or after it."""
    pair = (field, make_unknown(rng))
    return pair if rng.random() < 0.5 else pair[::-1]


def split(rng: Random, field: Field) -> Fields:
    """A message in two parts, which are to be merged; a list in two chunks."""
    content = field.content
    if isinstance(content, int):
        return (field, field)
    at = rng.randrange(len(content) + 1)
    return (field._replace(content=content[:at]), field._replace(content=content[at:]))


def pad(rng: Random, field: Field) -> Fields:
    """A tag, or a length, of more bytes than it needs."""
    length = rng.choice((2, 3, 4, 5, 6, 9, 10, 11))
    if rng.random() < 0.5:
        return (field._replace(tag_len=length),)
    return (field._replace(size_len=length),)


def regroup(rng: Random, field: Field) -> Fields:
    """The field inside groups, up to about as deep as they may nest."""
    depth = rng.choice((1, 2, 3, 94, 95, 96, 97, 98, 99, 100, 101))
    number = rng.choice((1, 2, 15))
    for _ in range(depth):
        field = Field(number, GROUP, (field,))
    return (field,)


def rekind(rng: Random, field: Field) -> Fields:
    """The same bytes under the numbers of two kinds: the last one counts, all must be sound."""
    kinds = rng.sample((1, 2, 3), 2)
    return tuple(field._replace(number=kind) for kind in kinds)


_CHANGES = (remove, repeat, renumber, replace, add, split, pad, regroup, rekind)


_PAYLOADS = [*_STRINGS, b"\x80", b"\x80" * 9 + b"\1", b"\x80" * 11]


def make_unknown(rng: Random) -> Field:
    """A field that may be unknown, or a list in any form."""
    number = rng.choice((1, 1, 2, 3, 15))
    wire = rng.choice((VARINT, FIXED64, BYTES, BYTES, GROUP, FIXED32))
    if wire == VARINT:
        return Field(number, wire, rng.choice(_INTEGERS))
    if wire == GROUP:
        return Field(number, wire, (make_unknown(rng),) if rng.random() < 0.5 else ())
    if wire == BYTES:
        return Field(number, wire, rng.choice(_PAYLOADS))
    return Field(number, wire, bytes(8 if wire == FIXED64 else 4))


def break_bytes(rng: Random, record: bytes) -> bytes:
    """One byte changed, inserted or removed, or the end cut off."""
    if not record:
        return record
    at = rng.randrange(len(record))
    way = rng.randrange(4)
    if way == 0:
        return record[:at]
    if way == 1:
        return record[:at] + record[at + 1 :]
    inserted = bytes([rng.randrange(256)])
    return record[:at] + inserted + record[at + (way == 2) :]


def make_odd(rng: Random, *, is_sequence: bool) -> bytes:
    """A serialized record after some mutations."""
    fields = make_record(rng, is_sequence=is_sequence)
    for _ in range(rng.choice((1, 1, 2, 3))):
        fields = mutate(rng, fields)
    record = encode(fields)
    return break_bytes(rng, record) if rng.random() < 0.15 else record
