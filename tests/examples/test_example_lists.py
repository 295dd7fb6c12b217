"""parse_example_list and encode_example_list: ExampleListWithContext."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_wire import delimited, tag, varint

import tfrecs

QUERY = {"words": tfrecs.FixedLenFeature([], "int64", default_value=-1)}
SCORE = {"score": tfrecs.FixedLenFeature([], "float32")}

RECORDS = [
    tfrecs.encode_example_list([{"score": 0.5}, {"score": 1.5}], {"words": 3}),
    tfrecs.encode_example_list([], {"words": 1}),
    tfrecs.encode_example_list([{"score": 2.5}]),
]


def examples(records: Any, spec: Any, **options: Any) -> dict[str, Any]:
    return tfrecs.parse_example_list(records, None, spec, **options)[1]


@pytest.mark.parametrize(
    "given",
    [
        RECORDS,
        tuple(RECORDS),
        tfrecs.Records(RECORDS),
        tfrecs.BytesArray.from_values(RECORDS),
        np.array(RECORDS, np.object_),
    ],
    ids=lambda records: type(records).__name__,
)
def test_contexts_and_lists(given: Any) -> None:
    context, lists, lengths = tfrecs.parse_example_list(given, QUERY, SCORE)
    assert context["words"].tolist() == [3, 1, -1]
    score = lists["score"]
    assert isinstance(score, tfrecs.RaggedTensor)
    assert score.tolist() == [[0.5, 1.5], [], [2.5]]
    assert str(score.flat_values.dtype) == "float32"  # type: ignore[union-attr]
    assert (lengths.tolist(), lengths.dtype.name) == ([2, 0, 1], "int64")


def test_either_may_be_left_out() -> None:
    context, lists, lengths = tfrecs.parse_example_list(RECORDS, QUERY)
    assert (list(context), lists, lengths.tolist()) == (["words"], {}, [2, 0, 1])
    context, lists, _ = tfrecs.parse_example_list(RECORDS, {}, SCORE)
    assert (context, list(lists)) == ({}, ["score"])


def test_no_lists() -> None:
    context, lists, lengths = tfrecs.parse_example_list([], QUERY, SCORE)
    assert (context["words"].shape, lists["score"].tolist(), lengths.shape) == ((0,), [], (0,))
    assert examples([], SCORE, list_size=3)["score"].shape == (0, 3)


# --- Every kind of feature ---

RICH = [
    {"v": [1, 2], "s": ["a", "b"], "ix": [3, 1], "val": [0.5, 1.0], "part": [2, 0]},
    {"v": [3, 4], "s": ["c"]},
    {"v": [5, 6], "ix": [0], "val": [2.0], "part": [1]},
]
LISTS = [tfrecs.encode_example_list(rows) for rows in ([], RICH[:2], [], RICH[2:])]
LISTS_AS_EXAMPLES = [tfrecs.encode_example(row) for row in RICH]
SPECS: dict[str, Any] = {
    "v": tfrecs.FixedLenFeature([2, 1], "int64", default_value=[[8], [9]]),
    "s": tfrecs.VarLenFeature("string"),
    "sparse": tfrecs.SparseFeature("ix", "val", "float32", 5),
    "padded": tfrecs.FixedLenSequenceFeature([], "float32", allow_missing=True, default_value=-1),
    "ragged": tfrecs.RaggedFeature("float32", "val"),
}
SPECS["val"] = SPECS.pop("padded")


def test_dense_elements_keep_their_shape() -> None:
    v = examples(LISTS, {"v": SPECS["v"]})["v"]
    assert v.values.shape == (3, 2, 1)
    assert v.row_splits.tolist() == [0, 0, 2, 2, 3]
    assert v[1].tolist() == [[[1], [2]], [[3], [4]]]


def test_padded_elements() -> None:
    found = examples(LISTS, {"val": SPECS["val"]})["val"]
    assert found.tolist() == [[], [[0.5, 1.0], [-1.0, -1.0]], [], [[2.0, -1.0]]]


def test_ragged_elements() -> None:
    found = examples(LISTS, {"ragged": SPECS["ragged"]})["ragged"]
    assert (found.ragged_rank, found.tolist()) == (2, [[], [[0.5, 1.0], []], [], [[2.0]]])


def test_sparse_elements() -> None:
    found = examples(LISTS, {"s": SPECS["s"], "sparse": SPECS["sparse"]})
    assert found["s"].indices.tolist() == [[1, 0, 0], [1, 0, 1], [1, 1, 0]]
    assert (found["s"].values.tolist(), found["s"].dense_shape.tolist()) == (
        [b"a", b"b", b"c"],
        [4, 2, 2],
    )
    assert found["sparse"].indices.tolist() == [[1, 0, 1], [1, 0, 3], [3, 0, 0]]
    assert found["sparse"].values.tolist() == [1.0, 0.5, 2.0]
    assert found["sparse"].dense_shape.tolist() == [4, 2, 5]


def test_narrow_types() -> None:
    spec = {"v": tfrecs.FixedLenFeature([2], "uint8")}
    assert examples(LISTS, spec)["v"].values.dtype == np.uint8
    padded = examples(LISTS, spec, list_size=1)["v"]
    assert (padded.dtype, padded.tolist()) == (np.uint8, [[[0, 0]], [[1, 2]], [[0, 0]], [[5, 6]]])


# --- list_size ---


@pytest.mark.parametrize("size", [1, 2, 3])
def test_lists_of_one_size(size: int) -> None:
    found = examples(LISTS, {"v": SPECS["v"], "val": SPECS["val"]}, list_size=size)
    rows = [[], [[[1], [2]], [[3], [4]]], [], [[[5], [6]]]]
    padding = [[[8], [9]]] * size
    assert found["v"].tolist() == [(row + padding)[:size] for row in rows]
    values = [[], [[0.5, 1.0], [-1.0, -1.0]], [], [[2.0, -1.0]]]
    assert found["val"].tolist() == [(row + [[-1.0, -1.0]] * size)[:size] for row in values]


@pytest.mark.parametrize(("default", "padding"), [(None, b""), ("none", b"none"), (b"\0", b"\0")])
def test_strings_of_one_size(default: Any, padding: bytes) -> None:
    records = [tfrecs.encode_example_list([{"s": s} for s in row]) for row in ("abc", "", "d")]
    spec = {"s": tfrecs.FixedLenFeature([], "string", default_value=default)}
    found = examples(records, spec, list_size=2)["s"]
    assert isinstance(found, tfrecs.BytesArray)
    assert found.tolist() == [[b"a", b"b"], [padding] * 2, [b"d", padding]]
    spec = {"s": tfrecs.FixedLenFeature([1], "string", [padding])}
    assert examples(records, spec, list_size=1)["s"].tolist() == [[[b"a"]], [[padding]], [[b"d"]]]


def test_sparse_lists_of_one_size() -> None:
    found = examples(LISTS, {"s": SPECS["s"]}, list_size=1)["s"]
    assert found.indices.tolist() == [[1, 0, 0], [1, 0, 1]]
    assert (found.values.tolist(), found.dense_shape.tolist()) == ([b"a", b"b"], [4, 1, 2])
    found = examples(LISTS, {"s": SPECS["s"]}, list_size=5)["s"]
    assert (len(found.values), found.dense_shape.tolist()) == (3, [4, 5, 2])


def test_a_shape_without_elements() -> None:
    records = [tfrecs.encode_example_list([{"e": np.zeros(0, np.int64)}])]
    spec = {"e": tfrecs.FixedLenFeature([0, 2], "int64")}
    assert examples(records, spec, list_size=3)["e"].shape == (1, 3, 0, 2)
    assert examples(records, spec)["e"].values.shape == (1, 0, 2)


def test_lengths_are_those_before_cutting() -> None:
    assert tfrecs.parse_example_list(RECORDS, QUERY, list_size=1)[2].tolist() == [2, 0, 1]


# --- On the wire ---


def test_the_fields_may_come_in_any_order_and_pieces() -> None:
    """The pieces of a context are merged; examples are not; what is unknown is skipped."""
    first, second = (tfrecs.encode_example({"score": score}) for score in (1.0, 2.0))
    words, more = tfrecs.encode_example({"words": 3}), tfrecs.encode_example({"more": 4})
    unknown = delimited(3, b"x") + tag(4, 0) + varint(5) + tag(1, 0) + varint(1)
    record = b"".join(
        [unknown, delimited(2, words), delimited(1, first), delimited(2, more), unknown]
    )
    record += delimited(1, second) + unknown
    spec = {**QUERY, "more": tfrecs.FixedLenFeature([], "int64")}
    context, lists, _ = tfrecs.parse_example_list([record], spec, SCORE)
    assert (context["words"].tolist(), context["more"].tolist()) == ([3], [4])
    assert lists["score"].tolist() == [[1.0, 2.0]]


@given(st.lists(st.lists(st.floats(width=32, allow_nan=False), max_size=4), max_size=5))
def test_round_trip(rows: list[list[float]]) -> None:
    records = [
        tfrecs.encode_example_list([{"score": value} for value in row], {"words": len(row)})
        for row in rows
    ]
    context, lists, lengths = tfrecs.parse_example_list(records, QUERY, SCORE)
    assert lists["score"].tolist() == rows
    assert context["words"].tolist() == lengths.tolist() == [len(row) for row in rows]


@given(st.lists(st.binary(max_size=20), max_size=3))
def test_any_bytes_are_parsed_or_refused(records: list[bytes]) -> None:
    try:
        _, _, lengths = tfrecs.parse_example_list(records, QUERY, {"s": SPECS["s"]})
    except tfrecs.ParseError as error:
        assert error.record in range(len(records))
    else:
        assert len(lengths) == len(records)


@given(st.data())
def test_damaged_lists_are_parsed_or_refused(data: st.DataObject) -> None:
    record = bytearray(LISTS[1])
    for _ in range(data.draw(st.integers(1, 3))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    name = data.draw(st.sampled_from(list(SPECS)))
    spec = {name: SPECS[name]}
    try:
        _, lists, lengths = tfrecs.parse_example_list([LISTS[1], bytes(record)], QUERY, spec)
    except tfrecs.ParseError as error:
        assert error.record == 1
    else:
        assert (list(lists), len(lengths)) == ([name], 2)


def test_a_long_example() -> None:
    record = tfrecs.encode_example_list([{"b": b"x" * 300}, {"b": b"y" * 20_000}])
    found = examples([record], {"b": tfrecs.FixedLenFeature([], "string")})
    assert [len(value) for value in found["b"][0].tolist()] == [300, 20_000]


# --- Errors ---


def test_an_error_names_the_record_of_the_list(tmp_path: Path) -> None:
    path = str(tmp_path / "lists.tfrecord")
    bad = tfrecs.encode_example_list([{"score": 1.0}, {}], {})
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([RECORDS[0], RECORDS[1], RECORDS[0], bad])
    reader = tfrecs.RecordReader(path)
    reader.read_batch(1)
    with pytest.raises(tfrecs.ParseError, match="is required but could not be found") as caught:
        examples(reader.read_batch(10), SCORE)
    error = caught.value
    assert (error.path, error.record, error.offset, error.feature) == (path, 3, None, "score")
    with pytest.raises(tfrecs.ParseError) as caught:
        examples([RECORDS[0], bad], SCORE)
    assert (caught.value.path, caught.value.record) == (None, 1)
    batch = tfrecs.RecordReader(path).read_batch(10)
    with pytest.raises(tfrecs.ParseError) as caught:
        tfrecs.parse_example_list(batch[2:], {"gone": tfrecs.FixedLenFeature([], "int64")})
    assert (caught.value.path, caught.value.record, caught.value.feature) == (path, 2, "gone")


def test_a_broken_record(tmp_path: Path) -> None:
    with tfrecs.RecordWriter(tmp_path / "broken") as out:
        out.write_batch([RECORDS[0], b"\x0a\x05abc"])
    records = tfrecs.RecordReader(tmp_path / "broken").read_batch(2)
    with pytest.raises(tfrecs.ParseError, match=r"broken: record 1 at byte \d+: broken protobuf"):
        tfrecs.parse_example_list(records, QUERY, SCORE)
    with pytest.raises(tfrecs.ParseError, match=r"^record 1: broken protobuf"):
        tfrecs.parse_example_list(list(records), QUERY, SCORE)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((RECORDS,), {}, "at least one should have values"),
        ((RECORDS, {}, {}), {}, "at least one should have values"),
        ((RECORDS[0], QUERY), {}, r"put it into a list: \[record\]"),
        ((np.array(RECORDS[0], np.object_), QUERY), {}, "put it into a list"),
        ((np.array([RECORDS], np.object_), QUERY), {}, "scalar or vector"),
        ((RECORDS, QUERY), {"list_size": 0}, "list_size is at least 1, or None: 0"),
        ((RECORDS, QUERY), {"list_size": -1}, "list_size is at least 1, or None: -1"),
        ((RECORDS, QUERY), {"list_size": True}, "list_size is at least 1, or None: True"),
        ((RECORDS, QUERY), {"list_size": 2.5}, "list_size is at least 1, or None: 2.5"),
        ((RECORDS, QUERY), {"list_size": "3"}, "list_size is at least 1, or None: '3'"),
        ((RECORDS, None, {"ragged": SPECS["ragged"]}), {"list_size": 2}, "cannot be padded"),
        ((RECORDS, None, {"a": "int64"}), {}, "a"),
    ],
)
def test_wrong_use(arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=words):
        tfrecs.parse_example_list(*arguments, **options)


def test_wrong_records() -> None:
    with pytest.raises(TypeError, match="a record must be bytes, not int"):
        tfrecs.parse_example_list([1], QUERY)  # type: ignore[list-item]
    with pytest.raises(tfrecs.SpecError, match="put a single one into a list"):
        tfrecs.encode_example_list({"a": 1})  # type: ignore[dict-item]
    with pytest.raises(tfrecs.SpecError, match="mixed"):
        tfrecs.encode_example_list([{"mixed": [1, "a"]}])
