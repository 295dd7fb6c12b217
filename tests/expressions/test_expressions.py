"""filter() by conditions on columns, against Python functions of rows with SQL's three values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfrecs
from tfrecs import col
from tfrecs.dataset import DatasetIterator
from tfrecs.dataset.stages.stage import Run
from tfrecs.testing import assert_resumes, same

Row = dict[str, Any]
Case = tuple[Any, Callable[[Row], Any]]

FEATURES: dict[str, Any] = {
    "n": tfrecs.FixedLenFeature([], "int64"),
    "d": tfrecs.FixedLenFeature([], "int64", 7),
    "x": tfrecs.FixedLenFeature([], "float32", 0.5),
    "s": tfrecs.FixedLenFeature([], "string", "none"),
    "v": tfrecs.VarLenFeature("int64"),
    "w": tfrecs.RaggedFeature("string"),
}
TEXTS = [b"", b"a", b"ab", b"b", b"\0", b"\xff\xfe", b"ab\0", b"none", b"long" * 20]


def rows() -> list[Row]:
    random = np.random.default_rng(5)
    made = []
    for n in range(200):
        row: Row = {"n": n % 31 - 15, "v": list(range(n % 4)), "w": TEXTS[: n % 3]}
        optional: Row = {"d": n % 9, "x": n / 8 - 10, "s": TEXTS[n % len(TEXTS)], "o": n % 5}
        row |= {name: value for name, value in optional.items() if random.random() < 0.7}
        made.append(row)
    return made


ROWS = rows()


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("expressions")
    made = []
    for shard, some in enumerate([ROWS[:90], [], ROWS[90:91], ROWS[91:]]):
        made.append(folder / f"{shard}.tfrecord")
        with tfrecs.RecordWriter(made[-1]) as out:
            out.write_batch([tfrecs.encode_example(row) for row in some])
    return made


def value_of(name: str, default: Any = None) -> Callable[[Row], Any]:
    return lambda row: row.get(name, default)


NUMBERS: list[Case] = [
    (col("n"), value_of("n")),
    (col("d"), value_of("d", 7)),
    (col("d", "int64"), value_of("d")),
    (col("o", "int64"), value_of("o")),
    (col("x"), lambda row: np.float32(row.get("x", 0.5))),
    (col("v").length(), lambda row: len(row["v"])),
    (col("w").length(), lambda row: len(row["w"])),
    (col("s").length(), lambda row: len(row.get("s", b"none"))),
]
STRINGS: list[Case] = [
    (col("s"), value_of("s", b"none")),
    (col("s", "string"), value_of("s")),
]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def known(function: Callable[..., Any], *parts: Callable[[Row], Any]) -> Callable[[Row], Any]:
    """A function of values; unknown where one of them is."""

    def call(row: Row) -> Any:
        values = [part(row) for part in parts]
        return None if any(value is None for value in values) else function(*values)

    return call


def both(is_and: bool, one: Callable[[Row], Any], other: Callable[[Row], Any]) -> Any:
    def call(row: Row) -> Any:
        values = {one(row), other(row)}
        if (not is_and) in values:
            return not is_and
        return None if None in values else is_and

    return call


@st.composite
def arithmetic(draw: st.DrawFn) -> Case:
    expression, model = draw(st.sampled_from(NUMBERS))
    divisor = draw(st.integers(1, 7))
    operate = draw(st.sampled_from([operator.add, operator.sub, operator.mul, operator.mod]))
    if draw(st.booleans()):
        return expression, model
    return operate(expression, divisor), known(lambda value: operate(value, divisor), model)


@st.composite
def comparisons(draw: st.DrawFn) -> Case:
    compare = draw(st.sampled_from(COMPARISONS))
    if draw(st.booleans()):
        left, model = draw(arithmetic())
        if draw(st.booleans()):
            right, other = draw(arithmetic())
            return compare(left, right), known(lambda a, b: bool(compare(a, b)), model, other)
        constant: Any = draw(st.integers(-20, 20) | st.sampled_from([0.5, 2**70, -(2**63)]))
    else:
        left, model = draw(st.sampled_from(STRINGS))
        if draw(st.integers(0, 3)) == 0:
            right, other = draw(st.sampled_from(STRINGS))
            return compare(left, right), known(compare, model, other)
        constant = draw(st.sampled_from(TEXTS) | st.binary(max_size=3))
    if draw(st.booleans()):
        return compare(constant, left), known(lambda a: bool(compare(constant, a)), model)
    return compare(left, constant), known(lambda a: bool(compare(a, constant)), model)


@st.composite
def memberships(draw: st.DrawFn) -> Case:
    if draw(st.booleans()):
        left, model = draw(st.sampled_from(NUMBERS))
        values: Any = draw(st.lists(st.integers(-5, 5) | st.sampled_from([0.5, 2**80])))
    else:
        left, model = draw(st.sampled_from(STRINGS))
        values = draw(st.lists(st.sampled_from(TEXTS) | st.binary(max_size=1), max_size=12))
    return left.is_in(values), known(lambda value: value in values, model)


def is_missing(name: str) -> Callable[[Row], Any]:
    return lambda row: name not in row or row[name] == []


NULLS: list[Case] = [
    (col(name, dtype).is_null(), is_missing(name))
    for name, dtype in {"d": None, "o": "int64", "s": None, "v": None, "n": None}.items()
]


@st.composite
def combined(draw: st.DrawFn, of: st.SearchStrategy[Case]) -> Case:
    one, model = draw(of)
    if draw(st.integers(0, 2)) == 0:
        return ~one, known(operator.not_, model)
    other, model_too = draw(of)
    is_and = draw(st.booleans())
    return (one & other if is_and else one | other), both(is_and, model, model_too)


CONDITIONS = st.recursive(
    comparisons() | memberships() | st.sampled_from(NULLS), combined, max_leaves=6
)


@given(case=CONDITIONS, size=st.integers(1, 50))
def test_the_same_as_python_row_by_row(paths: list[Path], case: Case, size: int) -> None:
    condition, model = case
    expected = [place for place, row in enumerate(ROWS) if model(row) is True]
    ds = tfrecs.Dataset(paths, FEATURES)
    kept = [ROWS[place] for place in expected]
    batches = list(ds.filter(condition).batch(size))
    whole = tfrecs.parse_example([tfrecs.encode_example(row) for row in kept], FEATURES)
    assert [batch.num_rows for batch in batches] == [
        min(size, len(kept) - start) for start in range(0, len(kept), size)
    ]
    assert [n for batch in batches for n in batch["n"].tolist()] == whole["n"].tolist()
    assert [s for batch in batches for s in batch["s"].tolist()] == whole["s"].tolist()
    keys = [key for keys, _ in ds.with_keys().filter(condition).batch(size) for key in keys]
    ends = np.cumsum([0, 90, 0, 1, 109])
    files = np.searchsorted(ends, expected, side="right") - 1
    names = [
        f"{paths[file]}:{place - ends[file]}" for file, place in zip(files, expected, strict=True)
    ]
    assert keys == [name.encode() for name in names]


ORDERS: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "files": lambda ds: ds,
    "shuffle": lambda ds: ds.shuffle(4),
    "repeat": lambda ds: ds.shuffle(4).repeat(2),
    "buffer": lambda ds: ds.shuffle(4, buffer_size=50),
    "shard": lambda ds: ds.shuffle(1).shard(3, 2, "pad"),
    "cut": lambda ds: ds.skip(3).take(150),
    "keys": lambda ds: ds.shuffle(2).with_keys(),
}
CONDITION = (col("n") > 3) & (col("s") != "ab")


def is_kept(element: Any) -> bool:
    row = element[1] if isinstance(element, tuple) else element
    return bool(row["n"] > 3 and bytes(row["s"]) != b"ab")


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("stripe", [None, (3, 0), (3, 2)])
def test_it_is_the_filter_of_a_function(
    paths: list[Path], name: str, stripe: tuple[int, int] | None
) -> None:
    ds = ORDERS[name](tfrecs.Dataset(paths, FEATURES))
    conditions = (ds.filter(CONDITION), ds.filter(is_kept))
    repeated, cut = [it.repeat(2) for it in conditions], [it.take(40) for it in conditions]
    for fast, slow in (conditions, repeated, cut):
        run = Run(3, stripe)
        expected = list(DatasetIterator(slow.node, run))
        assert len(expected) > 3
        assert same(list(DatasetIterator(fast.node, run)), expected)


@pytest.mark.parametrize("name", ORDERS)
def test_it_resumes(paths: list[Path], name: str) -> None:
    ds = ORDERS[name](tfrecs.Dataset(paths, FEATURES)).filter(CONDITION)
    for made in (
        ds.take(60),
        ds.batch(7),
        ds.batch(7, drop_remainder=True).shard(2, 1),
        ds.repeat(2).batch(16),
        ds.padded_batch(9),
        ORDERS[name](tfrecs.Dataset(paths, FEATURES)).batch(8).filter(CONDITION),
    ):
        assert_resumes(made, steps=range(0, len(list(made)) + 1, 4))


@pytest.mark.parametrize("name", ORDERS)
def test_workers_give_its_batches_in_turn(paths: list[Path], name: str) -> None:
    for ds in (
        ORDERS[name](tfrecs.Dataset(paths, FEATURES)).filter(CONDITION).batch(6),
        ORDERS[name](tfrecs.Dataset(paths, FEATURES)).batch(6).filter(CONDITION),
    ):
        whole = list(DatasetIterator(ds.node, Run(1)))
        for worker in range(3):
            mine = list(DatasetIterator(ds.node, Run(1, (3, worker))))
            assert same([*map(plain, mine)], [*map(plain, whole[worker::3])])


def plain(batch: Any) -> Any:
    columns = batch[1] if isinstance(batch, tuple) else batch
    return [columns[name].tolist() for name in columns if name in ("n", "s", "w")]


@given(case=CONDITIONS, size=st.integers(1, 30))
@settings(max_examples=30)
def test_rows_of_batches(paths: list[Path], case: Case, size: int) -> None:
    condition, model = case
    expected = []
    for start in range(0, len(ROWS), size):
        some = [row for row in ROWS[start : start + size] if model(row) is True]
        if some:
            expected.append([row["n"] for row in some])
    ds = tfrecs.Dataset(paths, FEATURES).batch(size)
    assert [batch["n"].tolist() for batch in ds.filter(condition)] == expected


def test_rows_of_batches_that_functions_made(paths: list[Path]) -> None:
    ds = tfrecs.Dataset(paths, FEATURES)
    for batched in (ds.batch(20), ds.with_keys().batch(20)):
        native = [plain(batch) for batch in batched.filter(CONDITION)]
        assert [plain(batch) for batch in batched.map(lambda it: it).filter(CONDITION)] == native
    lists = ds.batch(20).map(dict).filter(col("v").length() == 2)
    for batch in lists:
        sparse = batch["v"]
        assert sparse.dense_shape.tolist() == [batch["n"].size, 3]
        assert sparse.to_dense(-1).tolist() == [[0, 1, -1]] * batch["n"].size
        assert {len(row) for row in batch["w"].tolist()} <= {0, 1, 2}
    assert sum(batch["n"].size for batch in lists) == sum(len(row["v"]) == 2 for row in ROWS)


def test_single_elements_that_functions_made(paths: list[Path]) -> None:
    ds = tfrecs.Dataset(paths, FEATURES)
    for made in (ds.map(dict), ds.map(lambda row: (row, 1))):
        for condition in (CONDITION, col("v").length() > 1, col("w").length() == 2):
            assert len(list(made.filter(condition))) == len(list(ds.filter(condition)))


def test_records_without_features(paths: list[Path]) -> None:
    kept = [tfrecs.encode_example(row) for row in ROWS if row.get("o", 0) > 2]
    ds = tfrecs.Dataset(paths).filter(col("o", "int64") > 2)
    assert list(ds) == kept
    assert [record for batch in ds.batch(5) for record in batch] == kept


def test_contexts_of_sequences(tmp_path: Path) -> None:
    path = tmp_path / "sequences.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        for n in range(20):
            out.write(tfrecs.encode_sequence_example({"n": n}, {"steps": [[n]] * (n % 3)}))
    ds = tfrecs.Dataset(
        path,
        context_features={"n": tfrecs.FixedLenFeature([], "int64")},
        sequence_features={"steps": tfrecs.VarLenFeature("int64")},
    ).filter(col("n") % 5 == 1)
    assert [int(context["n"]) for context, *_ in ds] == [1, 6, 11, 16]
    assert [context["n"].tolist() for context, *_ in ds.batch(3)] == [[1, 6, 11], [16]]


def test_nothing_is_kept(paths: list[Path]) -> None:
    never = tfrecs.Dataset(paths, FEATURES).filter(col("n") > 1000)
    for ds in (never, never.batch(5), never.repeat().batch(5), never.shuffle(1, 10).repeat()):
        assert list(ds) == []
        assert_resumes(ds)
    assert never.cardinality() is None


def test_errors_name_the_record(paths: list[Path]) -> None:
    ds = tfrecs.Dataset(paths, {"o": tfrecs.FixedLenFeature([], "int64")})
    first = next(place for place, row in enumerate(ROWS) if "o" not in row)
    for made in (ds.filter(col("o") > 1), ds.filter(col("o") > 1).batch(8)):
        with pytest.raises(tfrecs.ParseError, match="is required") as caught:
            list(made)
        assert (caught.value.path, caught.value.record) == (str(paths[0]), first)
        assert caught.value.feature == "o"
    assert list(ds.filter(col("o", "int64") > 1))
    lists = tfrecs.Dataset(paths, FEATURES)
    with pytest.raises(tfrecs.ParseError, match="has 2 values") as caught:
        list(lists.filter(col("v") > 1).batch(8))
    assert caught.value.record == 2


def test_errors_of_what_is_kept_name_the_record(paths: list[Path]) -> None:
    features = {"n": FEATURES["n"], "o": tfrecs.FixedLenFeature([], "int64")}
    kept = [place for place, row in enumerate(ROWS) if row["n"] > 3]
    first = next(place for place in kept if "o" not in ROWS[place])
    ds = tfrecs.Dataset(paths, features).filter(col("n") > 3)
    for made in (ds, ds.batch(3), tfrecs.Dataset(paths, features).batch(3).filter(col("n") > 3)):
        with pytest.raises(tfrecs.ParseError, match="required") as caught:
            list(made)
        assert (caught.value.path, caught.value.record) == (str(paths[0]), first)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: col("nothing") > 1, "no such feature"),
        (lambda: (col("n") > 1) & (col("n", "float32") > 1), "asked for as"),
        (lambda: col("n"), "no condition"),
        (lambda: col("n") > "a", "not compared"),
        (lambda: col("n").is_in(["a"]), "not compared"),
        (lambda: col("s") + "a" == "b", "byte strings"),
        (lambda: col("n").length() > 1, "length"),
        (lambda: col("n") == None, "is_null"),  # noqa: E711 - what people write
        (lambda: bool(col("n") > 1), "use &"),
        ((col("n") + 1).is_null, "for a column"),
        (lambda: col(3), "name of a feature"),  # type: ignore[arg-type]
        (lambda: col("n", "complex64") > 1, "n"),
    ],
)
def test_what_makes_no_sense(paths: list[Path], make: Callable[[], Any], text: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=text):
        tfrecs.Dataset(paths, FEATURES).filter(make())


def test_states_of_other_shards_are_refused(paths: list[Path]) -> None:
    ds = tfrecs.Dataset(paths, FEATURES)
    it = iter(ds.shard(3, 1).filter(CONDITION).batch(4))
    next(it)
    for other in (ds.shard(3, 2), ds.shard(2, 1)):
        with pytest.raises(tfrecs.StateError, match="shard"):
            iter(other.filter(CONDITION).batch(4)).load_state_dict(it.state_dict())
    with pytest.raises(tfrecs.StateError, match="another plan"):
        iter(ds.shard(3, 1).filter(col("n") > 4).batch(4)).load_state_dict(it.state_dict())


def test_many_values_are_told_by_a_digest() -> None:
    one, other = col("n").is_in(range(100)), col("n").is_in(range(101))
    assert repr(one) != repr(other)
    assert len(repr(one)) < 100
