"""Parsing, done by DALI's readers.tfrecord on the CPU, with its index; no checksum is verified."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from nvidia import dali
from nvidia.dali import fn
from nvidia.dali import tfrecord as dali_features

from framing import spans
from jobs import CORES, Prepare, Steps, Task
from rows import Fixed, Kinds, as_columns

VERSION: str = dali.__version__
DEFAULTS = {"int64": 0, "float32": 0.0, "string": ""}
TYPES = {
    "int64": dali_features.int64,
    "float32": dali_features.float32,
    "string": dali_features.string,
}


def index_of(path: Path) -> Path:
    """Return the path of the file's index, as tfrecord2idx writes it: a line for each record."""
    index = path.with_suffix(".idx")
    if not index.exists():
        part = index.with_suffix(f".part{os.getpid()}")
        with path.open("rb") as file, part.open("w") as out:
            out.writelines(f"{start} {length}\n" for start, length in spans(file))
        part.replace(index)
    return index


def parse(task: Task) -> Steps:
    """readers.tfrecord: every feature a list of tensors, in batches, two of them ahead.

    A pipeline cannot begin anew, so the two that are needed before the clock stops are ready.
    """
    index = index_of(task.path)
    ready = [pipeline(task, index), pipeline(task, index)]

    def steps() -> Iterator[Any]:
        pipe = ready.pop() if ready else pipeline(task, index)
        return (pipe.run() for _ in range(task.steps))

    return steps


def pipeline(task: Task, index: Path) -> Any:
    """Return a pipeline from the file's beginning."""
    pipe = dali.Pipeline(task.workload.batch, num_threads=CORES, device_id=None)
    wanted = task.features(Kinds)
    features = {name: dali_feature(feature) for name, feature in wanted.items()}
    with pipe:
        read = fn.readers.tfrecord(path=str(task.path), index_path=str(index), features=features)
        pipe.set_outputs(*(read[name] for name in wanted))
    pipe.build()
    return pipe


def dali_feature(feature: Any) -> Any:
    """Return DALI's own feature."""
    dtype, default = TYPES[feature.dtype], DEFAULTS[feature.dtype]
    if isinstance(feature, Fixed):
        return dali_features.FixedLenFeature(feature.shape, dtype, default)
    return dali_features.VarLenFeature(dtype, default)


JOBS: dict[str, Prepare] = {"parse": parse, "project": parse}


def plain(output: Any, task: Task) -> Any:
    """Return an output in Python's own types."""
    spec = task.features(Kinds)
    rows: list[dict[str, list[Any]]] = [{} for _ in range(len(output[0]))]
    for name, tensors in zip(spec, output, strict=True):
        for row, place in zip(rows, range(len(tensors)), strict=True):
            row[name] = values(np.asarray(tensors.at(place)), spec[name].dtype)
    return as_columns(rows, spec)


def values(array: Any, dtype: str) -> list[Any]:
    """Return a feature's values of one record; a string is an array of its bytes."""
    return [array.tobytes()] if dtype == "string" else array.ravel().tolist()
