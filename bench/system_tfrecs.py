"""The jobs, done by tfrecs."""

from collections.abc import Iterator
from dataclasses import replace
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


def parse_narrow(task: Task) -> Steps:
    """The same with types that are converted to while decoding."""
    return parse(
        replace(task, workload=replace(task.workload, features=task.workload.narrow or {}))
    )


def parse_kinds(task: Task) -> Steps:
    """RecordReader.read_batch, parse_example."""
    features = task.workload.features
    return lambda: (tfrecs.parse_example(records, features) for records in batches(task))


def parse_sequences(task: Task) -> Steps:
    """RecordReader.read_batch, parse_sequence_example."""
    context, lists = task.workload.context, task.workload.features
    return lambda: (
        tfrecs.parse_sequence_example(records, context, lists) for records in batches(task)
    )


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
    "parse-narrow": parse_narrow,
    "parse-kinds": parse_kinds,
    "parse-sequences": parse_sequences,
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
        case tfrecs.RaggedTensor() if output.ragged_rank == 1:
            return plain(output.to_sparse())
        case tfrecs.SparseTensor():
            return [plain(part) for part in output]
        case tfrecs.RaggedTensor() | tfrecs.BytesArray() | np.ndarray() | tfrecs.Records():
            return output.tolist()
        case dict():
            return {name: plain(value) for name, value in output.items()}
        case tuple():
            return tuple(map(plain, output))
    return output
