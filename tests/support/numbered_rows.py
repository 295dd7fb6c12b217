"""Data whose batches can be told apart, and a model that notes which of them it was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tfrecs

ROWS, SIZE = 46, 4
BATCHES = 12

SPEC: dict[str, Any] = {
    "number": tfrecs.FixedLenFeature([], "int64"),
    "x": tfrecs.FixedLenFeature([3], "float32"),
}


def write(folder: Path) -> str:
    """Two shards of ROWS rows in all."""
    for shard, rows in enumerate([range(20), range(20, ROWS)]):
        with tfrecs.RecordWriter(folder / f"{shard}.tfrecord") as out:
            for n in rows:
                row = {"number": n, "x": [n / ROWS, (n % 7) / 7, 1.0]}
                out.write(tfrecs.encode_example(row))
    return str(folder / "*.tfrecord")


def shuffled(paths: str) -> tfrecs.Dataset:
    """Rows in another order in each epoch."""
    return tfrecs.Dataset(paths, SPEC).shuffle(3)


def dataset(paths: str) -> tfrecs.Dataset:
    """The same rows in batches."""
    return shuffled(paths).batch(SIZE)


def expected(paths: str, epochs: int) -> list[list[int]]:
    """The numbers of each batch of that many epochs."""
    ds = dataset(paths)
    passes = [[batch["number"].tolist() for batch in ds] for _ in range(epochs)]
    assert passes[0] != passes[1]
    return [numbers for batches in passes for numbers in batches]
