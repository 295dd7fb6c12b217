"""prefetch(): elements are made before they are asked for."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.ahead import Workers
from tfrecs.dataset.node import Step
from tfrecs.dataset.saved import Saved, State
from tfrecs.dataset.stage import Run, Stage


@dataclass(frozen=True, eq=False)
class Prefetch(Step):
    """The elements of the source, up to `count` of them made ahead on a thread."""

    count: int

    one_to_one = True

    def describe(self) -> str:
        """Return the call, without the number: it makes no difference to what comes."""
        return "  .prefetch()"

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        return _Prefetch(self.source.start(run, saved), self.count)


_END = object()


class _Prefetch(Stage):
    def __init__(self, source: Stage, count: int) -> None:
        self._source = source
        self._count = count
        self._state = source.state()
        self._workers = Workers(1)
        self._pulls: deque[Future[tuple[Any, State]]] = deque()

    def __next__(self) -> Any:
        while len(self._pulls) < self._count:
            self._pulls.append(self._workers.submit(_pull, self._source))
        element, state = self._workers.result(self._pulls.popleft())
        if element is _END:
            self._pulls.clear()
            raise StopIteration
        self._state = state
        return element

    def state(self) -> State:
        """Return where the source was behind the element that came last."""
        return self._state

    def close(self) -> None:
        """Stop the thread, and close the source."""
        self._workers.close()
        self._source.close()


def _pull(source: Stage) -> tuple[Any, State]:
    return next(source, _END), source.state()
