"""What each step of a dataset makes of its elements."""

from __future__ import annotations

import gc
import os
import threading
import time
from itertools import islice
from pathlib import Path
from typing import Any

import frames
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    return frames.save(folder / "a.tfrecord", frames.plain([b"%d" % n for n in range(50)]))


def numbers(path: Path) -> tfrecs.Dataset:
    return tfrecs.Dataset(path).map(int)


@given(count=st.integers(0, 60), first=st.integers(0, 60), times=st.integers(0, 3))
def test_the_same_as_lists(path: Path, count: int, first: int, times: int) -> None:
    all_ = list(range(50))
    for ds, make in ((numbers(path), int), (tfrecs.Dataset(path), b"%d".__mod__)):
        cut = ds.skip(first).take(count).repeat(times)
        expected = [make(n) for n in all_[first : first + count] * times]
        assert list(cut) == expected
        assert cut.cardinality() == len(expected)
        assert list(cut.enumerate(3)) == list(enumerate(expected, 3))
        assert list(cut.concatenate(ds, cut)) == expected + [make(n) for n in all_] + expected
        assert list(cut.zip(ds)) == list(zip(expected, map(make, all_), strict=False))
        again = list(cut.batch(7))
        assert [one for batch in again for one in batch.tolist()] == expected
    assert list(numbers(path).filter(lambda n: n % 3 == 0)) == all_[::3]


