"""bucket_by_length() by an expression is that by a function, and padding to boundaries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfrecs
from tfrecs import col
from tfrecs.dataset import DatasetIterator
from tfrecs.dataset.stages.stage import Run
from tfrecs.testing import assert_resumes, same

FEATURES: dict[str, Any] = {
    "ids": tfrecs.VarLenFeature("int64"),
    "n": tfrecs.FixedLenFeature([], "int64"),
    "pair": tfrecs.FixedLenFeature([2], "float32"),
    "words": tfrecs.FixedLenSequenceFeature([], "string", allow_missing=True),
    "name": tfrecs.FixedLenFeature([], "string", "none"),
}
LENGTH = col("ids").length()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("buckets") / "a.tfrecord"
    random = np.random.default_rng(3)
    with tfrecs.RecordWriter(path) as out:
        for n in range(120):
            length = int(random.integers(0, 9))
            row: dict[str, Any] = {"ids": list(range(length)), "n": n, "pair": [n / 2, -n / 2]}
            row |= {"words": [b"w" * n for n in range(n % 3)]} | (
                {"name": "x" * n} if n % 2 else {}
            )
            out.write(tfrecs.encode_example(row))
    return path


def length(element: Any) -> int:
    row = element[1] if isinstance(element, tuple) else element
    return len(row["ids"].values)


SOURCES: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "files": lambda ds: ds,
    "shuffle": lambda ds: ds.shuffle(4).repeat(2),
    "shard": lambda ds: ds.shard(3, 1, "drop"),
    "filter": lambda ds: ds.filter(col("n") % 3 > 0),
    "filter repeat": lambda ds: ds.filter(col("n") % 3 > 0).repeat(2),
    "keys": lambda ds: ds.with_keys(),
}


@settings(max_examples=40)
@given(
    name=st.sampled_from(sorted(SOURCES)),
    boundaries=st.sets(st.integers(0, 9), max_size=4).map(sorted),
    data=st.data(),
    drop=st.booleans(),
    stripe=st.sampled_from([None, (2, 0), (2, 1)]),
)
def test_an_expression_and_a_function_divide_alike(
    path: Path,
    name: str,
    boundaries: list[int],
    data: st.DataObject,
    drop: bool,
    stripe: tuple[int, int] | None,
) -> None:
    count = len(boundaries) + 1
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    ds = SOURCES[name](tfrecs.Dataset(path, FEATURES))
    made = [
        DatasetIterator(ds.bucket_by_length(by, boundaries, sizes, None, None, drop).node, Run(2))
        for by in (LENGTH, length)
    ]
    fast, slow = map(list, made)
    assert same([*map(plain, fast)], [*map(plain, slow)])
    if stripe is not None:
        node = ds.bucket_by_length(LENGTH, boundaries, sizes, None, None, drop).node
        mine = list(DatasetIterator(node, Run(2, stripe)))
        assert same([*map(plain, mine)], [*map(plain, fast)][stripe[1] :: 2])


def plain(batch: Any) -> Any:
    if isinstance(batch, tuple):
        return batch[0].tolist(), plain(batch[1])
    return {name: np.asarray(column).tolist() for name, column in batch.items()}


@pytest.mark.parametrize("name", SOURCES)
def test_it_resumes(path: Path, name: str) -> None:
    ds = SOURCES[name](tfrecs.Dataset(path, FEATURES))
    made = ds.bucket_by_length(LENGTH, [2, 5, 8], [4, 7, 5, 60])
    assert_resumes(made, steps=range(0, len(list(made)) + 1, 2))


def test_elements_that_functions_made(path: Path) -> None:
    ds = tfrecs.Dataset(path, FEATURES).map(dict)
    made = [list(ds.bucket_by_length(by, [3], [5, 5])) for by in (LENGTH, length)]
    assert same([*map(plain, made[0])], [*map(plain, made[1])])


@pytest.mark.parametrize("by", [LENGTH, length])
def test_padding_to_boundaries(path: Path, by: Any) -> None:
    ds = tfrecs.Dataset(path, FEATURES)
    made = ds.bucket_by_length(by, [4, 12], [6, 6, 6], pad_to_bucket_boundary=True)
    batches = list(made)
    assert {batch["ids"].shape[1] for batch in batches} == {3, 11}
    assert {batch["words"].shape[1] for batch in batches} == {3, 11}
    assert {batch["pair"].shape[1:] for batch in batches} == {(2,)}
    assert {batch["n"].ndim for batch in batches} == {1}
    shapes: dict[str, list[int | None]] = {"ids": [20], "words": [None]}
    made = ds.bucket_by_length(by, [12], [6, 6], shapes, pad_to_bucket_boundary=True)
    assert {(one["ids"].shape[1], one["words"].shape[1]) for one in made} == {(20, 11)}
    short = ds.bucket_by_length(by, [4], [6, 6], pad_to_bucket_boundary=True)
    with pytest.raises(tfrecs.SpecError, match="needs a boundary"):
        list(short)


def test_what_is_no_length(path: Path) -> None:
    ds = tfrecs.Dataset(path, FEATURES)
    for by, text in (
        (col("name"), "no length"),
        (col("none").length(), "no such feature"),
        (3, "must be a function"),
    ):
        with pytest.raises(tfrecs.SpecError, match=text):
            ds.bucket_by_length(by, [3], [5, 5])  # type: ignore[arg-type]
    by_name = ds.bucket_by_length(col("name").length(), [5], [8, 8])
    assert sum(len(batch["n"]) for batch in by_name) == 120
