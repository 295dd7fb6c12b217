"""Threads that fill queues, and what they agree by when to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfrecs.errors import SpecError, no_thread
from tfrecs.errors.tf_errors import CancelledError, OutOfRangeError
from tfrecs.tf.queues.graph import (
    Session,
    Stop,
    get_default_graph,
    get_default_session,
    wanted_until,
)
from tfrecs.tf.queues.queue import FIFOQueue

# What the runners of a graph are kept by, unless somebody says otherwise.
QUEUE_RUNNERS = "queue_runners"


class Coordinator:
    """As `tf.train.Coordinator`: threads ask it whether to stop, and it hands on their exceptions.

    Example:
        >>> import threading
        >>> from tfrecs import tf
        >>> coord, seen = tf.train.Coordinator(), []
        >>> def work(number):
        ...     while not coord.should_stop():
        ...         seen.append(number)
        ...         if len(seen) >= 10:
        ...             coord.request_stop()
        >>> threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
        >>> for thread in threads:
        ...     thread.start()
        >>> coord.join(threads)
        >>> len(seen) >= 10
        True
    """

    def __init__(self, clean_stop_exception_types: Sequence[type[BaseException]] = ()) -> None:
        """Begin: nothing stops. Exceptions of the types given are no more than the end."""
        self._clean = tuple(clean_stop_exception_types) or (OutOfRangeError,)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._threads: set[threading.Thread] = set()
        self.joined = False

    def should_stop(self) -> bool:
        """Whether somebody has asked to stop."""
        return self._stop.is_set()

    def request_stop(self, ex: Any = None) -> None:
        """Ask all to stop; with an exception, or its exc_info, that join() raises.

        Raises:
            BaseException: The exception, if join() is over: nobody else would.
            TypeError: It is none.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        if error is not None and not isinstance(error, BaseException):
            raise TypeError(f"request_stop takes an exception, and not {ex!r}")
        if isinstance(error, self._clean):
            error = None
        with self._lock:
            if self.joined and error is not None:
                raise error
            if not self._stop.is_set():
                self._error = error
            self._stop.set()

    def clear_stop(self) -> None:
        """Begin anew."""
        self._error, self.joined = None, False
        self._stop.clear()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until somebody asks to stop, and say whether somebody has."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Have join() wait for a thread too."""
        self._threads.add(thread)

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Ask all to stop if the block raises."""
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - join() raises it
            self.request_stop(error)

    def join(
        self,
        threads: Sequence[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for threads; once it is asked to stop, that many seconds.

        Raises:
            RuntimeError: Some run on even then.
            BaseException: What a thread has raised.
        """
        waited_for = {*self._threads, *(threads or ())}
        # A wait that only a stop ends would miss threads that end by themselves.
        while any(map(threading.Thread.is_alive, waited_for)) and not self._stop.wait(0.02):
            pass
        until = time.monotonic() + stop_grace_period_secs
        for thread in waited_for:
            thread.join(max(until - time.monotonic(), 0))
        alive = [thread.name for thread in waited_for if thread.is_alive()]
        self.joined = True
        self._threads.clear()
        self.raise_requested_exception()
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    def raise_requested_exception(self) -> None:
        """Raise what a thread has raised."""
        if self._error is not None:
            raise self._error


class QueueRunner:
    """As `tf.train.QueueRunner`: threads that do one thing again and again, to fill a queue."""

    def __init__(
        self,
        queue: FIFOQueue | None = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Sequence[type[Exception]] | None = None,
    ) -> None:
        """Have a thread for each of the operations; the same one may be there several times.

        `close_op` and `cancel_op` are kept, and not needed: threads end with what they wait for.

        Raises:
            ValueError: There is no queue, or nothing to do.
        """
        if not queue or not enqueue_ops:
            raise SpecError("Must provide queue and enqueue_ops.")
        self.queue, self.name = queue, queue.name
        self.enqueue_ops = list(enqueue_ops)
        self.close_op, self.cancel_op = close_op, cancel_op
        self.queue_closed_exception_types = tuple(queue_closed_exception_types or [OutOfRangeError])
        self.exceptions_raised: list[BaseException] = []
        self._lock = threading.Lock()
        self._running = 0
        queue.feed = self._feed

    def create_threads(
        self,
        sess: Session,
        coord: Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """Make the threads, which end with the queue, the coordinator or the session.

        While there are some already, no others are made.
        """
        del daemon  # none keeps the process
        if self._running:
            return []
        self.queue.feed = None
        self._running = len(self.enqueue_ops)
        threads = [
            threading.Thread(
                target=self._run,
                args=(op, sess.stop, coord),
                name=f"QueueRunner {self.queue.name}:{number}",
                daemon=True,
            )
            for number, op in enumerate(self.enqueue_ops)
        ]
        sess.stop.threads += threads
        for number, thread in enumerate(threads):
            if start:
                self._start(thread, len(threads) - number)
            if coord is not None:
                coord.register_thread(thread)
        return threads

    def _start(self, thread: threading.Thread, left: int) -> None:
        """Start one of the `left` threads that do not run yet.

        Raises:
            OutOfMemoryError: The system allows no other. Running ones continue; without any, the
                queue is filled by whoever takes from it.
        """
        try:
            thread.start()
        except RuntimeError as error:  # can't start new thread
            with self._lock:
                self._running -= left
                if not self._running:
                    self.queue.feed = self._feed
            raise no_thread() from error

    def _run(self, op: Any, stop: Stop, coord: Coordinator | None) -> None:
        def is_over() -> bool:
            return stop.event.is_set() or (coord is not None and coord.should_stop())

        error: BaseException | None = None
        try:
            with wanted_until(is_over):
                while not is_over():
                    op.compute({})
        except CancelledError:
            pass
        except self.queue_closed_exception_types:
            pass
        except BaseException as raised:  # noqa: BLE001 - whoever takes from the queue gets it
            error = raised
            self.exceptions_raised.append(error)
            if coord is not None:
                coord.request_stop(error)
        with self._lock:
            self._running -= 1
            is_last = self._running == 0
        if error is not None or (is_last and not stop.event.is_set()):
            self.queue.shut(error)
        elif is_last:
            self.queue.feed = self._feed  # another session may continue

    def _feed(self) -> None:
        """Do each thing once, for who takes from the queue where no thread was started."""
        try:
            for op in self.enqueue_ops:
                op.compute({})
        except self.queue_closed_exception_types:
            self.queue.shut()


def add_queue_runner(qr: QueueRunner, collection: str = QUEUE_RUNNERS) -> None:
    """Have start_queue_runners() start it."""
    get_default_graph().runners.setdefault(collection, []).append(qr)


def start_queue_runners(
    sess: Session | None = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all queues of the graph, which end with the session at the latest.

    Raises:
        ValueError: There is no session.
        TypeError: It is none.
    """
    session = sess or get_default_session()
    if session is None:
        raise ValueError("Cannot start queue runners: No default session is registered.")
    if not isinstance(session, Session):
        raise TypeError(f"sess must be a tf.Session, and not {session!r}")
    runners = session.graph.runners.get(collection, ())
    made = [one.create_threads(session, coord, daemon, start) for one in runners]
    return [thread for threads in made for thread in threads]
