"""How many elements are made before they are asked for: known by the order of events."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import frames
import pytest

import tfrecs
from tfrecs import tf
from tfrecs.dataset.distributed.loader import HostMemory, Loader
from tfrecs.dataset.distributed.ranks import Ranks

COUNT = 24
# A wait that long has failed.
HANG = 60.0


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prefetch")
    return frames.save(folder / "a.tfrecord", frames.plain([b"%d" % n for n in range(COUNT)]))


class Events:
    """Counts the elements that were made and taken."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.made = self.taken = self.most = 0

    def make(self, element: Any) -> Any:
        with self.changed:
            self.made += 1
            self.most = max(self.most, self.made - self.taken)
            self.changed.notify_all()
        return element

    def take(self, ahead: int) -> None:
        """Use an element, until that many others have been made."""
        with self.changed:
            enough = min(self.taken + 1 + ahead, COUNT)
            assert self.changed.wait_for(lambda: self.made >= enough, HANG), self.made
            self.taken += 1


AHEAD = [1, 2, 5]


@pytest.mark.parametrize("n", AHEAD)
def test_prefetch_makes_n_beside_the_one_in_use(path: Path, n: int) -> None:
    events = Events()
    for _ in tfrecs.Dataset(path).map(events.make).prefetch(n):
        events.take(n)
    assert events.made == events.taken == COUNT
    assert events.most == n + 1, "the one in use and n others"


@pytest.mark.parametrize("n", AHEAD)
def test_tf_prefetch_does_too(path: Path, n: int) -> None:
    events = Events()
    for _ in tf.data.Dataset.of(tfrecs.Dataset(path).map(events.make)).prefetch(n):
        events.take(n)
    assert (events.taken, events.most) == (COUNT, n + 1)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_map_on_threads_makes_two_a_thread(path: Path, threads: int, ordered: bool) -> None:
    events = Events()
    for _ in tfrecs.Dataset(path).map(events.make, num_threads=threads, ordered=ordered):
        events.take(2 * threads)
    assert (events.taken, events.most) == (COUNT, 2 * threads + 1)


def test_bytes_bound_what_is_ahead_but_one(path: Path) -> None:
    events = Events()
    for _ in tfrecs.Dataset(path).map(events.make).prefetch(9, max_bytes=1):
        events.take(1)
    assert (events.taken, events.most) == (COUNT, 2)


@pytest.mark.parametrize("n", AHEAD)
def test_a_loader_has_n_under_way_beside_the_one_in_use(path: Path, n: int) -> None:
    events = Events()
    node = tfrecs.Dataset(path).node
    for _ in Loader(node, 0, Ranks(None, None, "drop", lambda: None), events.make, HostMemory(), n):
        events.take(n)
    assert (events.taken, events.most) == (COUNT, n + 1)


def test_the_cost_follows_the_elements(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, submit = [0], ThreadPoolExecutor.submit

    def counted(self: Any, *args: Any) -> Any:
        jobs[0] += 1
        return submit(self, *args)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", counted)
    assert len(list(tfrecs.Dataset(path).prefetch(100_000))) == COUNT
    assert len(list(tfrecs.Dataset(path).prefetch(100_000, max_bytes=5))) == COUNT
    assert jobs[0] <= 6 * COUNT
