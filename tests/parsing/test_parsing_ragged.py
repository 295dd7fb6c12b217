"""RaggedFeature: values divided by every kind of partition, in Examples and in feature lists.

The records are made from the nested lists that they must give back; what partitions mean is written
down once more, row by row, in `rows_of`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tfrecs
from tfrecs import ParseError, RaggedFeature, RaggedTensor, parse_example, parse_single_example

NUMBERED = ("RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds")
Kind: TypeAlias = str | int  # the name of a partition, or the length of a uniform one


# More rows are not made of so little input; a list of them all would fill the memory here.
MOST_ROWS = 1 << 20


class NoFitError(Exception):
    """Numbers that do not divide the values."""


def rows_of(kind: Kind, numbers: Sequence[int], items: list[Any]) -> list[Any]:
    """The rows that the numbers of one record make of its items."""
    if isinstance(kind, int):
        numbers = range(0, len(items) + 1, kind)
        kind = "RowSplits"
    if kind == "ValueRowIds":
        if (
            len(numbers) != len(items)
            or list(numbers) != sorted(numbers)
            or min(numbers, default=0) < 0
            or max(numbers, default=0) > MOST_ROWS
        ):
            raise NoFitError
        rows: list[list[Any]] = [[] for _ in range(max(numbers, default=-1) + 1)]
        for row, item in zip(numbers, items, strict=True):
            rows[row].append(item)
        return rows
    if kind == "RowLengths":
        splits = [sum(numbers[:end]) for end in range(len(numbers) + 1)]
    else:
        splits = {
            "RowSplits": [*numbers] or [0],
            "RowStarts": [*numbers, len(items)],
            "RowLimits": [0, *numbers],
        }[kind]
    if splits != sorted(splits) or splits[0] != 0 or splits[-1] != len(items):
        raise NoFitError
    return [items[begin:end] for begin, end in pairwise(splits)]


def numbers_of(kind: Kind, rows: list[list[Any]]) -> list[int]:
    """The numbers that say how long the rows are."""
    ends = [sum(map(len, rows[: end + 1])) for end in range(len(rows))]
    match kind:
        case "RowSplits":
            return [0, *ends]
        case "RowLengths":
            return [len(row) for row in rows]
        case "RowStarts":
            return [end - len(row) for end, row in zip(ends, rows, strict=True)]
        case "RowLimits":
            return ends
        case _:
            return [place for place, row in enumerate(rows) for _ in row]


@dataclass(frozen=True)
class Division:
    """The kinds of partitions, outermost first, and the features of a record so divided."""

    kinds: tuple[Kind, ...]

    def features(self, nested: list[Any]) -> dict[str, list[int]]:
        """The features of a record that is to give `nested`."""
        found = {}
        for level, kind in enumerate(self.kinds):
            if isinstance(kind, str):
                found[f"p{level}"] = numbers_of(kind, nested)
            nested = [item for row in nested for item in row]
        return {**found, "v": nested}

    def nested(self, features: dict[str, list[int]]) -> list[Any]:
        """What the features of a record give."""
        items: list[Any] = features["v"]
        for level in reversed(range(len(self.kinds))):
            items = rows_of(self.kinds[level], features.get(f"p{level}", []), items)
        return items

    def feature(self, **options: Any) -> RaggedFeature:
        """The request."""
        partitions = [
            RaggedFeature.UniformRowLength(kind)
            if isinstance(kind, int)
            else getattr(RaggedFeature, kind)(f"p{level}")
            for level, kind in enumerate(self.kinds)
        ]
        return RaggedFeature("int64", "v", partitions, **options)


KINDS: list[Kind] = [*NUMBERED, 1, 2, 3]
DIVISIONS = st.lists(st.sampled_from(KINDS), max_size=3).map(lambda kinds: Division(tuple(kinds)))


def _rows(draw: st.DrawFn, kinds: Sequence[Kind], count: int) -> list[Any]:
    """`count` rows for the kinds after the outermost, whose rows they are the items of."""
    if not kinds:
        return [draw(st.integers(-5, 99)) for _ in range(count)]
    kind = kinds[0]
    longest = kind if isinstance(kind, int) else 3
    shortest = kind if isinstance(kind, int) else 0
    lengths = [draw(st.integers(shortest, longest)) for _ in range(count)]
    while kind == "ValueRowIds" and lengths and not lengths[-1]:
        lengths.pop()  # what no value is in at the end, it cannot say
    items = _rows(draw, kinds[1:], sum(lengths))
    while len(items) < sum(lengths):  # an inner ValueRowIds has dropped some
        if isinstance(kind, int):
            items = items[: len(items) // kind * kind]
            lengths = [kind] * (len(items) // kind)
        else:
            lengths[-1] -= 1
        while kind == "ValueRowIds" and lengths and not lengths[-1]:
            lengths.pop()
        lengths = [length for length in lengths if length >= 0]
    ends = [sum(lengths[: end + 1]) for end in range(len(lengths))]
    return [items[end - length : end] for end, length in zip(ends, lengths, strict=True)]


@st.composite
def nested_lists(draw: st.DrawFn, division: Division) -> list[Any]:
    """What a record gives: as many levels of lists as there are partitions, and values."""
    lists = _rows(draw, division.kinds, draw(st.integers(0, 3)))
    assume(is_expressible(lists, division.kinds))
    return lists


def is_expressible(lists: list[Any], kinds: Sequence[Kind]) -> bool:
    """Whether no row that ValueRowIds tells of is empty at the end: it would not tell of that."""
    rows = lists
    for kind in kinds:
        if kind == "ValueRowIds" and rows and not rows[-1]:
            return False
        rows = [item for row in rows for item in row]
    return True


def encoded(features: dict[str, list[int]]) -> bytes:
    return tfrecs.encode_example(features)


def as_list(result: RaggedTensor | np.ndarray[Any, Any]) -> Any:
    return result.tolist()


@given(data=st.data(), validate=st.booleans(), dtype=st.sampled_from(["int32", "int64"]))
def test_examples_give_back_what_they_were_made_of(
    data: st.DataObject, validate: bool, dtype: str
) -> None:
    division = data.draw(DIVISIONS)
    nested = data.draw(st.lists(nested_lists(division), max_size=4))
    records = [encoded(division.features(lists)) for lists in nested]
    spec = {"r": division.feature(validate=validate, row_splits_dtype=dtype)}
    found = parse_example(records, spec)["r"]
    assert isinstance(found, RaggedTensor)
    assert found.tolist() == nested
    assert {splits.dtype for splits in found.nested_row_splits} == {np.dtype(dtype)}
    for record, lists in zip(records, nested, strict=True):
        assert as_list(parse_single_example(record, spec)["r"]) == lists


@given(data=st.data(), validate=st.booleans())
def test_feature_lists_give_back_what_they_were_made_of(
    data: st.DataObject, validate: bool
) -> None:
    division = data.draw(DIVISIONS)
    nested = data.draw(st.lists(st.lists(nested_lists(division), max_size=3), max_size=3))
    records = [sequence([division.features(lists) for lists in steps]) for steps in nested]
    spec = {"r": division.feature(validate=validate)}
    _, found, lengths = tfrecs.parse_sequence_example(records, None, spec)
    assert (found["r"].tolist(), lengths) == (nested, {})
    for record, steps in zip(records, nested, strict=True):
        _, lists = tfrecs.parse_single_sequence_example(record, None, spec)
        assert lists["r"].tolist() == steps


def sequence(steps: list[dict[str, list[int]]]) -> bytes:
    names = sorted({name for step in steps for name in step})
    return tfrecs.encode_sequence_example({}, {name: [s[name] for s in steps] for name in names})


@st.composite
def damaged(draw: st.DrawFn, division: Division) -> dict[str, list[int]]:
    """The features of a record, mostly with a list that has been changed."""
    features = division.features(draw(nested_lists(division)))
    name = draw(st.sampled_from(sorted(features)))
    values = features[name]
    change = draw(st.sampled_from(["none", "drop", "add", "change", "all"]))
    if change == "drop" and values:
        del values[draw(st.integers(0, len(values) - 1))]
    elif change == "add":
        values.insert(draw(st.integers(0, len(values))), draw(st.integers(-1, 4)))
    elif change == "change" and values:
        values[draw(st.integers(0, len(values) - 1))] = draw(st.integers(-2, 6))
    elif change == "all":
        features[name] = draw(st.lists(st.integers(-1, 2**63 - 1), max_size=3))
    return features


@given(data=st.data())
def test_validated_partitions_fit_or_the_record_is_named(data: st.DataObject) -> None:
    division = data.draw(DIVISIONS)
    rows = data.draw(st.lists(damaged(division), min_size=1, max_size=4))
    spec = {"r": division.feature(validate=True, row_splits_dtype="int64")}
    expected: list[Any] = []
    for row in rows:
        try:
            expected.append(division.nested(row))
        except (NoFitError, MemoryError, OverflowError):
            expected.append(NoFitError)
    check(lambda: parse_example([*map(encoded, rows)], spec)["r"], expected, expected)
    for row, lists in zip(rows, expected, strict=True):
        record = encoded(row)
        check(partial(parse_single, record, spec), [lists], lists)
    steps = [sequence([row]) for row in rows]
    check(partial(parse_lists, steps, spec), expected, [[lists] for lists in expected])


def parse_single(record: bytes, spec: dict[str, RaggedFeature]) -> Any:
    return parse_single_example(record, spec)["r"]


def parse_lists(records: list[bytes], spec: dict[str, RaggedFeature]) -> Any:
    return tfrecs.parse_sequence_example(records, None, spec)[1]["r"]


def check(parse: Callable[[], Any], records: list[Any], expected: Any) -> None:
    bad = {place for place, lists in enumerate(records) if lists is NoFitError}
    if not bad:
        assert as_list(parse()) == expected
        return
    with pytest.raises(ParseError) as caught:
        parse()
    assert caught.value.record in bad
    assert caught.value.feature == "r"


# ---------------------------------------------------------------- what TensorFlow says

R = RaggedFeature


def parsed(rows: list[dict[str, Any]], *partitions: Any, **options: Any) -> RaggedTensor:
    feature = RaggedFeature("int64", "v", partitions, **options)
    found = parse_example([tfrecs.encode_example(row) for row in rows], {"r": feature})["r"]
    assert isinstance(found, RaggedTensor)
    return found


def levels(ragged: RaggedTensor) -> list[list[int]]:
    return [splits.tolist() for splits in ragged.nested_row_splits]


# Partitions that do not fit: the kind, and for each record how many values and which numbers. The
# last record is the one at fault. TensorFlow minds only some of them, and most only with validate.
UNFIT: dict[str, tuple[Any, list[tuple[int, list[int]]]]] = {
    "values are cut": (R.RowSplits, [(2, [0, 1])]),
    "no leading 0": (R.RowSplits, [(2, [0, 2]), (2, [1, 2])]),
    "no splits": (R.RowSplits, [(1, [0, 1]), (2, [])]),
    "splits beyond": (R.RowSplits, [(1, [0, 1]), (1, [0, 5])]),
    "descending splits": (R.RowSplits, [(2, [0, 2, 1, 2])]),
    "too short": (R.RowLengths, [(1, [1]), (3, [1])]),
    "too long": (R.RowLengths, [(1, [1]), (3, [4])]),
    "no lengths": (R.RowLengths, [(3, [])]),
    "a negative length": (R.RowLengths, [(1, [2, -1])]),
    "lengths that overflow": (R.RowLengths, [(1, [2**62, 2**62, 2**62, 2**62, 1])]),
    "a late start": (R.RowStarts, [(1, [0]), (3, [1, 2])]),
    "no starts": (R.RowStarts, [(1, [0]), (3, [])]),
    "a start beyond": (R.RowStarts, [(1, [0, 1]), (1, [0, 2])]),
    "descending starts": (R.RowStarts, [(3, [0, 2, 1])]),
    "an early limit": (R.RowLimits, [(1, [1]), (3, [1])]),
    "a negative limit": (R.RowLimits, [(1, [-1, 1])]),
    "no limits": (R.RowLimits, [(1, [])]),
    "unsorted": (R.ValueRowIds, [(1, [1]), (3, [2, 0, 0])]),
    "too few": (R.ValueRowIds, [(1, [1]), (3, [0, 0])]),
    "too many": (R.ValueRowIds, [(1, [1]), (1, [0, 0])]),
    "a negative number": (R.ValueRowIds, [(1, [0]), (1, [-1])]),
}


@pytest.mark.parametrize(("kind", "sizes"), UNFIT.values(), ids=UNFIT)
def test_partitions_that_do_not_fit(kind: Any, sizes: list[tuple[int, list[int]]]) -> None:
    rows = [{"v": list(range(size)), "s": numbers} for size, numbers in [*sizes, (0, [])]]
    for validate in (False, True):
        with pytest.raises(ParseError, match="do not form a valid RaggedTensor over") as caught:
            parsed(rows, kind("s"), validate=validate, row_splits_dtype="int64")
        assert (caught.value.record, caught.value.feature) == (len(sizes) - 1, "r")
        assert f"{kind.__name__} [" in str(caught.value)
        assert f" of 's' do not form a valid RaggedTensor over {sizes[-1][0]} " in str(caught.value)


def test_rows_of_one_length_that_do_not_fit() -> None:
    """TensorFlow looks at the total only, and then the rows have values of two records."""
    with pytest.raises(ParseError, match="its 3 values cannot be divided into rows of 2") as caught:
        parsed([{"v": [1, 2]}, {"v": [1, 2, 3]}, {"v": [4]}], R.UniformRowLength(2))
    assert (caught.value.record, caught.value.feature) == (1, "r")
    with pytest.raises(ParseError, match="its 1 value cannot be divided into rows of 2"):
        parsed([{"v": [1, 2], "s": [2]}], R.UniformRowLength(2), R.RowLengths("s"))


def test_many_empty_rows_are_no_way_to_exhaust_memory() -> None:
    rows = [{"v": [1], "s": [100_000]}] * 50
    with pytest.raises(ParseError, match=r"row number 100000 .*at most 136672 rows") as caught:
        parsed(rows, R.ValueRowIds("s"))
    assert caught.value.record == 1
    assert len(parsed(rows[:1], R.ValueRowIds("s")).values) == 100_001
    for number in (2**31, 2**62, 2**63 - 1):
        with pytest.raises(ParseError, match=f"row number {number}"):
            parsed([{"v": [1], "s": [number]}], R.ValueRowIds("s"), row_splits_dtype="int64")


def test_numbers_beyond_the_row_splits() -> None:
    rows = [{"v": [1], "s": [0, 1]}, {"v": [1, 2], "s": [0, 2**32 + 2]}]
    with pytest.raises(ParseError, match=r"4294967298 .* does not fit int32: ask for") as caught:
        parsed(rows, R.RowSplits("s"))
    assert (caught.value.record, caught.value.feature) == (1, "r")
    with pytest.raises(ParseError, match="do not form a valid RaggedTensor"):
        parsed(rows, R.RowSplits("s"), row_splits_dtype="int64")


def test_without_partitions() -> None:
    found = parsed([{"v": [1, 2, 3]}, {}, {"v": []}])
    assert (found.tolist(), found.ragged_rank) == ([[1, 2, 3], [], []], 1)
    assert found.missing is None
    assert found.row_splits.dtype == np.int32
    record = tfrecs.encode_example({"v": ["a", "b"]})
    strings = parse_single_example(record, {"v": RaggedFeature("string")})["v"]
    assert isinstance(strings, tfrecs.BytesArray)
    assert strings.tolist() == [b"a", b"b"]
    assert parse_single_example(b"", {"v": RaggedFeature("float32")})["v"].shape == (0,)


def test_uniform_lengths_at_the_end_are_dimensions() -> None:
    row = {"v": list(range(12)), "s": [0, 2]}
    found = parsed([row, {}], R.RowSplits("s"), R.UniformRowLength(3), R.UniformRowLength(2))
    assert (found.ragged_rank, found.shape) == (2, (2, None, None, 3, 2))
    spec = {"v": RaggedFeature("int64", partitions=[R.UniformRowLength(3), R.UniformRowLength(2)])}
    single = parse_single_example(tfrecs.encode_example({"v": list(range(12))}), spec)["v"]
    assert single.tolist() == np.arange(12).reshape(2, 3, 2).tolist()


def test_empty_batches() -> None:
    for partitions in ([], [R.RowSplits("s")], [R.ValueRowIds("s")], [R.RowStarts("s")]):
        found = parsed([], *partitions)
        assert found.tolist() == []
        assert levels(found) == [[0]] * (1 + len(partitions))
    assert parsed([], R.UniformRowLength(2)).flat_values.shape == (0, 2)


def test_splits_without_rows() -> None:
    """TensorFlow's row_splits are empty here, which no RaggedTensor can have."""
    spec = {"v": RaggedFeature("int64", partitions=[R.RowSplits("s")])}
    assert levels(parse_single_example(b"", spec)["v"]) == [[0]]


