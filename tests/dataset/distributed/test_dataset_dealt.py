"""A pass that is dealt out to ranks and workers, without a training library."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfrecs
from tfrecs.dataset.distributed.ranks import Ranks
from tfrecs.dataset.distributed.shard_iterator import Given, Part, ShardIterator, given_by

RECORDS = 53

MAKES: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "batches": lambda ds: ds.shuffle(3).batch(4),
    "mapped": lambda ds: ds.shuffle(3).batch(4).map(list),
    "elements": lambda ds: ds.shuffle(3),
    "in Python": lambda ds: ds.map(int).shuffle(3, buffer_size=9),
    "length unknown": lambda ds: ds.filter(lambda record: record != b"7").batch(3),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dealt") / "a"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([b"%d" % n for n in range(RECORDS)])
    return path


def as_list(element: Any) -> Any:
    return element.tolist() if hasattr(element, "tolist") else element


def state_of(it: ShardIterator) -> Any:
    return json.loads(json.dumps(it.state_dict()))


def in_turn(iterators: list[ShardIterator]) -> list[Any]:
    rounds = itertools.zip_longest(*iterators)
    return [as_list(one) for some in rounds for one in some if one is not None]


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize(("before", "after"), [*itertools.permutations([1, 2, 3, 4], 2)])
def test_other_ranks_resume_from_one_ranks_state(
    path: Path, make: str, before: int, after: int
) -> None:
    ds = MAKES[make](tfrecs.Dataset(path))
    order = [as_list(one) for one in ds]
    for steps, rank in itertools.product([0, 1, 3], range(before)):
        it = ShardIterator(ds.node, 0, Part(rank, before, "uneven"))
        assert [as_list(one) for one in itertools.islice(it, steps)] == order[rank::before][:steps]
        others = [ShardIterator(ds.node, 0, Part(other, after, "uneven")) for other in range(after)]
        for other in others:
            other.load_state_dict(state_of(it))
        assert in_turn(others) == order[steps * before :]


def test_the_state_of_one_rank_is_that_of_a_whole_pass(path: Path) -> None:
    """It names no stripe, so that releases before and after agree on the state."""
    ds = tfrecs.Dataset(path).shuffle(3)
    it = ShardIterator(ds.node, 0, Part(0, 1, "uneven"))
    whole = iter(ds)
    assert [next(it) for _ in range(4)] == [next(whole) for _ in range(4)]
    assert state_of(it)["at"] == json.loads(json.dumps(whole.state_dict()))


def test_a_state_of_other_ranks_is_loaded_again(path: Path) -> None:
    """Three ranks, then two, then one."""
    ds = tfrecs.Dataset(path).shuffle(3)
    order, at, states = [*ds], 0, None
    for ranks, steps in ((3, 4), (2, 5), (1, 6)):
        its = [ShardIterator(ds.node, 0, Part(rank, ranks, "uneven")) for rank in range(ranks)]
        for it in its:
            if states is not None:
                it.load_state_dict(states)
        taken = [next(it) for _ in range(steps) for it in its]
        assert taken == order[at : at + ranks * steps]
        at, states = at + ranks * steps, state_of(its[0])


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("given", [0, 1, 5, 9])
def test_the_states_of_all_workers_are_one_number(path: Path, workers: int, given: int) -> None:
    ds = tfrecs.Dataset(path).batch(4)
    states = []
    for worker in range(workers):
        it = ShardIterator(ds.node, 2, Part(worker=worker, num_workers=workers))
        list(itertools.islice(it, -(-(given - worker) // workers)))
        states.append(state_of(it))
    found = given_by(ds.node, "drop", states)
    assert found == Given(2, 0, given, 1)
    assert found.elements == given
    assert found.next_epoch() == Given(3, 0, 0, 1)


def test_another_number_of_workers_needs_all_their_states(path: Path) -> None:
    ds = tfrecs.Dataset(path).batch(4)
    it = ShardIterator(ds.node, 0, Part(0, 2, worker=1, num_workers=2))
    next(it)
    other = ShardIterator(ds.node, 0, Part(1, 2, worker=1, num_workers=2))
    with pytest.raises(tfrecs.StateError, match="one of rank 0 of 2, and here is rank 1 of 2: "):
        other.load_state_dict(state_of(it))
    with pytest.raises(tfrecs.StateError, match="same number of workers"):
        ShardIterator(ds.node, 0, Part(0, 2)).load_state_dict(state_of(it))


def test_a_wrong_remainder_names_those_there_are(path: Path) -> None:
    text = "remainder must be one of uneven, drop, pad, not 'none'"
    with pytest.raises(tfrecs.SpecError, match=f"^{text}$"):
        Ranks(0, 2, "none", lambda: (0, 1))
    with pytest.raises(tfrecs.SpecError, match=f"^{text}$"):
        tfrecs.Dataset(path).shard(2, 0, "none")
