"""Records that protobuf refuses, though the part that counts is sound: `decode_*` refuses them too.

`make torture ITEMS=10` compares mutated records with protobuf at length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import needs
import pytest

import tfrecs
from torture.odd_wire import BYTES, GROUP, VARINT, Field, Fields, encode

needs.optional("google.protobuf")

DEEPEST = 100  # messages and groups, counted together


def feature(*lists: Field) -> Fields:
    """An Example whose feature "a" has these lists."""
    return example((Field(1, BYTES, b"a"), Field(2, BYTES, lists)))


def example(*entries: Fields) -> Fields:
    """An Example of these entries."""
    return (Field(1, BYTES, tuple(Field(1, BYTES, entry) for entry in entries)),)


def groups(depth: int) -> Field:
    """Unknown groups in each other."""
    field = Field(15, VARINT, 1)
    for _ in range(depth):
        field = Field(15, GROUP, (field,))
    return field


SOUND = Field(3, BYTES, (Field(1, BYTES, b"\1"),))
CUT_VARINT = Field(3, BYTES, (Field(1, BYTES, b"\x80"),))
CUT_FLOATS = Field(2, BYTES, (Field(1, BYTES, b"12345"),))
KEY, BAD_KEY = Field(1, BYTES, b"a"), Field(1, BYTES, b"\xff")
VALUE = Field(2, BYTES, (SOUND,))

BROKEN = {
    "a list that another kind replaces": feature(CUT_FLOATS, SOUND),
    "a list of the last kind, replaced in between": feature(CUT_VARINT, CUT_FLOATS, SOUND),
    "a feature whose key comes again": example((KEY, Field(2, BYTES, (CUT_FLOATS,))), (KEY, VALUE)),
    "a key that another replaces": example((BAD_KEY, KEY, VALUE)),
    "a tag of six bytes": (*feature(SOUND), Field(15, VARINT, 1, tag_len=6)),
    "a tag of ten bytes, of the features": (feature(SOUND)[0]._replace(tag_len=10),),
    "a length of six bytes": (feature(SOUND)[0]._replace(size_len=6),),
    "a tag of six bytes in a list": feature(Field(3, BYTES, (Field(1, BYTES, b"\1", tag_len=6),))),
}

DEPTHS: list[tuple[int, Callable[[Field], Fields]]] = [
    (0, lambda deep: (*feature(SOUND), deep)),
    (1, lambda deep: (Field(1, BYTES, (*feature(SOUND)[0].content, deep)),)),  # type: ignore[misc]
    (2, lambda deep: example((KEY, VALUE, deep))),
    (3, lambda deep: feature(SOUND, deep)),
    (4, lambda deep: feature(Field(3, BYTES, (Field(1, BYTES, b"\1"), deep)))),
]


def refusals(record: bytes) -> list[bool]:
    """Whether protobuf, and each of our decoders, refuses a record."""
    readers: list[Callable[[bytes], Any]] = [
        tfrecs.Example.FromString,
        lambda record: tfrecs.decode_example(record, unknown_fields="ignore"),
        lambda record: tfrecs.decode_sequence_example(record, unknown_fields="ignore"),
        lambda record: tfrecs.decode_batch([record], unknown_fields="ignore"),
        # Enough to be decoded column by column.
        lambda record: tfrecs.decode_batch([record] * 40, unknown_fields="ignore"),
        lambda record: tfrecs.decode_sequence_batch([record] * 40, unknown_fields="ignore"),
    ]
    return [refuses(read, record) for read in readers]


def refuses(read: Callable[[bytes], Any], record: bytes) -> bool:
    """Whether reading is an error for a message that is broken."""
    from google.protobuf.message import DecodeError

    try:
        read(record)
    except (DecodeError, tfrecs.ParseError):
        return True
    return False


@pytest.mark.parametrize("fields", BROKEN.values(), ids=BROKEN)
def test_what_protobuf_refuses_is_refused(fields: Fields) -> None:
    assert refusals(encode(fields)) == [True] * 6


@pytest.mark.parametrize("fields", BROKEN.values(), ids=BROKEN)
def test_parse_example_reads_what_a_feature_needs(fields: Fields) -> None:
    wanted = {"a": tfrecs.VarLenFeature("int64")}
    assert tfrecs.parse_example([encode(fields)], wanted)["a"].values.tolist() == [1]


@pytest.mark.parametrize(("level", "place"), DEPTHS)
def test_groups_nest_as_deep_as_protobuf_allows(
    level: int, place: Callable[[Field], Fields]
) -> None:
    assert refusals(encode(place(groups(DEEPEST - level)))) == [False] * 6
    assert refusals(encode(place(groups(DEEPEST - level + 1)))) == [True] * 6


def test_the_error_names_the_feature() -> None:
    record = encode(BROKEN["a list that another kind replaces"])
    message = 'feature "a": broken protobuf message: the length of a packed float list is no mult'
    with pytest.raises(tfrecs.ParseError, match=message):
        tfrecs.decode_example(record)
    with pytest.raises(tfrecs.ParseError, match=f"record 0: {message}"):
        tfrecs.decode_batch([record])
