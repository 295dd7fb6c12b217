"""Elements that are made before they are asked for, on threads that belong to one iterator.

The consumer sets a limit: how many elements may have been begun. While fewer have been, each
worker does one short job after the other: it asks the source for an element, one thread at a time,
makes something of it, and submits its next job. At the limit a worker ends, and the consumer starts
it again when it raises the limit. So no thread ever waits for room, all of them can end at any
time, and there are never more jobs than threads, however high the limit is.
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
from tfrecs.dataset.stages.nbytes import nbytes_of
from tfrecs.dataset.stages.stage import Stage
from tfrecs.dataset.stages.state import State
from tfrecs.errors import StateError, no_thread

# In any order, elements can be that many times the number of threads ahead of one that takes long.
SPREAD = 16

# As many of them a state can say have been given: more threads nobody has.
MOST_GIVEN = SPREAD << 12


@dataclass(frozen=True)
class Plan:
    """How elements are made ahead.

    Attributes:
        num_threads: On how many threads.
        ahead: How many may be made or in the making, beside the one in use.
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
        after: Where the source was after it; None if the source itself has failed.
        element: What was made of it.
        error: What was raised.
        nbytes: How large it is, if that is asked for.
    """

    number: int
    after: State | None
    element: Any = None
    error: BaseException | None = None
    nbytes: int = 0


_CLOSED = "another thread has closed this meanwhile"

# Python's messages when the system refuses another thread, and when the executor is shut down.
_NO_THREAD = "can't start new thread"


class _Line:
    """What the threads share; it does not hold the stage, which ends them when it is forgotten.

    `lock` is held while the source makes an element. `counts` guards the numbers below it, for a
    few instructions only, so that the consumer never waits for the source to change them.
    """

    def __init__(self, plan: Plan, source: Stage, meter: _core.Meter, given: set[int]) -> None:
        self.plan = plan
        self.source = source
        self.meter = meter
        # Of a pass that continued in any order: elements that are not to come again.
        self.given = given
        # Where the source was after each of these.
        self.passed: dict[int, State] = {}
        # What is there to take; `came` wakes the consumer, which then looks what has changed.
        self.ready: dict[int, _Made] = {}
        self.came: SimpleQueue[None] = SimpleQueue()
        self.executor = ThreadPoolExecutor(plan.num_threads, thread_name_prefix="tfrecs")
        self.lock = Lock()
        self.pulled = 0
        self.counts = Lock()
        # Whether the source has ended or failed; whether all is to end.
        self.has_ended = self.is_closed = False
        # Whether a thread has been started: it runs whatever is submitted, until the executor ends.
        self.has_thread = False
        # How many elements may have been begun, how many have been, and how many workers there are.
        self.limit, self.begun, self.workers = 0, 0, 0
        # How many elements are in the making, how large those are that wait, and the largest.
        self.making, self.waiting, self.largest = 0, 0, 0

    def raise_limit(self, more: int) -> None:
        """Let `more` elements be begun, on as many threads as may be."""
        with self.counts:
            self.limit += more
            while self._may_begin() and self.workers < self._most_workers():
                # In this order: a signal between the two leaves a worker too many, not too few.
                self._submit()
                self.workers += 1

    def _submit(self) -> None:
        """Let a thread do a job: a new one or, where the system refuses another, one there is.

        Raises:
            OutOfMemoryError: There is none, and none can be started.
            RuntimeError: The executor is closed.
        """
        try:
            self.executor.submit(self.work)
        except RuntimeError as error:
            # The job is in the queue already.
            if str(error) != _NO_THREAD:
                raise
            if not self.has_thread:
                raise no_thread() from error
        self.has_thread = True

    def _most_workers(self) -> int:
        return min(self.plan.num_threads, self.making + self.limit - self.begun)

    def work(self) -> None:
        """Do one job, and submit the next."""
        if not self._begin():
            return
        self._work()
        try:
            self._submit()
        except RuntimeError:  # it was closed, or the process ends
            # No worker follows: the consumer, which may be a worker itself, must not wait for one.
            self.has_ended = self.is_closed = True
        self.came.put(None)

    def _begin(self) -> bool:
        """Note that an element is begun; or, if none may be, that this worker ends."""
        with self.counts:
            may_begin = self._may_begin()
            if may_begin:
                self.begun += 1
                self.making += 1
            else:
                self.workers -= 1
        return may_begin

    def _may_begin(self) -> bool:
        return not self.has_ended and self.begun < self.limit and self._has_room()

    def _has_room(self) -> bool:
        most = self.plan.max_bytes
        if most is None or not (self.making or self.waiting):
            return True
        # Until the first is there it is unknown how large they are.
        known = self.largest > 0
        return known and self.waiting + (self.making + 1) * self.largest <= most

    def _work(self) -> None:
        """Make something of the source's next element, if there is one."""
        with self.lock:
            begun = perf_counter_ns()
            pulled = self._pull()
        if pulled is None:
            with self.counts:
                self.making -= 1
            return
        there = perf_counter_ns()
        made = self._made(pulled)
        self.meter.add_work(there - begun, perf_counter_ns() - there)
        self._finish(made)

    def _pull(self) -> _Made | None:
        """Return the source's next element, as it is; None at its end."""
        if self.has_ended:
            return None
        try:
            for element in self.source:
                number, state = self.pulled, self.source.state()
                self.pulled += 1
                if number not in self.given:
                    return _Made(number, state, element)
                self.passed[number] = state
        except BaseException as error:  # noqa: BLE001 - it is raised where its element would come
            return self._failed(error)
        self.has_ended = True
        return None

    def _failed(self, error: BaseException) -> _Made:
        """Return the source's error.

        After an exception there may be more elements: whoever iterates decides. After anything
        else there are none: the process ends.
        """
        try:
            after = self.source.state() if isinstance(error, Exception) else None
        except Exception:  # noqa: BLE001 - it is the first error that matters
            after = None
        if after is None:
            self.has_ended = True
            return _Made(self.pulled, None, error=error)
        self.pulled += 1
        return _Made(self.pulled - 1, after, error=error)

    def _made(self, pulled: _Made) -> _Made:
        if pulled.error is not None:
            return pulled
        # An error is kept nowhere that its own traceback leads to.
        try:
            if self.plan.make is not None:
                pulled.element = self.plan.make(pulled.element)
            if self.plan.max_bytes is not None:
                pulled.nbytes = nbytes_of(pulled.element)
        except BaseException as error:  # noqa: BLE001 - it is raised where its element would come
            return _Made(pulled.number, pulled.after, error=error)
        return pulled

    def _finish(self, made: _Made) -> None:
        with self.counts:
            self.ready[made.number] = made
            self.making -= 1
            self.waiting += made.nbytes
            self.largest = max(self.largest, made.nbytes)

    def taken(self, made: _Made) -> None:
        """Note that an element does not wait any more."""
        with self.counts:
            self.waiting -= made.nbytes
            made.nbytes = 0

    def is_over(self) -> bool:
        """Return whether nothing comes any more, beside what is ready."""
        with self.counts:
            return self.has_ended and not self.making


