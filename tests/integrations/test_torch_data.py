"""Datasets in PyTorch's DataLoader: the same elements in the same order, whoever loads them."""

from __future__ import annotations

import gc
import importlib
import itertools
import multiprocessing
import pickle
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import needs
import pytest
from loading import PLANS, RECORDS, SPEC, dealt, divided, elements, expected, numbers, write

import tfrecs
from tfrecs.dataset.distributed.shard_iterator import Part, ShardIterator
from tfrecs.errors import MissingFileError

torch = needs.optional("torch")
DataLoader = torch.utils.data.DataLoader

# This machine may have fewer cores than a test has workers.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

CONTEXTS = ["fork", "forkserver", "spawn"]
# To import PyTorch takes seconds, which it need not for each worker.
multiprocessing.set_forkserver_preload(["torch", "tfrecs"])

# Workers, how they begin, whether they are kept, and passes; spawned ones take seconds each.
LOADERS = [
    *[(0, None, False, 3)],
    *itertools.product([1, 2, 3], ["fork", "forkserver"], [False, True], [3]),
    *[(1, "spawn", True, 2), (2, "spawn", False, 2), (3, "spawn", True, 2)],
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("examples") / "some.tfrecord")


@pytest.fixture
def ds(path: Path) -> tfrecs.Dataset:
    return tfrecs.Dataset(path, {"number": SPEC["number"]}, num_threads=2).shuffle(5)


@pytest.mark.parametrize(("workers", "context", "persistent", "passes"), LOADERS)
def test_the_same_batches_whoever_loads_them(
    ds: tfrecs.Dataset, workers: int, context: str | None, persistent: bool, passes: int
) -> None:
    batches = ds.batch(16)
    loader = DataLoader(
        batches.to_torch(),
        batch_size=None,
        num_workers=workers,
        multiprocessing_context=context,
        persistent_workers=persistent,
    )
    assert len(loader) == 15
    found = [numbers(loader) for _ in range(passes)]
    assert found == [expected(batches, epoch) for epoch in range(passes)]
    assert found[0] != found[1]
    assert sorted(itertools.chain(*found[0])) == list(range(RECORDS))


def test_epochs_are_said_and_counted_on(ds: tfrecs.Dataset) -> None:
    batches = ds.batch(100)
    dataset = batches.to_torch()
    for workers in (0, 2, 3, 0):
        loader = DataLoader(dataset, batch_size=None, num_workers=workers)
        dataset.set_epoch(7)
        assert numbers(loader) == expected(batches, 7)
        assert numbers(loader) == expected(batches, 8)
    # Other loaders over the same dataset, with other numbers of workers, count on too.
    for epoch, workers in enumerate([1, 3, 0, 2], start=9):
        loader = DataLoader(dataset, batch_size=None, num_workers=workers)
        assert numbers(loader) == expected(batches, epoch)
    batches.set_epoch(4)
    assert numbers(batches.to_torch()) == expected(batches, 4)


@pytest.mark.parametrize("persistent", [False, True])
def test_passes_given_up_at_once_leave_workers_in_step(
    ds: tfrecs.Dataset, persistent: bool
) -> None:
    batches = ds.batch(16)
    dataset = batches.to_torch()
    loader = DataLoader(dataset, batch_size=None, num_workers=3, persistent_workers=persistent)
    for epoch in range(12):
        torch.manual_seed(0)  # even where each pass draws the same seed for its workers
        if epoch % 4 == 3:
            assert numbers(loader) == expected(batches, epoch)
        else:
            assert next(iter(loader))["number"].tolist() == expected(batches, epoch)[0]


def test_workers_that_missed_a_pass_are_in_step(ds: tfrecs.Dataset) -> None:
    """A pass given up before its second worker has begun; in both orders of arrival."""
    counting = importlib.import_module("tfrecs.integrations.torch.epochs")

    def arrival(worker: int, cohort: int, number: int = 0) -> Any:
        return counting.Pass(1234, number, 2, worker, cohort)

    epochs = counting.Epochs(0)
    assert epochs.next(arrival(0, 1)) == (0, 0)
    assert [epochs.next(arrival(worker, 3)) for worker in (1, 0)] == [(1, 0), (1, 0)]
    assert [epochs.next(arrival(worker, 5)) for worker in (0, 1)] == [(2, 0), (2, 0)]
    # Workers that are kept come again; other processes were started between the two.
    kept = [epochs.next(arrival(worker, 5 + worker, number=1)) for worker in (0, 1)]
    assert kept == [(3, 0), (3, 0)]
    epochs.go_on(8, 40, in_worker=False)
    assert [epochs.next(arrival(worker, 9)) for worker in (1, 0)] == [(8, 40), (8, 40)]
    assert epochs.next(None) == (9, 0)


