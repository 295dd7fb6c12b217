"""What runs of a plan: a pass, and a stage for each step that is not native."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter_ns
from typing import Any

from tfrecs import _core
from tfrecs.dataset.plan.state import State
from tfrecs.dataset.run.meters import Meters


@dataclass(frozen=True)
class Run:
    """A pass over a plan.

    Attributes:
        epoch: Which pass it is: what shuffles makes another order in each.
        stripe: `(n, i)`: yield elements i, i + n, i + 2n, … of the last step; None: all. It divides
            the work among processes that give their elements in turn.
        meters: What counts the elements of each step.
    """

    epoch: int = 0
    stripe: tuple[int, int] | None = None
    meters: Meters = field(default_factory=Meters, compare=False, repr=False)

    def whole(self) -> Run:
        """Return the same pass for all elements."""
        return replace(self, stripe=None)


class Stage(Iterator[Any]):
    """What runs of a step: it gives elements, and says where it is."""

    @abstractmethod
    def state(self) -> State:
        """Return what the step begins from again, behind the last element that it gave.

        It is small, whatever the step holds, and becomes JSON.
        """

    def skip(self, n: int) -> None:
        """Leave out the next `n` elements, at less than their cost where that can be."""
        for _ in zip(range(n), self, strict=False):
            pass

    def close(self) -> None:
        """Let go of threads and files. It may be called twice."""


class Behind(Stage):
    """A stage behind one other; its state is the other's, if it holds nothing between elements."""

    def __init__(self, source: Stage) -> None:
        """Take elements of `source`."""
        self._source = source

    def state(self) -> State:
        """Return the source's."""
        return self._source.state()

    def close(self) -> None:
        """Close the source."""
        self._source.close()


class Watched(_core.Watch, Stage):
    """A stage whose elements and time are counted; natively, or it would cost too much."""

    @classmethod
    def of(cls, stage: Stage, step: object, run: Run) -> Stage:
        """Return the stage of a step, watched."""
        return cls(stage, run.meters.of(step))

    def skip(self, n: int) -> None:
        """Have the stage leave out elements."""
        begun = perf_counter_ns()
        self.watched.skip(n)
        self.meter.add_skipped(perf_counter_ns() - begun)

    def state(self) -> State:
        """Return the stage's."""
        state: State = self.watched.state()
        return state

    def close(self) -> None:
        """Close the stage."""
        self.watched.close()
