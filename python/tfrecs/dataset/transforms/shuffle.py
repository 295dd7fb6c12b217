"""shuffle(): another order in each epoch, the same ones in each run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from tfrecs import _core
from tfrecs.dataset.plan.node import Step, Traits
from tfrecs.dataset.plan.order import RecordOrder
from tfrecs.dataset.plan.order_steps import ShuffleRecords, ShuffleWindow
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import Saved, State


@dataclass(frozen=True, eq=False)
class Shuffle(
    Step,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=False),
):
    """All records of the source in random order.

    Of files that are not compressed, any order is as likely as any other. If one is compressed,
    to read a single record means to inflate up to 1 MiB before it; so blocks of about 2 MiB of
    records are shuffled among themselves, and then the records in windows of 16 blocks. Each block
    is read at once, by whoever needs it first, and the order depends on nothing but the files.
    """

    seed: int

    def describe(self) -> str:
        """Return the call."""
        return f"  .shuffle({self.seed})"

    def order(self) -> RecordOrder | None:
        """Return the records in that order; shuffle() has seen to it that the source has one."""
        order = self.source.order()
        return None if order is None else order.then(ShuffleRecords(self.seed))


@dataclass(frozen=True, eq=False)
class BufferShuffle(
    Step,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=False),
):
    """Any elements in an order that is random as far as a buffer reaches.

    Blocks of `buffer_size` elements are shuffled, and what comes of that once more, in blocks that
    begin in the middle of the first ones. So an element gets up to one and a half blocks away, a
    source that fits into the buffer is shuffled uniformly, and where one is in that order is known
    by number.
    """

    seed: int
    buffer_size: int

    def describe(self) -> str:
        """Return the call."""
        return f"  .shuffle({self.seed}, buffer_size={self.buffer_size})"

    def order(self) -> RecordOrder | None:
        """Return the records in that order, which can be computed."""
        order = self.source.order()
        return None if order is None else order.then(ShuffleWindow(self.seed, self.buffer_size))

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first block, or those that a state says."""
        return _BufferShuffle(self, run, saved)


class _BufferShuffle(ChainedStage):
    """Two layers of shuffled blocks; the second one's begin in the middle of the first one's.

    What it begins from again is where the source was before the oldest block of the first layer
    that the present one of the second is made of, and how many of that have been given.
    """

    def __init__(self, node: BufferShuffle, run: Run, saved: Saved | None) -> None:
        self._node = node
        self._epoch = run.epoch
        given, inner, self._block = 0, None, 0
        if saved is not None:
            saved.only(["source", "block", "given"])
            inner = saved.child("source")
            self._block = saved.integer("block", most=_MOST_BLOCKS)
            given = saved.integer("given", most=2 * node.buffer_size)
        super().__init__(start(node.source, run.whole(), inner))
        self._start = self._next_start = self._source.state()
        self._rest: list[Any] = []
        if self._block:
            self._rest = self._first_layer(self._block - 1)[self._half :]
        self._fill()
        self.skip(given)

    @property
    def _half(self) -> int:
        return self._node.buffer_size // 2

    def _fill(self) -> None:
        """Make the block of the second layer ready."""
        self._start, self._next_start = self._next_start, self._source.state()
        fresh = self._first_layer(self._block)
        block = self._rest + fresh[: self._half]
        self._rest = fresh[self._half :]
        self._ready = iter(self._shuffled(block, 2 * self._block + 1))
        self._is_last = not block and not self._rest
        self._given = 0

    def _first_layer(self, block: int) -> list[Any]:
        return self._shuffled(list(islice(self._source, self._node.buffer_size)), 2 * block)

    def _shuffled(self, elements: list[Any], number: int) -> list[Any]:
        order = _core.Order(len(elements)).shuffle(self._node.seed)
        epoch = (self._epoch * 2 * _MOST_BLOCKS + number) % 2**64
        return [elements[place] for place in order.records(0, len(elements), epoch)]

    def __next__(self) -> Any:
        while not self._is_last:
            for element in self._ready:
                self._given += 1
                return element
            self._block += 1
            self._fill()
        raise StopIteration

    def state(self) -> State:
        """Return where the source was before what is held, and how far that has been given."""
        return {"source": self._start, "block": self._block, "given": self._given}


# More blocks than anybody has.
_MOST_BLOCKS = 2**40
