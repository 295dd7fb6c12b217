"""enumerate(): elements with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.node import Node, Run, Stage
from tfrecs.dataset.order import Length
from tfrecs.dataset.saved import Saved, State


@dataclass(frozen=True, eq=False)
class Enumerate(Node):
    """Pairs of a number, counted from `first`, and an element of the source."""

    source: Node
    first: int

    @property
    def sources(self) -> tuple[Node, ...]:
        """The elements."""
        return (self.source,)

    def describe(self) -> str:
        """Return the call."""
        return f"  .enumerate({self.first or ''})"

    def length(self) -> Length:
        """Return how many there are."""
        return self.source.length()

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        return _Enumerate(self, run, saved)


class _Enumerate(Stage):
    def __init__(self, node: Enumerate, run: Run, saved: Saved | None) -> None:
        self._first, self._at, inner = node.first, 0, None
        if saved is not None:
            self._at = saved.only(["at", "source"]).integer("at")
            inner = saved.child("source")
        self._source = node.source.start(run, inner)

    def __next__(self) -> Any:
        element = next(self._source)
        self._at += 1
        return self._first + self._at - 1, element

    def skip(self, n: int) -> None:
        """Leave out elements, and count them."""
        self._source.skip(n)
        self._at += n

    def state(self) -> State:
        """Return how many there were, and where the source is."""
        return {"at": self._at, "source": self._source.state()}

    def close(self) -> None:
        """Close the source."""
        self._source.close()
