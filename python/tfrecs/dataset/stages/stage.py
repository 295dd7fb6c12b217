"""What runs of a plan: a pass, and a stage for each step that is not native."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter_ns
from typing import Any

from tfrecs import _core
from tfrecs.dataset.stages.meters import Meters
from tfrecs.dataset.stages.state import Saved, State


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
        """Return what the step begins from again, after the last element that it gave.

        It is small, whatever the step holds, and becomes JSON.
        """

    def skip(self, n: int) -> None:
        """Leave out the next `n` elements, at less than their cost where that can be."""
        for _ in zip(range(n), self, strict=False):
            pass

    def close(self) -> None:
        """Let go of threads and files. It may be called twice."""


class ChainedStage(Stage):
    """A stage after one other; its state is the other's, if it holds nothing between elements."""

    def __init__(self, source: Stage) -> None:
        """Take elements of `source`."""
        self._source = source

    def state(self) -> State:
        """Return the source's."""
        return self._source.state()

    def close(self) -> None:
        """Close the source."""
        self._source.close()


class Made(ChainedStage):
    """What is made of elements one by one; its state is the source's."""

    def __init__(self, make: Callable[[Any], Any], source: Stage) -> None:
        """Make something of each element of `source`."""
        self._make = make
        super().__init__(source)

    def __next__(self) -> Any:
        """Return what is made of the next one."""
        return self._make(next(self._source))

    def skip(self, n: int) -> None:
        """Leave out elements of the source: nothing is made of them."""
        self._source.skip(n)


class Strided(Stage):
    """The elements i, i + n, i + 2n, … of a stage."""

    def __init__(
        self, begin: Callable[[Run, Saved | None], Stage], run: Run, saved: Saved | None
    ) -> None:
        """Start the whole stage, and leave out what others give."""
        assert run.stripe is not None
        self._num, self._pending = run.stripe
        inner = None
        if saved is not None:
            inner = saved.only(["source", "pending"]).child("source")
            self._pending = saved.integer("pending", most=self._num)
        self._stage = begin(run.whole(), inner)

    def __next__(self) -> Any:
        """Return the next one of them."""
        if self._pending:
            self._stage.skip(self._pending)
        self._pending = self._num - 1
        return next(self._stage)

    def state(self) -> State:
        """Return where the stage is, and how many others are to come first."""
        return {"source": self._stage.state(), "pending": self._pending}

    def close(self) -> None:
        """Close the stage."""
        self._stage.close()


class Metered(_core.Watch, Stage):
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
