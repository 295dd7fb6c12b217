"""States of loaders with any number of workers, gone on from with any other, of any ranks."""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import needs
import pytest
from loading import PLANS, SPEC, dealt, elements, expected, numbers, plain, write

import tfrecs
from tfrecs import StateError
from tfrecs.dataset.distributed.shard_iterator import Part, ShardIterator, given_by

torch = needs.optional("torch")
stateful = needs.optional("torchdata.stateful_dataloader")
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),  # torchdata 0.11 calls it
]
DataLoader = torch.utils.data.DataLoader
multiprocessing.set_forkserver_preload(["torch", "tfrecs"])

GRID = [1, 2, 3, 4, 8]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("examples") / "some.tfrecord")


@pytest.fixture
def ds(path: Path) -> tfrecs.Dataset:
    return tfrecs.Dataset(path, {"number": SPEC["number"]}, num_threads=2).shuffle(5)


def workers_of(ds: tfrecs.Dataset, part: Part, workers: int, epoch: int = 0, base: int = 0) -> Any:
    """What each worker of a rank iterates over, without processes."""
    return [
        ShardIterator(ds.node, epoch, replace(part, worker=worker, num_workers=workers), base)
        for worker in range(workers)
    ]


def stopped(ds: tfrecs.Dataset, part: Part, workers: int, steps: int) -> list[Any]:
    """The states of a rank's workers after that many of its elements."""
    its = workers_of(ds, part, workers)
    for _, it in zip(range(steps), itertools.cycle(its), strict=False):
        next(it)
    return [it.state_dict() for it in its]


