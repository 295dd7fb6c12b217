"""PyTorch's loaders stop and continue: our own, without workers, and torchdata's."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import multiprocessing
from pathlib import Path
from typing import Any

import needs
import pytest
from loading import PLANS, SPEC, dealt, elements, expected, numbers, plain, write

import tfrecs
import tfrecs.testing
from tfrecs import StateError

torch = needs.optional("torch")
stateful = needs.optional("torchdata.stateful_dataloader")
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),  # torchdata 0.11 calls it
]

# To import PyTorch takes seconds, which it need not for each worker.
multiprocessing.set_forkserver_preload(["torch", "tfrecs"])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("examples") / "some.tfrecord")


@pytest.fixture
def ds(path: Path) -> tfrecs.Dataset:
    return tfrecs.Dataset(path, {"number": SPEC["number"]}, num_threads=2).shuffle(5)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(("rank", "ranks"), [(0, 1), (1, 3)])
@pytest.mark.parametrize("remainder", ["drop", "pad"])
def test_loaders_resume_at_every_step(
    ds: tfrecs.Dataset, plan: str, rank: int, ranks: int, remainder: str
) -> None:
    loader = PLANS[plan](ds).to_torch_loader(rank=rank, num_ranks=ranks, remainder=remainder)
    tfrecs.testing.assert_resumes(Plainly(loader))
    tfrecs.testing.assert_resumes(Plainly(with_copies(loader)))


def with_copies(loader: Any) -> Any:
    """The same loader as it is on the way to a device: elements are under way."""
    loader._road, loader._ahead = Copies(), 3
    return loader


class Copies:
    """A way to a device that loses what is not received in order."""

    def send(self, batch: Any) -> Any:
        return [batch]

    def receive(self, sent: Any) -> Any:
        return sent.pop()


class Plainly:
    """Iterators that give lists in place of tensors, to be compared."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Any:
        return PlainIterator(iter(self.loader))


class PlainIterator:
    def __init__(self, it: Any) -> None:
        self.it, self.state_dict, self.load_state_dict = it, it.state_dict, it.load_state_dict

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return plain(next(self.it))


@pytest.mark.parametrize("ahead", [False, True])
def test_a_loader_goes_on_where_it_was(ds: tfrecs.Dataset, ahead: bool) -> None:
    batches = ds.batch(32)
    order = [one for epoch in range(3) for one in expected(batches, epoch)]
    for stop in range(len(order) + 1):
        loaders = [batches.to_torch_loader() for _ in range(2)]
        first, second = map(with_copies, loaders) if ahead else loaders
        passes = itertools.chain.from_iterable(first for _ in range(3))
        assert numbers(itertools.islice(passes, stop)) == order[:stop]
        second.load_state_dict(first.state_dict())
        rest = itertools.chain.from_iterable(second for _ in range(4))
        assert numbers(itertools.islice(rest, len(order) - stop)) == order[stop:]


def test_a_state_after_the_end_is_the_next_epoch(ds: tfrecs.Dataset) -> None:
    loader = ds.batch(32).to_torch_loader()
    numbers(loader)
    again = ds.batch(32).to_torch_loader()
    again.load_state_dict(loader.state_dict())
    assert numbers(again) == expected(ds.batch(32), 1)


@pytest.mark.parametrize("plan", ["native", "mapped", "filtered", "elements"])
def test_other_ranks_go_on(ds: tfrecs.Dataset, plan: str) -> None:
    """Two ranks where three have stopped, each from the state of just one of them."""
    planned = PLANS[plan](ds)
    whole = elements(planned)

    def rank(rank: int, num: int) -> Any:
        return iter(planned.to_torch_loader(rank=rank, num_ranks=num, remainder="uneven"))

    before = [rank(index, 3) for index in range(3)]
    assert dealt(itertools.islice(it, 2) for it in before) == whole[:6]
    for state in (it.state_dict() for it in before):
        after = [rank(index, 2) for index in range(2)]
        for it in after:
            it.load_state_dict(state)
        assert dealt(after) == whole[6:]
        another = rank(2, 3)
        another.load_state_dict(state)
        assert [*map(plain, another)] == whole[8::3]


def test_a_resume_with_other_ranks_is_resumed(ds: tfrecs.Dataset) -> None:
    whole = expected(ds.batch(10), 0)
    first = iter(ds.batch(10).to_torch_loader(rank=0, num_ranks=3))
    next(first)
    state, ranks = first.state_dict(), (2, 4, 1)
    given = 3
    for num in ranks:
        it = iter(ds.batch(10).to_torch_loader(rank=num - 1, num_ranks=num))
        it.load_state_dict(state)
        assert next(it)["number"].tolist() == whole[given + num - 1]
        state, given = it.state_dict(), given + num


def test_foreign_states_are_refused(ds: tfrecs.Dataset) -> None:
    state = ds.batch(32).to_torch_loader().state_dict()
    for other in (ds.batch(16), ds.repeat(2).batch(32)):
        with pytest.raises(StateError, match="another plan"):
            other.to_torch_loader().load_state_dict(state)
    loader = ds.batch(32).to_torch_loader()
    faults: list[tuple[str, Any]] = [
        ("base", 2**62),
        ("base", -1),
        ("given", 9),
        ("given", None),
        ("ranks", [0, 0]),
        ("ranks", [2]),
        ("ranks", [2**24, 2**24 - 1]),
        ("workers", [2, 1]),
        ("at", {}),
        ("at", None),
    ]
    rank = ds.batch(32).to_torch_loader(rank=0, num_ranks=2)
    for name, value in faults:
        with pytest.raises(StateError):
            rank.load_state_dict({**rank.state_dict(), name: value})
    with pytest.raises(StateError):
        loader.load_state_dict({**state, "more": 1})


