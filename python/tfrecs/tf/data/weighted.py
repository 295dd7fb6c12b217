"""`sample_from_datasets` with a dataset of weights: each draw has its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfrecs.dataset.plan.node import Traits
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.dataset.transforms.multi_source import Several, Stages
from tfrecs.errors import SpecError


@dataclass(frozen=True, eq=False)
class Weighted(
    Several,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """Elements of datasets, each drawn by the next element of a dataset of weights.

    The weights are the first of the sources. A draw from a dataset that has ended gives nothing,
    or ends them all (`stop_on_empty`).
    """

    seed: int
    stop_on_empty: bool

    def describe(self) -> str:
        """Return the call."""
        return f"  .sample_from_datasets({len(self.parts) - 1}, weights, seed={self.seed})"

    def length(self) -> Length:
        """Return None: it depends on the draws."""
        return None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first draw, or the one that a state gives."""
        return _Weighted(self, run, saved)


class _Weighted(Stages):
    """Draw number k is computed from k, so that a state needs no more than k."""

    def __init__(self, node: Weighted, run: Run, saved: Saved | None) -> None:
        super().__init__(node.parts, run, saved)
        self._node, self._epoch, self._drawn = node, run.epoch, 0
        count = len(node.parts) - 1
        self._ended = [False] * count
        if saved is not None:
            self._drawn = saved.only(["sources", "drawn", "ended"]).integer("drawn")
            for which in saved.integers("ended", count, count - 1):
                self._ended[which] = True

    def __next__(self) -> Any:
        while not all(self._ended):
            which = self._draw(next(self._sources[0]))
            for element in self._sources[1 + which]:
                return element
            self._ended[which] = True
            if self._node.stop_on_empty:
                self._ended = [True] * len(self._ended)
        raise StopIteration

    def _draw(self, weights: Any) -> int:
        """Return which dataset the next draw takes, by these weights."""
        edges = np.cumsum(_positive(weights, len(self._ended)))
        # As uint64: NumPy rounds a list of large and small integers to floats.
        key = np.array([self._node.seed % 2**64, self._epoch % 2**64], np.uint64)
        source = np.random.Philox(key=key, counter=[self._drawn, 0, 0, 0])
        self._drawn += 1
        # The raw bits are the generator's definition; NumPy's distributions may change.
        uniform = int(source.random_raw()) / 2.0**64
        return int(np.searchsorted(edges / edges[-1], uniform, side="right"))

    def state(self) -> State:
        """Return how many draws there were, which datasets have ended, and where all are."""
        ended = [which for which, one in enumerate(self._ended) if one]
        return {**super().state(), "drawn": self._drawn, "ended": ended}


def _positive(given: Any, count: int) -> Any:
    """Return the weights of one draw, 0 for those that are not above it.

    Raises:
        TypeError: They are not floats.
        SpecError: There are not as many as datasets, or none is above 0.
    """
    weights = np.asarray(given)
    if weights.dtype not in (np.float32, np.float64):
        raise TypeError(f"`weights` must be float32 or float64, not {weights.dtype}")
    if weights.shape != (count,) or not (weights > 0).any():
        raise SpecError(
            f"{count} datasets need as many weights, one of them above 0, not {weights.tolist()}"
        )
    return np.where(weights > 0, weights.astype(np.float64), 0.0)
