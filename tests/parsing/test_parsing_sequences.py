"""parse_sequence_example and parse_single_sequence_example: the results that TensorFlow gives."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs import (
    BytesArray,
    FixedLenFeature,
    FixedLenSequenceFeature,
    ParseError,
    RaggedFeature,
    SparseTensor,
    SpecError,
    VarLenFeature,
    encode_sequence_example,
    parse_sequence_example,
    parse_single_sequence_example,
)

SEQUENCE = FixedLenSequenceFeature([], "int64", allow_missing=True)


def parts(sparse: SparseTensor) -> tuple[list[Any], list[Any], list[int]]:
    assert sparse.indices.dtype == sparse.dense_shape.dtype == np.int64
    assert sparse.indices.shape == (len(sparse.values), len(sparse.dense_shape))
    return sparse.indices.tolist(), sparse.values.tolist(), sparse.dense_shape.tolist()


def lists_of(records: list[dict[str, Any]], **features: Any) -> tuple[dict[str, Any], Any]:
    """What a batch gives, and its lengths."""
    encoded = [encode_sequence_example({}, record) for record in records]
    context, lists, lengths = parse_sequence_example(encoded, None, features)
    assert context == {}
    return lists, lengths


# ---------------------------------------------------------------- feature lists


def test_dense_lists_are_padded_and_have_lengths() -> None:
    lists, lengths = lists_of([{"a": [1, 2]}, {"a": [5]}, {}], a=SEQUENCE)
    assert lists["a"].tolist() == [[1, 2], [5, 0], [0, 0]]
    assert (lengths["a"].tolist(), lengths["a"].dtype) == ([2, 1, 0], np.int64)
    single = [
        parse_single_sequence_example(encode_sequence_example({}, record), None, {"a": SEQUENCE})
        for record in ({"a": [1, 2]}, {})
    ]
    assert [lists["a"].tolist() for _, lists in single] == [[1, 2], []]


@pytest.mark.parametrize(
    "dtype", ["int64", "int8", "uint16", "bool", "float32", "float16", "float64"]
)
@pytest.mark.parametrize("shape", [[], [1], [3], [2, 2]])
def test_dense_lists_of_every_width(dtype: str, shape: list[int]) -> None:
    kind = "float32" if dtype.startswith("float") else "int64"
    rows = [np.ones((steps, *shape), kind) for steps in (3, 0, 1, 5)]
    steps = [[value.ravel().tolist() for value in row] for row in rows]
    lists, lengths = lists_of(
        [{"a": row} for row in steps], a=FixedLenSequenceFeature(shape, dtype, allow_missing=True)
    )
    assert lengths["a"].tolist() == [3, 0, 1, 5]
    assert (lists["a"].dtype, lists["a"].shape) == (np.dtype(dtype), (4, 5, *shape))
    for found, row in zip(lists["a"], rows, strict=True):
        np.testing.assert_array_equal(found[: len(row)], row)
        assert not found[len(row) :].any()


def test_a_long_list_among_many_is_padded_in_memory_that_nobody_uses_yet() -> None:
    records = [*[{"a": [7]}] * 300, {"a": [*range(5000)]}, {"a": []}]
    lists, _ = lists_of(records, a=SEQUENCE)
    assert lists["a"].shape == (302, 5000)
    assert lists["a"][300].tolist() == [*range(5000)]
    assert lists["a"][:300, 0].tolist() == [7] * 300
    assert not lists["a"][:300, 1:].any()
    assert not lists["a"][301].any()


def test_dense_lists_of_arrays_and_strings() -> None:
    lists, lengths = lists_of(
        [{"xy": [[1.0, 2.0], [3.0, 4.0]], "s": ["a"]}, {"xy": [[5.0, 6.0]]}],
        xy=FixedLenSequenceFeature([2, 1], "float32"),
        s=FixedLenSequenceFeature([], "string", allow_missing=True),
    )
    assert lists["xy"].tolist() == [[[[1.0], [2.0]], [[3.0], [4.0]]], [[[5.0], [6.0]], [[0], [0]]]]
    assert isinstance(lists["s"], BytesArray)
    assert lists["s"].tolist() == [[b"a"], [b""]]
    assert {name: of.tolist() for name, of in lengths.items()} == {"xy": [2, 1], "s": [1, 0]}


def test_sparse_lists() -> None:
    records = [{"v": [[1, 2], [], [3]]}, {}]
    lists, lengths = lists_of(records, v=VarLenFeature("int64"))
    assert parts(lists["v"]) == ([[0, 0, 0], [0, 0, 1], [0, 2, 0]], [1, 2, 3], [2, 3, 2])
    assert lengths == {}
    expected = [([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 2]), ([], [], [0, 0])]
    for record, of_one in zip(records, expected, strict=True):
        encoded = encode_sequence_example({}, record)
        _, single = parse_single_sequence_example(encoded, None, {"v": VarLenFeature("int64")})
        assert parts(single["v"]) == of_one


def test_ragged_lists() -> None:
    lists, lengths = lists_of([{"r": [["a", "b"], ["c"]]}, {}], r=RaggedFeature("string"))
    assert lists["r"].tolist() == [[[b"a", b"b"], [b"c"]], []]
    assert [splits.tolist() for splits in lists["r"].nested_row_splits] == [[0, 2, 2], [0, 2, 3]]
    assert {splits.dtype for splits in lists["r"].nested_row_splits} == {np.dtype(np.int32)}
    assert lengths == {}
    _, single = parse_single_sequence_example(b"", None, {"r": RaggedFeature("string")})
    assert (single["r"].tolist(), single["r"].ragged_rank) == ([], 1)


STEPS = st.lists(st.lists(st.integers(-9, 9), min_size=2, max_size=2), max_size=4)


@given(rows=st.lists(STEPS, max_size=4))
def test_all_kinds_of_lists_agree(rows: list[Any]) -> None:
    lists, lengths = lists_of(
        [{"d": steps, "v": steps, "r": steps} for steps in rows],
        d=FixedLenSequenceFeature([2], "int64", allow_missing=True),
        v=VarLenFeature("int64"),
        r=RaggedFeature("int64"),
    )
    longest = max(map(len, rows), default=0)
    padded = [steps + [[0, 0]] * (longest - len(steps)) for steps in rows]
    assert lists["d"].tolist() == padded
    assert lengths["d"].tolist() == [len(steps) for steps in rows]
    assert lists["r"].tolist() == rows
    assert lists["v"].dense_shape.tolist() == [len(rows), longest, 2 if any(rows) else 0]
    if any(rows):
        assert lists["v"].to_dense().tolist() == lists["r"].to_dense().tolist() == padded


# ---------------------------------------------------------------- contexts


def test_contexts_are_as_examples() -> None:
    records = [encode_sequence_example(row) for row in ({"n": 1, "v": [1, 2], "r": [1, 2, 3]}, {})]
    features: dict[str, Any] = {
        "n": FixedLenFeature([], "int64", -1),
        "v": VarLenFeature("int64"),
        "r": RaggedFeature("uint8", partitions=[RaggedFeature.UniformRowLength(3)]),
    }
    context, lists, lengths = parse_sequence_example(records, features)
    assert (lists, lengths) == ({}, {})
    assert list(context) == ["n", "v", "r"]
    assert context["n"].tolist() == [1, -1]
    assert parts(context["v"]) == ([[0, 0], [0, 1]], [1, 2], [2, 2])
    assert context["r"].tolist() == [[[1, 2, 3]], []]
    context, lists = parse_single_sequence_example(records[0], features)
    assert (context["n"].shape, parts(context["v"])[2]) == ((), [2])
    assert (context["r"].tolist(), lists) == ([[1, 2, 3]], {})


# ---------------------------------------------------------------- serialized and names

CONTEXT: dict[str, Any] = {"n": FixedLenFeature([], "int64")}
LISTS: dict[str, Any] = {
    "d": FixedLenSequenceFeature([2], "int64", allow_missing=True),
    "v": VarLenFeature("string"),
    "r": RaggedFeature("float32"),
    "p": RaggedFeature("int64", "q", [RaggedFeature.RowLengths("s")]),
}


def test_no_records() -> None:
    context, lists, lengths = parse_sequence_example([], CONTEXT, LISTS)
    assert context["n"].shape == (0,)
    assert (lists["d"].shape, lengths["d"].shape) == ((0, 0, 2), (0,))
    assert parts(lists["v"]) == ([], [], [0, 0, 0])
    assert (lists["r"].tolist(), lists["p"].tolist()) == ([], [])
    assert (lists["r"].ragged_rank, lists["p"].ragged_rank) == (2, 3)


def test_forms_of_serialized() -> None:
    records = [encode_sequence_example({"n": n}, {"d": [[n, n]]}) for n in range(2)]
    forms: list[Any] = [
        records,
        tuple(records),
        tfrecs.Records(records),
        BytesArray.from_values(records),
        np.array(records, object),
    ]
    for form in forms:
        context, lists, lengths = parse_sequence_example(form, CONTEXT, LISTS)
        assert (context["n"].tolist(), lengths["d"].tolist()) == ([0, 1], [1, 1])
        assert lists["d"].tolist() == [[[0, 0]], [[1, 1]]]
        with pytest.raises(SpecError, match="must be a scalar, got 2 records"):
            parse_single_sequence_example(form, CONTEXT)
    with pytest.raises(SpecError, match=r"scalar or vector, got shape: \[2,1\]"):
        parse_sequence_example(BytesArray.from_values(records).reshape(2, 1), CONTEXT)


def test_a_scalar_is_one_record() -> None:
    record = encode_sequence_example({"n": 1}, {"d": [[1, 2], [3, 4]], "v": [["a"]], "r": [[0.5]]})
    scalar = np.empty((), object)
    scalar[()] = record
    for form in (record, scalar):
        context, lists, lengths = parse_sequence_example(form, CONTEXT, LISTS)
        assert (context["n"].shape, lists["d"].tolist()) == ((), [[1, 2], [3, 4]])
        assert (lengths["d"].shape, int(lengths["d"])) == ((), 2)
        assert parts(lists["v"]) == ([[0, 0]], [b"a"], [1, 1])
        assert lists["r"].tolist() == [[0.5]]
        assert parse_single_sequence_example(form, CONTEXT, LISTS)[0]["n"] == 1


def test_names_are_in_errors() -> None:
    good = encode_sequence_example({"n": 1}, {"d": [[1, 2]]})
    required = {"d": LISTS["d"]._replace(allow_missing=False)}
    for bad, context, lists, feature in (
        (encode_sequence_example({}, {}), CONTEXT, None, "n"),
        (encode_sequence_example({}, {}), None, required, "d"),
        (encode_sequence_example({}, {"d": [[1, 2], [3]]}), None, required, "d"),
        (encode_sequence_example({}, {"d": [[1.0, 2.0]]}), None, required, "d"),
    ):
        with pytest.raises(ParseError, match="Name: two, ") as caught:
            parse_sequence_example([good, bad], context, lists, ["one", "two"])
        assert (caught.value.record, caught.value.feature) == (1, feature)
        with pytest.raises(ParseError, match="Name: two, ") as caught:
            parse_single_sequence_example(bad, context, lists, "two")
        assert caught.value.feature == feature
    for names in (["one"], "one"):
        with pytest.raises(SpecError, match="Expected names have the same shape as serialized"):
            parse_sequence_example([good, good], CONTEXT, None, names)
    assert parse_sequence_example([good], CONTEXT, None, [])[0]["n"].tolist() == [1]


def test_narrow_types() -> None:
    lists, _ = lists_of(
        [{"d": [1, 200], "v": [[1], [0]], "r": [[0.5]]}],
        d=FixedLenSequenceFeature([], "uint8"),
        v=VarLenFeature("bool"),
        r=RaggedFeature("float16"),
    )
    assert lists["d"].dtype == np.uint8
    assert lists["v"].values.dtype == np.bool_
    assert lists["r"].flat_values.dtype == np.float16
    with pytest.raises(ParseError, match="200 does not fit int8") as caught:
        lists_of([{}, {"d": [1, 200]}], d=FixedLenSequenceFeature([], "int8", True))
    assert (caught.value.record, caught.value.feature) == (1, "d")