class Ahead(Stage):
    """What is made of the elements of a source, ahead of whoever asks."""

    def __init__(
        self, plan: Plan, source: Stage, meter: _core.Meter, given: Iterable[int] = ()
    ) -> None:
        """Begin after the elements that the source has given, and without some that follow."""
        self._plan = plan
        self._line = _Line(plan, source, meter, set(given))
        self._process = os.getpid()
        self._stop = weakref.finalize(self, _stop, self._line.executor, self._process)
        # At the end of the process concurrent.futures itself waits for its threads.
        self._stop.atexit = False
        # How many elements have been given.
        self._given = 0
        # All elements before this one have been given; where the source was after them, and
        # after others that have been given.
        self._first, self._state = 0, source.state()
        self._after: dict[int, State] = {}

    def __next__(self) -> Any:
        """Return the next element.

        As many as may be ahead are handed out before it is taken: so they are made while the
        consumer works, and a signal in between loses nothing.
        """
        self._check()
        self._hand_out()
        number = self._due()
        if number is None:
            number = self._wait()
        self._line.taken(self._line.ready[number])
        self._hand_out(number)
        made = self._line.ready.pop(number)
        self._given += 1
        if made.after is not None:
            self._note(made.number, made.after)
        if made.error is not None:
            try:
                raise made.error
            finally:
                del made  # or the error would be held by its own traceback
        return made.element

    def _due(self) -> int | None:
        """Return the number of an element that can be given."""
        ready = self._line.ready
        if self._plan.ordered:
            return self._first if self._first in ready else None
        with self._line.counts:
            return next(iter(ready), None)

    def _wait(self) -> int:
        """Wait until there is one; Ctrl-C ends the waiting, and nothing is lost."""
        begun, line = perf_counter_ns(), self._line
        while (number := self._due()) is None:
            if line.is_closed:
                raise StateError(_CLOSED)
            if line.is_over() and self._due() is None:
                raise StopIteration
            line.came.get()
        _core.Meter.add_idle(perf_counter_ns() - begun)
        return number

    def _hand_out(self, giving: int | None = None) -> None:
        """Let as many elements be in the making as may be, beside one that is about to be given."""
        line, is_giving = self._line, giving is not None
        if is_giving and not line.came.empty():
            line.came.get()  # or what was there without waiting would pile up
        if line.has_ended:
            return
        ahead = line.limit - self._given - is_giving
        more = self._plan.ahead - ahead
        if not self._plan.ordered:
            # Elements that went before others count too, until all before them have been given.
            early = len(self._after) + len(line.given) + (giving not in (None, self._first))
            more = min(more, self._plan.window - ahead - early)
        try:
            line.raise_limit(max(more, 0 if ahead or is_giving else 1))
        except RuntimeError as error:  # it was closed just now
            raise StateError(_CLOSED) from error

    def _note(self, number: int, after: State) -> None:
        """Note that an element has been given."""
        self._after[number] = after
        passed = self._line.passed
        while self._first in self._after or self._first in passed:
            self._state = (self._after if self._first in self._after else passed).pop(self._first)
            self._line.given.discard(self._first)
            self._first += 1

    def state(self) -> State:
        """Return where the source was after the elements that have been given.

        In any order: where it was before the first that has not been given, and which of those
        after it have been.
        """
        if self._plan.ordered:
            return self._state
        given = sorted({*self._after, *self._line.given})
        return {"source": self._state, "given": [number - self._first for number in given]}

    def close(self) -> None:
        """Make nothing any more, and wait for what is being made."""
        self._stop.detach()
        if os.getpid() != self._process:
            return
        line = self._line
        line.has_ended = line.is_closed = True
        line.executor.shutdown(wait=False, cancel_futures=True)
        line.came.put(None)
        # A thread that waits for the source is told, and may have begun something of it meanwhile.
        line.source.close()
        line.executor.shutdown(wait=True)
        line.source.close()

    def _check(self) -> None:
        if os.getpid() != self._process:
            raise StateError(
                "this iterator has threads in another process, of which this is a fork: iterate "
                "over the dataset anew"
            )


def _stop(executor: ThreadPoolExecutor, process: int) -> None:
    if os.getpid() == process:
        executor.shutdown(wait=False, cancel_futures=True)
