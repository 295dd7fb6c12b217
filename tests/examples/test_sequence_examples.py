"""encode_sequence_example and decode_sequence_example, with protobuf as the judge."""

import struct
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

needs.optional("google.protobuf")

VALUES = (
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3)
    | st.lists(st.floats(width=32), max_size=3)
    | st.lists(st.binary(max_size=5), max_size=3)
)


def bits(items: Any) -> list[Any]:
    return [struct.pack("<f", item) if isinstance(item, float) else item for item in items]


def of_feature(feature: Any) -> list[Any]:
    return bits(getattr(feature, feature.WhichOneof("kind") or "int64_list").value)


def by_protobuf(record: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    message = tfrecs.SequenceExample.FromString(record)
    context = {name: of_feature(item) for name, item in message.context.feature.items()}
    lists = {
        name: [of_feature(step) for step in steps.feature]
        for name, steps in message.feature_lists.feature_list.items()
    }
    return context, lists


@given(
    context=st.dictionaries(st.text(), VALUES, max_size=3),
    lists=st.dictionaries(st.text(), st.lists(VALUES, max_size=4), max_size=3),
    sort_keys=st.booleans(),
)
def test_round_trip(context: dict[str, Any], lists: dict[str, Any], sort_keys: bool) -> None:
    record = tfrecs.encode_sequence_example(context, lists, sort_keys=sort_keys)
    wanted = (
        {name: bits(items) for name, items in context.items()},
        {name: [bits(step) for step in steps] for name, steps in lists.items()},
    )
    assert by_protobuf(record) == wanted
    found = tfrecs.decode_sequence_example(record)
    assert {name: bits(items) for name, items in found[0].items()} == wanted[0]
    assert {name: [bits(step) for step in steps] for name, steps in found[1].items()} == wanted[1]
    for names, given_names in ((list(found[0]), list(context)), (list(found[1]), list(lists))):
        assert names == (sorted(given_names) if sort_keys else given_names)
    theirs = tfrecs.SequenceExample.FromString(record).SerializeToString()
    assert by_protobuf(theirs) == wanted
    assert tfrecs.decode_sequence_example(theirs)[1].keys() == lists.keys()


@pytest.mark.parametrize(
    ("steps", "meaning"),
    [
        ([1, 2], [[1], [2]]),
        (["a", ["b", "c"], []], [[b"a"], [b"b", b"c"], []]),
        (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (np.array([1.5, 2.5]), [[1.5], [2.5]]),
        pytest.param((step for step in [[1], (2, 3)]), [[1], [2, 3]], id="generator"),
        (tfrecs.RaggedTensor.from_rows([[1], [2, 3]]), [[1], [2, 3]]),
        ([], []),
    ],
    ids=repr,
)
def test_what_a_feature_list_can_be(steps: Any, meaning: list[Any]) -> None:
    record = tfrecs.encode_sequence_example(feature_lists={"a": steps})
    assert tfrecs.decode_sequence_example(record) == ({}, {"a": meaning})


@pytest.mark.parametrize("steps", [5, [None], [[[1]]], np.zeros((1, 1, 1)), [[1, "a"]]], ids=repr)
def test_what_a_feature_list_cannot_be(steps: Any) -> None:
    with pytest.raises(tfrecs.SpecError) as caught:
        tfrecs.encode_sequence_example({"x": 1}, {"a": steps})
    assert caught.value.feature == "a"


def test_none_is_a_missing_list() -> None:
    lists: dict[str, Any] = {"a": None, "b": [1]}
    record = tfrecs.encode_sequence_example({"x": 1, "y": None}, lists)
    assert tfrecs.decode_sequence_example(record) == ({"x": [1]}, {"b": [[1]]})


@pytest.mark.parametrize("text", ["abc", b"abc"])
def test_text_is_no_sequence_of_steps(text: Any) -> None:
    """Its characters, or the numbers of its bytes, would become steps."""
    with pytest.raises(tfrecs.SpecError) as caught:
        tfrecs.encode_sequence_example({}, {"words": text})
    assert caught.value.feature == "words"


def test_an_example_is_a_sequence_example_without_lists() -> None:
    record = tfrecs.encode_example({"a": 1})
    assert tfrecs.decode_sequence_example(record) == ({"a": [1]}, {})
    assert tfrecs.encode_sequence_example({"a": 1}) == record
    assert tfrecs.encode_sequence_example() == b""


def test_a_broken_step_names_its_list() -> None:
    record = tfrecs.encode_sequence_example({}, {"steps": [[300]]})
    with pytest.raises(tfrecs.ParseError) as caught:
        tfrecs.decode_sequence_example(record[:-1] + b"\xff")
    assert caught.value.feature == "steps"
