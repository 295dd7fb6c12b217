"""Every record once, in one order, whoever reads, and from any state on."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tfrecs
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.stages.stage import Run

COUNTS = [1, 2, 3, 4, 8, 16]
RECORDS = 533


@pytest.fixture(scope="module", params=["", "GZIP"])
def paths(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, records = tmp_path_factory.mktemp("shards"), map(b"%d".__mod__, range(RECORDS))
    made = []
    for shard, size in enumerate([100, 0, 7, 300, 126]):
        made.append(folder / f"{shard}.tfrecord")
        with tfrecs.RecordWriter(made[-1], request.param) as out:
            out.write_batch(list(itertools.islice(records, size)))
    return made


def as_list(element: Any) -> Any:
    return element.tolist() if hasattr(element, "tolist") else element


def worker(ds: tfrecs.Dataset, num: int, index: int) -> DatasetIterator:
    """What a worker process of a loader iterates over."""
    return DatasetIterator(ds.node, Run(0, (num, index)))


def dealt(iterators: list[Iterator[Any]]) -> list[Any]:
    """What a loader gives: an element of each worker in turn."""
    rounds = itertools.zip_longest(*iterators)
    return [as_list(one) for some in rounds for one in some if one is not None]


def plans(paths: list[Path], threads: int) -> dict[str, tfrecs.Dataset]:
    ds = tfrecs.Dataset(paths, num_threads=threads)
    return {
        "in order": ds.batch(10),
        "shuffled": ds.shuffle(5).batch(10),
        "in windows": ds.shuffle(5, buffer_size=64).batch(10),
        "mapped": ds.shuffle(5).batch(10).map(len),
        "elements": ds.shuffle(5),
        "of Python": ds.map(int).shuffle(5, buffer_size=30).batch(10),
    }


@pytest.mark.parametrize("workers", COUNTS)
@pytest.mark.parametrize("threads", [1, 3])
def test_workers_deal_the_elements_of_one_pass(
    paths: list[Path], workers: int, threads: int
) -> None:
    alone = {name: [*map(as_list, ds)] for name, ds in plans(paths, 2).items()}
    for name, ds in plans(paths, threads).items():
        found = dealt([worker(ds, workers, index) for index in range(workers)])
        assert found == alone[name], name


@pytest.mark.parametrize("ranks", COUNTS)
@pytest.mark.parametrize("threads", COUNTS)
@pytest.mark.parametrize("workers", [1, 3, 16])
def test_ranks_divide_the_records(
    paths: list[Path], ranks: int, workers: int, threads: int
) -> None:
    whole = tfrecs.Dataset(paths, num_threads=threads).shuffle(9)
    order = [int(record) for record in whole]
    assert sorted(order) == list(range(RECORDS))
    for policy in ("uneven", "drop", "pad"):
        shares = []
        for rank in range(ranks):
            ds = whole.shard(ranks, rank, policy).batch(8)
            shares.append(dealt([worker(ds, workers, index) for index in range(workers)]))
        flat = [[int(one) for batch in share for one in batch] for share in shares]
        counts = Counter(itertools.chain.from_iterable(flat))
        if policy == "uneven":
            assert [*itertools.chain.from_iterable(itertools.zip_longest(*flat))][:RECORDS] == order
        else:
            assert len(set(map(len, flat))) == 1, "as many for each"
            assert len(set(map(len, shares))) == 1, "as many batches for each"
        left_out = RECORDS % ranks if policy == "drop" else 0
        assert len(counts) == RECORDS - left_out
        padded = -RECORDS % ranks if policy == "pad" else 0
        assert counts.total() == RECORDS - left_out + padded


@pytest.mark.parametrize(("before", "after"), [*itertools.permutations([1, 2, 3, 4, 8], 2)])
def test_other_ranks_go_on_where_these_stopped(paths: list[Path], before: int, after: int) -> None:
    whole = tfrecs.Dataset(paths).shuffle(9)
    order = [int(record) for record in whole]
    makes: list[Callable[[tfrecs.Dataset], tfrecs.Dataset]] = [
        lambda ds: ds.batch(4),
        lambda ds: ds.map(bytes).batch(4),
        lambda ds: ds,
    ]
    for make in makes:
        steps = 7
        states, seen = [], []
        for rank in range(before):
            it = iter(make(whole.shard(before, rank)))
            some = [as_list(next(it)) for _ in range(steps)]
            seen += [int(one) for got in some for one in (got if isinstance(got, list) else [got])]
            states.append(json.loads(json.dumps(it.state_dict())))
        rest = []
        for rank in range(after):
            again = iter(make(whole.shard(after, rank)))
            again.load_state_dict(states[rank % before])
            got = [one for element in again for one in [as_list(element)]]
            rest.append(
                [int(one) for some in got for one in (some if isinstance(some, list) else [some])]
            )
        assert sorted(seen) == sorted(order[: len(seen)])
        flat = [one for some in itertools.zip_longest(*rest) for one in some if one is not None]
        assert flat == order[len(seen) :]