def test_elements_that_are_collated_by_the_loader(ds: tfrecs.Dataset) -> None:
    loader = DataLoader(ds.to_torch(), batch_size=50, num_workers=2)
    found = [n for batch in loader for n in batch["number"].tolist()]
    assert sorted(found) == list(range(RECORDS))
    # Each worker makes batches of its own half.
    assert [len(batch["number"]) for batch in loader] == [50, 50, 50, 50, 15, 15]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("remainder", ["drop", "pad", "uneven"])
def test_ranks_and_workers_divide_one_order(
    ds: tfrecs.Dataset, plan: str, ranks: int, remainder: str
) -> None:
    planned = PLANS[plan](ds)
    whole = elements(planned)
    rest = len(whole) % ranks
    last = whole[len(whole) - rest :]
    for workers in (1, 2, 3):
        found = [rank_of(planned, Part(rank, ranks, remainder), workers) for rank in range(ranks)]
        wanted = {
            "drop": whole[: len(whole) - rest],
            "pad": whole + [last[place % rest] for place in range(rest, ranks) if rest],
            "uneven": whole,
        }
        assert dealt(found) == wanted[remainder]
        assert len({*map(len, found)}) == 1 or remainder == "uneven"


def rank_of(ds: tfrecs.Dataset, part: Part, workers: int) -> list[Any]:
    """What a DataLoader gives a rank, without its processes."""
    return dealt(
        ShardIterator(ds.node, 0, replace(part, worker=worker, num_workers=workers))
        for worker in range(workers)
    )


@pytest.mark.parametrize("context", ["fork", "forkserver"])
def test_ranks_with_workers(ds: tfrecs.Dataset, context: str) -> None:
    batches = ds.batch(16)
    found = []
    for rank in range(2):
        dataset = batches.to_torch(rank=rank, num_ranks=2)
        loader = DataLoader(
            dataset, batch_size=None, num_workers=3, multiprocessing_context=context
        )
        assert len(loader) == 7
        found.append(numbers(loader))
    assert [one for both in zip(*found, strict=True) for one in both] == expected(batches, 0)[:14]


@pytest.mark.parametrize("context", [None, "spawn"])
def test_ranks_of_torch_distributed(
    ds: tfrecs.Dataset, tmp_path: Path, context: str | None
) -> None:
    dataset = ds.batch(16).to_torch(remainder="pad")
    loader = ds.batch(16).to_torch_loader()
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        workers = 1 if context else 0
        torch_loader = DataLoader(
            dataset, batch_size=None, num_workers=workers, multiprocessing_context=context
        )
        assert numbers(torch_loader) == numbers(loader) == expected(ds.batch(16), 0)
    finally:
        torch.distributed.destroy_process_group()


def train_rank(rank: int, dataset: Any, folder: Path, context: str | None) -> None:
    store = torch.distributed.FileStore(str(folder / "store"), 2)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
    workers = 2 if context else 0
    loader = DataLoader(
        dataset, batch_size=None, num_workers=workers, multiprocessing_context=context
    )
    passes = [numbers(loader) for _ in range(2)]
    (folder / f"{rank}.pickle").write_bytes(pickle.dumps(passes))
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("context", [None, "fork"])
def test_two_ranks_in_processes_of_their_own(
    ds: tfrecs.Dataset, tmp_path: Path, context: str | None
) -> None:
    batches = ds.batch(16)
    arguments = (batches.to_torch(), tmp_path, context)
    torch.multiprocessing.spawn(train_rank, arguments, nprocs=2)
    ranks = [pickle.loads((tmp_path / f"{rank}.pickle").read_bytes()) for rank in range(2)]
    for epoch, both in enumerate(zip(*ranks, strict=True)):
        dealt = [one for some in zip(*both, strict=True) for one in some]
        assert dealt == expected(batches, epoch)[:14]


