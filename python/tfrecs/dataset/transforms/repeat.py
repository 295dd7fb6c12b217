"""repeat(): again and again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tfrecs.dataset.plan.native_form import Choice
from tfrecs.dataset.plan.node import Node, Step, Traits
from tfrecs.dataset.plan.order import ENDLESS, Length, RecordOrder
from tfrecs.dataset.plan.order_steps import RepeatRecords
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.dataset.transforms.with_keys import with_keys


@dataclass(frozen=True, eq=False)
class Repeat(
    Step,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=False),
):
    """The source `count` times, without end if that is None. Each pass is an epoch of its own."""

    count: int | None

    def describe(self) -> str:
        """Return the call."""
        return f"  .repeat({'' if self.count is None else self.count})"

    def length(self) -> Length:
        """Return how many elements all passes have."""
        length = self.source.length()
        if self.count == 0 or length == 0:
            return 0
        if length is None or self.count is None:
            return None if length is None else ENDLESS
        return length * self.count

    def order(self) -> RecordOrder | None:
        """Return the records of all passes."""
        order = self.source.order()
        return None if order is None else order.then(RepeatRecords(self.count))

    def choice(self) -> Choice | None:
        """Return what is chosen in all passes."""
        choice = self.source.choice()
        if choice is None:
            return None
        return replace(choice, order=choice.order.then(RepeatRecords(self.count)))

    def with_keys(self) -> Node | None:
        """Return the same elements, each with its key."""
        source = with_keys(self.source)
        return None if source is None else replace(self, source=source)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin the first pass, or the one that a state says."""
        return _Repeat(self, run, saved)


class _Repeat(Stage):
    """One pass after the other. Without a count one that is empty is the last: there is no end."""

    def __init__(self, node: Repeat, run: Run, saved: Saved | None) -> None:
        self._node = node
        self._run = run
        self._pass, inner = 0, None
        if saved is not None:
            saved.only(["pass", "source"])
            self._pass, inner = saved.integer("pass"), saved.optional_child("source")
        self._is_empty = saved is None or inner is None
        self._source = None if self._is_over() else self._start(inner)

    def _is_over(self) -> bool:
        return self._node.count is not None and self._pass >= self._node.count

    def _is_fruitless(self) -> bool:
        """Whether no other pass is to be expected to have elements, after one that had none."""
        return self._is_empty and (self._node.count is None or self._node.source.length() == 0)

    def _start(self, saved: Saved | None = None) -> Stage:
        # As the native side counts them.
        epoch = self._pass + self._run.epoch * (self._node.count or 0)
        return start(self._node.source, replace(self._run, epoch=epoch), saved)

    def __next__(self) -> Any:
        while self._source is not None:
            for element in self._source:
                self._is_empty = False
                return element
            self._source.close()
            self._pass += 1
            self._source = None if self._is_over() or self._is_fruitless() else self._start()
            self._is_empty = True
        raise StopIteration

    def state(self) -> State:
        """Return which pass it is, and where the source is in it."""
        return {
            "pass": self._pass,
            "source": None if self._source is None else self._source.state(),
        }

    def close(self) -> None:
        """Close the source, which another thread may just be reading to its end."""
        source = self._source
        if source is not None:
            source.close()
