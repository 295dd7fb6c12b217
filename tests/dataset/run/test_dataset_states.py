"""States of iterators: what is refused, and what any other JSON does."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import SPEC, STEPS, example, without_samples
from states import places, state_of

import tfrecs


def save(path: Path, count: int) -> Path:
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([example(n) for n in range(count)])
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("states") / "a.tfrecord", 24)


def test_it_says_what_differs(path: Path) -> None:
    ds = tfrecs.Dataset(path, SPEC)
    state = state_of(ds.shuffle(1).batch(2))
    for other, what in {
        "of another plan: step 2 is '.shuffle(2)' here": ds.shuffle(2).batch(2),
        "of another plan: step 3 is '.batch(3)' here": ds.shuffle(1).batch(3),
        "of another plan: step 1 is 'Dataset' here": tfrecs.Dataset(path).shuffle(1).batch(2),
        "of another plan, of 3 steps; this one has 2": ds.shuffle(1),
    }.items():
        with pytest.raises(tfrecs.StateError, match=other.replace("(", r"\(").replace(")", r"\)")):
            iter(what).load_state_dict(state)


SINCE: list[Callable[[tfrecs.Dataset], tfrecs.Dataset]] = [
    lambda shard: shard.shuffle(1).batch(2),
    lambda shard: shard.take(5),
    lambda shard: shard.shard(2, 0),
    lambda shard: shard.repeat(2).batch(3),
]


@pytest.mark.parametrize("since", SINCE)
def test_shards_that_something_was_done_to_since_are_others(
    path: Path, since: Callable[[tfrecs.Dataset], tfrecs.Dataset]
) -> None:
    """Two shards have another order than four, so that nothing of one continues in the other."""
    ds = tfrecs.Dataset(path)
    state = state_of(since(ds.shard(4, 0)))
    with pytest.raises(tfrecs.StateError, match="of another number of shards"):
        iter(since(ds.shard(2, 0))).load_state_dict(state)
    with pytest.raises(tfrecs.StateError):
        iter(since(ds)).load_state_dict(state)
    rest = iter(since(ds.shard(4, 0)))
    rest.load_state_dict(state)
    assert [list(one) for one in rest] == [list(one) for one in since(ds.shard(4, 0))][2:]


def test_other_files_are_refused_and_moved_ones_are_not(tmp_path: Path) -> None:
    first = save(tmp_path / "a.tfrecord", 24)
    state = state_of(tfrecs.Dataset(first))
    with pytest.raises(tfrecs.StateError, match="of other files: of 1 with"):
        iter(tfrecs.Dataset(save(tmp_path / "b.tfrecord", 25))).load_state_dict(state)
    with pytest.raises(tfrecs.StateError, match="as many and as large together"):
        iter(tfrecs.Dataset(save(tmp_path / "c.tfrecord", 24))).load_state_dict(state)
    (tmp_path / "elsewhere").mkdir()
    moved = first.rename(tmp_path / "elsewhere" / "a.tfrecord")
    it = iter(tfrecs.Dataset(moved))
    it.load_state_dict(state)
    assert list(it) == [example(n) for n in range(2, 24)]


def test_a_refused_state_changes_nothing(path: Path) -> None:
    it = iter(tfrecs.Dataset(path))
    first = next(it)
    wrongs: list[Any] = [{}, [], None, 3, "state", {"tfrecs": 99}]
    for wrong in wrongs:
        with pytest.raises(tfrecs.StateError):
            it.load_state_dict(wrong)
    state = it.state_dict()
    assert first == example(0)
    assert next(it) == example(1)
    with pytest.raises(tfrecs.StateError, match="version 2"):
        it.load_state_dict(state | {"tfrecs": 2})
    it.close()
    it.close()
    with pytest.raises(StopIteration):
        next(it)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(0, 9), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2),
)


@settings(max_examples=400, deadline=None)
@given(
    name=st.sampled_from(sorted(STEPS)),
    steps=st.integers(0, 4),
    data=st.data(),
)
def test_any_other_state_is_refused_or_is_one(
    path: Path, name: str, steps: int, data: st.DataObject
) -> None:
    """No other error, no endless work: whatever is loaded can be iterated over."""
    ds = STEPS[name](tfrecs.Dataset(path, SPEC))
    state = copy.deepcopy(state_of(ds, steps))
    place = data.draw(st.sampled_from(places(state)))
    parent = state
    for key in place[:-1]:
        parent = parent[key]
    if data.draw(st.booleans()) and isinstance(parent, dict):
        del parent[place[-1]]
    else:
        parent[place[-1]] = data.draw(JUNK)
    it = iter(ds)
    before = it.state_dict()
    if is_loaded(it, state):
        list(islice(it, 100))
        assert json.dumps(it.state_dict())
    else:
        assert without_samples(it.state_dict()) == without_samples(before)
    it.close()


def is_loaded(it: Any, state: Any) -> bool:
    try:
        it.load_state_dict(state)
    except tfrecs.StateError:
        return False
    return True
