"""Elements that are made ahead: in any order, within bounds, and none lost."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import frames
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import without_samples

import tfrecs
from tfrecs.dataset.stages.nbytes import nbytes_of
from tfrecs.dataset.stages.worker_threads import SPREAD

COUNT = 40
# So long nobody waits.
HANG = 60.0


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ahead")
    return frames.save(folder / "a.tfrecord", frames.plain([b"%d" % n for n in range(COUNT)]))


def numbers(path: Path) -> tfrecs.Dataset:
    return tfrecs.Dataset(path).map(int)


def test_who_takes_long_holds_up_nobody(path: Path) -> None:
    later = threading.Event()

    def work(n: int) -> int:
        if n == 0:
            assert later.wait(HANG)
        if n == 7:
            later.set()
        return n

    found = list(numbers(path).map(work, num_threads=2, ordered=False))
    assert sorted(found) == list(range(COUNT))
    assert found.index(0) >= 6
    later.clear()
    assert list(numbers(path).map(work, num_threads=8)) == list(range(COUNT)), "in order, if asked"


def test_what_goes_before_is_bounded(path: Path) -> None:
    """Or a state would have to name all that others gave while one took long."""
    go_on, most = threading.Event(), SPREAD * 2

    def work(n: int) -> int:
        if n == 0:
            assert go_on.wait(HANG)
        return n

    pulled: list[int] = []

    def count(record: bytes) -> int:
        pulled.append(int(record))
        return int(record)

    counted = tfrecs.Dataset([path] * 3).map(count)
    it = iter(counted.map(work, num_threads=2, ordered=False))
    found = list(islice(it, most - 1))
    assert 0 not in found[: COUNT - 1]
    assert len(pulled) <= most
    state = it.state_dict()
    assert len(json.dumps(state)) < 1000
    go_on.set()
    assert len(found + list(it)) == 3 * COUNT


@settings(max_examples=60, deadline=None)
@given(
    threads=st.integers(1, 5),
    other=st.integers(1, 5),
    steps=st.lists(st.integers(0, COUNT), min_size=1, max_size=3),
    seed=st.integers(0, 9),
)
def test_each_comes_once_across_resumes(
    path: Path, threads: int, other: int, steps: list[int], seed: int
) -> None:
    def ds(num_threads: int) -> tfrecs.Dataset:
        shuffled = tfrecs.Dataset(path).shuffle(seed).map(int)
        return shuffled.map(uneven, num_threads=num_threads, ordered=False)

    it, found = iter(ds(threads)), []
    for step in steps:
        found += list(islice(it, step))
        state = json.loads(json.dumps(it.state_dict()))
        it.close()
        it = iter(ds(other))
        it.load_state_dict(state)
        loaded = it.state_dict()
        assert without_samples(loaded) == without_samples(state), "right after it was loaded"
    found += list(it)
    assert Counter(found) == Counter(range(COUNT))


def uneven(n: int) -> int:
    """Take longer for some."""
    return sum([1] * (n % 5) * 2000, start=n) - (n % 5) * 2000


def test_errors_come_in_any_order_too(path: Path) -> None:
    def broken(n: int) -> int:
        if n == 20:
            raise KeyError("twenty")
        return n

    it = iter(numbers(path).map(broken, num_threads=3, ordered=False))
    with pytest.raises(KeyError, match="twenty"):
        list(it)
    assert list(it) == []


@pytest.mark.parametrize("nbytes", [10_000, 100_000, 1])
def test_no_more_bytes_are_ahead_than_may_be(path: Path, nbytes: int) -> None:
    made, taken, worst = [0], [0], [0]

    def large(_: Any) -> Any:
        made[0] += 1
        # One that is handed over, and one that is just being taken.
        worst[0] = max(worst[0], made[0] - taken[0] - 2)
        return np.zeros(2500, np.uint8)

    for _ in numbers(path).map(large).prefetch(30, max_bytes=nbytes):
        taken[0] += 1
    assert (made[0], taken[0]) == (COUNT, COUNT)
    assert worst[0] * 2500 <= nbytes


def test_how_large_elements_are() -> None:
    ragged = tfrecs.RaggedTensor.from_rows([[1, 2], [3]], np.int32)
    sparse = tfrecs.SparseTensor([[0, 1]], [7], [2, 2])
    for element, nbytes in [
        (np.zeros((2, 3)), 48),
        (np.float32(1), 4),
        (b"123", 3),
        ("1234", 4),
        ({"a": b"1", "b": (b"23", [b"4"])}, 4),
        (tfrecs.Records([b"12", b"3"]), 3),
        (tfrecs.BytesArray.from_values([b"12", b"3"]), 3),
        (ragged, 3 * 4 + 3 * 8),
        (sparse, 2 * 8 + 8),
    ]:
        assert nbytes_of(element) == nbytes, element
    assert nbytes_of(object()) > 0
    record = tfrecs.encode_example({"a": [1, 2]})
    batch = tfrecs.decode_batch([record] * 3, {"a": tfrecs.FixedLenFeature([2], "int64")})
    assert nbytes_of(batch) == 48


@pytest.mark.parametrize("make", ["prefetch", "map", "both", "in any order"])
def test_closing_ends_the_wait_for_what_never_comes(tmp_path: Path, make: str) -> None:
    """A thread waits for a pipe into which nobody writes any more."""
    os.mkfifo(tmp_path / "pipe")
    ds = tfrecs.Dataset(tmp_path / "pipe", compression_type="").batch(1)
    ds = {
        "prefetch": lambda: ds.prefetch(2),
        "map": lambda: ds.map(len, num_threads=2),
        "both": lambda: ds.map(len, num_threads=2).prefetch(2).cache(),
        "in any order": lambda: ds.map(len, num_threads=2, ordered=False).prefetch(2),
    }[make]()
    it = iter(ds)
    given, ended = threading.Event(), threading.Event()

    def iterate() -> None:
        # It ends, if it is closed just before it asks; else it is told.
        with contextlib.suppress(tfrecs.StateError):
            for _ in it:
                given.set()
        ended.set()

    waiting = threading.Thread(target=iterate, daemon=True)
    waiting.start()
    with (tmp_path / "pipe").open("wb", buffering=0) as feeder:
        feeder.write(frames.plain([b"one"] * 30))
        assert given.wait(HANG)
        closing = threading.Thread(target=it.close, daemon=True)
        closing.start()
        closing.join(HANG)
        waiting.join(HANG)
        assert not closing.is_alive()
        assert ended.is_set()
    assert not [one.name for one in threading.enumerate() if one.name.startswith("tfrecs")]
