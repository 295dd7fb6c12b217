"""The bytes of the message classes, against an encoder written out here by hand.

TensorFlow's own classes are the judge of the same in oracle/test_messages_oracle.py.
"""

from __future__ import annotations

import copy
import pickle
import struct
from typing import Any

import needs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

needs.optional("google.protobuf")

# A feature is ("bytes" | "float" | "int64", values), or None where no kind is set.
Values = tuple[str, list[Any]] | None
FIELD_OF_KIND = {"bytes": 1, "float": 2, "int64": 3}

float32s = st.floats(width=32, allow_nan=False)
int64s = st.integers(-(2**63), 2**63 - 1)
features = st.one_of(
    st.none(),
    st.tuples(st.just("bytes"), st.lists(st.binary(max_size=200), max_size=5)),
    st.tuples(st.just("float"), st.lists(float32s, max_size=5)),
    st.tuples(st.just("int64"), st.lists(int64s, max_size=5)),
)
feature_maps = st.dictionaries(st.text(max_size=5), features, max_size=5)
sequences = st.dictionaries(st.text(max_size=5), st.lists(features, max_size=4), max_size=3)


# ---------------------------------------------------------------- the wire format, by hand


def varint(value: int) -> bytes:
    value &= 2**64 - 1  # a negative number is written as its two's complement
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def delimited(number: int, payload: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(payload)) + payload


def encode_values(kind: str, values: list[Any], *, packed: bool = True) -> bytes:
    if kind == "bytes":
        return b"".join(delimited(1, value) for value in values)
    wire_type, items = 0, [varint(value) for value in values if kind == "int64"]
    if kind == "float":
        wire_type, items = 5, [struct.pack("<f", value) for value in values]
    if not packed:
        return b"".join(bytes([1 << 3 | wire_type]) + item for item in items)
    return delimited(1, b"".join(items)) if items else b""


def encode_feature(feature: Values, *, packed: bool = True) -> bytes:
    if feature is None:
        return b""
    kind, values = feature
    return delimited(FIELD_OF_KIND[kind], encode_values(kind, values, packed=packed))


def encode_map(encoded: dict[str, bytes]) -> bytes:
    entries = [delimited(1, k.encode()) + delimited(2, v) for k, v in encoded.items()]
    return b"".join(delimited(1, entry) for entry in entries)


def encode_features(by_name: dict[str, Values], *, packed: bool = True) -> bytes:
    return encode_map({k: encode_feature(v, packed=packed) for k, v in by_name.items()})


def encode_sequences(by_name: dict[str, list[Values]]) -> bytes:
    lists = {k: [delimited(1, encode_feature(v)) for v in steps] for k, steps in by_name.items()}
    return encode_map({k: b"".join(steps) for k, steps in lists.items()})


# ---------------------------------------------------------------- the same, as messages


def feature_message(feature: Values) -> tfrecs.Feature:
    if feature is None:
        return tfrecs.Feature()
    kind, values = feature
    if kind == "bytes":
        return tfrecs.Feature(bytes_list=tfrecs.BytesList(value=values))
    if kind == "float":
        return tfrecs.Feature(float_list=tfrecs.FloatList(value=values))
    return tfrecs.Feature(int64_list=tfrecs.Int64List(value=values))


def features_message(by_name: dict[str, Values]) -> tfrecs.Features:
    return tfrecs.Features(feature={k: feature_message(v) for k, v in by_name.items()})


def example_message(by_name: dict[str, Values]) -> tfrecs.Example:
    return tfrecs.Example(features=features_message(by_name))


def sequence_message(
    context: dict[str, Values], by_name: dict[str, list[Values]]
) -> tfrecs.SequenceExample:
    lists = {
        name: tfrecs.FeatureList(feature=[feature_message(step) for step in steps])
        for name, steps in by_name.items()
    }
    return tfrecs.SequenceExample(
        context=features_message(context), feature_lists=tfrecs.FeatureLists(feature_list=lists)
    )


def read_feature(feature: tfrecs.Feature) -> Values:
    which = feature.WhichOneof("kind")
    if which is None:
        return None
    return which.removesuffix("_list"), list(getattr(feature, which).value)


def read_features(message: tfrecs.Features) -> dict[str, Values]:
    return {name: read_feature(feature) for name, feature in message.feature.items()}


# ---------------------------------------------------------------- bytes


# Protobuf writes the entries of a map in any order, and another one with every runtime: exact bytes
# can be told of one entry only, and of more, that they are read.


@given(st.text(max_size=200), features)
def test_example_has_exactly_the_bytes_of_the_wire_format(name: str, feature: Values) -> None:
    record = example_message({name: feature}).SerializeToString()
    assert record == delimited(1, encode_features({name: feature}))


@given(st.text(max_size=200), features, st.lists(features, max_size=4))
def test_sequence_example_has_exactly_the_bytes_of_the_wire_format(
    name: str, feature: Values, steps: list[Values]
) -> None:
    record = sequence_message({name: feature}, {name: steps}).SerializeToString()
    context, lists = encode_features({name: feature}), encode_sequences({name: steps})
    assert record == delimited(1, context) + delimited(2, lists)


@given(feature_maps, sequences)
def test_the_wire_format_is_read(
    context: dict[str, Values], by_name: dict[str, list[Values]]
) -> None:
    encoded, lists = encode_features(context), encode_sequences(by_name)
    record = delimited(1, encoded) + delimited(2, lists)
    message = tfrecs.SequenceExample.FromString(record)
    assert message == sequence_message(context, by_name)
    assert message.ByteSize() == len(record)


@given(feature_maps)
def test_deterministic_bytes_do_not_depend_on_the_order_of_insertion(
    by_name: dict[str, Values],
) -> None:
    backwards = dict(reversed(by_name.items()))
    assert example_message(by_name).SerializeToString(deterministic=True) == example_message(
        backwards
    ).SerializeToString(deterministic=True)


@given(feature_maps)
def test_example_comes_back_from_its_bytes(by_name: dict[str, Values]) -> None:
    message = example_message(by_name)
    back = tfrecs.Example.FromString(message.SerializeToString())
    assert back == message
    assert read_features(back.features) == by_name


@given(feature_maps, sequences)
def test_sequence_example_comes_back_from_its_bytes(
    context: dict[str, Values], by_name: dict[str, list[Values]]
) -> None:
    message = sequence_message(context, by_name)
    back = tfrecs.SequenceExample.FromString(message.SerializeToString())
    assert back == message
    assert read_features(back.context) == context
    lists = back.feature_lists.feature_list
    assert {k: [read_feature(step) for step in v.feature] for k, v in lists.items()} == by_name


@given(feature_maps)
def test_unpacked_lists_are_read_too(by_name: dict[str, Values]) -> None:
    record = delimited(1, encode_features(by_name, packed=False))
    assert tfrecs.Example.FromString(record) == example_message(by_name)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -0.0, 1e-45])
def test_floats_keep_their_bits(value: float) -> None:
    message = tfrecs.FloatList(value=[value])
    assert message.SerializeToString() == delimited(1, struct.pack("<f", value))


@given(feature_maps, sequences)
def test_sequence_example_comes_back_from_a_pickle_and_a_copy(
    context: dict[str, Values], by_name: dict[str, list[Values]]
) -> None:
    message = sequence_message(context, by_name)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(message, protocol))
        assert type(back) is tfrecs.SequenceExample
        assert back == message
    assert copy.deepcopy(message) == copy.copy(message) == message
