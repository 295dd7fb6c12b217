"""Elements that are made before they are asked for, on threads that belong to one iterator.

The threads do one short job after the other: ask the source for an element, one thread at a time,
and make something of it. Whoever iterates hands out as many jobs as elements may be ahead, and
waits for what comes of them; so no thread ever waits for room, and all of them can end at any time.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock
from time import perf_counter_ns
from typing import Any

from tfrecs import _core
from tfrecs.dataset.saved import State
from tfrecs.dataset.sizes import nbytes_of
from tfrecs.dataset.stage import Stage
from tfrecs.errors import StateError

# In any order, elements can be so many times the number of threads ahead of one that takes long.
SPREAD = 16

# As many of them a state can say have been given: more threads nobody has.
MOST_GIVEN = SPREAD << 12


@dataclass(frozen=True)
class Plan:
    """How elements are made ahead.

    Attributes:
        num_threads: On how many threads.
        ahead: How many may be made or in the making.
        make: What is made of them; None: themselves.
        ordered: Whether they come in the order of the source.
        max_bytes: How many bytes they may have together, beside the next one; None: any number.
    """

    num_threads: int
    ahead: int
    make: Callable[[Any], Any] | None = None
    ordered: bool = True
    max_bytes: int | None = None

    @property
    def window(self) -> int:
        """How far an element may be ahead of the first that has not been given."""
        return self.ahead if self.ordered else max(self.ahead, SPREAD * self.num_threads)


@dataclass(slots=True)
class _Made:
    """What came of a job: an element, or an error in its place.

    Attributes:
        number: Which of the source's elements it is.
        behind: Where the source was behind it.
        element: What was made of it.
        error: What was raised.
        nbytes: How large it is, if that is asked for.
    """

    number: int
    behind: State
    element: Any = None
    error: BaseException | None = None
    nbytes: int = 0


_NOT_YET = "there is no room for another element"
_END = "the source has no more elements"
_CLOSED = "the threads have ended"


class _Line:
    """What the threads share; it does not hold the stage, which ends them when it is forgotten."""

    def __init__(self, plan: Plan, source: Stage, meter: _core.Meter, given: set[int]) -> None:
        self.plan = plan
        self.source = source
        self.meter = meter
        # Of a pass that went on in any order: elements that are not to come again.
        self.given = given
        # Where the source was behind each of these.
        self.passed: dict[int, State] = {}
        self.done: SimpleQueue[_Made | str] = SimpleQueue()
        self.lock = Lock()
        self.pulled = 0
        self.has_ended = False
        # How many elements are in the making, how large those are that wait, and the largest.
        self.making, self.waiting, self.largest = 0, 0, 0

    def work(self) -> None:
        """Do one job."""
        begun = perf_counter_ns()
        with self.lock:
            begun = perf_counter_ns()
            pulled = self._pull()
        if not isinstance(pulled, _Made):
            self.done.put(pulled)
            return
        there = perf_counter_ns()
        made = self._made(pulled)
        self.meter.add_work(there - begun, perf_counter_ns() - there)
        self.done.put(made)

    def _pull(self) -> _Made | str:
        """Return the source's next element, as it is."""
        if self.has_ended:
            return _END
        if not self._has_room():
            return _NOT_YET
        try:
            for element in self.source:
                number, state = self.pulled, self.source.state()
                self.pulled += 1
                if number not in self.given:
                    self.making += 1
                    return _Made(number, state, element)
                self.passed[number] = state
        except BaseException as error:  # noqa: BLE001 - it is raised where its element would come
            self.has_ended = True
            self.making += 1
            return _Made(self.pulled, {}, error=error)
        self.has_ended = True
        return _END

    def _has_room(self) -> bool:
        most = self.plan.max_bytes
        if most is None or not (self.making or self.waiting):
            return True
        # Until the first is there nobody knows how large they are.
        known = self.largest > 0
        return known and self.waiting + (self.making + 1) * self.largest <= most

    def _made(self, pulled: _Made) -> _Made:
        if pulled.error is not None:
            return self._finished(pulled)
        # An error is kept nowhere that its own traceback leads to.
        try:
            if self.plan.make is not None:
                pulled.element = self.plan.make(pulled.element)
            if self.plan.max_bytes is not None:
                pulled.nbytes = nbytes_of(pulled.element)
        except BaseException as error:  # noqa: BLE001 - it is raised where its element would come
            return self._finished(_Made(pulled.number, pulled.behind, error=error))
        return self._finished(pulled)

    def _finished(self, made: _Made) -> _Made:
        with self.lock:
            self.making -= 1
            self.waiting += made.nbytes
            self.largest = max(self.largest, made.nbytes)
        return made

    def taken(self, made: _Made) -> None:
        """Note that an element does not wait any more."""
        if made.nbytes:
            with self.lock:
                self.waiting -= made.nbytes


