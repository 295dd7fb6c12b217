"""What the machine allows: the file's bytes read once, and the output's copied once.

Reading: each thread reads its part of the file, a piece at a time, into one buffer that it uses
again and again, and copies from there that many bytes that together they are as many as our output
has, to memory that is used again and again too. Both stay in the processor's cache. Writing: as
many bytes are copied, then written from one buffer, by one thread.

It gives no output, and so has no steps that could be counted.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from jobs import CORES, Prepare, Steps, Task
from jobs import JOBS as ALL_JOBS

VERSION = "read() and memcpy"
PIECE = 1 << 20

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Worker:
    """A thread's part of the file, and its share of the output."""

    def __init__(self, start: int, stop: int, output: int) -> None:
        self.start, self.stop = start, stop
        self.output = output
        self.source, self.target = np.ones(PIECE, np.uint8), np.ones(PIECE, np.uint8)

    def read(self, file: int) -> None:
        """Read the part and copy the share, a piece of each by turns."""
        place, copied = self.start, 0
        while place < self.stop:
            want = min(PIECE, self.stop - place)
            place += os.preadv(file, [self.source[:want].data], place)
            due = self.output * (place - self.start) // (self.stop - self.start)
            copy(self.source, self.target, due - copied)
            copied = due

    def write(self, file: int) -> None:
        """Copy and write the part, a piece at a time."""
        for place in range(self.start, self.stop, PIECE):
            want = min(PIECE, self.stop - place)
            copy(self.source, self.target, want)
            os.write(file, self.target[:want].data)


def copy(source: Bytes, target: Bytes, size: int) -> None:
    """Copy that many bytes, from and to the same memory as often as needed."""
    for start in range(0, size, PIECE):
        piece = min(PIECE, size - start)
        np.copyto(target[:piece], source[:piece])


def read(task: Task) -> Steps:
    """Read the file in as many parts as there are threads."""
    size, threads = task.path.stat().st_size, task.threads or CORES
    cuts = [size * i // threads for i in range(threads + 1)]
    share = task.output_bytes // (threads * task.times)
    workers = [Worker(cuts[i], cuts[i + 1], share) for i in range(threads)]
    pool = ThreadPoolExecutor(threads)

    def steps() -> Iterator[None]:
        for path in task.paths:
            file = os.open(path, os.O_RDONLY)
            try:
                run(pool, workers, file)
            finally:
                os.close(file)
        yield from ()

    return steps


def run(pool: ThreadPoolExecutor, workers: list[Worker], file: int) -> None:
    """Let every worker read its part; the last one is this thread's."""
    others = [pool.submit(worker.read, file) for worker in workers[:-1]]
    workers[-1].read(file)
    for other in others:
        other.result()


def write(task: Task) -> Steps:
    """Write as many bytes as the task's file has."""
    worker = Worker(0, task.path.stat().st_size, 0)

    def steps() -> Iterator[None]:
        file = os.open(task.scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            worker.write(file)
        finally:
            os.close(file)
        yield from ()

    return steps


def way_of(writes: bool) -> Callable[[Task], Steps]:
    """Return how the limit of such a job is measured."""
    return write if writes else read


JOBS: dict[str, Prepare] = {name: way_of(job.writes) for name, job in ALL_JOBS.items()}
