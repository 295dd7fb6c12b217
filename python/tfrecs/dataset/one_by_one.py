"""What steps share that make one element of each of their source's."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from tfrecs.dataset.node import Node, Run, Stage
from tfrecs.dataset.order import Length
from tfrecs.dataset.saved import Saved, State


class OneByOne(Node):
    """A step that makes one element of each of its source's."""

    source: Node
    one_to_one = True

    @property
    def sources(self) -> tuple[Node, ...]:
        """The elements."""
        return (self.source,)

    def length(self) -> Length:
        """Return how many there are."""
        return self.source.length()

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        return _Made(self.make, self.source.start(run, saved))

    @abstractmethod
    def make(self, element: Any) -> Any:
        """Return what is made of an element."""


class _Made(Stage):
    """What is made of elements one by one; its state is the source's."""

    def __init__(self, make: Callable[[Any], Any], source: Stage) -> None:
        self._make = make
        self._source = source

    def __next__(self) -> Any:
        return self._make(next(self._source))

    def skip(self, n: int) -> None:
        """Leave out elements of the source: nothing is made of them."""
        self._source.skip(n)

    def state(self) -> State:
        """Return the source's."""
        return self._source.state()

    def close(self) -> None:
        """Close the source."""
        self._source.close()
