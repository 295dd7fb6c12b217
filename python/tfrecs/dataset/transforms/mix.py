"""mix(): elements of several datasets, drawn at random by weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfrecs.dataset.plan.node import Traits
from tfrecs.dataset.plan.order import ENDLESS, Length
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.dataset.transforms.multi_source import Several, Stages

STOPS = ("first", "all")

# How many draws are made at once.
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Mix(
    Several,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """Elements of the sources, each draw from one of them by its weight.

    It ends with the first source that does (`stop` is "first"), or draws from the others then,
    until all have ended ("all").
    """

    weights: tuple[float, ...]
    seed: int
    stop: str

    def describe(self) -> str:
        """Return the call."""
        weights = ", ".join(f"{weight:g}" for weight in self.weights)
        how = f"weights=[{weights}], seed={self.seed}, stop={self.stop!r}"
        return f"  .mix({len(self.parts) - 1} more, {how})"

    def length(self) -> Length:
        """Return the sum of the lengths, if all sources are used up."""
        lengths = [part.length() for part in self.parts]
        if self.stop == "first":
            return ENDLESS if all(length == ENDLESS for length in lengths) else None
        if ENDLESS in lengths:
            return ENDLESS
        return None if None in lengths else sum(length for length in lengths if length is not None)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first draw, or the one that a state says."""
        return _Mix(self, run, saved)


class _Mix(Stages):
    """Which source draw k takes is computed from k, so that a state needs no more than k."""

    def __init__(self, node: Mix, run: Run, saved: Saved | None) -> None:
        super().__init__(node.parts, run, saved)
        self._node = node
        self._epoch = run.epoch
        self._drawn = 0
        self._ended = [False] * len(node.parts)
        if saved is not None:
            self._drawn = saved.only(["sources", "drawn", "ended"]).integer("drawn")
            for which in saved.integers("ended", len(node.parts), len(node.parts) - 1):
                self._ended[which] = True
        self._choices = self._draw()

    def _draw(self) -> list[int]:
        """Return the choices of the block that the next draw is in."""
        number = self._drawn // _BLOCK
        # As uint64: NumPy rounds a list of large and small integers to floats.
        key = np.array([self._node.seed % 2**64, self._epoch % 2**64], np.uint64)
        source = np.random.Philox(key=key, counter=[number, 0, 0, 0])
        # The raw bits are the generator's definition; NumPy's distributions may change.
        uniform = source.random_raw(_BLOCK) / 2.0**64
        open_ = [
            0.0 if ended else weight
            for weight, ended in zip(self._node.weights, self._ended, strict=True)
        ]
        edges = np.cumsum(open_)
        return (
            np.searchsorted(edges / edges[-1], uniform, side="right").tolist() if edges[-1] else []
        )

    def __next__(self) -> Any:
        while not all(self._ended):
            place = self._drawn % _BLOCK
            if place == 0:
                self._choices = self._draw()
            which = self._choices[place]
            self._drawn += 1
            for element in self._sources[which]:
                return element
            self._end(which)
        raise StopIteration

    def _end(self, which: int) -> None:
        if self._node.stop == "first":
            self._ended = [True] * len(self._ended)
        self._ended[which] = True
        self._choices = self._draw()

    def state(self) -> State:
        """Return how many draws there were, which sources have ended, and where all are."""
        ended = [which for which, one in enumerate(self._ended) if one]
        return {**super().state(), "drawn": self._drawn, "ended": ended}
