"""Ctrl-C while a library decodes that cannot be interrupted.

Python handles signals in its main thread only, and only between instructions: during a long call
into a C library Ctrl-C would wait for its end. So long calls run on a thread of their own. The main
thread waits for it, and Ctrl-C ends that wait at once. The call that is left behind is bounded: its
work was limited before it began. Such threads are daemons, so the end of the process does not wait
for them either.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")


def call_interruptibly(call: Callable[[], Result]) -> Result:
    """Call a function that takes long; on the main thread, such that Ctrl-C ends the wait.

    Example:
        >>> from tfrecs.media.waiting import call_interruptibly
        >>> call_interruptibly(lambda: 6 * 7)
        42
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: list[Result] = []
    (error,) = run_threads(lambda: results.append(call()), 1)
    if error is not None:
        raise error
    return results[0]


def run_threads(work: Callable[[], None], count: int) -> list[BaseException | None]:
    """Run `work` on `count` threads, and wait for all of them; return what each has raised.

    Where the system refuses another thread, those that have started do the work; without any, the
    calling thread does. An exception in the calling thread, such as by Ctrl-C, does not wait for
    the threads.
    """
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            ended.put(error)
        else:
            ended.put(None)

    threads = [
        threading.Thread(target=run, name=f"tfrecs-decode-{number}", daemon=True)
        for number in range(count)
    ]
    started = []
    with suppress(RuntimeError):  # can't start new thread
        for thread in threads:
            thread.start()
            started.append(thread)
    if not started:
        run()
    errors = [ended.get() for _ in range(len(started) or 1)]
    for thread in started:
        thread.join()  # it has nothing left to do; a process may fork after this
    return errors
