"""Pipelines beside tf.data's: the same elements in the same order, or both refuse."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import assume, given
from hypothesis import strategies as st

import tfrecs
from oracle.cases import randomly

REFUSALS = (tf.errors.OpError, TypeError, ValueError)

TYPES = {"n": "int64", "word": "string", "list": "int64", "xs": "float32", "words": "string"}
SCALARS = ("n", "word")

Row: TypeAlias = dict[str, Any]

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "word": st.binary(max_size=3),
            "list": st.lists(st.integers(-3, 3), max_size=5),
            "xs": st.lists(st.sampled_from([0.0, 1.5, -2.25]), max_size=4),
            "words": st.lists(st.sampled_from([b"", b"a", b"\xff\x00", b"long"]), max_size=3),
        }
    ),
    max_size=14,
).map(lambda rows: [{"n": n, **row} for n, row in enumerate(rows)])
COUNTS = st.integers(-3, 9)
SIZES = st.integers(-1, 6)


def features(module: Any, **types: str) -> Any:
    """What to parse: TensorFlow's classes or ours."""
    kinds = {name: getattr(module, name) for name in ("FixedLenFeature", "FixedLenSequenceFeature")}
    types = types or TYPES
    dtype = (lambda name: getattr(tf, name)) if module is tf.io else str
    return {
        name: kinds["FixedLenFeature"]([], dtype(kind))
        if name in SCALARS
        else kinds["FixedLenSequenceFeature"]([], dtype(kind), allow_missing=True)
        for name, kind in types.items()
    }


def written(rows: list[Row], path: Path, compression_type: str = "") -> str:
    with tfrecs.RecordWriter(path, compression_type) as out:
        out.write_batch([tfrecs.encode_example(row) for row in rows])
    return str(path)


