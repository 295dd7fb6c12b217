"""Parsing, done by tfx-bsl: ready records to Arrow, on one core; it reads no files by itself.

Only its decoder is installed, without TensorFlow and Beam: it needs neither.
"""

from collections.abc import Iterator
from typing import Any

from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.coders.example_coder import ExamplesToRecordBatchDecoder
from tfx_bsl.version import __version__ as VERSION  # noqa: N812 - all systems have this name

from framing import frames
from jobs import Prepare, Steps, Task
from rows import Kinds, as_columns

__all__ = ["JOBS", "VERSION", "plain"]

TYPES = {
    "int64": schema_pb2.FeatureType.INT,
    "float32": schema_pb2.FeatureType.FLOAT,
    "string": schema_pb2.FeatureType.BYTES,
}


def parse(task: Task) -> Steps:
    """ExamplesToRecordBatchDecoder.DecodeBatch, with a schema."""
    decoder = ExamplesToRecordBatchDecoder(schema(task).SerializeToString())
    with task.path.open("rb") as file:
        records = list(frames(file))
    each = task.workload.batch

    def steps() -> Iterator[Any]:
        for start in range(0, len(records), each):
            yield decoder.DecodeBatch(records[start : start + each])

    return steps


def schema(task: Task) -> Any:
    """Return what to parse as tensorflow-metadata describes it."""
    features = task.features(Kinds).items()
    return schema_pb2.Schema(
        feature=[
            schema_pb2.Feature(name=name, type=TYPES[feature.dtype]) for name, feature in features
        ]
    )


JOBS: dict[str, Prepare] = {"parse": parse, "project": parse}


def plain(output: Any, task: Task) -> Any:
    """Return an output in Python's own types."""
    return as_columns(output.to_pylist(), task.features(Kinds))
