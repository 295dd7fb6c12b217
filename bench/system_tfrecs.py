"""The jobs, done by tfrecs."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

import tfrecs
from jobs import NotThereError, Prepare, Steps, Task

VERSION = tfrecs.__version__


def dataset(task: Task, **spec: Any) -> Any:
    """Return a Dataset of the task's files, in batches."""
    make = getattr(tfrecs, "Dataset", None)
    if make is None:
        raise NotThereError("this tfrecs has no Dataset")
    return make(task.paths, num_threads=task.threads, **spec).batch(task.workload.batch)


def batches(task: Task) -> Iterator[tfrecs.Records]:
    """Yield the file's records in batches."""
    with tfrecs.RecordReader(task.path) as reader:
        while batch := reader.read_batch(task.workload.batch):
            yield batch


def read(task: Task) -> Steps:
    """RecordReader.read_batch."""
    return lambda: batches(task)


def opened(task: Task) -> Any:
    """Return the file's records by number, with the index made."""
    return tfrecs.open(task.path, num_threads=task.threads)


def opened_mapped(task: Task) -> tfrecs.IndexedRecords:
    """open() with memory_map."""
    return tfrecs.open(task.path, num_threads=task.threads, memory_map=True)


def in_batches(records: tfrecs.IndexedRecords, task: Task) -> Steps:
    """A list of numbers for each batch."""
    order, each = task.order, task.batch
    return lambda: (records[order[at : at + each]] for at in range(0, len(order), each))


def one_by_one(records: tfrecs.IndexedRecords, task: Task) -> Steps:
    """One number after the other."""
    order = task.order
    return lambda: map(records.__getitem__, order)


def read_random(task: Task) -> Steps:
    """open(), and records in batches."""
    return in_batches(opened(task), task)


def read_mapped(task: Task) -> Steps:
    """The same with memory_map."""
    return in_batches(opened_mapped(task), task)


def read_one(task: Task) -> Steps:
    """open(), and record by record."""
    return one_by_one(opened(task), task)


def read_one_mapped(task: Task) -> Steps:
    """The same with memory_map."""
    return one_by_one(opened_mapped(task), task)


def read_dataset(task: Task) -> Steps:
    """Dataset without features."""
    records = dataset(task)
    return lambda: iter(records)


def parse(task: Task) -> Steps:
    """Dataset, and every column as an array."""
    columns = dataset(task, features=task.features(tfrecs))
    return lambda: map(every_column, columns)


def every_column(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a batch's columns."""
    return {name: batch[name] for name in batch}


def parse_by_reader(task: Task) -> Steps:
    """RecordReader.read_batch, decode_batch, and every column as an array."""
    features = task.features(tfrecs)
    return lambda: (every_column(tfrecs.decode_batch(each, features)) for each in batches(task))


def parse_kinds_by_reader(task: Task) -> Steps:
    """RecordReader.read_batch, parse_example."""
    features = task.features(tfrecs)
    return lambda: (tfrecs.parse_example(records, features) for records in batches(task))


def context_of(task: Task) -> dict[str, Any]:
    """Return what to parse of a SequenceExample's context."""
    return task.workload.context(tfrecs) if task.workload.context else {}


def parse_sequences(task: Task) -> Steps:
    """Dataset of SequenceExamples."""
    spec = {"context_features": context_of(task), "sequence_features": task.features(tfrecs)}
    parsed = dataset(task, **spec)
    return lambda: (tuple(map(every_column, parts)) for parts in parsed)


def parse_sequences_by_reader(task: Task) -> Steps:
    """RecordReader.read_batch, parse_sequence_example."""
    context, lists = context_of(task), task.features(tfrecs)
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


def write(task: Task, sync: bool = True) -> Steps:
    """RecordWriter.write, in place, as TensorFlow writes; it does not wait for the disk."""
    records = list(iterate(task)())
    each = task.workload.batch

    def steps() -> Iterator[None]:
        with tfrecs.RecordWriter(task.scratch, atomic=False, sync=sync) as out:
            for start in range(0, len(records), each):
                for record in records[start : start + each]:
                    out.write(record)
                yield

    return steps


def write_batch(task: Task) -> Steps:
    """RecordWriter.write_batch, in place."""
    records = list(batches(task))

    def steps() -> Iterator[None]:
        with tfrecs.RecordWriter(task.scratch, atomic=False) as out:
            for batch in records:
                out.write_batch(batch)
                yield

    return steps


def write_columns(task: Task, sync: bool = True) -> Steps:
    """encode_batch, RecordWriter.write_batch."""
    features = task.features(tfrecs)
    columns = [every_column(tfrecs.decode_batch(each, features)) for each in batches(task)]

    def steps() -> Iterator[None]:
        with tfrecs.RecordWriter(task.scratch, atomic=False, sync=sync) as out:
            for batch in columns:
                out.write_batch(tfrecs.encode_batch(batch))
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
    "read:dataset": read_dataset,
    "random": read_random,
    "random:mapped": read_mapped,
    "random-one": read_one,
    "random-one:mapped": read_one_mapped,
    "gzip-random-one": read_one,
    "gzips-random-one": read_one,
    "parse": parse,
    "parse:reader": parse_by_reader,
    "project": parse,
    "project:reader": parse_by_reader,
    "parse-narrow": parse,
    "parse-narrow:reader": parse_by_reader,
    "parse-kinds": parse,
    "parse-kinds:reader": parse_kinds_by_reader,
    "parse-sequences": parse_sequences,
    "parse-sequences:reader": parse_sequences_by_reader,
    "iterate": iterate,
    "sequence": sequence,
    "decode": decode,
    "encode": encode,
    "write": write,
    "write:unsynced": partial(write, sync=False),
    "write:write_batch": write_batch,
    "write-columns": write_columns,
    "write-columns:unsynced": partial(write_columns, sync=False),
    "gzip-read": read,
    "gzip-read:dataset": read_dataset,
    "gzip-parse": parse,
    "gzip-parse:reader": parse_by_reader,
    "gzips-read": read,
    "gzips-read:dataset": read_dataset,
    "gzips-parse": parse,
    "gzips-parse:reader": parse_by_reader,
    "gzip-write": write,
    "gzip-write:unsynced": partial(write, sync=False),
    "gzip-write:write_batch": write_batch,
}

example = tfrecs.decode_example


def plain(output: Any, task: Task) -> Any:
    """Return an output in Python's own types."""
    match output:
        case tfrecs.RaggedTensor() if output.ragged_rank == 1:
            return plain(output.to_sparse(), task)
        case tfrecs.SparseTensor():
            return [plain(part, task) for part in output]
        case tfrecs.RaggedTensor() | tfrecs.BytesArray() | np.ndarray() | tfrecs.Records():
            return output.tolist()
        case dict():
            return {name: plain(value, task) for name, value in output.items()}
        case tuple():
            return tuple(plain(part, task) for part in output)
    return output


def size(output: Any) -> int:
    """Return how many bytes an output has, its offsets included; 0 for Python's own numbers."""
    match output:
        case tfrecs.RaggedTensor():
            parts: Iterable[Any] = (output.values, output.row_splits)
        case dict():
            parts = output.values()
        case tuple() | list():
            parts = output
        case _:
            return size_of_one(output)
    return sum(map(size, parts))


def size_of_one(output: Any) -> int:
    """Return how many bytes an array, a batch of records or a record has."""
    if isinstance(output, tfrecs.BytesArray):
        return output.nbytes + int(output.offsets.nbytes)
    return len(output) if isinstance(output, bytes) else int(getattr(output, "nbytes", 0))
