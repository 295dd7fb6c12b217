"""A record that is another message is refused, and what it looks like is said."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs import _core

EXAMPLE = tfrecs.encode_example({"a": 1})
SEQUENCE = tfrecs.encode_sequence_example({"c": 1}, {"f": [[1], [2]]})
LISTS_ALONE = tfrecs.encode_sequence_example(feature_lists={"f": [[1]]})
EVENT = b"\x09" + struct.pack("<d", 1.6e9) + b"\x10\x07\x1a\x0dbrain.Event:2"
TENSOR = tfrecs.serialize_tensor(np.arange(3, dtype=np.float32))
STRINGS = tfrecs.serialize_tensor(["a", "b"])
OTHER = b"\x1d\0\0\0\0"

KINDS = {
    EXAMPLE: "Example",
    b"": "Example",
    b"\x0a\x00": "Example",
    SEQUENCE: "SequenceExample",
    LISTS_ALONE: "SequenceExample",
    EVENT: "Event",
    TENSOR: "TensorProto",
    STRINGS: "TensorProto",
    OTHER: "bytes",
    b"some text": "bytes",
    b"\xff": "bytes",
}
READERS = {
    SEQUENCE: "a SequenceExample, which decode_sequence_example() reads",
    LISTS_ALONE: "a SequenceExample, which decode_sequence_example() reads",
    EVENT: "an Event of tensorboard, which read_events() reads",
    TENSOR: "a TensorProto, which parse_tensor() reads",
    STRINGS: "a TensorProto, which parse_tensor() reads",
}


@pytest.mark.parametrize("record", KINDS)
def test_messages_are_told_apart(record: bytes) -> None:
    assert _core.message_kind(record) == KINDS[record]


def all_rows(records: list[bytes], **options: Any) -> Any:
    return tfrecs.decode_batch(records, **options)


DECODERS: dict[str, Callable[..., Any]] = {
    "decode_example": tfrecs.decode_example,
    "decode_batch": lambda record, **options: all_rows([EXAMPLE, record], **options),
    "decode_sequence_example": tfrecs.decode_sequence_example,
    "decode_sequence_batch": lambda record, **options: tfrecs.decode_sequence_batch(
        [EXAMPLE, record], **options
    ),
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("record", READERS)
def test_another_message_is_refused(decoder: str, record: bytes) -> None:
    if "sequence" in decoder and record in (SEQUENCE, LISTS_ALONE):
        assert DECODERS[decoder](record)
        return
    with pytest.raises(tfrecs.ParseError) as caught:
        DECODERS[decoder](record)
    assert f"it looks like {READERS[record]}" in str(caught.value)
    assert 'unknown_fields="ignore"' in str(caught.value)
    if "batch" in decoder:
        assert caught.value.record == 1


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("record", [OTHER, EXAMPLE + OTHER])
def test_an_unknown_field_is_named(decoder: str, record: bytes) -> None:
    with pytest.raises(tfrecs.ParseError, match="an unknown field 3"):
        DECODERS[decoder](record)
    DECODERS[decoder](record, unknown_fields="ignore")


@pytest.mark.parametrize("record", [*READERS, OTHER])
def test_unknown_fields_can_be_ignored(record: bytes) -> None:
    wanted = {"c": [1]} if record == SEQUENCE else {}
    assert tfrecs.decode_example(record, unknown_fields="ignore") == wanted
    assert tfrecs.decode_example(EXAMPLE + OTHER, unknown_fields="ignore") == {"a": [1]}


def test_a_message_without_features_is_none_either() -> None:
    # Field 1 holds a message, but not Features: its field 2 is a number.
    with pytest.raises(tfrecs.ParseError, match="it has an unknown field 2"):
        tfrecs.decode_example(b"\x0a\x02\x10\x01")


def test_parsing_ignores_them_as_tensorflow_does() -> None:
    spec: dict[str, Any] = {"c": tfrecs.FixedLenFeature([], "int64", 0)}
    assert tfrecs.parse_example([SEQUENCE, EVENT], spec)["c"].tolist() == [1, 0]
    assert tfrecs.decode_batch([SEQUENCE], spec)["c"].tolist() == [1]
    assert tfrecs.Example.FromString(EVENT).features.feature == {}


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_option_is_checked(decoder: str) -> None:
    with pytest.raises(tfrecs.SpecError, match="not 'skip'"):
        DECODERS[decoder](EXAMPLE, unknown_fields="skip")


def shown(*arguments: str | Path) -> list[str]:
    """The lines that `tfrecs head` prints."""
    app = needs.optional("tfrecs.cli.app").app
    runner = needs.optional("typer.testing").CliRunner()
    result = runner.invoke(app, ["head", *map(str, arguments)], env={"COLUMNS": "80"})
    assert (result.exit_code, result.stderr) == (0, "")
    lines: list[str] = result.stdout.splitlines()
    return lines


def test_head_shows_events_and_tensors(tmp_path: Path) -> None:
    path = tmp_path / "mixed.tfrecord"
    loss = b"\x0a\x0b\x0a\x04loss\x15" + struct.pack("<f", 0.1)
    with tfrecs.RecordWriter(path) as out:
        out.write(b"\x09" + struct.pack("<d", 1.6e9) + b"\x10\x07\x2a\x0d" + loss)
        out.write(tfrecs.serialize_tensor([[1.5, 2.25]]))
    lines = shown(path)
    assert lines[1:] == [
        "record 0: Event, 26 bytes",
        "  step  int64     7",
        "  loss  scalar    0.1",
        "",
        "record 1: TensorProto, 22 bytes",
        "  float32, shape (1, 2)    2  1.5, 2.25",
        "",
    ]
    event, tensor = map(json.loads, shown("--json", path))
    assert (event["type"], event["step"], event["summaries"]) == ("Event", 7, {"loss": 0.1})
    assert (tensor["type"], tensor["tensor"]) == ("TensorProto", "float32, shape (1, 2)")
    assert tensor["values"] == [1.5, 2.25]


VALUES = (
    st.lists(st.integers(-(2**63), 2**63 - 1))
    | st.lists(st.floats(width=32, allow_nan=False))
    | st.lists(st.binary(max_size=9))
)


@given(features=st.dictionaries(st.text(max_size=5), VALUES, max_size=5))
def test_every_example_is_one(features: dict[str, Any]) -> None:
    record = tfrecs.encode_example(features)
    assert _core.message_kind(record) == "Example"
    assert tfrecs.decode_example(record) == tfrecs.decode_example(record, unknown_fields="ignore")
    assert tfrecs.decode_sequence_example(record) == (tfrecs.decode_example(record), {})
