"""Odd but legal bytes, one kind a test: what protobuf, TensorFlow's fast parser and we read.

Each row of docs/compatibility.md on the wire format is held here, with TensorFlow's own reading: if
a later TensorFlow reads as protobuf does, the test says that the row is out of date. The rows are
in wire_rows.py.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import reference
import reference_rules
import reference_wire
import tensorflow as tf
from reference import Dense, Fixed, SequenceSpec, Sparse, Spec, Var
from reference_wire import delimited, packed

import tfrecs
from oracle import judge
from oracle.wire_rows import ROWS, SEQUENCE_ROWS, SPEC, entry, example, floats, ints


def sparse(reading: list[int] | str | None) -> Sparse | str:
    if isinstance(reading, str):
        return reading
    values = reading or []
    return Sparse("int64", [[i] for i in range(len(values))], list(values), [len(values)])


def parsed(library: Any, data: bytes, read: Any, refusal: type[Exception]) -> Any:
    features = reference.build(library, SPEC)
    try:
        return read(library.parse_single_example(data, features)["a"])
    except refusal:
        return "refused"


def theirs(data: bytes) -> Any:
    refusal = tf.errors.InvalidArgumentError
    return parsed(tf.io, data, lambda value: judge.columns({"a": value})["a"], refusal)


def ours(data: bytes) -> Any:
    return parsed(tfrecs, data, reference.column, tfrecs.ParseError)


@pytest.mark.parametrize("name", ROWS)
def test_protobuf_reads(name: str) -> None:
    """The table is true of protobuf (and so is reference.py)."""
    row = ROWS[name]
    judge.decode(row.data)
    try:
        assert reference_rules.parse_single(row.data, SPEC)["a"] == sparse(row.protobuf)
    except reference_rules.RejectedError:
        assert row.protobuf == "refused"


@pytest.mark.parametrize("name", ROWS)
def test_tensorflow_reads(name: str) -> None:
    """The table is true of TensorFlow, too."""
    assert theirs(ROWS[name].data) == sparse(ROWS[name].tensorflow)


@pytest.mark.parametrize("name", ROWS)
def test_we_read_as_protobuf_does(name: str) -> None:
    row = ROWS[name]
    assert ours(row.data) == sparse(row.protobuf)


@pytest.mark.parametrize("name", ROWS)
def test_we_take_a_default_as_protobuf_does(name: str) -> None:
    """The default stands in for a feature that has no list, and for nothing else."""
    row = ROWS[name]
    count = len(row.protobuf) if isinstance(row.protobuf, list) else 1
    features = {"a": tfrecs.FixedLenFeature([count], "int64", [7] * count)}
    if row.protobuf == "refused":
        with pytest.raises(tfrecs.ParseError):
            tfrecs.parse_single_example(row.data, features)
        return
    values = row.protobuf if isinstance(row.protobuf, list) else [7]
    got = reference.column(tfrecs.parse_single_example(row.data, features)["a"])
    assert got == Dense("int64", (count,), values)


def test_float_list_of_odd_length() -> None:
    """Five bytes are no packed floats: TensorFlow takes the first four, protobuf and we refuse."""
    data = example(entry(delimited(2, delimited(1, b"\0\0\x80\x3f\1"))))
    theirs = tf.io.parse_single_example(data, {"a": tf.io.VarLenFeature("float32")})["a"]
    assert theirs.values.numpy().tolist() == [1.0]
    with pytest.raises(reference_wire.MalformedError):
        reference_wire.decode(data)
    with pytest.raises(tfrecs.ParseError) as caught:
        tfrecs.parse_single_example(data, {"a": tfrecs.VarLenFeature("float32")})
    assert caught.value.feature == "a"


def test_keys_need_not_be_utf8() -> None:
    """As in TensorFlow, keys are bytes: one that is not UTF-8 is a key that nobody asks for."""
    data = example(entry(ints(1), b"\xff"), entry(ints(2)))
    assert ours(data) == theirs(data) == sparse([2])


# ---------------------------------------------------------------- SequenceExamples


def nested(reading: list[list[int]] | str | None) -> Any:
    """As the VarLenFeature of a feature list."""
    if isinstance(reading, str):
        return reading
    steps = reading or []
    indices = [[i, j] for i, step in enumerate(steps) for j in range(len(step))]
    values = [value for step in steps for value in step]
    return Sparse("int64", indices, values, [len(steps), max(map(len, steps), default=0)])


def parsed_lists(library: Any, data: bytes, read: Any, refusal: type[Exception]) -> Any:
    features = reference.build(library, SPEC)
    try:
        return read(library.parse_single_sequence_example(data, None, features)[1]["a"])
    except refusal:
        return "refused"


def our_lists(data: bytes) -> Any:
    return parsed_lists(tfrecs, data, reference.column, tfrecs.ParseError)


@pytest.mark.parametrize("name", SEQUENCE_ROWS)
def test_protobuf_reads_sequences(name: str) -> None:
    row = SEQUENCE_ROWS[name]
    judge.decode_sequence(row.data)
    try:
        spec = SequenceSpec({}, SPEC)
        found = reference_rules.parse_single_sequence(row.data, spec)
        assert found.lists["a"] == nested(row.protobuf)
    except reference_rules.RejectedError:
        assert row.protobuf == "refused"


@pytest.mark.parametrize("name", SEQUENCE_ROWS)
def test_tensorflow_reads_sequences(name: str) -> None:
    row, refusal = SEQUENCE_ROWS[name], tf.errors.InvalidArgumentError
    found = parsed_lists(tf.io, row.data, lambda value: judge.columns({"a": value})["a"], refusal)
    assert found == nested(row.tensorflow)


@pytest.mark.parametrize("name", SEQUENCE_ROWS)
def test_we_read_sequences_as_protobuf_does(name: str) -> None:
    row = SEQUENCE_ROWS[name]
    assert our_lists(row.data) == nested(row.protobuf)


@pytest.mark.parametrize("name", SEQUENCE_ROWS)
def test_we_know_whether_a_list_is_there(name: str) -> None:
    row = SEQUENCE_ROWS[name]
    features = {"a": tfrecs.FixedLenSequenceFeature([1], "int64")}
    steps = row.protobuf
    if not isinstance(steps, list) or any(len(step) != 1 for step in steps):
        with pytest.raises(tfrecs.ParseError):
            tfrecs.parse_single_sequence_example(row.data, None, features)
        return
    found = tfrecs.parse_single_sequence_example(row.data, None, features)[1]["a"]
    values = [value for step in steps for value in step]
    assert reference.column(found) == Dense("int64", (len(steps), 1), values)


# ---------------------------------------------------------------- large batches


@pytest.mark.parametrize("rows", [1, 255, 256, 1000])
def test_large_batches(rows: int) -> None:
    """Batches that TensorFlow divides among its threads."""
    spec: Spec = SPEC | {"b": Fixed((2,), "float32", (0, 1)), "c": Var("string")}
    records = [
        example(
            entry(ints(*range(i % 5))),
            *([entry(floats(i, math.inf), b"b")] if i % 3 else []),
            entry(delimited(1, packed("string", [b"%d" % i] * (i % 4))), b"c"),
        )
        for i in range(rows)
    ]
    expected = judge.batch(records, spec)
    result = tfrecs.parse_example(records, reference.build(tfrecs, spec))
    assert {name: reference.column(value) for name, value in result.items()} == expected
