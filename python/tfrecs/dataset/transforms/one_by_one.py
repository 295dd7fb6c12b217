"""What steps share that make one element of each of their source's."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from tfrecs.dataset.plan.node import Step
from tfrecs.dataset.plan.state import Saved
from tfrecs.dataset.run.stage import Behind, Run, Stage


class OneByOne(Step):
    """A step that makes one element of each of its source's."""

    one_to_one = True

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        return Made(self.make, self.source.start(run, saved))

    @abstractmethod
    def make(self, element: Any) -> Any:
        """Return what is made of an element."""


class Made(Behind):
    """What is made of elements one by one; its state is the source's."""

    def __init__(self, make: Callable[[Any], Any], source: Stage) -> None:
        self._make = make
        super().__init__(source)

    def __next__(self) -> Any:
        return self._make(next(self._source))

    def skip(self, n: int) -> None:
        """Leave out elements of the source: nothing is made of them."""
        self._source.skip(n)