# ---------------------------------------------------------------- feature lists

LISTS = {"v": [[1, 2], [3, 4]], "s": [[0, 1, 2], [0, 2]]}


def test_steps_that_are_not_aligned() -> None:
    good = tfrecs.encode_sequence_example({}, LISTS)
    short = tfrecs.encode_sequence_example({}, {**LISTS, "s": [[0, 1, 2]]})
    for validate in (False, True):
        spec = {"r": RaggedFeature("int64", "v", [R.RowSplits("s")], validate=validate)}
        with pytest.raises(ParseError, match="not aligned: 2 and 1 step") as caught:
            tfrecs.parse_sequence_example([good, short], None, spec, ["one", "two"])
        assert (caught.value.record, caught.value.feature) == (1, "r")
        assert "Name: two" in str(caught.value)


def test_an_error_names_the_step() -> None:
    record = tfrecs.encode_sequence_example({}, {**LISTS, "s": [[0, 2], [0, 1]]})
    spec = {"r": RaggedFeature("int64", "v", [R.RowSplits("s")], validate=True)}
    text = (
        "record 1: feature \"r\": step 1: RowSplits [0, 1] of 's' do not form a valid RaggedTensor "
        "over 2 values"
    )
    with pytest.raises(ParseError) as caught:
        tfrecs.parse_sequence_example([b"", record], None, spec)
    assert str(caught.value) == text
    assert caught.value.reason == text.split(": ", 2)[2]
