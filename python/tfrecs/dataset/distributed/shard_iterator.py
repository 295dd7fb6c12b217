"""A pass whose elements are dealt out, to ranks that train together and to the workers of each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfrecs._internal.wording import counted
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.order import ENDLESS, Length
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.run.timings import DatasetTimings
from tfrecs.dataset.stages.stage import Run
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.dataset.transforms.batch import Batch
from tfrecs.dataset.transforms.map import Map
from tfrecs.dataset.transforms.prefetch import Prefetch
from tfrecs.dataset.transforms.shard import Shard
from tfrecs.dataset.transforms.take import Skip
from tfrecs.errors import StateError

MOST_RANKS = 1 << 24


@dataclass(frozen=True)
class Part:
    """One rank's elements, or those that one of its workers gives.

    Element i is rank i % num_ranks's; element j of a rank comes from worker j % num_workers.

    Attributes:
        rank: Which rank.
        num_ranks: Of how many.
        remainder: What becomes of a last round of fewer elements than ranks, as for shard().
        worker: Which of its workers.
        num_workers: Of how many.
    """

    rank: int = 0
    num_ranks: int = 1
    remainder: str = "drop"
    worker: int = 0
    num_workers: int = 1

    def length(self, whole: Length) -> Length:
        """Return how many elements the rank has, of that many."""
        if not isinstance(whole, int):
            return whole
        rounds, rest = divmod(whole, self.num_ranks)
        extra = {"uneven": self.rank < rest, "drop": False, "pad": rest > 0}[self.remainder]
        return rounds + extra

    @property
    def is_even(self) -> bool:
        """Whether it must be known how many elements there are for all ranks to have as many."""
        return self.num_ranks > 1 and self.remainder != "uneven"

    @property
    def stripe(self) -> tuple[int, int] | None:
        """The worker's elements among those of all ranks."""
        num = self.num_ranks * self.num_workers
        return (num, self.rank + self.num_ranks * self.worker) if num > 1 else None


