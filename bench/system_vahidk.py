"""The jobs, done by vahidk/tfrecord: record by record, in Python; no checksum is verified."""

from collections.abc import Iterator
from importlib.metadata import version
from itertools import islice
from typing import Any

from tfrecord import example_pb2
from tfrecord.reader import extract_feature_dict, tfrecord_iterator, tfrecord_loader
from tfrecord.writer import TFRecordWriter

from jobs import GZIP, Prepare, Steps, Task
from rows import Kinds, as_columns

VERSION = version("tfrecord")
KINDS = {"byte": "bytes_list", "float": "float_list", "int": "int64_list"}
TYPES = {"int64": "int", "float32": "float", "string": "byte"}
KIND_OF = {kind: name for name, kind in KINDS.items()}


def records(task: Task) -> Iterator[bytes]:
    """Yield the task's records; the library gives views of a buffer that it uses again."""
    compression = "gzip" if task.job.form == GZIP else None
    views = tfrecord_iterator(str(task.path), compression_type=compression)
    return map(bytes, islice(views, task.records))


def iterate(task: Task) -> Steps:
    """tfrecord_iterator, bytes."""
    return lambda: records(task)


def read(task: Task) -> Steps:
    """The same, in batches."""
    return lambda: batched(records(task), task.workload.batch)


def batched(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of that many items."""
    while batch := list(islice(items, size)):
        yield batch


def parse(task: Task) -> Steps:
    """tfrecord_loader: a dict of NumPy arrays for every record."""
    types = {name: TYPES[feature.dtype] for name, feature in task.features(Kinds).items()}

    def steps() -> Iterator[list[Any]]:
        rows = tfrecord_loader(str(task.path), None, types)
        return batched(islice(rows, task.records), task.workload.batch)

    return steps


def sequence(task: Task) -> Steps:
    """tfrecord_loader of SequenceExamples."""
    path = str(task.path)
    return lambda: islice(tfrecord_loader(path, None, sequence_description={}), task.records)


def decode(task: Task) -> Steps:
    """Example.FromString, and the dict that tfrecord_loader makes of it."""
    ready = list(records(task))
    return lambda: map(feature_dict, ready)


def feature_dict(record: bytes) -> dict[str, Any]:
    """Return a serialized Example as a dict of NumPy arrays, or bytes."""
    message = example_pb2.Example.FromString(record)
    features: dict[str, Any] = extract_feature_dict(message.features, None, KINDS)
    return features


def encode(task: Task) -> Steps:
    """TFRecordWriter.serialize_tf_example."""
    rows = [typed_rows(record) for record in records(task)]
    return lambda: map(TFRecordWriter.serialize_tf_example, rows)


def typed_rows(record: bytes) -> dict[str, tuple[list[Any], str]]:
    """Return a row as the library's writer takes it."""
    features = example_pb2.Example.FromString(record).features.feature
    kinds = {name: features[name].WhichOneof("kind") for name in features}
    return {
        name: (list(getattr(features[name], kind).value), KIND_OF[kind])
        for name, kind in kinds.items()
    }


JOBS: dict[str, Prepare] = {
    "iterate": iterate,
    "gzip-read": read,
    "parse": parse,
    "sequence": sequence,
    "decode": decode,
    "encode": encode,
}


def example(record: bytes) -> dict[str, Any]:
    """Return a serialized Example as a dict of lists."""
    return {name: values for name, (values, _) in typed_rows(record).items()}


def plain(output: Any, task: Task) -> Any:
    """Return an output in Python's own types."""
    match output:
        case tuple():
            return tuple(plain(part, task) for part in output)
        case dict():
            return {name: plain_values(value) for name, value in output.items()}
        case [dict(), *_]:
            return as_columns([plain(row, task) for row in output], task.features(Kinds))
    return output


def plain_values(value: Any) -> list[Any]:
    """Return what the library makes of a feature, or of a feature list, as a list."""
    if isinstance(value, bytes):
        return [value]
    return [plain_values(step) for step in value] if isinstance(value, list) else value.tolist()