@given(seed=st.integers(0, 2**64 - 1), size=st.integers(1, 80))
def test_a_shuffle_is_one_by_whatever_road(path: Path, seed: int, size: int) -> None:
    """The native one, which computes places, and the one of Python, which holds elements."""
    native = list(tfrecs.Dataset(path).shuffle(seed, buffer_size=size).repeat(2))
    python = list(numbers(path).shuffle(seed, buffer_size=size).repeat(2))
    assert [int(record) for record in native] == python
    for epoch in (python[:50], python[50:]):
        assert sorted(epoch) == list(range(50))
        assert all(abs(place - n) <= size + size // 2 for place, n in enumerate(epoch))


def test_epochs_have_orders_of_their_own(path: Path) -> None:
    ds = tfrecs.Dataset(path).shuffle(3)
    first, second = list(ds), list(ds)
    assert first != second
    assert sorted(first) == sorted(second) == sorted(tfrecs.Dataset(path))
    again = tfrecs.Dataset(path).shuffle(3)
    assert (list(again), list(again)) == (first, second)
    assert list(tfrecs.Dataset(path).shuffle(3).repeat(2)) == first + second
    assert list(tfrecs.Dataset(path).shuffle(4)) != first
    again.set_epoch(0)
    assert list(again) == first


def test_a_buffer_for_all_shuffles_uniformly(path: Path) -> None:
    """The first element of many orders is each of them about equally often."""
    three = tfrecs.Dataset(path).take(3)
    orders = [tuple(three.shuffle(seed, buffer_size=3)) for seed in range(1200)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    # Of 200 each, with a standard deviation of 13.
    assert all(140 < count < 260 for count in counts)


def test_mixing_follows_the_weights(path: Path) -> None:
    ones = numbers(path).map(lambda _: 1).repeat()
    twos = numbers(path).map(lambda _: 2).repeat()
    drawn = list(islice(ones.mix(twos, weights=[1, 3], seed=5), 4000))
    assert 2850 < drawn.count(2) < 3150
    both = numbers(path).mix(numbers(path), stop="all")
    assert sorted(both) == sorted([*range(50), *range(50)])
    assert both.cardinality() == 100


def test_mixing_draws_in_the_same_order_in_every_release(path: Path) -> None:
    """A saved state names the draws by number only, so their order must never change."""
    ones = numbers(path).map(lambda _: 1).repeat()
    twos = numbers(path).map(lambda _: 2).repeat()
    drawn = list(islice(ones.mix(twos, weights=[1, 3], seed=5), 5000))
    assert "".join(map(str, drawn[:20])) == "22121222211211212222"
    assert "".join(map(str, drawn[-20:])) == "22222222222211222222"


def test_mixing_with_negative_seeds_draws_by_each(path: Path) -> None:
    ones = numbers(path).map(lambda _: 1).repeat()
    twos = numbers(path).map(lambda _: 2).repeat()
    seeds = [-1, -2, 2**63, 2**63 + 5, 2**64 - 3]
    drawn = {tuple(islice(ones.mix(twos, seed=seed), 100)) for seed in seeds}
    assert len(drawn) == len(seeds)
    same = [list(islice(ones.mix(twos, seed=seed), 100)) for seed in (-1, 2**64 - 1)]
    assert same[0] == same[1]


@pytest.mark.parametrize("cycle", [3, 4, 2**31, 2**64])
def test_a_cycle_longer_than_there_are_datasets_takes_all_in_turn(path: Path, cycle: int) -> None:
    of_length = [numbers(path).take(length) for length in (3, 1, 4)]
    ds = numbers(path).take(3).map(lambda n: n).interleave(lambda n: of_length[n], cycle)
    assert list(ds) == [0, 0, 0, 1, 1, 2, 2, 3]
    for taken in range(9):
        begun = iter(ds)
        before = list(islice(begun, taken))
        resumed = iter(ds)
        resumed.load_state_dict(begun.state_dict())
        assert before + list(resumed) == list(ds)


def test_collated_elements(path: Path) -> None:
    ds = numbers(path).map(lambda n: {"n": n, "pair": (n, [n, n]), "name": f"r{n}"})
    batch = next(iter(ds.batch(2)))
    assert batch["n"].tolist() == [0, 1]
    assert batch["pair"][0].tolist() == [0, 1]
    assert batch["pair"][1].tolist() == [[0, 0], [1, 1]]
    assert batch["name"].tolist() == [b"r0", b"r1"]
    ragged = numbers(path).map(np.arange)
    with pytest.raises(tfrecs.SpecError, match=r"different shapes .*padded_batch"):
        list(ragged.batch(3))
    padded = next(iter(ragged.padded_batch(3, padded_shapes=[4], padding_values=7)))
    assert padded.tolist() == [[7, 7, 7, 7], [0, 7, 7, 7], [0, 1, 7, 7]]
    with pytest.raises(tfrecs.SpecError, match="a value has"):
        list(ragged.padded_batch(3, padded_shapes=[1]))


def test_padded_columns_are_what_padded_elements_are(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        for n in range(20):
            row = {"n": n, "ids": [n] * (n % 5), "words": [f"w{n}"] * (n % 3)}
            out.write(tfrecs.encode_example(row))
    ds = tfrecs.Dataset(
        path,
        {
            "n": tfrecs.FixedLenFeature([], "int64"),
            "ids": tfrecs.VarLenFeature("int64"),
            "words": tfrecs.VarLenFeature("string"),
        },
    )
    how: dict[str, Any] = {
        "padded_shapes": {"ids": [6]},
        "padding_values": {"ids": -1, "words": b"-"},
    }
    native = list(ds.padded_batch(7, **how))
    python = list(ds.map(lambda row: row).padded_batch(7, **how))
    assert len(native) == len(python) == 3
    for one, other in zip(native, python, strict=True):
        for name in other:
            assert one[name].tolist() == other[name].tolist(), name
        assert one["ids"].shape[1] == 6


@pytest.mark.parametrize("threads", [0, 2])
def test_what_a_function_raises_comes_with_its_place(path: Path, threads: int) -> None:
    def broken(n: int) -> int:
        if n == 5:
            raise KeyError("five")
        return n

    it = iter(numbers(path).map(broken, num_threads=threads).prefetch(2))
    assert list(islice(it, 5)) == [0, 1, 2, 3, 4]
    with pytest.raises(KeyError, match="five") as caught:
        next(it)
    assert any("broken" in note for note in caught.value.__notes__)
    it.close()

    def stops(_: int) -> int:
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(numbers(path).map(stops, num_threads=threads))


def test_threads_end_with_their_iterator(path: Path) -> None:
    def left() -> list[str]:
        names = [thread.name for thread in threading.enumerate()]
        return [name for name in names if name.startswith("tfrecs")]

    ds = numbers(path).map(lambda n: n, num_threads=3).prefetch(2)
    for taken in (0, 1, 7):
        it = iter(ds)
        list(islice(it, taken))
        it.close()
        assert not left()
        forgotten = iter(ds)
        list(islice(forgotten, taken))
        del forgotten
        gc.collect()
        for _ in range(200):
            if not left():
                break
            time.sleep(0.01)
        assert not left()


def test_a_fork_is_told(path: Path) -> None:
    it = iter(numbers(path).prefetch(2))
    assert next(it) == 0
    child = os.fork()
    if child == 0:
        try:
            next(it)
        except tfrecs.StateError:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert next(it) == 1
    it.close()


def test_wrong_arguments_say_what_is_wrong(path: Path) -> None:
    ds: Any = tfrecs.Dataset(path)
    wrong: list[tuple[Any, str]] = [
        (lambda: ds.shard(3, 3), "no shard 3"),
        (lambda: ds.shard(0, 0), "num must be"),
        (lambda: ds.shard(2, 0, "half"), "uneven, drop, pad"),
        (lambda: ds.map(int).shuffle(3), "give a buffer_size"),
        (lambda: ds.shuffle(3, 0), "buffer_size must be"),
        (lambda: ds.repeat("x"), "must be an integer"),
        (lambda: ds.map(3), "must be a function"),
        (lambda: ds.map(int, num_threads=-1), "must not be negative"),
        (lambda: ds.mix(ds, weights=[1]), "as many positive weights"),
        (lambda: ds.mix(ds, stop="never"), '"first" or "all"'),
        (lambda: ds.bucket_by_length(len, [1, 1], [1, 1, 1]), "must rise"),
        (lambda: ds.zip([1]), "must be Datasets"),
        (lambda: list(ds.map(int).interleave(lambda n: n)), "makes a Dataset"),
        (lambda: list(ds.map(int).unbatch()), "needs batches"),
    ]
    for call, what in wrong:
        with pytest.raises(tfrecs.SpecError, match=what):
            call()


@pytest.mark.parametrize("remainder", ["uneven", "drop", "pad"])
@pytest.mark.parametrize("records", range(8))
def test_the_length_of_a_shard(tmp_path: Path, records: int, remainder: Any) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"x"] * records))
    for index in range(3):
        shard = tfrecs.Dataset(path).map(len).shard(3, index, remainder=remainder)
        assert shard.cardinality() == len(list(shard))
