"""SequenceExamples as columns, both ways: what is encoded is decoded, whatever the columns are."""

from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs import (
    BytesArray,
    RaggedTensor,
    SpecError,
    decode_sequence_batch,
    decode_sequence_example,
    encode_sequence_batch,
    encode_sequence_example,
)

pa = needs.optional("pyarrow")

VALUES = [
    st.integers(-(2**63), 2**63 - 1),
    st.floats(width=32, allow_nan=False),
    st.binary(max_size=4),
]
FEATURES = st.none() | st.one_of([st.lists(values, min_size=1, max_size=3) for values in VALUES])


@st.composite
def columns(draw: st.DrawFn, rows: int) -> dict[str, Any]:
    """Columns of feature lists: for each name and row None, or steps, each a list of one kind."""
    found = {}
    for name in draw(st.lists(st.sampled_from("abc"), unique=True)):
        steps = st.lists(st.lists(draw(st.sampled_from(VALUES)), max_size=3), max_size=4)
        found[name] = draw(st.lists(st.none() | steps, min_size=rows, max_size=rows))
    return found


def decoded(records: Any) -> list[dict[str, Any]]:
    return [decode_sequence_example(record)[1] for record in records]


def rows_of(table: dict[str, Any], rows: int) -> list[dict[str, Any]]:
    return [
        {name: column[row] for name, column in table.items() if column[row] is not None}
        for row in range(rows)
    ]


@given(data=st.data(), rows=st.integers(0, 4))
def test_there_and_back(data: st.DataObject, rows: int) -> None:
    lists = data.draw(columns(rows))
    context = {"n": list(range(rows))}
    records = encode_sequence_batch(context, lists)
    assert decoded(records) == rows_of(lists, rows)
    assert [decode_sequence_example(record)[0] for record in records] == [
        {"n": [row]} for row in range(rows)
    ]
    of_context, of_lists = decode_sequence_batch(records)
    for again in (of_lists, dict(of_lists), pa.record_batch(of_lists), pa.table(of_lists)):
        if len(of_lists) or not rows:
            assert decoded(encode_sequence_batch(of_context, again)) == rows_of(lists, rows)
    for name, column in of_lists.items():
        assert column.tolist() == lists[name]
        assert pa.array(column).to_pylist() == lists[name]


STEPS = [[[1, 2], [], [3]], None, [], [[4]]]


def test_columns_of_steps_of_values() -> None:
    nested = RaggedTensor.from_rows([[[1, 2], [], [3]], None, [], [[4]]])
    objects = np.empty(4, object)
    objects[:] = STEPS
    arrow = pa.array(STEPS, pa.list_(pa.list_(pa.int64())))
    for column in (STEPS, tuple(STEPS), nested, objects, arrow):
        records = encode_sequence_batch(None, {"a": column})
        assert decoded(records) == rows_of({"a": STEPS}, 4)
    assert decoded(encode_sequence_batch(None, {"a": nested[2:]})) == [{"a": []}, {"a": [[4]]}]


def test_columns_of_steps_that_are_scalars() -> None:
    expected = [{"a": [[1], [2]]}, {"a": []}, {"a": [[3]]}]
    ragged = RaggedTensor(np.array([1, 2, 3], np.uint8), np.array([0, 2, 2, 3], np.int32))
    for column in ([[1, 2], [], [3]], ragged, pa.array([[1, 2], [], [3]])):
        assert decoded(encode_sequence_batch(None, {"a": column})) == expected
    texts = encode_sequence_batch(None, {"a": [["x", b"y"], ["z"]]})
    assert decoded(texts) == [{"a": [[b"x"], [b"y"]]}, {"a": [[b"z"]]}]
    mixed = encode_sequence_batch(None, {"a": [[1, [2, 3], None, np.array([4])]]})
    assert decoded(mixed) == [{"a": [[1], [2, 3], [], [4]]}]


