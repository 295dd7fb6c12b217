"""Records in any order, batch by batch, and the orders themselves, against lists in Python."""

import gc
import multiprocessing
import os
from collections.abc import Iterator
from itertools import chain, count, islice
from math import isqrt
from pathlib import Path
from typing import Any

import frames
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from orders import Step, gathered, order_at, order_length, order_of
from tasks import has_threads, needs_proc

import tfrecs
from tfrecs import _core
from tfrecs.columns.batch import Batch

# --- The permutation, written down a second time ---

ALL_BITS = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
FACTORS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(z: int) -> int:
    z = (z ^ z >> 30) * FACTORS[0] & ALL_BITS
    z = (z ^ z >> 27) * FACTORS[1] & ALL_BITS
    return z ^ z >> 31


def share(by: int, size: int) -> int:
    by = by * FACTORS[0] & ALL_BITS
    by = (by ^ by >> 32) * FACTORS[1] & ALL_BITS
    return (by >> 32) * size >> 32


class Permutation:
    """The order of `n` elements that a seed gives in an epoch."""

    def __init__(self, n: int, seed: int, epoch: int) -> None:
        state = n
        for known in (seed, epoch, 0):
            state = mixed(state + GOLDEN & ALL_BITS) ^ known
        keys = [mixed(state + number * GOLDEN & ALL_BITS) for number in range(1, 17)]
        pairs = 8 if n < 4096 else 3
        self.keys = list(zip(keys[::2], keys[1::2], strict=True))[:pairs]
        self.n = n
        self.rows = isqrt(max(n, 1) - 1) + 1
        self.rows += self.rows % 2
        self.columns = -(-n // self.rows)

    def at(self, position: int) -> int:
        element = self.moved(position)
        while element >= self.n:
            element = self.moved(element)
        return element

    def moved(self, cell: int) -> int:
        row, column = divmod(cell, self.columns)
        for one, other in self.keys:
            row = (row + share(column ^ one, self.rows)) % self.rows
            column = (column + share(row ^ other, self.columns)) % self.columns
        return row * self.columns + column


NUMBERS = st.integers(0, ALL_BITS)


@given(n=st.integers(1, 5000) | st.integers(1, 2**63 - 1), seed=NUMBERS, epoch=NUMBERS)
def test_the_order_of_a_shuffle_is_the_one_promised(n: int, seed: int, epoch: int) -> None:
    steps = [("records", n), ("shuffle", seed)]
    start = n // 3
    found = order_at(steps, start, start + 50, epoch)
    order = Permutation(n, seed, epoch)
    assert found == [order.at(position) for position in range(start, min(start + 50, n))]


def test_a_shuffle_is_the_same_for_ever() -> None:
    steps = [("records", 10), ("shuffle", 1), ("repeat", 3)]
    assert order_at(steps, 0, 30, 0) == [
        9,
        8,
        1,
        6,
        2,
        0,
        4,
        5,
        3,
        7,
        6,
        9,
        5,
        3,
        1,
        7,
        2,
        8,
        4,
        0,
        3,
        2,
        0,
        6,
        9,
        8,
        4,
        5,
        1,
        7,
    ]
    steps = [("records", 10**9), ("shuffle", 2**64 - 1)]
    assert order_at(steps, 10**9 - 5, 10**9 + 5, 3) == [
        686784401,
        829076939,
        884653673,
        723526414,
        81851853,
    ]


# --- Steps ---


def elements(steps: list[Step], epoch: int) -> Iterator[int]:
    """What the steps make, one by one."""
    *below, (name, *given) = steps
    if name == "records":
        return iter(range(given[0]))
    if name == "repeat":
        (times,) = given
        passes = count() if times is None else range(epoch * times, (epoch + 1) * times)
        return chain.from_iterable(elements(below, number) for number in passes)
    inner = elements(below, epoch)
    match name:
        case "shuffle":
            listed = list(inner)
            order = Permutation(len(listed), given[0], epoch)
            return (listed[order.at(position)] for position in range(len(listed)))
        case "skip":
            return islice(inner, given[0], None)
        case "take":
            return islice(inner, given[0])
    return part(inner, *given)


def part(inner: Iterator[int], num: int, index: int, base: int, policy: str) -> Iterator[int]:
    inner = islice(inner, base, None)
    while some := list(islice(inner, num)):
        if len(some) == num or (policy == "uneven" and index < len(some)):
            yield some[index]
        elif policy == "pad":
            yield some[index % len(some)]


SHARDS = st.integers(1, 5).flatmap(
    lambda num: st.tuples(
        st.just("shard"),
        st.just(num),
        st.integers(0, num - 1),
        st.integers(0, 3),
        st.sampled_from(["uneven", "drop", "pad"]),
    )
)
SHUFFLES = st.tuples(st.just("shuffle"), NUMBERS)
REPEATS = st.tuples(st.just("repeat"), st.integers(0, 4))
CUTS = st.tuples(st.sampled_from(["skip", "take"]), st.integers(0, 60))
STEPS = st.lists(st.one_of(SHUFFLES, SHARDS, REPEATS, CUTS), max_size=5)


@given(n=st.integers(0, 50), steps=STEPS, epoch=st.integers(0, 5), start=st.integers(0, 70))
def test_steps_do_what_they_do_to_lists(n: int, steps: list[Step], epoch: int, start: int) -> None:
    steps = [("records", n), *steps]
    expected = list(elements(steps, epoch))
    assert order_length(steps) == len(expected)
    assert order_at(steps, 0, 2**64 - 1, epoch) == expected
    assert order_at(steps, start, start + 10, epoch) == expected[start : start + 10]


@given(n=st.integers(1, 50), inner=SHUFFLES, outer=st.lists(SHARDS | CUTS, max_size=3))
def test_what_has_no_end_goes_on(n: int, inner: Step, outer: list[Step]) -> None:
    steps: list[Step] = [("records", n), inner, ("repeat", None), *outer]
    has_end = any(name == "take" for name, *_ in outer)
    assert (order_length(steps) is None) is not has_end
    assert order_at(steps, 5, 300, 9) == list(islice(elements(steps, 9), 5, 300))


def test_a_long_pass_is_entered_anywhere() -> None:
    steps = [("records", 10**7), ("shuffle", 5), ("repeat", None), ("shard", 8, 3, 0, "drop")]
    place = 10**15
    epoch, position = divmod(place * 8 + 3, 10**7)
    assert order_at(steps, place, place + 1, 0) == [Permutation(10**7, 5, epoch).at(position)]


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([("records", 3), ("repeat", None), ("shuffle", 0)], tfrecs.SpecError),
        ([("records", 3), ("shard", 0, 0, 0, "pad")], tfrecs.SpecError),
        ([("records", 3), ("shard", 2, 2, 0, "pad")], tfrecs.SpecError),
        ([("records", 3), ("shard", 2, 0, 0, "even")], TypeError),
        ([("records", "3")], TypeError),
        ([("records", -1)], OverflowError),
        ([("records", 2**64)], OverflowError),
    ],
)
def test_steps_that_make_no_sense(steps: Any, error: Any) -> None:
    with pytest.raises(error):
        order_of(steps)


