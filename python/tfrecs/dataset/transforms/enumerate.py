"""enumerate(): elements with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.plan.node import Step, Traits
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import Saved, State


@dataclass(frozen=True, eq=False)
class Enumerate(
    Step,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """Pairs of a number, counted from `first`, and an element of the source."""

    first: int

    def describe(self) -> str:
        """Return the call."""
        return f"  .enumerate({self.first or ''})"

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        return _Enumerate(self, run, saved)


class _Enumerate(ChainedStage):
    def __init__(self, node: Enumerate, run: Run, saved: Saved | None) -> None:
        self._first, self._at, inner = node.first, 0, None
        if saved is not None:
            self._at = saved.only(["at", "source"]).integer("at")
            inner = saved.child("source")
        super().__init__(start(node.source, run, inner))

    def __next__(self) -> Any:
        try:
            element = next(self._source)
        except StopIteration:
            raise
        except Exception:
            self._at += 1  # an element that has failed keeps its number
            raise
        self._at += 1
        return self._first + self._at - 1, element

    def skip(self, n: int) -> None:
        """Leave out elements, and count them."""
        self._source.skip(n)
        self._at += n

    def state(self) -> State:
        """Return how many there were, and where the source is."""
        return {"at": self._at, "source": self._source.state()}