def test_columns_of_steps_that_are_arrays() -> None:
    values = np.arange(12, dtype=np.float32).reshape(6, 2)
    ragged = RaggedTensor(values, np.array([0, 1, 6]))
    expected = [{"a": values[:1].tolist()}, {"a": values[1:].tolist()}]
    assert decoded(encode_sequence_batch(None, {"a": ragged})) == expected
    dense = values.reshape(2, 3, 2)
    expected = [{"a": rows.tolist()} for rows in dense]
    assert decoded(encode_sequence_batch(None, {"a": dense})) == expected
    assert decoded(encode_sequence_batch(None, {"a": dense.reshape(2, 3, 2, 1)})) == expected
    texts = BytesArray.from_values("abcd").reshape(2, 2)
    assert decoded(encode_sequence_batch(None, {"a": texts}))[1] == {"a": [[b"c"], [b"d"]]}
    rows = RaggedTensor(RaggedTensor(values, np.array([0, 2, 6])), np.array([0, 2]))
    steps = [values[:2].ravel().tolist(), values[2:].ravel().tolist()]
    assert decoded(encode_sequence_batch(None, {"a": rows})) == [{"a": steps}]


def test_one_side_alone() -> None:
    table = pa.table({"a": [[[1], [2]], [[3]]]})
    for lists in (table, table.to_batches()[0], {"a": [[1, 2], [3]]}):
        records = encode_sequence_batch(feature_lists=lists)
        assert records[1] == encode_sequence_example({}, {"a": [3]})
    for context in (pa.table({"a": [1, 2]}), {"a": [1, 2]}):
        assert encode_sequence_batch(context)[0] == encode_sequence_example({"a": 1})
    assert len(encode_sequence_batch({}, {})) == 0


@pytest.mark.parametrize(
    ("lists", "match"),
    [
        ({"a": [1, 2]}, "an int has no steps: a feature list is, for each record, a list of steps"),
        ({"a": np.arange(2)}, "an ndarray has no steps"),
        ({"a": BytesArray.from_values("ab")}, "a BytesArray has no steps"),
        ({"a": pa.array([1, 2])}, "a column of Int64 has no steps"),
        ({"a": 5}, "an int has no steps"),
        ({"a": "text"}, "a str has no steps"),
        ({"a": [[[[1]]]]}, "a list inside a list"),
        ({"a": [[1, "x"]]}, "a feature holds one kind"),
        ({"a": RaggedTensor.from_rows([[[[1]]]])}, "its steps are made of rows of rows"),
        ({"a": [[1]], "b": [[1], [2]]}, "different lengths"),
        ({5: [[1]]}, "a feature's name must be str"),
        ([[1]], "a mapping of columns or an Arrow table"),
    ],
)
def test_what_are_no_feature_lists(lists: Any, match: str) -> None:
    with pytest.raises(SpecError, match=match):
        encode_sequence_batch(None, lists)


def test_tables_that_do_not_fit_each_other() -> None:
    with pytest.raises(SpecError, match="the context has 1 row, and the feature lists have 2"):
        encode_sequence_batch({"n": [1]}, {"a": [[1], [2]]})
    with pytest.raises(SpecError, match="needs a context, feature_lists, or both"):
        encode_sequence_batch()


def test_with_features() -> None:
    records = [
        encode_sequence_example({"n": 1}, {"xy": [[0.0, 1.0], [2.0, 3.0]], "tags": [["a"], []]}),
        encode_sequence_example({"n": 2}, {}),
    ]
    context, lists = decode_sequence_batch(
        records,
        {"n": tfrecs.FixedLenFeature([], "uint8"), "m": tfrecs.RaggedFeature("int64")},
        {
            "xy": tfrecs.FixedLenSequenceFeature([2], "float64", allow_missing=True),
            "tags": tfrecs.VarLenFeature("string"),
        },
    )
    assert (context["n"].tolist(), context["m"].tolist()) == ([1, 2], [None, None])
    assert lists["xy"].tolist() == [[[0.0, 1.0], [2.0, 3.0]], None]
    assert lists["tags"].tolist() == [[[b"a"], []], None]
    assert list(decode_sequence_batch(records, {}, {})[1]) == []
    feature = tfrecs.FixedLenSequenceFeature([2], "float32")
    with pytest.raises(tfrecs.ParseError, match="required but could not be found") as caught:
        decode_sequence_batch(records, {}, {"xy": feature})
    assert (caught.value.record, caught.value.feature) == (1, "xy")
    parts = tfrecs.RaggedFeature("int64", "v", [tfrecs.RaggedFeature.RowSplits("s")])
    for features in ({"r": parts}, {"r": tfrecs.RaggedFeature("int64", "v")}):
        with pytest.raises(SpecError, match="use parse_example or parse_sequence_example"):
            decode_sequence_batch(records, features)
        with pytest.raises(SpecError, match="use parse_example or parse_sequence_example"):
            decode_sequence_batch(records, None, features)