# --- Batches ---


def example(number: int) -> bytes:
    return tfrecs.encode_example({"n": number, "many": list(range(number % 7 + 1))})


FEATURES: Any = (("n", "int64", "fixed", [], None), ("many", "int64", "ragged", None, None))


def gather(records: tfrecs.IndexedRecords, *steps: Step, **named: Any) -> _core.Gather:
    return gathered(records, [("records", len(records)), *steps], **named)


def cut(listed: list[Any], batch: int, first: int, *, drop: bool) -> list[list[Any]]:
    batches = [listed[at : at + batch] for at in range(0, len(listed), batch)]
    return [some for some in batches[first:] if len(some) == batch or not drop]


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=4),
    codecs=st.lists(st.sampled_from(frames.CODECS), min_size=4, max_size=4),
    steps=STEPS,
    batch=st.integers(1, 40),
    first=st.integers(0, 5),
    drop=st.booleans(),
    threads=st.integers(1, 4),
    memory_map=st.booleans(),
    epoch=st.integers(0, 3),
)
def test_batches_are_of_the_records_in_this_order(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    codecs: list[str],
    steps: list[Step],
    batch: int,
    first: int,
    drop: bool,
    threads: int,
    memory_map: bool,
    epoch: int,
) -> None:
    all_records = [example(number) for number in range(sum(sizes))]
    left = iter(all_records)
    folder = tmp_path_factory.mktemp("gather")
    paths = [
        frames.save(folder / str(at), frames.compressed(codec, frames.plain(islice(left, size))))
        for at, (size, codec) in enumerate(zip(sizes, codecs, strict=False))
    ]
    records = tfrecs.open(paths, memory_map=memory_map)
    numbers = list(elements([("records", len(records)), *steps], epoch))
    expected = cut(numbers, batch, first, drop=drop)
    named: dict[str, Any] = {
        "batch": batch,
        "first_batch": first,
        "drop_remainder": drop,
        "num_threads": threads,
        "epoch": epoch,
    }
    raw = [some.tolist() for some in gather(records, *steps, **named)]
    assert raw == [[all_records[number] for number in some] for some in expected]
    found = []
    for columns, places in gather(records, *steps, **named, features=FEATURES):
        made = Batch(columns)
        numbers = made["n"].tolist()
        assert made["many"].tolist() == [[*range(number % 7 + 1)] for number in numbers]
        assert [place_of(places, row) for row in range(len(places))] == [
            records.locate(number) for number in numbers
        ]
        found.append(numbers)
    assert found == expected


