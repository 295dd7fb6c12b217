"""Iterators that are given up at any point leave no thread and no descriptor, whatever the plan."""

from __future__ import annotations

import copy
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
import tasks
from plans import PLANS, SPEC, example
from states import places, state_of

import tfrecs
from tfrecs.dataset.plan.source import roots_of
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.sources.files import Files

pytestmark = pytest.mark.skipif(not tasks.TASKS.exists(), reason="threads are counted by /proc")


@pytest.fixture(autouse=True)
def _set_aside() -> Iterator[None]:
    """What was there before is not looked through for cycles: it takes long, again and again."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("shards")
    found = []
    for shard, codec in enumerate(["", "GZIP"]):
        found.append(folder / f"{shard}.tfrecord")
        with tfrecs.RecordWriter(found[-1], codec) as out:
            out.write_batch([example(n) for n in range(12 * shard, 12 * shard + 12)])
    return found


def held() -> tuple[int, int]:
    """How many threads of ours there are, and how many descriptors."""
    names = [thread.name for thread in threading.enumerate()] + tasks.names()
    ours = [name for name in names if name.startswith("tfrecs")]
    return len(ours), len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - it opens nothing else


def settle(before: tuple[int, int]) -> None:
    """Wait until no more is held; threads that nobody waits for end soon."""
    for _ in range(5000):
        if held() <= before:
            return
        time.sleep(0.001)
    assert held() == before


def forgotten(it: DatasetIterator) -> None:
    """Nothing: the caller forgets it."""


def in_a_cycle(it: DatasetIterator) -> None:
    circle: list[Any] = [it]
    circle.append(circle)
    del it, circle
    gc.collect()


def begun_anew(it: DatasetIterator) -> None:
    """Its state is loaded into itself, which begins other threads, and it is closed."""
    it.load_state_dict(it.state_dict())
    next(it, None)
    it.close()


ENDINGS: list[Callable[[DatasetIterator], None]] = [
    forgotten,
    in_a_cycle,
    begun_anew,
    DatasetIterator.close,
]
# After these nothing is held, although the iterator is still there.
CLOSING = [begun_anew, DatasetIterator.close]


@pytest.mark.parametrize("name", PLANS)
def test_given_up_at_any_point(paths: list[Path], name: str) -> None:
    ds = PLANS[name](tfrecs.Dataset(paths, SPEC, num_threads=2))
    length = len(list(islice(ds, 40)))
    # Files that are read at any place stay open as long as the dataset.
    for files in roots_of(ds.node):
        assert isinstance(files, Files)
        assert files.records[[0, -1]]
    gc.collect()
    settle((0, 10**6))
    before = (0, held()[1])
    for ending in ENDINGS:
        for steps in {0, 1, 2, 3, length // 2, max(length - 1, 0), length}:
            it = iter(ds)
            taken = list(islice(it, steps))
            ending(it)
            if ending in CLOSING:
                settle(before)
            del it, taken
            settle(before)


def failed(it: DatasetIterator) -> tuple[DatasetIterator, Exception]:
    """An iterator that has failed, and its error, with all that its traceback holds."""
    with pytest.raises(tfrecs.CorruptRecordError, match="record 11") as caught:
        list(islice(it, 100))
    return it, caught.value


# Plans that leave out the record that is damaged.
SPARED = {"batch of all", "shard", "shard drop", "shard pad", "keys of batches"}


@pytest.mark.parametrize("name", [name for name in PLANS if name not in SPARED])
def test_errors_leave_nothing_though_they_are_kept(paths: list[Path], name: str) -> None:
    """Of damaged records, wherever in the plan they are met."""
    damaged = paths[0].with_name("damaged.tfrecord")
    content = bytearray(paths[0].read_bytes())
    content[-6] ^= 1  # in the data of the last record
    damaged.write_bytes(content)
    gc.collect()
    settle((0, 10**6))
    before = (0, held()[1])
    ds = PLANS[name](tfrecs.Dataset([damaged, paths[1]], SPEC, num_threads=2))
    kept = [failed(iter(ds)) for _ in range(3)]
    settle((0, held()[1]))
    del ds, kept
    gc.collect()
    settle(before)


JUNK: list[Any] = [None, -1, 2**70, "x", [], {}]


def refused(ds: tfrecs.Dataset, state: Any) -> tuple[DatasetIterator, Exception] | None:
    """An iterator that has refused a state, and its error; None if it has not."""
    it = iter(ds)
    try:
        it.load_state_dict(state)
    except tfrecs.StateError as error:
        return it, error
    it.close()
    return None


@pytest.mark.parametrize("name", PLANS)
def test_states_that_are_refused_leave_nothing(paths: list[Path], name: str) -> None:
    """Though some steps have begun before another one refuses its part of the state."""
    ds = PLANS[name](tfrecs.Dataset(paths, SPEC, num_threads=2))
    state = state_of(ds)
    for files in roots_of(ds.node):
        assert isinstance(files, Files)
        assert files.records[[0, -1]]
    settle((0, 10**6))
    before, kept = (0, held()[1]), []
    for place, junk in product(places(state["at"]), JUNK):
        other = copy.deepcopy(state)
        parent = other["at"]
        for key in place[:-1]:
            parent = parent[key]
        parent[place[-1]] = junk
        kept.append(refused(ds, other))
        settle(before)
    assert any(kept)


def test_sources_that_fail_to_begin_leave_nothing(paths: list[Path], tmp_path: Path) -> None:
    good, bad = tfrecs.Dataset(paths, SPEC, num_threads=2).batch(2), tmp_path / "bad.tfrecord"
    bad.write_bytes(paths[0].read_bytes())
    broken = tfrecs.Dataset(bad, SPEC).shuffle(1).batch(2)
    bad.unlink()
    before = held()
    for ds in (good.zip(broken), good.mix(broken), good.prefetch(2).zip(good, broken)):
        it = iter(ds)
        with pytest.raises(tfrecs.Error) as caught:
            next(it)
        assert "bad.tfrecord" in str(caught.value)
        settle(before)