# --- Errors, threads, processes ---


@pytest.mark.parametrize("context", [None, *CONTEXTS])
def test_errors_in_workers_keep_their_place(tmp_path: Path, context: str | None) -> None:
    path = tmp_path / "bad.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([b"%04d" % n for n in range(100)])
    damaged = bytearray(path.read_bytes())
    damaged[20 * 57 + 13] ^= 1
    path.write_bytes(damaged)
    loader = DataLoader(
        tfrecs.Dataset(path).batch(10).to_torch(),
        batch_size=None,
        num_workers=1 if context else 0,
        multiprocessing_context=context,
    )
    it = iter(loader)
    assert len([*itertools.islice(it, 5)]) == 5
    with pytest.raises(tfrecs.CorruptRecordError, match="record 57 at byte 1140") as caught:
        next(it)
    error = caught.value
    assert type(error) is tfrecs.CorruptRecordError
    assert (error.path, error.record, error.offset) == (str(path), 57, 1140)
    assert "the checksum of its data does not match" in error.reason
    again = pickle.loads(pickle.dumps(error))
    assert (again.record, str(again)) == (57, str(error))


def test_missing_files_in_workers(tmp_path: Path) -> None:
    path = tmp_path / "gone.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write(b"here")
    dataset = tfrecs.Dataset(path).batch(1).to_torch()
    path.unlink()
    with pytest.raises(MissingFileError) as caught:
        list(DataLoader(dataset, batch_size=None, num_workers=1))
    assert caught.value.path == str(path)


@pytest.mark.parametrize("context", [None, *CONTEXTS])
@pytest.mark.parametrize("threads", [0, 2])
def test_a_users_own_error(ds: tfrecs.Dataset, context: str | None, threads: int) -> None:
    """It comes from a worker with its cause, and where in the plan it was raised."""
    batches = ds.batch(10).map(divided, num_threads=threads)
    loader = DataLoader(
        batches.to_torch(),
        batch_size=None,
        num_workers=2 if context else 0,
        multiprocessing_context=context,
    )
    it, order = iter(loader), expected(ds.batch(10))
    place = next(index for index, batch in enumerate(order) if 7 in batch)
    assert len([*itertools.islice(it, place)]) == place
    with pytest.raises(ValueError, match="seven is mine") as caught:
        next(it)
    said = "".join(traceback.format_exception(caught.value))
    for what in ("ZeroDivisionError", "in .map(loading.divided", "of a Dataset"):
        assert what in said


def test_what_is_given_up_leaves_nothing(ds: tfrecs.Dataset) -> None:
    def native() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    def settled(before: int) -> bool:
        for _ in range(100):
            if native() <= before:
                return True
            time.sleep(0.05)
        return False

    # What other tests have left is theirs.
    gc.collect()
    others = set(multiprocessing.active_children())
    numbers(ds.batch(8).to_torch_loader())
    before, python = native(), threading.active_count()
    it = iter(ds.batch(8).to_torch_loader())
    next(it)
    del it
    loader = DataLoader(ds.batch(8).to_torch(), batch_size=None, num_workers=2)
    it = iter(loader)
    next(it)
    del it, loader
    assert settled(before)
    assert threading.active_count() == python
    assert set(multiprocessing.active_children()) <= others


def test_the_file_that_counts_epochs_is_removed(ds: tfrecs.Dataset) -> None:
    dataset = ds.batch(8).to_torch()
    copy = pickle.loads(pickle.dumps(dataset))
    path = dataset._epochs._path
    assert copy._epochs._path == path
    del copy
    assert path.exists()
    del dataset
    assert not path.exists()


@pytest.mark.parametrize(("context", "starts"), [("fork", 70), ("forkserver", 26), ("spawn", 4)])
def test_loaders_start_beside_threads_that_run(context: str, starts: int) -> None:
    program = Path(__file__).with_name("starts.py")
    command = [sys.executable, "-W", "ignore", str(program), context, "--starts", str(starts)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert "no hang" in run.stdout, run.stderr
