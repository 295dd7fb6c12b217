"""The jobs, done by tfrecs."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

import tfrecs
from jobs import Prepare, Steps, Task

VERSION = tfrecs.__version__


def batches(task: Task) -> Iterator[tfrecs.Records]:
    """Yield the file's records in batches."""
    with tfrecs.RecordReader(task.path) as reader:
        while batch := reader.read_batch(task.workload.batch):
            yield batch


def read(task: Task) -> Steps:
    """RecordReader.read_batch."""
    return lambda: batches(task)


def parse(task: Task) -> Steps:
    """RecordReader.read_batch, decode_batch, and every column as an array."""
    features = task.workload.features

    def steps() -> Iterator[dict[str, Any]]:
        for records in batches(task):
            batch = tfrecs.decode_batch(records, features)
            yield {name: batch[name] for name in batch}

    return steps


def iterate(task: Task) -> Steps:
    """Iterate over a RecordReader."""
    if task.whole:
        return lambda: tfrecs.RecordReader(task.path)
    return lambda: islice(tfrecs.RecordReader(task.path), task.records)


def sequence(task: Task) -> Steps:
    """RecordReader, decode_sequence_example."""
    return lambda: map(tfrecs.decode_sequence_example, iterate(task)())


def write(task: Task) -> Steps:
    """RecordWriter.write, in place, as TensorFlow writes."""
    records = list(iterate(task)())
    each = task.workload.batch

    def steps() -> Iterator[None]:
        with tfrecs.RecordWriter(task.scratch, atomic=False) as out:
            for start in range(0, len(records), each):
                for record in records[start : start + each]:
                    out.write(record)
                yield

    return steps


def encode(task: Task) -> Steps:
    """encode_example."""
    rows = [tfrecs.decode_example(record) for record in iterate(task)()]
    return lambda: map(tfrecs.encode_example, rows)


def decode(task: Task) -> Steps:
    """decode_example."""
    records = list(iterate(task)())
    return lambda: map(tfrecs.decode_example, records)


JOBS: dict[str, Prepare] = {
    "read": read,
    "parse": parse,
    "iterate": iterate,
    "iterate-v1": iterate,
    "sequence": sequence,
    "write": write,
    "encode": encode,
    "decode": decode,
}


def plain(output: Any) -> Any:
    """Return an output in Python's own types."""
    match output:
        case tfrecs.RaggedTensor():
            return {"lengths": np.diff(output.row_splits).tolist(), "values": plain(output.values)}
        case tfrecs.BytesArray() | np.ndarray() | tfrecs.Records():
            return output.tolist()
        case dict():
            return {name: plain(value) for name, value in output.items()}
    return output
