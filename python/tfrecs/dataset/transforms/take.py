"""take() and skip(): the first elements, and those after them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.plan.node import Step, Traits
from tfrecs.dataset.plan.order import Length, RecordOrder
from tfrecs.dataset.plan.order_steps import SkipRecords, TakeRecords
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import Saved, State


@dataclass(frozen=True, eq=False)
class Take(
    Step,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=False),
):
    """The first `count` elements of the source."""

    count: int

    def describe(self) -> str:
        """Return the call."""
        return f"  .take({self.count})"

    def length(self) -> Length:
        """Return how many there are."""
        length = self.source.length()
        return None if length is None else int(min(length, self.count))

    def order(self) -> RecordOrder | None:
        """Return the first records."""
        order = self.source.order()
        return None if order is None else order.then(TakeRecords(self.count))

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin, with as many left to give as the state says."""
        return _Take(self, run, saved)


class _Take(ChainedStage):
    def __init__(self, node: Take, run: Run, saved: Saved | None) -> None:
        self._left, inner = node.count, None
        if saved is not None:
            self._left = saved.only(["left", "source"]).integer("left", most=node.count)
            inner = saved.child("source")
        super().__init__(start(node.source, run, inner))

    def __next__(self) -> Any:
        if not self._left:
            raise StopIteration
        element = next(self._source)
        self._left -= 1
        return element

    def skip(self, n: int) -> None:
        """Leave out as many of the source's."""
        count = min(n, self._left)
        self._source.skip(count)
        self._left -= count

    def state(self) -> State:
        """Return how many are left to give."""
        return {"left": self._left, "source": self._source.state()}


@dataclass(frozen=True, eq=False)
class Skip(
    Step,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=False),
):
    """The elements of the source after the first `count`."""

    count: int

    def describe(self) -> str:
        """Return the call."""
        return f"  .skip({self.count})"

    def length(self) -> Length:
        """Return how many there are."""
        length = self.source.length()
        return None if length is None else max(length - self.count, 0)

    def order(self) -> RecordOrder | None:
        """Return the records after the first ones."""
        order = self.source.order()
        return None if order is None else order.then(SkipRecords(self.count))

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin after the first ones; a state is the source's."""
        stage = start(self.source, run, saved)
        if saved is None:
            stage.skip(self.count)
        return stage
