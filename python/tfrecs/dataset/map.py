"""map() and filter(): Python functions of elements, or of batches, where they stand in a plan."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.ahead import Workers
from tfrecs.dataset.node import Step, called, name_of
from tfrecs.dataset.one_by_one import OneByOne
from tfrecs.dataset.order import Length
from tfrecs.dataset.saved import Saved, State
from tfrecs.dataset.stage import Behind, Run, Stage


@dataclass(frozen=True, eq=False)
class Map(OneByOne):
    """What `function` makes of each element, on so many threads beside the caller's."""

    function: Callable[[Any], Any]
    num_threads: int

    def describe(self) -> str:
        """Return the call; how many threads there are makes no difference to what comes."""
        return f"  .map({name_of(self.function)})"

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin, on threads if there are to be any."""
        if self.num_threads:
            return _MapOnThreads(self, self.source.start(run, saved))
        return super().begin(run, saved)

    def make(self, element: Any) -> Any:
        """Call the function."""
        return called(self.function, element, self.describe())


class _MapOnThreads(Stage):
    """Calls on several threads, whose results come in order."""

    def __init__(self, node: Map, source: Stage) -> None:
        self._node = node
        self._source = source
        self._state = source.state()
        self._workers = Workers(node.num_threads)
        # What is being made, and the state of the source behind each.
        self._calls: deque[tuple[Future[Any], State]] = deque()

    def __next__(self) -> Any:
        while len(self._calls) < 2 * self._node.num_threads:
            for element in self._source:
                call = self._workers.submit(self._node.make, element)
                self._calls.append((call, self._source.state()))
                break
            else:
                break
        if not self._calls:
            raise StopIteration
        call, state = self._calls.popleft()
        result = self._workers.result(call)
        self._state = state
        return result

    def state(self) -> State:
        """Return where the source was behind the element whose result came last."""
        return self._state

    def close(self) -> None:
        """Stop the threads, and close the source."""
        self._workers.close()
        self._source.close()


@dataclass(frozen=True, eq=False)
class Filter(Step):
    """The elements of the source for which `predicate` is true."""

    predicate: Callable[[Any], Any]

    def describe(self) -> str:
        """Return the call."""
        return f"  .filter({name_of(self.predicate)})"

    def length(self) -> Length:
        """Return None: nobody knows."""
        return 0 if self.source.length() == 0 else None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        return _Filter(self, self.source.start(run, saved))


class _Filter(Behind):
    def __init__(self, node: Filter, source: Stage) -> None:
        self._node = node
        super().__init__(source)

    def __next__(self) -> Any:
        for element in self._source:
            if called(self._node.predicate, element, self._node.describe()):
                return element
        raise StopIteration