def test_copies_to_a_device_are_waited_for(
    ds: tfrecs.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked of CUDA, and in which order; there is none where this runs."""
    said: list[Any] = []

    class Stream:
        def __init__(self, device: Any = None) -> None:
            said.append("stream")

        def record_event(self) -> Any:
            said.append("copied")
            return len(said)

        def wait_event(self, event: Any) -> None:
            said.append(("waited", event))

    device = importlib.import_module("tfrecs.integrations.torch.device")
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", contextlib.nullcontext)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda *_: said.append("kept"))
    loader = ds.batch(100).to_torch_loader()
    loader._road, loader._ahead = device.Cuda(torch.device("cpu"), pin=False), 2
    assert numbers(loader) == expected(ds.batch(100))
    received = ["stream", ("waited", 2), "kept"]
    # Two are under way beside the one in use.
    assert said[:7] == ["stream", "copied", "copied", "copied", *received]
    assert said.count("kept") == 3


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA")
def test_without_cuda_batches_stay_in_memory(ds: tfrecs.Dataset) -> None:
    with pytest.warns(UserWarning, match="no CUDA"):
        loader = ds.batch(100).to_torch_loader("cuda")
    assert numbers(loader) == expected(ds.batch(100))
    assert numbers(ds.batch(100).to_torch_loader("cpu", pin_memory=True)) == expected(ds.batch(100))


def fails(batch: Any) -> Any:
    raise KeyError("my own")


def test_an_error_comes_when_it_is_its_turn(ds: tfrecs.Dataset) -> None:
    mapped = ds.batch(10).map(lambda batch: fails(batch) if 7 in batch["number"] else batch)
    order = expected(ds.batch(10))
    place = next(index for index, batch in enumerate(order) if 7 in batch)
    for loader in (mapped.to_torch_loader(), with_copies(mapped.to_torch_loader())):
        it = iter(loader)
        assert numbers(itertools.islice(it, place)) == order[:place]
        with pytest.raises(KeyError, match="my own"):
            next(it)


# --- torchdata's StatefulDataLoader ---


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
@pytest.mark.parametrize("context", ["fork", "forkserver"])
def test_stateful_data_loaders_resume(ds: tfrecs.Dataset, workers: int, context: str) -> None:
    batches = ds.batch(25)
    order = [one for epoch in range(2) for one in expected(batches, epoch)]
    steps = range(0, len(order), 1 + 2 * workers) if context == "fork" else [3]

    def loader() -> Any:
        return stateful.StatefulDataLoader(
            batches.to_torch(),
            batch_size=None,
            num_workers=workers,
            multiprocessing_context=context if workers else None,
        )

    for stop in steps:
        first, second = loader(), loader()
        passes = itertools.chain.from_iterable(first for _ in range(3))
        assert numbers(itertools.islice(passes, stop)) == order[:stop]
        state = first.state_dict()
        del passes
        second.load_state_dict(state)
        rest = itertools.chain.from_iterable(second for _ in range(3))
        assert numbers(itertools.islice(rest, len(order) - stop)) == order[stop:]


def test_an_iterator_that_nothing_was_taken_from_is_no_pass(ds: tfrecs.Dataset) -> None:
    loader = ds.batch(10).to_torch_loader()
    assert iter(loader) is not iter(loader)
    assert numbers(loader) == expected(ds.batch(10), 0)
    it = iter(loader)
    first = [next(it), next(it)]
    again = ds.batch(10).to_torch_loader()
    again.load_state_dict(loader.state_dict())
    iter(again)
    assert numbers(first) + numbers(again) == expected(ds.batch(10), 1)


def test_the_epoch_may_be_set_after_iter(ds: tfrecs.Dataset) -> None:
    loader = ds.batch(10).to_torch_loader()
    it = iter(loader)
    loader.set_epoch(4)
    assert numbers(it) == expected(ds.batch(10), 4)


def test_a_state_counts_for_its_own_epoch_only(ds: tfrecs.Dataset) -> None:
    loader = ds.batch(10).to_torch_loader()
    next(iter(loader))
    state = loader.state_dict()
    for epoch, rest in [(0, 1), (2, 0)]:
        loader.load_state_dict(state)
        loader.set_epoch(epoch)
        assert numbers(loader) == expected(ds.batch(10), epoch)[rest:]


def test_batches_by_number_begin_anywhere(ds: tfrecs.Dataset) -> None:
    loader = ds.batch(10).to_torch_loader()
    for epoch, first in enumerate([0, 3, 22, 23]):
        taken = torch.utils.data.DataLoader(
            loader.dataset,
            batch_sampler=itertools.islice(loader.batch_sampler, first, None),
            collate_fn=loader.collate_fn,
        )
        assert numbers(taken) == expected(ds.batch(10), epoch)[first:]
    assert len(loader.batch_sampler) == 23