@pytest.mark.parametrize("plan", ["native", "filtered", "shuffled again"])
@pytest.mark.parametrize(
    ("ranks", "workers"), list(itertools.product(GRID, GRID)), ids=lambda n: f"{n}"
)
def test_any_ranks_and_workers_go_on(
    ds: tfrecs.Dataset, plan: str, ranks: int, workers: int
) -> None:
    """From a state of each number of workers to others: every element once, in one order."""
    planned = PLANS[plan](ds)
    whole = elements(planned)
    steps = min(3, len(whole) // ranks)
    rank = Part(ranks - 1, ranks, "uneven")
    given = given_by(planned.node, "uneven", stopped(planned, rank, workers, steps))
    assert (given.epoch, given.elements) == (0, ranks * steps)
    others_of = itertools.product(GRID, GRID) if plan == "native" else [(workers, ranks), (2, 3)]
    for others, theirs in others_of:
        after = [
            dealt(workers_of(planned, Part(one, others, "uneven"), theirs, 0, given.elements))
            for one in range(others)
        ]
        assert dealt(after) == whole[ranks * steps :]


def test_a_state_of_a_state_goes_on(ds: tfrecs.Dataset) -> None:
    planned, given = ds.batch(4), 0
    whole = elements(planned)
    for ranks, workers, steps in [(2, 3, 4), (1, 4, 5), (3, 1, 2), (8, 2, 3)]:
        its = workers_of(planned, Part(0, ranks, "uneven"), workers, 0, given)
        for step, it in zip(range(steps), itertools.cycle(its), strict=False):
            assert plain(next(it)) == whole[given + step * ranks]
        states = [it.state_dict() for it in its]
        given = given_by(planned.node, "uneven", states).elements
    assert given == 8 + 5 + 6 + 24


def test_what_is_no_beginning_is_refused(ds: tfrecs.Dataset) -> None:
    node = ds.batch(10).node
    two = workers_of(ds.batch(10), Part(), 2)
    next(two[1])
    states = [it.state_dict() for it in two]
    with pytest.raises(StateError, match=r"2 workers gave \[0, 1\] elements"):
        given_by(node, "drop", states)
    next(two[0])
    states = [it.state_dict() for it in two]
    assert given_by(node, "drop", states).elements == 2
    for wrong in (states[:1], states[::-1], [states[0], states[0]], [*states, states[1]]):
        with pytest.raises(StateError):
            given_by(node, "drop", wrong)
    others = [it.state_dict() for it in workers_of(ds.batch(10), Part(), 2, epoch=1)]
    with pytest.raises(StateError, match="not of one pass"):
        given_by(node, "drop", [states[0], others[1]])
    with pytest.raises(StateError, match="another plan"):
        given_by(ds.batch(9).node, "drop", states)


def loader(dataset: Any, workers: int, context: str | None = None, **options: Any) -> Any:
    made = {"batch_size": None, "num_workers": workers, **options}
    if workers and context:
        made["multiprocessing_context"] = context
    return stateful.StatefulDataLoader(dataset, **made)


@pytest.mark.parametrize(
    ("before", "after", "context"),
    [(0, 3, "fork"), (1, 2, "fork"), (3, 0, "fork"), (4, 8, "fork"), (8, 3, "forkserver")],
)
def test_stateful_loaders_with_other_workers(
    ds: tfrecs.Dataset, before: int, after: int, context: str
) -> None:
    batches = ds.batch(10)
    order = expected(batches, 0)
    for stop in (0, 1, 5, len(order) - 1, len(order)):
        first = loader(batches.to_torch(), before, context)
        it = iter(first)
        assert numbers(itertools.islice(it, stop)) == order[:stop]
        state = first.state_dict()
        del it, first
        dataset = batches.to_torch()
        dataset.load_state_dict(state)
        resumed = loader(dataset, after, context)
        assert numbers(resumed) == order[stop:]
        # What comes after is the next epoch, of this loader as of others.
        assert numbers(resumed) == expected(batches, 1)
        plainly = batches.to_torch_loader()
        plainly.load_state_dict(state)
        assert numbers(plainly) == order[stop:]
        assert numbers(plainly) == expected(batches, 1)


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_that_are_kept_go_on(ds: tfrecs.Dataset, workers: int) -> None:
    batches = ds.batch(25)
    dataset = batches.to_torch()
    kept = DataLoader(dataset, batch_size=None, num_workers=workers, persistent_workers=True)
    assert numbers(kept) == expected(batches, 0)
    other = batches.to_torch_loader()
    it = iter(other)
    assert numbers(itertools.islice(it, 4)) == expected(batches, 0)[:4]
    dataset.load_state_dict(other.state_dict())
    assert numbers(kept) == expected(batches, 0)[4:]
    assert numbers(kept) == expected(batches, 1)
    dataset.load_state_dict(other.state_dict())
    dataset.set_epoch(6)  # what was loaded is for nothing then
    assert numbers(kept) == expected(batches, 6)


def test_a_finished_pass_goes_on_with_the_next(ds: tfrecs.Dataset) -> None:
    batches = ds.batch(50)
    for workers in (0, 2):
        first = loader(batches.to_torch(), workers)
        numbers(first)
        dataset = batches.to_torch()
        dataset.load_state_dict(first.state_dict())
        assert numbers(loader(dataset, 3)) == expected(batches, 1)


def test_ranks_too(ds: tfrecs.Dataset) -> None:
    """Two ranks of three workers, then three ranks of two."""
    batches = ds.batch(10)
    whole = expected(batches, 0)
    states = []
    for rank in range(2):
        first = loader(batches.to_torch(rank=rank, num_ranks=2, remainder="uneven"), 3)
        it = iter(first)
        assert numbers(itertools.islice(it, 4)) == whole[:8][rank::2]
        states.append(first.state_dict())
        del it, first
    for state in states:
        parts = []
        for rank in range(3):
            dataset = batches.to_torch(rank=rank, num_ranks=3, remainder="uneven")
            dataset.load_state_dict(state)
            parts.append(numbers(DataLoader(dataset, batch_size=None, num_workers=2)))
        assert dealt(parts) == whole[8:]


@pytest.mark.parametrize("every", [1, 3])
def test_states_that_are_some_steps_old(ds: tfrecs.Dataset, every: int) -> None:
    batches = ds.batch(10)
    order = expected(batches, 0)
    for stop in range(8):
        first = loader(batches.to_torch(), 2, snapshot_every_n_steps=every)
        it = iter(first)
        numbers(itertools.islice(it, stop))
        dataset = batches.to_torch()
        dataset.load_state_dict(first.state_dict())
        del it, first
        assert numbers(dataset) == order[stop:]


def test_batches_that_the_loader_makes(ds: tfrecs.Dataset) -> None:
    """Each worker makes batches of its own elements, so others cannot continue between any two."""
    first = loader(ds.to_torch(), 2, batch_size=10)
    it = iter(first)
    next(it)
    state = first.state_dict()
    dataset = ds.to_torch()
    with pytest.raises(StateError, match=r"2 workers gave \[10, 0\] elements"):
        dataset.load_state_dict(state)
    next(it)
    dataset.load_state_dict(first.state_dict())
    assert [row["number"].item() for row in dataset] == expected_rows(ds)[20:]
    late = loader(ds.to_torch(), 2, batch_size=10, snapshot_every_n_steps=4)
    it = iter(late)
    for _ in range(6):
        next(it)
    with pytest.raises(StateError, match="steps are not elements"):
        dataset.load_state_dict(late.state_dict())


def expected_rows(ds: tfrecs.Dataset) -> list[int]:
    return [row["number"] for row in elements(ds)]


def test_hostile_states(ds: tfrecs.Dataset) -> None:
    first = loader(ds.batch(10).to_torch(), 2)
    it = iter(first)
    next(it)
    state = first.state_dict()
    snapshot = state["_snapshot"]
    dataset, ours = ds.batch(10).to_torch(), ds.batch(10).to_torch_loader()
    workers = snapshot["_worker_snapshots"]
    wrong: list[Any] = [
        None,
        [],
        "at",
        {},
        {**state, "_snapshot": None},
        {**state, "_steps_since_snapshot": -1},
        {**state, "_snapshot": {**snapshot, "_main_snapshot": {"_num_workers": 2**40}}},
        {**state, "_snapshot": {**snapshot, "_main_snapshot": {"_num_workers": 0}}},
        {**state, "_snapshot": {**snapshot, "_worker_snapshots": {}}},
        {**state, "_snapshot": {**snapshot, "_worker_snapshots": {**workers, "worker_1": 7}}},
        {"fetcher_state": {"dataset_iter_state": None}, "_iterator_finished": False},
        {"fetcher_state": None, "_iterator_finished": False},
    ]
    for bad, one in itertools.product(wrong, (dataset, ours)):
        with pytest.raises(StateError):
            one.load_state_dict(bad)
    assert numbers(dataset) == expected(ds.batch(10), 0)


class FakeWindows(ModuleType):
    """Locks bytes as Windows does: at once, or not at all."""

    LK_NBLCK, LK_UNLCK = 1, 2

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.lock, self.refused = threading.Lock(), 0

    def locking(self, file: int, mode: int, count: int) -> None:
        assert count == 1
        if mode == self.LK_UNLCK:
            self.lock.release()
        elif not self.lock.acquire(blocking=False):
            self.refused += 1
            raise PermissionError(13, "Permission denied")


def test_a_file_is_locked_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, name = FakeWindows(), "tfrecs.integrations.torch.locked"
    real = importlib.import_module(name)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setattr(sys, "platform", "win32")
    locked = importlib.reload(real).locked
    path = tmp_path / "count"
    path.write_bytes(b"0")

    def count() -> None:
        for _ in range(100):
            with locked(path) as file:
                number = int(file.read())
                file.seek(0)
                file.truncate()
                file.write(b"%d" % (number + 1))

    try:
        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        with locked(path):
            while not fake.refused:  # until one of them has found it locked
                time.sleep(0.001)
        for thread in threads:
            thread.join()
    finally:
        monkeypatch.undo()
        importlib.reload(real)
    assert path.read_bytes() == b"400"
    assert not fake.lock.locked()
