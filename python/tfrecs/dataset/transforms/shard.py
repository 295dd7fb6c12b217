"""shard(): the elements i, i + n, i + 2n and so on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from tfrecs.dataset.plan.node import Step, Traits
from tfrecs.dataset.plan.order import Length, RecordOrder
from tfrecs.dataset.plan.order_steps import ShardRecords
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import Saved, State

POLICIES = ("uneven", "drop", "pad")


@dataclass(frozen=True, eq=False)
class Shard(
    Step,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=False),
):
    """Elements index, index + num, … of the source.

    What becomes of a last round of fewer than num elements is said by `remainder`: "uneven", some
    shards have one more; "drop", none has it; "pad", its elements come again until each has one.
    """

    num: int
    index: int
    remainder: str

    def describe(self) -> str:
        """Return the call."""
        return f"  .shard({self.num}, {self.index}, remainder={self.remainder!r})"

    def identity(self) -> str:
        """Return the call without numbers: a state fits any number of shards, and each of them."""
        return f"shard(remainder={self.remainder!r})"

    def length(self) -> Length:
        """Return how many elements this shard has."""
        length = self.source.length()
        if not isinstance(length, int):
            return length
        rounds, rest = divmod(length, self.num)
        extra = {"uneven": self.index < rest, "drop": False, "pad": rest > 0}[self.remainder]
        return rounds + extra

    def order(self) -> RecordOrder | None:
        """Return the records i, i + n, i + 2n, … of the source's order."""
        order = self.source.order()
        if order is None:
            return None
        return order.then(ShardRecords(self.num, self.index, 0, self.remainder))

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin; a state of another number of shards stands for as many elements of each."""
        inner = None if saved is None else saved.only(["source"]).child("source")
        return _Shard(self, start(self.source, run, inner))


class _Shard(ChainedStage):
    """Takes a round of elements at a time: between two rounds all shards are at one place."""

    def __init__(self, node: Shard, source: Stage) -> None:
        self._node = node
        super().__init__(source)
        # How many elements others have before the round ends.
        self._pending = 0

    def __next__(self) -> Any:
        self._end_round()
        num, index = self._node.num, self._node.index
        if self._node.remainder == "uneven":
            self._source.skip(index)
            element = next(self._source)
            self._pending = num - 1 - index
            return element
        some = list(islice(self._source, num))
        if not some or (len(some) < num and self._node.remainder == "drop"):
            raise StopIteration
        return some[index % len(some)]

    def skip(self, n: int) -> None:
        """Leave out `n` rounds."""
        self._end_round()
        self._source.skip(n * self._node.num)

    def _end_round(self) -> None:
        if self._pending:
            self._source.skip(self._pending)
            self._pending = 0

    def state(self) -> State:
        """Return where the source is after the round: the same for all shards."""
        self._end_round()
        return {"source": self._source.state()}
