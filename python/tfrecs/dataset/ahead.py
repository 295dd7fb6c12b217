"""Threads of Python that belong to one iterator, and end with it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from tfrecs.errors import StateError

T = TypeVar("T")


class Workers:
    """A few threads; they end when this is closed, or forgotten."""

    def __init__(self, num_threads: int) -> None:
        """Have so many threads at most, from the first call on."""
        self._executor = ThreadPoolExecutor(num_threads, thread_name_prefix="tfrecs")
        self._process = os.getpid()
        self._stop = weakref.finalize(self, _stop, self._executor, self._process)
        # At the end of the process concurrent.futures itself waits for its threads.
        self._stop.atexit = False

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Call a function on one of the threads."""
        self._check()
        return self._executor.submit(function, *arguments)

    def result(self, call: Future[T]) -> T:
        """Wait for a call; Ctrl-C ends the waiting."""
        self._check()
        return call.result()

    def close(self) -> None:
        """Call nothing any more, and wait for what is being called."""
        self._stop.detach()
        if os.getpid() == self._process:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _check(self) -> None:
        if os.getpid() != self._process:
            raise StateError(
                "this iterator has threads in another process, of which this is a fork: iterate "
                "over the dataset anew"
            )


def _stop(executor: ThreadPoolExecutor, process: int) -> None:
    if os.getpid() == process:
        executor.shutdown(wait=False, cancel_futures=True)