def place_of(places: tfrecs.Records, row: int) -> tuple[Any, Any]:
    error = places.parse_error(row, "", "n", "wrong")
    return error.path, error.record


@pytest.fixture
def some(tmp_path: Path) -> tfrecs.IndexedRecords:
    """Three files of 100 records."""
    numbers = iter(range(300))
    for name in ("a", "b", "c"):
        frames.save(tmp_path / name, frames.plain(map(example, islice(numbers, 100))))
    return tfrecs.open(sorted(tmp_path.iterdir()), index="memory")


def test_sequence_examples_have_contexts_and_lists(tmp_path: Path) -> None:
    made = [
        tfrecs.encode_sequence_example({"n": number}, {"step": [[number], [number + 1]]})
        for number in range(20)
    ]
    records = tfrecs.open(frames.save(tmp_path / "a", frames.plain(made)), index="memory")
    lists = (("step", "int64", "repeated", [1], None),)
    order = order_at([("records", 20), ("shuffle", 3)], 0, 20, 0)
    found = list(gather(records, ("shuffle", 3), features=FEATURES[:1], lists=lists))
    assert [n for context, _, _ in found for n in Batch(context)["n"].tolist()] == order
    steps = [steps for _, of_lists, _ in found for steps in Batch(of_lists)["step"].tolist()]
    assert steps == [[[number], [number + 1]] for number in order]


def test_without_features_to_name_all_are_decoded(some: tfrecs.IndexedRecords) -> None:
    whole = next(gather(some, batch=300))
    assert whole.tolist() == some[:].tolist()
    assert list(gather(some, batch=2**62)) == [whole]


def test_nothing_is_a_pass_without_batches(some: tfrecs.IndexedRecords, tmp_path: Path) -> None:
    assert list(gather(some, ("take", 0))) == []
    assert list(gather(some, first_batch=2**63)) == []
    assert list(gather(some, ("repeat", 0), ("shuffle", 1))) == []
    nothing = tfrecs.open(frames.save(tmp_path / "empty", b""), index="memory")
    assert list(gather(nothing, ("repeat", None))) == []


def test_an_order_is_of_records_that_are_there(some: tfrecs.IndexedRecords) -> None:
    few = gathered(some, [("records", 5)], batch=9)
    assert [batch.tolist() for batch in few] == [some[:5].tolist()]
    with pytest.raises(tfrecs.SpecError, match="301 records is asked for of 300"):
        gathered(some, [("records", 301), ("take", 1)])


