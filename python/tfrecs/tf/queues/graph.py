"""Sessions, and what belongs to a graph: the runners that fill its queues."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self
from weakref import WeakSet

from tfrecs.errors import SpecError
from tfrecs.errors.tf_errors import CancelledError
from tfrecs.tf.graph.deferred import Deferred, computed, fed, fetched
from tfrecs.tf.tensor.nest import mapped
from tfrecs.tf.tensor.values import RaggedTensor, SparseTensor, Tensor

# How long threads that are to stop are waited for. They look every 50 ms, unless they compute.
PATIENCE = 10.0


class Stop:
    """Whether threads are to stop, and which they are. They know nothing of their session."""

    def __init__(self) -> None:
        """Begin: nothing stops."""
        self.event = threading.Event()
        self.threads: list[threading.Thread] = []
        _stops.add(self)

    def now(self) -> None:
        """Have the threads stop, and wait until they have."""
        self.event.set()
        until = time.monotonic() + PATIENCE
        for thread in self.threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(until - time.monotonic(), 0))


_stops: WeakSet[Stop] = WeakSet()


@atexit.register
def _stop_all() -> None:
    for stop in list(_stops):
        stop.now()


_wanted = threading.local()


@contextmanager
def wanted_until(is_over: Callable[[], bool]) -> Iterator[None]:
    """Say for this thread when what it waits for is not wanted any more."""
    before = getattr(_wanted, "is_over", None)
    _wanted.is_over = is_over
    try:
        yield
    finally:
        _wanted.is_over = before


def check_wanted() -> None:
    """Raise CancelledError if what this thread waits for is not wanted any more."""
    is_over = getattr(_wanted, "is_over", None)
    if is_over is not None and is_over():
        raise CancelledError("the session was closed, or its threads were asked to stop")


class Graph:
    """As `tf.Graph`: the runners of the queues that are made while it is the default."""

    def __init__(self) -> None:
        """Begin with none."""
        self.runners: dict[str, list[Any]] = {}
        self.stops: WeakSet[Stop] = WeakSet()

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make it the one that runners are added to."""
        _graphs.append(self)
        try:
            yield self
        finally:
            _graphs.remove(self)


_graphs = [Graph()]


def get_default_graph() -> Graph:
    """Return the graph that runners are added to."""
    return _graphs[-1]


def reset_default_graph() -> None:
    """Begin another graph, and stop the threads that fill queues of the present one."""
    for stop in list(_graphs[-1].stops):
        stop.now()
    _graphs[-1] = Graph()


class Session:
    r"""As `tf.Session`: computes values, and ends the threads that were started for it.

    Example:
        >>> from tfrecs import tf
        >>> tf.io.write_file("names.txt", "ada\ngrace\n")
        >>> queue = tf.train.string_input_producer(["names.txt"], num_epochs=1)
        >>> key, line = tf.TextLineReader().read(queue)
        >>> with tf.Session() as sess:
        ...     print(sess.run([key, line]), line.eval())
        [b'names.txt:1', b'ada'] b'grace'
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        """Begin one for a graph."""
        self.graph = graph or get_default_graph()
        self.stop = Stop()
        self.graph.stops.add(self.stop)

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Return values: of one, or of those in lists, tuples and dicts. Each is computed once.

        Raises:
            OutOfRangeError: There is nothing more to read.
            RuntimeError: The session is closed.
            TypeError: There is something among them that is no value.
        """
        if self.stop.event.is_set():
            raise RuntimeError("Attempted to use a closed Session.")
        mapped(_check_fetch, fetches)
        with wanted_until(self.stop.event.is_set):
            return fetched(computed(fetches, fed(feed_dict)))

    def close(self) -> None:
        """Stop the threads that were started for it; it is the default no more."""
        if self in _sessions:
            _sessions.remove(self)
        self.stop.now()

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        """Make it the default, and leave it open."""
        _sessions.append(self)
        try:
            yield self
        finally:
            _sessions.remove(self)

    def __enter__(self) -> Self:
        """Make it the default."""
        _sessions.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def __del__(self) -> None:
        """Stop its threads, where nobody did."""
        if hasattr(self, "stop"):
            self.stop.now()


_sessions: list[Session] = []


class InteractiveSession(Session):
    """As `tf.InteractiveSession`: a session that is the default from the beginning."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        """Begin one."""
        super().__init__(target, graph, config)
        _sessions.append(self)


def get_default_session() -> Session | None:
    """Return the session of the innermost `with`, or the interactive one."""
    return _sessions[-1] if _sessions else None


def _check_fetch(fetch: Any) -> None:
    if not isinstance(fetch, Deferred | Tensor | SparseTensor | RaggedTensor):
        kind = type(fetch).__name__
        raise TypeError(
            f"Fetch argument {fetch!r} has invalid type {kind!r}: it must be what a function of tf "
            "has returned"
        )


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Deferred:
    """Return what stands for a value that each run is fed.

    Example:
        >>> from tfrecs import tf
        >>> number = tf.placeholder(tf.int32, [])
        >>> with tf.Session() as sess:
        ...     print(sess.run(number + 1, feed_dict={number: 2}))
        3
    """

    def not_fed() -> None:
        raise SpecError(f"You must feed a value for placeholder tensor {made.name!r}")

    made = Deferred(not_fed).of_kind(dtype, shape)
    made.name = name or "Placeholder"
    return made


def no_op(*args: Any, **kwargs: Any) -> Deferred:
    """Return what computes its arguments, if any, and nothing else: there are no variables."""
    return Deferred(_nothing, args)


def _nothing(*computed: Any) -> None:
    """Do nothing with what was computed."""