class ShardIterator(Iterator[Any]):
    """Iterates over a part of a pass.

    Where only records of files are batched, nothing of the other parts is read. A state can be
    loaded by any rank, of any number of them, if there is one worker.
    """

    def __init__(self, node: Node, epoch: int, part: Part, base: int = 0) -> None:
        """Begin with the part's first element after the first `base` of the pass."""
        self._node = node
        self._part = part
        self._begin(epoch, base)

    def _begin(self, epoch: int, base: int) -> None:
        """Deal out what is after the first `base` elements."""
        part, node = self._part, _after(self._node, base)
        self._base = base
        self._given = 0
        self._most: Length = ENDLESS
        self._last: DatasetIterator | None = None
        stripe = part.stripe
        length = node.length() if part.is_even else ENDLESS
        if length is None:
            # It is unknown before all is read, so each rank reads all.
            node = Shard(node, part.num_ranks, part.rank, part.remainder)
            stripe = replace(part, num_ranks=1, rank=0).stripe
        elif isinstance(length, int):
            self._most = self._own(length)
            self._last = self._again(node, epoch, length)
        self._it = DatasetIterator(node, Run(epoch, stripe))

    def _own(self, length: int) -> int:
        """Return how many elements the worker has."""
        mine = self._part.length(length)
        assert isinstance(mine, int)
        return max(-(-(mine - self._part.worker) // self._part.num_workers), 0)

    def _again(self, node: Node, epoch: int, length: int) -> DatasetIterator | None:
        """Return what gives the element that comes again, so that the rank has as many."""
        part = self._part
        rounds, rest = divmod(length, part.num_ranks)
        if part.remainder != "pad" or part.rank < rest or not rest:
            return None
        if rounds % part.num_workers != part.worker:
            return None
        return DatasetIterator(
            node, Run(epoch, (length, rounds * part.num_ranks + part.rank % rest))
        )

    def __next__(self) -> Any:
        """Return the next element."""
        if self._given == self._most:
            raise StopIteration
        is_last = self._last is not None and self._given + 1 == self._most
        element = next(self._last if is_last and self._last is not None else self._it)
        self._given += 1
        return element

    @property
    def epoch(self) -> int:
        """Which pass it is."""
        return self._it.epoch

    def left(self) -> Length:
        """Return how many elements are to come, if there is one worker; files are counted for that.

        math.inf without end; None if unknown.
        """
        length = self._part.length(_after(self._node, self._base).length())
        return length - self._given if isinstance(length, int) else length

    def place(self) -> tuple[int, State]:
        """Return just where it is, for a `state_dict` of it that is made later."""
        return self._given, self._it.place()

    def state_dict(self, place: tuple[int, State] | None = None) -> State:
        """Return where it is, after the element that came last, or where it was."""
        given, at = place or (self._given, None)
        return {
            "base": self._base,
            "given": given,
            "ranks": [self._part.num_ranks, self._part.rank],
            "workers": [self._part.num_workers, self._part.worker],
            "at": self._it.state_dict(at),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state` says.

        Raises:
            StateError: It is none, or of another plan, other files, or another number of workers.
                The iterator is where it was.
        """
        like = _of_state(self._node, state, self._part)
        if like.is_of_rank(self._part):
            self.close()
            self.__dict__.update(like.__dict__)
            return
        like.close()
        if self._part.num_workers > 1:
            raise StateError(
                f"the state is one of {like.rank}, and here is {self.rank}: that goes without "
                "workers only, or by load_state_dict() of the dataset that they share"
            )
        self.close()
        self._begin(like.epoch, like.given.further(like.count).elements)

    def go_on(self, at: State, given: int) -> None:
        """Continue where a state of the pass says, after the first `given` elements.

        Raises:
            StateError: It is none, or there are not that many.
        """
        self._it.load_state_dict(at)
        if self._most is not None and given > self._most:
            raise StateError(f"the state is after element {given}, and there are {self._most}")
        self._given = given

    def is_of_rank(self, part: Part) -> bool:
        """Whether it gives elements of the same rank, of as many."""
        return (self._part.num_ranks, self._part.rank) == (part.num_ranks, part.rank)

    @property
    def rank(self) -> str:
        """Whose elements it gives, in words."""
        return f"rank {self._part.rank} of {self._part.num_ranks}"

    @property
    def count(self) -> int:
        """How many elements it has given."""
        return self._given

    @property
    def given(self) -> Given:
        """Where the pass was when it began."""
        return Given(self.epoch, self._base, 0, self._part.num_ranks)

    def timings(self) -> DatasetTimings:
        """Return what it has given so far, and where the time went."""
        return self._it.timings()

    def close(self) -> None:
        """Let go of threads and files. Nothing comes any more."""
        self._it.close()
        if self._last is not None:
            self._last.close()


@dataclass(frozen=True)
class Given:
    """How far a pass has come, of which ranks have given equally many elements.

    Attributes:
        epoch: Which pass.
        base: How many elements were given before these ranks began.
        of_rank: How many each of them has given.
        num_ranks: How many they are.
    """

    epoch: int
    base: int
    of_rank: int
    num_ranks: int

    @property
    def elements(self) -> int:
        """How many elements all of them have given."""
        return self.base + self.of_rank * self.num_ranks

    def further(self, count: int) -> Given:
        """Return where the pass is when each rank has given `count` more."""
        return replace(self, of_rank=self.of_rank + count)

    def next_epoch(self) -> Given:
        """Return the beginning of the pass after this one."""
        return Given(self.epoch + 1, 0, 0, 1)


def given_by(node: Node, remainder: str, states: Sequence[Any]) -> Given:
    """Return how far a pass has come, by the states of all workers of one rank, in order.

    Raises:
        StateError: One is none, or of another plan or other files; they are not of one pass, or not
            of all its workers; or what these have given is not the beginning of the pass, so that
            no others can continue.
    """
    passes, counts = set(), []
    for worker, state in enumerate(states):
        part = Part(remainder=remainder, worker=worker, num_workers=len(states))
        with contextlib.closing(_of_state(node, state, part)) as it:
            passes.add(it.given)
            counts.append(it.count)
    if len(passes) != 1:
        raise StateError("the states of these workers are not of one pass")
    total, num = sum(counts), len(counts)
    if counts != [-(-(total - worker) // num) for worker in range(num)]:
        raise StateError(
            f"{counted(num, 'worker')} gave {counts} elements, which is not the beginning of the "
            "pass: the same number of workers can continue from it, if the loader makes batches of "
            "elements"
        )
    return passes.pop().further(total)


def _of_state(node: Node, state: Any, part: Part) -> ShardIterator:
    """Return the iterator that a state is one of, of its own rank and of this worker.

    Raises:
        StateError: It is none, or of another plan, other files, or another worker.
    """
    saved = Saved(state).only(["base", "given", "ranks", "workers", "at"])
    given, theirs = saved.integer("given"), _part_of(saved, part)
    try:
        epoch = saved.child("at").integer("epoch")
        made = ShardIterator(node, epoch, theirs, saved.integer("base"))
    except OverflowError as error:
        raise StateError(f"the state is not one of this dataset: {error}") from error
    try:
        made.go_on(saved.child("at").value, given)
    except StateError:
        made.close()
        raise
    return made


def _part_of(saved: Saved, part: Part) -> Part:
    ranks = saved.integers("ranks", 2, MOST_RANKS)
    if not saved.is_same("workers", [part.num_workers, part.worker]):
        raise StateError(
            "the state is of one of several workers, or this is one: the same number of "
            "workers, and the same one, can continue from it"
        )
    num, rank = ranks if len(ranks) == 2 else (0, 0)  # noqa: PLR2004 - a pair
    if rank >= num:
        raise StateError(f"the state is not one of this dataset: there are no ranks {ranks}")
    return replace(part, num_ranks=num, rank=rank)


def _after(node: Node, count: int) -> Node:
    """Return what gives the elements of a step after the first ones, reading no others."""
    if count == 0:
        return node
    if isinstance(node, Batch) and node.source.order() is not None:
        return replace(node, source=Skip(node.source, count * node.size))
    if isinstance(node, Map | Prefetch):
        return replace(node, source=_after(node.source, count))
    return Skip(node, count)