class Pair:
    """The same elements as a dataset of each library, and what both make of them."""

    folder: Path
    numbers = count()

    def __init__(self, rows: list[Row]) -> None:
        self.path = path = written(rows, self.folder / f"{next(self.numbers)}.tfrecord")
        spec = features(tf.io)
        self.theirs = tf.data.TFRecordDataset(path).map(
            lambda record: tf.io.parse_single_example(record, spec)
        )
        self.ours = tfrecs.Dataset(path, features(tfrecs))

    def only(self, *names: str) -> Pair:
        """The values of these features alone, as tuples if they are several."""

        def pick(row: Any) -> Any:
            values = [row[name] for name in names]
            return values[0] if len(values) == 1 else tuple(values)

        self.theirs, self.ours = self.theirs.map(pick), self.ours.map(pick)
        return self

    def check(self, step: Callable[[Any, Any], Any]) -> None:
        """Hold both to the same elements; `step` gets a dataset, and what is the library's own."""
        expected = elements(lambda: step(self.theirs, tf.data.Dataset))
        found = elements(lambda: step(self.ours, tfrecs.Dataset))
        assert found == expected

    def call(self, name: str, *arguments: Any, **options: Any) -> None:
        self.check(lambda ds, _: getattr(ds, name)(*arguments, **options))


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where the files of all pairs lie."""
    Pair.folder = tmp_path_factory.mktemp("rows")


def elements(make: Callable[[], Any]) -> Any:
    """All elements as plain values; None if they, or one of them, are refused."""
    found = []
    try:
        for element in make():
            found.append(plain(element))
            assert len(found) < 1000, "without end"
    except REFUSALS:
        return None
    return found


def plain(value: Any) -> Any:
    """Type, shape and values, whoever made them."""
    if isinstance(value, dict) or hasattr(value, "keys"):
        return {name: plain(value[name]) for name in sorted(value)}
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    if hasattr(value, "dense_shape"):
        parts = (value.indices, value.values, value.dense_shape)
        return ["sparse", *(plain(part) for part in parts)]
    value = value.numpy() if hasattr(value, "numpy") else value
    if isinstance(value, bytes):  # of which NumPy would cut NULs
        return "string", (), value
    array = np.asarray(value)
    dtype = "string" if array.dtype.kind in "OSU" else array.dtype.name
    return dtype, array.shape, array.tolist()


# --- Batches ---


@randomly(60)
@given(ROWS, SIZES, st.booleans(), st.booleans())
def test_batch(rows: list[Row], n: int, drop: bool, native: bool) -> None:
    """Of equal shapes, natively and by Python."""
    pair = Pair(rows).only("n", "word")
    if native:
        pair = Pair(rows)
        both = [(name, TYPES[name]) for name in SCALARS]
        spec = features(tf.io, **dict(both))
        pair.theirs = tf.data.TFRecordDataset(pair.path).map(
            lambda record: tf.io.parse_single_example(record, spec)
        )
        pair.ours = tfrecs.Dataset(pair.path, features(tfrecs, **dict(both)))
    pair.call("batch", n, drop_remainder=drop)


@randomly(60)
@given(ROWS.filter(bool), SIZES)
def test_batch_of_different_shapes_is_refused(rows: list[Row], n: int) -> None:
    Pair(rows).only("list").call("batch", n)


SHAPES = st.sampled_from([None, [None], [-1], [2], [5], [], [None, 2]])


@randomly(30)
@given(ROWS, SIZES, st.booleans(), st.data(), st.booleans())
def test_padded_batch(
    rows: list[Row], n: int, drop: bool, data: st.DataObject, native: bool
) -> None:
    shapes, values = None, None
    # Without a batch there is nothing that could be wrong.
    if len(rows) >= (n if drop else 1) and data.draw(st.booleans()):
        shapes = {name: data.draw(SHAPES) for name in TYPES if name not in SCALARS}
        shapes = {name: [None] if shape is None else shape for name, shape in shapes.items()}
        shapes |= {name: [] for name in SCALARS}
    if data.draw(st.booleans()):
        values = {
            "n": np.int64(1),
            "word": b"w",
            "list": np.int64(data.draw(st.integers(-2, 2))),
            "xs": np.float32(data.draw(st.sampled_from([0, -1, 0.1]))),
            "words": data.draw(st.sampled_from([b"", b"pad", "text"])),
        }
    pair = Pair(rows)
    if not native:
        pair.ours = pair.ours.map(dict)
    pair.call("padded_batch", n, padded_shapes=shapes, padding_values=values, drop_remainder=drop)


@randomly(60)
@given(
    ROWS,
    st.sampled_from(["list", "xs", "words"]),
    SHAPES,
    st.sampled_from([None, np.int64(-1), np.float32(0.5), np.float32(np.inf), "pad", b"\xff"]),
)
def test_padded_batch_of_arrays(rows: list[Row], name: str, shape: Any, value: Any) -> None:
    """A value of another type is refused by both, as a shape that is too small."""
    assume(TYPES[name] != "float32" or not isinstance(value, np.int64))  # ours takes it
    assume(rows)  # else nothing is there whose type and shape could be wrong
    pair = Pair(rows).only(name)
    pair.call("padded_batch", 3, padded_shapes=shape, padding_values=value)


@pytest.mark.parametrize("boundaries", [[], [1], [2, 3], [1, 4]])
@randomly(150)
@given(ROWS, st.data(), st.booleans())
def test_bucket_by_length(
    boundaries: list[int], rows: list[Row], data: st.DataObject, drop: bool
) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=len(boundaries) + 1, max_size=5))
    pair = Pair(rows).only("list")

    def step(ds: Any, library: Any) -> Any:
        if library is tf.data.Dataset:
            return ds.bucket_by_sequence_length(
                lambda row: tf.shape(row)[0], boundaries, sizes, drop_remainder=drop
            )
        return ds.bucket_by_length(len, boundaries, sizes, drop_remainder=drop)

    pair.check(step)


# --- One by one ---


@randomly(60)
@given(ROWS, st.sampled_from(["take", "skip"]), COUNTS, st.booleans())
def test_take_and_skip(rows: list[Row], name: str, count: int, native: bool) -> None:
    pair = Pair(rows)
    (pair if native else pair.only("n", "list")).call(name, count)


@randomly(60)
@given(ROWS, st.one_of(st.none(), COUNTS), st.integers(1, 5), st.booleans())
def test_repeat(rows: list[Row], count: int | None, n: int, native: bool) -> None:
    """Batches continue across epochs; one without end continues."""
    pair = Pair(rows).only("n")
    if native:
        pair.ours = Pair(rows).ours.map(lambda row: row["n"])
    pair.check(lambda ds, _: ds.repeat(count).batch(n).take(30))


@randomly(60)
@given(ROWS, st.integers(-1, 4), st.integers(-1, 4), st.booleans())
def test_shard(rows: list[Row], num: int, index: int, native: bool) -> None:
    pair = Pair(rows)
    (pair if native else pair.only("n", "list")).call("shard", num, index)


@randomly(60)
@given(ROWS, st.lists(st.integers(0, 5), max_size=3))
def test_zip_and_concatenate(rows: list[Row], skips: list[int]) -> None:
    pair = Pair(rows)

    def zipped(ds: Any, library: Any) -> Any:
        others = [ds.skip(skipped) for skipped in skips]
        return library.zip((ds, *others)) if library is tf.data.Dataset else ds.zip(*others)

    def concatenated(ds: Any, library: Any) -> Any:
        for skipped in skips:
            ds = ds.concatenate(ds.skip(skipped))
        return ds

    pair.check(zipped)
    pair.check(concatenated)


@randomly(60)
@given(ROWS, st.integers(-5, 5), st.integers(1, 4))
def test_enumerate_and_filter(rows: list[Row], start: int, divisor: int) -> None:
    pair = Pair(rows).only("n")
    pair.call("enumerate", start)
    pair.check(lambda ds, _: ds.filter(lambda n: n % divisor == 0).enumerate(start).batch(2))


@randomly(60)
@given(ROWS, st.integers(1, 4), st.booleans())
def test_unbatch(rows: list[Row], n: int, drop: bool) -> None:
    # Rows of no values would end TensorFlow's process.
    shapes = {"n": [], "word": [], "list": [5], "xs": [4], "words": [3]}
    Pair(rows).check(lambda ds, _: ds.padded_batch(n, shapes, drop_remainder=drop).unbatch())
    Pair(rows).only("n", "word").check(lambda ds, _: ds.batch(n).skip(1).unbatch())


def test_unbatch_of_parts_of_unequal_length_is_refused() -> None:
    theirs = tf.data.Dataset.range(5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="same batch size"):
        list(tf.data.Dataset.zip((theirs.batch(2), theirs.batch(3))).unbatch())
    ours = Pair([{"n": n, "word": b""} for n in range(5)]).ours.map(lambda row: row["n"])
    with pytest.raises(tfrecs.SpecError, match="equally many rows"):
        list(ours.batch(2).zip(ours.batch(3)).unbatch())


@randomly(60)
@given(ROWS, st.integers(0, 5), st.integers(-1, 4))
def test_interleave(rows: list[Row], cycle: int, block: int) -> None:
    """Datasets of 0 to 5 elements in turn; whoever ends leaves its place until its next turn.

    With a cycle of -1 TensorFlow chooses.
    """
    pair = Pair(rows).only("n", "list")

    def step(ds: Any, library: Any) -> Any:
        if library is tf.data.Dataset:
            options = {"cycle_length": cycle, "block_length": block}
            return ds.interleave(
                lambda n, ids: tf.data.Dataset.from_tensors(n).repeat(
                    tf.shape(ids, out_type=tf.int64)[0]
                ),
                **options,
            )
        whole = tfrecs.Dataset(pair.path, features(tfrecs))

        def made(row: Any) -> Any:
            n, ids = row
            return whole.skip(int(n)).take(1).repeat(len(ids)).map(lambda one: one["n"])

        return ds.interleave(made, cycle_length=cycle, block_length=block)

    pair.check(step)


# --- make_batched_features_dataset ---


FILES = st.lists(st.integers(0, 6), min_size=1, max_size=4)


def both_batched(files: list[str] | str, arguments: dict[str, Any]) -> Iterator[Callable[[], Any]]:
    for library, function in (
        (tf.io, tf.data.experimental.make_batched_features_dataset),
        (tfrecs, tfrecs.make_batched_features_dataset),
    ):
        spec = features(library)
        spec["sparse"] = (
            tf.io.VarLenFeature(tf.int64) if library is tf.io else tfrecs.VarLenFeature("int64")
        )
        spec["list"] = spec.pop("list")
        yield lambda function=function, spec=spec: function(  # type: ignore[misc]
            files, features=spec, **arguments
        ).take(20)


def numbered(sizes: list[int], folder: str) -> None:
    """Write files of that many rows, numbered on."""
    n = 0
    for shard, size in enumerate(sizes):
        rows = [
            {"n": i, "word": b"w%d" % i, "list": [i] * (i % 3), "sparse": [i] * (i % 4)}
            for i in range(n, n + size)
        ]
        written(rows, Path(folder) / f"{shard}.tfrecord")
        n += size


@randomly(60)
@given(
    FILES,
    st.fixed_dictionaries(
        {
            "batch_size": st.integers(-1, 7),
            "label_key": st.sampled_from([None, "n", "word", "list", "sparse", "no such"]),
            "num_epochs": st.sampled_from([None, -1, -2, 0, 1, 2, 3]),
            "drop_final_batch": st.booleans(),
            "prefetch_buffer_size": st.sampled_from([None, -2, -1, 0, 3]),
            "parser_num_threads": st.sampled_from([None, 0, 2]),
        }
    ),
    st.lists(st.sampled_from(["*.tfrecord", "[1-9]*", "0.tfrecord", "nothing*", "no"]), max_size=3),
)
def test_make_batched_features_dataset(
    sizes: list[int], arguments: dict[str, Any], patterns: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        numbered(sizes, folder)
        files = [f"{folder}/{pattern}" for pattern in patterns]
        theirs, ours = both_batched(files, arguments | {"shuffle": False})
        try:
            found = elements(ours)
        except tfrecs.FileError:  # which is TensorFlow's InvalidArgumentError
            found = None
        assert found == elements(theirs)


@randomly(60)
@given(FILES, st.integers(1, 7), st.integers(1, 3), st.integers(-1, 20), st.integers(0, 5))
def test_make_batched_features_dataset_shuffles(
    sizes: list[int], batch_size: int, epochs: int, buffer_size: int, seed: int
) -> None:
    """The order is another one; each epoch has each record once, and as many batches as there."""
    with tempfile.TemporaryDirectory() as folder:
        numbered(sizes, folder)
        total = sum(sizes)
        arguments = {
            "batch_size": batch_size,
            "num_epochs": epochs,
            "shuffle_buffer_size": buffer_size,
            "shuffle_seed": seed,
        }
        theirs, ours = (elements(make) for make in both_batched(f"{folder}/*.tfrecord", arguments))
        assert (theirs is None) == (ours is None)
        for found in () if ours is None else (theirs, ours):
            order = [n for batch in found for n in batch["n"][2]]
            assert len(order) == min(epochs * total, 20 * batch_size)
            for at in range(0, len(order) - total + 1, max(total, 1)):
                assert sorted(order[at : at + total]) == [*range(total)]
        if ours is not None:
            shapes = [[batch["n"][:2] for batch in found] for found in (theirs, ours)]
            assert shapes[0] == shapes[1]