class Ahead(Stage):
    """What is made of the elements of a source, ahead of whoever asks."""

    def __init__(
        self, plan: Plan, source: Stage, meter: _core.Meter, given: Iterable[int] = ()
    ) -> None:
        """Begin behind the elements that the source has given, and without some that follow."""
        self._plan = plan
        self._line = _Line(plan, source, meter, set(given))
        self._process = os.getpid()
        self._executor = ThreadPoolExecutor(plan.num_threads, thread_name_prefix="tfrecs")
        self._stop = weakref.finalize(self, _stop, self._executor, self._process)
        # At the end of the process concurrent.futures itself waits for its threads.
        self._stop.atexit = False
        self._ready: dict[int, _Made] = {}
        self._jobs = 0
        # All elements before this one have been given; where the source was behind them, and
        # behind others that have been given.
        self._first, self._state = 0, source.state()
        self._behind: dict[int, State] = {}

    def __next__(self) -> Any:
        """Return the next element."""
        self._check()
        self._hand_out()
        number = self._due()
        if number is None:
            number = self._wait()
        made = self._ready.pop(number)
        self._line.taken(made)
        if made.error is not None:
            try:
                raise made.error
            finally:
                del made  # or the error would be held by its own traceback
        self._note(made)
        return made.element

    def _due(self) -> int | None:
        """Return the number of an element that can be given."""
        if not self._plan.ordered:
            return next(iter(self._ready), None)
        return self._first if self._first in self._ready else None

    def _wait(self) -> int:
        """Wait until there is one; Ctrl-C ends the waiting, and nothing is lost."""
        begun = perf_counter_ns()
        while (number := self._due()) is None:
            if not self._jobs:
                raise StopIteration
            made = self._line.done.get()
            if made is _CLOSED:
                raise StateError("another thread has closed this meanwhile")
            self._jobs -= 1
            if isinstance(made, _Made):
                self._ready[made.number] = made
            if isinstance(made, _Made) or not self._jobs:
                self._hand_out()
        _core.Meter.add_idle(perf_counter_ns() - begun)
        return number

    def _hand_out(self) -> None:
        """Let as many elements be in the making as may be."""
        if self._line.has_ended:
            return
        ahead = self._jobs + len(self._ready)
        # Elements that went before others count too, until all before them have been given.
        spread = ahead + len(self._behind) + len(self._line.given)
        more = min(self._plan.ahead - ahead, self._plan.window - spread)
        for _ in range(more if ahead else max(more, 1)):
            self._submit()

    def _submit(self) -> None:
        try:
            self._executor.submit(self._line.work)
        except RuntimeError as error:  # it was closed just now
            raise StateError("another thread has closed this meanwhile") from error
        self._jobs += 1

    def _note(self, made: _Made) -> None:
        """Note that an element has been given."""
        self._behind[made.number] = made.behind
        passed = self._line.passed
        while self._first in self._behind or self._first in passed:
            self._state = (self._behind if self._first in self._behind else passed).pop(self._first)
            self._line.given.discard(self._first)
            self._first += 1

    def state(self) -> State:
        """Return where the source was behind the elements that have been given.

        In any order: where it was before the first that has not been given, and which of those
        behind it have been.
        """
        if self._plan.ordered:
            return self._state
        given = sorted({*self._behind, *self._line.given})
        return {"source": self._state, "given": [number - self._first for number in given]}

    def close(self) -> None:
        """Make nothing any more, and wait for what is being made."""
        self._stop.detach()
        if os.getpid() != self._process:
            return
        self._line.has_ended = True
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._line.done.put(_CLOSED)
        # A thread that waits for the source is told, and may have begun something of it meanwhile.
        self._line.source.close()
        self._executor.shutdown(wait=True)
        self._line.source.close()

    def _check(self) -> None:
        if os.getpid() != self._process:
            raise StateError(
                "this iterator has threads in another process, of which this is a fork: iterate "
                "over the dataset anew"
            )


def _stop(executor: ThreadPoolExecutor, process: int) -> None:
    if os.getpid() == process:
        executor.shutdown(wait=False, cancel_futures=True)
