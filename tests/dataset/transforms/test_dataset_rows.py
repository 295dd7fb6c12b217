"""Rows of different keys, of lists and of None: nothing is dropped, transposed or made up."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs import BytesArray, RaggedTensor, SparseTensor
from tfrecs.testing import assert_resumes, same

Batched = Callable[..., tfrecs.Dataset]


def rows_of(rows: Sequence[Any]) -> tfrecs.Dataset:
    """A dataset whose elements are these."""
    return tfrecs.Dataset([b"%d" % n for n in range(len(rows))]).map(lambda n: rows[int(n)])


BATCHES: dict[str, Batched] = {
    "batch": lambda ds, **how: ds.batch(9, **how),
    "padded_batch": lambda ds, **how: ds.padded_batch(9, **how),
    "buckets": lambda ds, **how: ds.bucket_by_length(lambda _: 1, [5], [9, 9], **how),
}


@pytest.fixture(params=BATCHES)
def batched(request: pytest.FixtureRequest) -> Batched:
    """What makes one batch of all elements."""
    return BATCHES[request.param]


def only(ds: tfrecs.Dataset) -> Any:
    (batch,) = ds
    return batch


def lists(value: Any) -> Any:
    """A batch as nested lists."""
    if isinstance(value, dict):
        return {name: lists(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(lists, value))
    return value if value is None else value.tolist()


A, AB, B = {"a": 1}, {"a": 2, "b": b"x"}, {"b": b"y"}


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([A, AB], r"element 1 of the batch \(1 of the pass\).*only it has 'b'; fill="),
        ([AB, A], r"element 1 of the batch.*it lacks 'b'; fill="),
        ([A, A, B], r"element 2 of the batch.*it lacks 'a' and only it has 'b'"),
        ([{"m": A}, {"m": AB}], r"element 1 .* than element 0 in 'm': only it has 'b'"),
        ([(A, 1), (AB, 1)], "element 1 .*only it has 'b'"),
        ([A, 1], "element 1 .* is numbers, where others have a mapping"),
        ([1, A], "element 1 .* is a mapping, where others have numbers"),
        ([A, {"a": b"x"}], "element 1 .* has for 'a' byte strings, where others have numbers"),
        ([A, {"a": [1]}], "element 1 .* has for 'a' a list, where others have numbers"),
        ([b"x", 1], "element 1 .* is numbers, where others have byte strings"),
        ([(1, 2), (1, 2, 3)], "element 1 .* is a tuple of 3, where others have one of 2"),
        ([(1, 2), [1, 2]], "element 1 .* is a list, where others have a tuple"),
        ([A, {"a": None}], "element 1 .* has for 'a' None, where others have numbers; fill="),
        ([None, 1], "element 0 .* is None, where others have numbers; fill="),
    ],
)
def test_elements_that_differ_are_refused(batched: Batched, rows: list[Any], text: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=text):
        list(batched(rows_of(rows)))


def test_errors_count_the_elements_of_the_pass() -> None:
    ds = rows_of([A] * 5 + [AB]).batch(2)
    with pytest.raises(tfrecs.SpecError, match=r"element 1 of the batch \(5 of the pass\)"):
        list(ds)
    with pytest.raises(tfrecs.SpecError, match=r"element 1 of the batch \(5 of the pass\)"):
        list(ds.skip(2))
    it, again = iter(ds), iter(ds)
    next(it)
    again.load_state_dict(it.state_dict())
    with pytest.raises(tfrecs.SpecError, match="element 1 of the batch has other keys"):
        list(again)


@pytest.mark.parametrize("fill", [b"", "", {"b": ""}, {"b": b""}])
@pytest.mark.parametrize("rows", [[A, AB], [AB, A]])
def test_a_key_is_filled(batched: Batched, rows: list[Any], fill: Any) -> None:
    batch = only(batched(rows_of(rows), fill=fill))
    assert isinstance(batch["b"], BytesArray)
    assert list(map(dict, rows)) in ([A, AB], [AB, A]), "rows are not changed"
    assert lists(batch) == {
        "a": [row["a"] for row in rows],
        "b": [row.get("b", b"") for row in rows],
    }


@pytest.mark.parametrize(
    ("present", "fill", "expected"),
    [
        (1, -1, -1),
        (1.5, 0, 0.0),
        (1.5, np.nan, np.nan),
        (np.float32(1.5), 0.5, np.float32(0.5)),
        (np.int8(1), 7, np.int8(7)),
        (True, False, False),
        ("x", "none", b"none"),
        (np.array([1, 2]), 0, np.array([0, 0])),
        (np.array([1, 2]), [3, 4], np.array([3, 4])),
        (np.array([[1.5]]), np.array([[2]]), np.array([[2.0]])),
        (BytesArray.from_values(["x", "y"]), "z", BytesArray.from_values(["z", "z"])),
        (BytesArray.from_values(["x", "y"]), ["z", ""], BytesArray.from_values(["z", ""])),
        (None, 5, 5),
    ],
)
@pytest.mark.parametrize("lacks", [{"n": 0}, {"n": 0, "v": None}])
def test_fill_has_the_type_of_the_column(
    batched: Batched, present: Any, fill: Any, expected: Any, lacks: dict[str, Any]
) -> None:
    rows = [{"n": 0, "v": present}, lacks]
    wanted = [{"n": 0, "v": expected if present is None else present}, {"n": 0, "v": expected}]
    assert same(
        only(batched(rows_of(rows), fill={"v": fill})),
        only(batched(rows_of(wanted))),
    )


@pytest.mark.parametrize(
    ("present", "fill", "text"),
    [
        (1, 1.5, "v: fill 1.5 does not fit int64"),
        (1, np.nan, "v: fill nan does not fit int64"),
        (1, "", "v: fill '' does not fit int64"),
        (1, 2**64, "does not fit int64"),
        (np.int8(1), 300, "v: fill 300 does not fit int8"),
        (True, 0, "v: fill 0 does not fit bool"),
        ("x", 0, "v: fill 0 does not fit bytes"),
        (1, {"w": 3}, "lacks 'v', and fill= has values only for 'w'"),
        ([1], "x", "v: fill 'x' does not fit int64"),
        ([b"x"], 3, "v: fill 3 does not fit bytes"),
        (np.array([1, 2]), [3], None),
    ],
)
def test_fill_that_does_not_fit_is_refused(
    batched: Batched, present: Any, fill: Any, text: str | None
) -> None:
    fill = fill if isinstance(fill, dict) else {"v": fill}
    ds = batched(rows_of([{"v": present}, {}]), fill=fill)
    if text is not None:
        with pytest.raises(tfrecs.SpecError, match=text):
            list(ds)
    elif batched is BATCHES["batch"]:
        with pytest.raises(tfrecs.SpecError, match="different shapes"):
            list(ds)
    else:
        assert lists(only(ds)) == {"v": [[1, 2], [3, 0]]}


def test_a_state_names_the_fill(batched: Batched) -> None:
    state = iter(batched(rows_of([A, AB]), fill={"b": ""})).state_dict()
    for how in ({}, {"fill": {"b": "-"}}):
        with pytest.raises(tfrecs.StateError):
            iter(batched(rows_of([A, AB]), **how)).load_state_dict(state)


def test_one_value_that_fits_one_column_only() -> None:
    ds = rows_of([{"a": 1, "b": "x"}, {"a": 1}, {"b": "y"}]).batch(3, fill="")
    with pytest.raises(tfrecs.SpecError, match="a: fill '' does not fit int64"):
        list(ds)


def test_keys_that_fill_names_are_in_every_batch() -> None:
    rows = [{"a": 1}, {"a": 2}, {"a": 3, "b": 2.5}, {"a": 4}]
    first, second = rows_of(rows).batch(2, fill={"b": 0.0})
    assert (lists(first), lists(second)) == (
        {"a": [1, 2], "b": [0.0, 0.0]},
        {"a": [3, 4], "b": [2.5, 0.0]},
    )
    pairs = rows_of(rows).enumerate().batch(2, fill={"b": 0.0})
    assert [lists(pair) for pair in pairs] == [
        ([0, 1], lists(first)),
        ([2, 3], lists(second)),
    ]


def test_a_nested_mapping_is_filled_key_by_key(batched: Batched) -> None:
    rows: list[dict[str, Any]] = [{"m": {"a": 1, "b": "x"}}, {"m": {"a": 2}}, {}]
    with pytest.raises(tfrecs.SpecError, match="other keys than element 0 in 'm': it lacks 'b'"):
        list(batched(rows_of(rows[:2])))
    fill = {"a": -1, "b": "-"}
    batch = only(batched(rows_of([{"t": 1, **row} for row in rows]), fill=fill))
    assert lists(batch["m"]) == {"a": [1, 2, -1], "b": [b"x", b"-", b"-"]}


def test_fill_names_features_that_are_parsed(tmp_path: Path, batched: Batched) -> None:
    with tfrecs.RecordWriter(tmp_path / "a.tfrecord") as out:
        out.write_batch([tfrecs.encode_example({"n": n}) for n in range(3)])
    ds = tfrecs.Dataset(tmp_path / "a.tfrecord", {"n": tfrecs.FixedLenFeature([], "int64")})
    assert only(batched(ds, fill={"n": 0}))["n"].tolist() == [0, 1, 2]
    for source in (ds, ds.filter(tfrecs.col("n") > 0)):
        with pytest.raises(tfrecs.SpecError, match=r"fill= names \['m'\], and the features are"):
            batched(source, fill={"m": 0})


LISTS: list[list[Any]] = [[1, 2], [], [3]]


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [
        (LISTS, np.int64),
        ([[1, 2], [3, 4]], np.int64),
        ([[1.5], [2]], np.float64),
        ([[True], []], np.bool_),
        ([[b"x", b"\0"], []], None),
        ([["é"], [b"x"]], None),
        ([[[1], []], [], [[2, 3]]], np.int64),
        ([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], np.int64),
        ([[np.int8(1)], [np.int8(2)]], np.int8),
        ([[np.zeros(2)], [np.ones(2), np.ones(2)]], np.float64),
        ([[], []], np.float64),
    ],
)
@pytest.mark.parametrize("place", ["mapping", "tuple", "alone"])
def test_lists_are_rows_of_a_ragged_column(rows: list[Any], dtype: Any, place: str) -> None:
    made: dict[str, list[Any]] = {
        "mapping": [{"v": row} for row in rows],
        "tuple": [(row, 1) for row in rows],
        "alone": rows,
    }
    batch = only(rows_of(made[place]).batch(9))
    column = {"mapping": lambda: batch["v"], "tuple": lambda: batch[0]}.get(place, lambda: batch)()
    assert isinstance(column, RaggedTensor)
    flat = column.flat_values
    if isinstance(flat, BytesArray):
        assert dtype is None
        expected = [[s.encode() if isinstance(s, str) else s for s in row] for row in rows]
    else:
        assert flat.dtype == dtype
        expected = [[getattr(one, "tolist", lambda one=one: one)() for one in row] for row in rows]
    assert column.tolist() == expected


def test_none_is_a_missing_row_of_lists() -> None:
    column = only(rows_of([{"v": [1]}, {"v": None}, {"v": []}]).batch(3))["v"]
    assert column.tolist() == [[1], None, []]
    filled = only(rows_of([{"v": [1]}, {}, {"v": []}]).batch(3, fill={"v": None}))["v"]
    assert filled.tolist() == [[1], None, []]
    with pytest.raises(tfrecs.SpecError, match="v: element 1 of the batch is None"):
        list(rows_of([{"v": [1]}, {"v": None}]).padded_batch(3))


@pytest.mark.parametrize(
    ("fill", "row"), [([], []), (-1, [-1]), ([7, 8], [7, 8]), (np.array([9]), [9])]
)
def test_a_list_is_filled(fill: Any, row: list[int]) -> None:
    ds = rows_of([{"v": [1, 2]}, {"v": [3]}, {}]).batch(3, fill={"v": fill})
    assert only(ds)["v"].tolist() == [[1, 2], [3], row]


def test_a_padded_list_is_filled() -> None:
    ds = rows_of([{"v": [1, 2]}, {"v": [3]}, {}])
    for fill, row in ((-1, [-1, -1]), ([], [9, 9]), ([7], [7, 9]), ([7, 8], [7, 8])):
        batch = only(ds.padded_batch(3, padding_values=9, fill={"v": fill}))
        assert batch["v"].tolist() == [[1, 2], [3, 9], row]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([[1, b"x"]], "numbers"),
        ([[1, "x"]], "numbers"),
        ([[1, [2]]], "both lists and single values"),
        ([[1, None]], "a list that holds None"),
        ([[{"a": 1}]], "a list that holds a dict"),
        ([[2**64]], "18446744073709551616, which no integer type holds"),
        ([[2**63 + 1, -1]], "rounds 9223372036854775809"),
        ([[2**53 + 1, 0.5]], "rounds 9007199254740993"),
        ([[np.zeros(2), np.zeros(3)]], "different shapes"),
    ],
)
def test_lists_that_make_no_column_are_refused(rows: list[Any], text: str) -> None:
    for batched in BATCHES.values():
        with pytest.raises(tfrecs.SpecError, match=text):
            list(batched(rows_of([{"v": row} for row in rows])))


@pytest.mark.parametrize(
    "rows",
    [
        [np.uint64(2**63 + 1), np.int64(-1)],
        [2**53 + 1, 0.5],
        [np.array([2**53 + 1]), np.array([0.5])],
        [np.array([2**24 + 1], np.int32), np.array([0.5], np.float16)],
        [2**63 + 1, -1],
    ],
)
def test_no_integer_is_rounded(batched: Batched, rows: list[Any]) -> None:
    if isinstance(rows[0], np.ndarray) and rows[0].dtype == np.int32:
        assert only(batched(rows_of(rows)))[0].tolist() == [2**24 + 1], "float64 holds it"
        return
    with pytest.raises(tfrecs.SpecError, match="rounds"):
        list(batched(rows_of(rows)))


def test_nothing_of_records_as_values_is_cut_off() -> None:
    """NumPy takes Records for a sequence of byte strings, and drops zeros at their ends."""
    records = tfrecs.Records([b"a\0", b"b"])
    assert lists(only(rows_of([(1, records)]).batch(1))) == ([1], [[b"a\0", b"b"]])


def test_ragged_tensors_are_stacked() -> None:
    rows = [[[1], []], [], [[2, 3]]]
    values = [RaggedTensor.from_rows(row or [[0]])[slice(None if row else 0)] for row in rows]
    assert only(rows_of(values).batch(9)).tolist() == rows
    deep = [RaggedTensor.from_rows([[["a"], []], []]), RaggedTensor.from_rows([[["b", "c"]]])]
    stacked = only(rows_of([{"r": one} for one in deep]).batch(9))["r"]
    assert (stacked.tolist(), stacked.ragged_rank) == ([one.tolist() for one in deep], 3)


def test_tensors_are_filled() -> None:
    sparse = SparseTensor([[1]], [5], [3])
    batch = only(rows_of([{"v": sparse}, {}]).batch(2, fill=[]))
    assert batch["v"].to_dense().tolist() == [[0, 5, 0], [0, 0, 0]]
    ragged = RaggedTensor.from_rows([[1], [2, 3]])
    batch = only(rows_of([{"v": ragged}, {}]).batch(2, fill=[]))
    assert batch["v"].tolist() == [[[1], [2, 3]], []]
    with pytest.raises(tfrecs.SpecError, match=r"'v' is sparse: fill it with \[\]"):
        list(rows_of([{"v": sparse}, {}]).batch(2, fill=0))


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - as TensorFlow's users write them


def test_structures_stay(batched: Batched) -> None:
    batch = only(batched(rows_of([Pair(1, {"a": (2, "x")}), Pair(3, {"a": (4, "y")})])))
    assert isinstance(batch, Pair)
    assert lists(batch.right) == {"a": ([2, 4], [b"x", b"y"])}
    assert only(batched(rows_of([(1, None), (2, None)])))[1] is None


def test_examples_are_batched_as_decode_batch_does(tmp_path: Path) -> None:
    rows = [{"n": [n] * n, "s": [f"{n}"] * (n % 3), "x": [n / 2, 1.0]} for n in range(7)]
    path = tmp_path / "a.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(map(tfrecs.encode_example, rows))
    whole = tfrecs.decode_batch(tfrecs.open(path)[:])
    batch = only(tfrecs.Dataset(path).map(tfrecs.decode_example).batch(9))
    # A feature without values is missing to decode_batch, and an empty list to decode_example.
    assert lists(batch) == {
        name: [row or [] for row in column.tolist()] for name, column in whole.items()
    }
    assert [type(column) for column in batch.values()] == [RaggedTensor] * 3
    padded = only(tfrecs.Dataset(path).map(tfrecs.decode_example).padded_batch(9))
    assert same(padded["n"], whole["n"].to_dense())


def test_sequences_are_batched(tmp_path: Path) -> None:
    steps = [[[1], [2, 3]], [], [[4]]]
    records = [tfrecs.encode_sequence_example({"id": 1}, {"t": one}) for one in steps]
    ds = tfrecs.Dataset(records).map(tfrecs.decode_sequence_example)
    context, feature_lists = only(ds.batch(3))
    assert (lists(context), lists(feature_lists)) == ({"id": [[1]] * 3}, {"t": steps})
    _, padded = only(ds.padded_batch(3))
    assert padded["t"].tolist() == [[[1, 0], [2, 3]], [[0, 0], [0, 0]], [[4, 0], [0, 0]]]


RAGGED: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "as it is": lambda ds: ds,
    "cache": lambda ds: ds.cache(),
    "cache in a file": lambda ds: ds.cache("ragged.cache"),
    "prefetch": lambda ds: ds.prefetch(2),
    "shuffle": lambda ds: ds.shuffle(1, buffer_size=2),
}


@pytest.mark.parametrize("name", RAGGED)
def test_what_comes_after_takes_ragged_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"v": list(range(n % 4)) if n % 5 else None, "n": n} for n in range(11)]
    ds = RAGGED[name](rows_of(rows).batch(3))
    found = [*ds.unbatch()]
    found.sort(key=lambda row: int(row["n"]))
    assert [None if row["v"] is None else row["v"].tolist() for row in found] == [
        row["v"] for row in rows
    ]
    assert_resumes(ds)
    assert_resumes(ds.unbatch())


def test_unbatch_gives_none_where_there_is_none() -> None:
    rows = [(n, None) for n in range(5)]
    assert [*rows_of(rows).batch(2).unbatch()] == rows


SCHEMA: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "i": (st.integers(-(2**63), 2**63 - 1), -7),
    "f": (st.floats(allow_nan=False), 0.5),
    "s": (st.binary(max_size=4), b"fill"),
    "t": (st.text(max_size=3), "fïll"),
    "li": (st.lists(st.integers(-9, 9), max_size=3), []),
    "ls": (st.lists(st.binary(max_size=2), max_size=3), [b"f", b""]),
    "ll": (st.lists(st.lists(st.integers(0, 3), max_size=2), max_size=2), [[1]]),
    "v": (st.lists(st.integers(0, 9), min_size=2, max_size=2).map(np.array), [3, 4]),
}


def plain(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else getattr(value, "tolist", lambda: value)()


@given(
    rows=st.lists(
        st.fixed_dictionaries({}, optional={name: values for name, (values, _) in SCHEMA.items()}),
        min_size=1,
        max_size=7,
    ),
    size=st.integers(1, 4),
    named=st.booleans(),
)
def test_all_values_are_there_or_it_is_an_error(
    rows: list[dict[str, Any]], size: int, named: bool
) -> None:
    groups = [rows[at : at + size] for at in range(0, len(rows), size)]
    alike = all(len({frozenset(row) for row in group}) == 1 for group in groups)
    fill = {name: value for name, (_, value) in SCHEMA.items()} if named else None
    ds = rows_of(rows).batch(size, fill=fill)
    if not named and not alike:
        with pytest.raises(tfrecs.SpecError, match="has other keys than element 0"):
            list(ds)
        return
    for batch, group in zip(ds, groups, strict=True):
        names = set(SCHEMA) if named else set(group[0])
        assert set(batch) == names
        for name in names:
            expected = [plain(row.get(name, SCHEMA[name][1])) for row in group]
            assert batch[name].tolist() == expected


def test_parts_without_rows_have_none() -> None:
    ds = tfrecs.Dataset([b"0"]).map(lambda _: (({}, None), [1, 2]))
    with pytest.raises(tfrecs.SpecError, match=r"equally many rows, not \[0, 2\]"):
        list(ds.unbatch())
    assert list(tfrecs.Dataset([b"0"]).map(lambda _: ({}, None)).unbatch()) == []