def test_an_endless_pass_goes_on(some: tfrecs.IndexedRecords) -> None:
    batches = gather(some, ("shuffle", 1), ("repeat", None), batch=100, features=FEATURES)
    numbers = [n for columns, _ in islice(batches, 9) for n in Batch(columns)["n"].tolist()]
    epochs = [numbers[:300], numbers[300:600], numbers[600:]]
    assert all(sorted(epoch) == [*range(300)] for epoch in epochs)
    assert len(set(map(tuple, epochs))) == 3
    with pytest.raises(MemoryError):
        next(gather(some, ("repeat", None), batch=2**62))


@pytest.mark.parametrize("features", [None, FEATURES])
def test_damage_is_told_where_the_order_comes_to_it(
    some: tfrecs.IndexedRecords, features: Any
) -> None:
    damaged = 142
    path, number = some.locate(damaged)
    data = bytearray(Path(path).read_bytes())
    start = frames.starts(list(map(example, range(100, 200))))[number]
    data[start + 14] ^= 1
    Path(path).write_bytes(data)
    records = tfrecs.open(some.paths, index="memory")
    order = order_at([("records", 300), ("shuffle", 8)], 0, 300, 0)
    batches = gather(records, ("shuffle", 8), features=features)
    for _ in range(order.index(damaged) // 7):
        next(batches)
    with pytest.raises(tfrecs.CorruptRecordError) as caught:
        next(batches)
    assert (caught.value.path, caught.value.record, caught.value.offset) == (path, number, start)
    assert list(batches) == []


def test_what_does_not_fit_is_told_with_its_place(some: tfrecs.IndexedRecords) -> None:
    wanted: Any = (("n", "bytes", "fixed", [], None),)
    first = order_at([("records", 300), ("shuffle", 8)], 0, 1, 0)[0]
    path, number = some.locate(first)
    with pytest.raises(tfrecs.ParseError) as caught:
        next(gather(some, ("shuffle", 8), features=wanted))
    assert (caught.value.path, caught.value.record) == (path, number)
    assert caught.value.feature == "n"


def test_a_file_that_has_changed_is_noticed(some: tfrecs.IndexedRecords) -> None:
    Path(some.paths[1]).write_bytes(b"")
    with pytest.raises(tfrecs.StateError, match="changed"):
        list(gather(some, ("shuffle", 8)))


# --- Threads ---


def test_closed_it_is_over(some: tfrecs.IndexedRecords) -> None:
    batches = gather(some, ("repeat", None))
    next(batches)
    batches.close()
    batches.close()
    assert list(batches) == []


@needs_proc
def test_nothing_is_left_after(some: tfrecs.IndexedRecords) -> None:
    for taken in (0, 1, 9):
        batches = gather(some, ("shuffle", 1), ("repeat", None), num_threads=4)
        for _ in range(taken):
            next(batches)
        del batches
        gc.collect()
        assert has_threads(0)
    assert len(list(gather(some, num_threads=4))) == 43
    assert has_threads(0)


def test_it_outlives_what_it_reads(some: tfrecs.IndexedRecords) -> None:
    expected = some[:].tolist()
    batches = gather(some)
    del some
    gc.collect()
    assert [record for batch in batches for record in batch] == expected


def test_several_passes_over_the_same_records(some: tfrecs.IndexedRecords) -> None:
    one, other = gather(some, ("shuffle", 1)), gather(some, ("shuffle", 1), num_threads=5)
    for batch, again in zip(one, other, strict=True):
        assert batch == again


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_is_told_and_can_begin_anew(some: tfrecs.IndexedRecords) -> None:
    batches = gather(some, ("shuffle", 1))
    next(batches)
    context = multiprocessing.get_context("fork")
    queue: Any = context.Queue()

    def child() -> None:
        try:
            next(batches)
        except tfrecs.StateError as error:
            queue.put((str(error), sum(map(len, gather(some, ("shuffle", 1))))))

    process = context.Process(target=child)
    process.start()
    text, count = queue.get(timeout=60)
    process.join()
    assert "another process" in text
    assert (process.exitcode, count) == (0, 300)
    assert sum(map(len, batches)) == 293
