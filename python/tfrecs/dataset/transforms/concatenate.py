"""concatenate(): one dataset after the other."""

from __future__ import annotations

from typing import Any

from tfrecs.dataset.plan.node import Traits
from tfrecs.dataset.plan.order import ENDLESS, Length
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.dataset.transforms.multi_source import Several


class Concatenate(
    Several,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """All elements of the first source, then those of the next."""

    def describe(self) -> str:
        """Return the call."""
        return f"  .concatenate({len(self.parts) - 1} more)"

    def length(self) -> Length:
        """Return the sum of the lengths."""
        lengths = [part.length() for part in self.parts]
        if ENDLESS in lengths:
            return ENDLESS
        return None if None in lengths else sum(length for length in lengths if length is not None)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first, or the one that a state says."""
        return _Concatenate(self, run, saved)


class _Concatenate(Stage):
    def __init__(self, node: Concatenate, run: Run, saved: Saved | None) -> None:
        self._parts = node.parts
        self._run = run
        self._which, inner = 0, None
        if saved is not None:
            last = len(node.parts) - 1
            self._which = saved.only(["which", "source"]).integer("which", most=last)
            inner = saved.child("source")
        self._source = start(node.parts[self._which], run, inner)

    def __next__(self) -> Any:
        while True:
            for element in self._source:
                return element
            if self._which + 1 == len(self._parts):
                raise StopIteration
            self._source.close()
            self._which += 1
            self._source = start(self._parts[self._which], self._run, None)

    def state(self) -> State:
        """Return which source it is, and where."""
        return {"which": self._which, "source": self._source.state()}

    def close(self) -> None:
        """Close the source."""
        self._source.close()
