"""Reading in order and at random, done by ArrayRecord, of the same records in a file of its own."""

import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter

from framing import frames
from jobs import Prepare, Steps, Task

VERSION = version("array-record")
# As a TFRecord file: not compressed. Of the group sizes 1, 64 and 1,024, the quickest to read.
GROUPS = {"img": 1}
GROUP = 64
# Its read-ahead takes longer than it saves, where the file is in the page cache.
READING = "readahead_buffer_size:0,max_parallelism:0"


def converted(task: Task, group: int) -> Path:
    """Return the path of the file with the task's records, written unless it is there."""
    path = task.path.with_suffix(f".{group}.array_record")
    if not path.exists():
        part = path.with_suffix(f".part{os.getpid()}")
        writer = ArrayRecordWriter(str(part), f"group_size:{group},uncompressed")
        with task.path.open("rb") as file:
            for record in frames(file):
                writer.write(record)
        writer.close()
        part.replace(path)
    return path


def read(task: Task) -> Steps:
    """ArrayRecordReader.read, a list of bytes for each batch."""
    path, each = converted(task, GROUPS.get(task.workload.name, GROUP)), task.batch

    def steps() -> Iterator[list[Any]]:
        reader = ArrayRecordReader(str(path), READING)
        for start in range(0, task.records, each):
            yield reader.read(start, min(start + each, task.records))
        reader.close()

    return steps


def read_random(task: Task) -> Steps:
    """ArrayRecordReader.read of a list of numbers, of a file that is opened already.

    Of the group sizes 1 and 64, 1 is the quickest; read-ahead makes no difference.
    """
    reader, order = ArrayRecordReader(str(converted(task, 1)), ""), task.order
    each = task.batch

    def steps() -> Iterator[list[Any]]:
        for start in range(0, len(order), each):
            yield reader.read(order[start : start + each])

    return steps


def read_one(task: Task) -> Steps:
    """ArrayRecordReader.read of one number, of a file that is opened already."""
    reader, order = ArrayRecordReader(str(converted(task, 1)), ""), task.order
    return lambda: (reader.read([number])[0] for number in order)


JOBS: dict[str, Prepare] = {"read": read, "random": read_random, "random-one": read_one}


def plain(output: Any, task: Task) -> Any:  # noqa: ARG001 - all systems have this signature
    """Return an output in Python's own types."""
    return output
