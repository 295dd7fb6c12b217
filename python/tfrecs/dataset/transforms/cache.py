"""cache(): elements are kept when they are made, and not made again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tfrecs.dataset.plan.node import Node, Step, Traits
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import Saved, State


@dataclass(frozen=True, eq=False)
class Cache(
    Step,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=False),
):
    """The elements of the source; the first whole pass keeps them in memory for all others."""

    kept: list[list[Any]] = field(default_factory=list)

    def describe(self) -> str:
        """Return the call."""
        return "  .cache()"

    def length(self) -> Length:
        """Return how many there are."""
        return len(self.kept[0]) if self.kept else self.source.length()

    def over(self, source: Node) -> Node | None:
        """Return None: what is kept is of these elements."""
        del source
        return None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with what is kept, if it is."""
        at = 0 if saved is None else saved.only(["at"]).integer("at")
        if self.kept:
            return _Kept(self.kept[0], at)
        # Whatever the pass, the elements are the same ones.
        filling = _Filling(self, start(self.source, Run(meters=run.meters), None))
        filling.skip(at)
        return filling


class _Kept(Stage):
    def __init__(self, elements: list[Any], at: int) -> None:
        self._elements = elements
        self._at = at

    def __next__(self) -> Any:
        if self._at >= len(self._elements):
            raise StopIteration
        self._at += 1
        return self._elements[self._at - 1]

    def skip(self, n: int) -> None:
        """Continue after them."""
        self._at += n

    def state(self) -> State:
        """Return how many there were."""
        return {"at": self._at}


class _Filling(ChainedStage):
    """A pass that makes the elements; it begins at the beginning, since all are to be kept."""

    def __init__(self, node: Cache, source: Stage) -> None:
        self._node = node
        super().__init__(source)
        self._elements: list[Any] = []
        self._is_closed = False

    def __next__(self) -> Any:
        for element in self._source:
            self._elements.append(element)
            return element
        if not self._node.kept and not self._is_closed:
            self._node.kept.append(self._elements)
        raise StopIteration

    def close(self) -> None:
        """Close the source, whose end is none then."""
        self._is_closed = True
        super().close()

    def state(self) -> State:
        """Return how many there were."""
        return {"at": len(self._elements)}
