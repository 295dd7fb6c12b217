"""Datasets of `tfrecs.tf` beside TensorFlow's: elements, order, errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as theirs  # noqa: ICN001 - either one is called tf in programs

import tfrecs.tf
from oracle.programs import Program, outcome, same, spec_of, write_files


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()


def parsed(tf: Any, name: str = "ex.tfrecord", kind: Any = None) -> Any:
    spec = spec_of(tf)
    return tf.data.TFRecordDataset(name, kind).map(lambda r: tf.io.parse_single_example(r, spec))


def mapped(tf: Any) -> Any:
    spec = spec_of(tf)

    def parse(record: Any) -> Any:
        features = tf.io.parse_single_example(record, spec)
        pixels = tf.reshape(tf.io.decode_raw(features["raw"], tf.uint8), [2, 2])
        return tf.cast(pixels, tf.float32) / 255.0, features["id"]

    return tf.data.TFRecordDataset("ex.tfrecord").map(parse)


def batched(tf: Any) -> Any:
    spec = spec_of(tf)
    records = tf.data.TFRecordDataset("ex.tfrecord").batch(4)
    return records.map(lambda r: tf.io.parse_example(r, spec))


def picked(tf: Any) -> Any:
    spec = spec_of(tf)

    def parse(record: Any) -> Any:
        features = tf.io.parse_single_example(record, spec)
        return {"a": features["pair"]}, features["id"]

    return tf.data.TFRecordDataset("ex.tfrecord").map(parse)


def part(tf: Any) -> Any:
    spec = spec_of(tf)

    def parse(record: Any) -> Any:
        pair = tf.io.parse_single_example(record, spec)["pair"]
        return pair[0], pair[1:], pair[..., tf.newaxis]

    return tf.data.TFRecordDataset("ex.tfrecord").map(parse).batch(3)


def in_a_loop(tf: Any) -> Any:
    ds = tf.data.Dataset.range(3)
    for k in (2, 3, 5):
        ds = ds.map(lambda n: n * k)  # noqa: B023 - this is what people write
    return ds


def padded_strings(tf: Any) -> Any:
    ds = tf.data.Dataset.range(4).map(lambda n: (tf.fill([n], "a"), n))
    return ds.padded_batch(3)


def rows(tf: Any) -> Any:
    spec = {"rows": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}
    records = tf.data.TFRecordDataset("ex.tfrecord")
    return records.map(lambda r: tf.io.parse_single_example(r, spec)["rows"])


def ragged(tf: Any) -> Any:
    spec = {"rows": tf.io.RaggedFeature(tf.int64)}
    records = tf.data.TFRecordDataset("ex.tfrecord")
    return records.map(lambda r: tf.io.parse_single_example(r, spec))


def sequences(tf: Any) -> Any:
    context = {"id": tf.io.FixedLenFeature([], tf.int64)}
    lists = {
        "steps": tf.io.FixedLenSequenceFeature([], tf.int64),
        "words": tf.io.VarLenFeature(tf.string),
    }
    records = tf.data.TFRecordDataset("seq.tfrecord")
    return records.map(lambda r: tf.io.parse_single_sequence_example(r, context, lists))


def sequence_batches(tf: Any) -> Any:
    context = {"id": tf.io.FixedLenFeature([], tf.int64)}
    lists = {
        "steps": tf.io.FixedLenSequenceFeature([], tf.int64),
        "words": tf.io.VarLenFeature(tf.string),
    }
    records = tf.data.TFRecordDataset("seq.tfrecord").batch(2)
    return records.map(lambda r: tf.io.parse_sequence_example(r, context, lists))


def files_of(tf: Any) -> Any:
    return tf.data.Dataset.list_files("raw-*.tfrecord", shuffle=False)


def lines(tf: Any) -> Any:
    def parse(line: Any) -> Any:
        return tuple(tf.io.decode_csv(line, [b"", 0]))

    return tf.data.TextLineDataset("lines.txt").filter(lambda line: line != b"").map(parse)


DATASETS: dict[str, Program] = {
    "records": lambda tf: tf.data.TFRecordDataset("raw-1.tfrecord"),
    "several files": lambda tf: tf.data.TFRecordDataset(["raw-1.tfrecord", "raw-0.tfrecord"]),
    "one by one": parsed,
    "gzip": lambda tf: parsed(tf, "ex.tfrecord.gz", "GZIP"),
    "zlib": lambda tf: parsed(tf, "ex.z", "ZLIB"),
    "parsed, batched": lambda tf: parsed(tf).batch(3),
    "parsed, batched, dropped": lambda tf: parsed(tf).batch(3, drop_remainder=True),
    "batched, parsed": batched,
    "batched, parsed, one by one": lambda tf: batched(tf).map(lambda f: f["pair"]).unbatch(),
    "mapped": mapped,
    "mapped, batched": lambda tf: mapped(tf).batch(4),
    "mapped in parallel": lambda tf: mapped(tf).map(lambda x, y: (x, y), num_parallel_calls=2),
    "picked": picked,
    "picked, repeated, batched": lambda tf: picked(tf).repeat(2).batch(6),
    "picked, taken apart": lambda tf: picked(tf).map(
        lambda x, y: x["a"][1] + tf.cast(y, tf.float32)
    ),
    "rows": rows,
    "rows, padded": lambda tf: rows(tf).padded_batch(4),
    "rows, padded so": lambda tf: rows(tf).padded_batch(4, [5], tf.constant(-1, tf.int64)),
    "rows, batched": lambda tf: rows(tf).batch(4),
    "ragged": ragged,
    "sequences": sequences,
    "sequence batches": sequence_batches,
    "sequences, padded": lambda tf: (
        sequences(tf).map(lambda context, lists: lists["steps"]).padded_batch(3)
    ),
    "csv": lines,
    "csv of batches": lambda tf: (
        tf.data.TextLineDataset("lines.txt")
        .filter(lambda line: line != b"")
        .batch(2)
        .map(lambda some: tf.io.decode_csv(some, [b"", 0]))
    ),
    "lists": lambda tf: tf.data.Dataset.range(2).map(lambda n: [n, n + 1]),
    "lists of unlike": lambda tf: tf.data.Dataset.range(2).map(lambda n: [n, tf.constant("a")]),
    "lines": lambda tf: tf.data.TextLineDataset("lines.txt"),
    "lines, gzip": lambda tf: tf.data.TextLineDataset(["lines.txt.gz"], compression_type="GZIP"),
    "fixed": lambda tf: tf.data.FixedLengthRecordDataset("fixed.bin", 2, 2, 1),
    "no files": lambda tf: tf.data.TFRecordDataset([]),
    "names": files_of,
    "files of names": lambda tf: tf.data.TFRecordDataset(files_of(tf)),
    "interleaved": lambda tf: files_of(tf).interleave(tf.data.TFRecordDataset, cycle_length=2),
    "interleaved blocks": lambda tf: files_of(tf).interleave(
        tf.data.TFRecordDataset, cycle_length=3, block_length=2
    ),
    "flat_map": lambda tf: files_of(tf).flat_map(tf.data.TFRecordDataset),
    "slices": lambda tf: tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [[1.0], [2.0]]}),
    "slices of lists of arrays": lambda tf: tf.data.Dataset.from_tensor_slices(
        ([np.zeros(2), np.ones(2)], [np.arange(2), np.arange(2)], [np.zeros(1, np.uint8)] * 2)
    ),
    "slices of lists of numbers": lambda tf: tf.data.Dataset.from_tensor_slices(
        ([np.float64(1.5)], [np.int64(1)])
    ),
    "lists of values": lambda tf: tf.data.Dataset.range(2).map(lambda n: {"a": [n, n]}),
    "functions in a loop": in_a_loop,
    "part of what is parsed": part,
    "strings, padded": padded_strings,
    "slices of strings": lambda tf: tf.data.Dataset.from_tensor_slices((["a", "b"], [True, False])),
    "tensors": lambda tf: tf.data.Dataset.from_tensors((1, [2.0, 3.0])),
    "range": lambda tf: tf.data.Dataset.range(2, 9, 3),
    "enumerate": lambda tf: tf.data.Dataset.range(3).enumerate(start=5),
    "zip": lambda tf: tf.data.Dataset.zip((tf.data.Dataset.range(3), tf.data.Dataset.range(5, 9))),
    "zip in structures": lambda tf: tf.data.Dataset.zip(
        {"a": tf.data.Dataset.range(2), "b": (tf.data.Dataset.range(3), parsed(tf))}
    ),
    "filter": lambda tf: tf.data.Dataset.range(9).filter(lambda n: n % 3 == 1),
    "shard": lambda tf: tf.data.Dataset.range(9).shard(4, 1),
    "take skip": lambda tf: tf.data.Dataset.range(9).skip(2).take(3),
    "take all": lambda tf: tf.data.Dataset.range(3).take(-1),
    "concatenate": lambda tf: tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(1)),
    "unbatch": lambda tf: tf.data.Dataset.range(5).batch(2).unbatch(),
    "cache prefetch": lambda tf: tf.data.Dataset.range(4).cache().prefetch(tf.data.AUTOTUNE),
    "repeat": lambda tf: tf.data.Dataset.range(2).repeat(3),
    "batch of batches": lambda tf: tf.data.Dataset.range(8).batch(2).batch(3),
    "generator": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([1, 2, 3]), output_signature=tf.TensorSpec([], tf.int32)
    ),
    "generator with types": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([(1, "a"), (2, "b")]), output_types=(tf.int64, tf.string)
    ),
    "padded tuples": lambda tf: (
        tf.data.Dataset.range(1, 4)
        .map(lambda n: (tf.range(n), tf.cast(n, tf.float32)))
        .padded_batch(2, ([None], []))
    ),
    "padded dicts": lambda tf: (
        tf.data.Dataset.range(1, 4)
        .map(lambda n: {"a": tf.range(n), "b": tf.fill([n], 0.5)})
        .padded_batch(2, {"a": [4], "b": [None]}, {"a": tf.constant(9, tf.int64), "b": -1.0})
    ),
    "buckets": lambda tf: (
        tf.data.Dataset.range(1, 7)
        .map(tf.range)
        .bucket_by_sequence_length(lambda n: tf.shape(n)[0], [3, 5], [2, 2, 2])
    ),
    "made": lambda tf: tf.data.experimental.make_batched_features_dataset(
        "ex.tfrecord", 4, spec_of(tf), num_epochs=2, shuffle=False
    ),
    "made, with a label": lambda tf: tf.data.experimental.make_batched_features_dataset(
        "ex.tfrecord*",
        4,
        {"id": spec_of(tf)["id"], "pair": spec_of(tf)["pair"]},
        label_key="id",
        reader=lambda name: tf.data.TFRecordDataset("ex.tfrecord"),
        num_epochs=1,
        shuffle=False,
        drop_final_batch=True,
    ),
    "missing": lambda tf: tf.data.TFRecordDataset(["raw-0.tfrecord", "missing.tfrecord"]),
    "missing lines": lambda tf: tf.data.TextLineDataset("missing.txt"),
    "cut": lambda tf: tf.data.TFRecordDataset("cut.tfrecord"),
    "flipped": lambda tf: tf.data.TFRecordDataset("flipped.tfrecord"),
    "not gzip": lambda tf: tf.data.TFRecordDataset("ex.tfrecord", "GZIP"),
    "gzip as plain": lambda tf: tf.data.TFRecordDataset("ex.tfrecord.gz"),
    "no name": lambda tf: tf.data.TFRecordDataset(5),
    "no reads": lambda tf: tf.data.TFRecordDataset("ex.tfrecord", num_parallel_reads=0),
    "no such lines": lambda tf: tf.data.TextLineDataset("lines.txt", "BZ2"),
    "no matches": lambda tf: tf.data.Dataset.list_files("nothing-*"),
    "required": lambda tf: tf.data.TFRecordDataset("ex.tfrecord").map(
        lambda r: tf.io.parse_single_example(r, {"no": tf.io.FixedLenFeature([], tf.int64)})
    ),
}

# Of these TensorFlow's as_numpy_iterator raises TypeError: it has no arrays of sparse strings.
SPARSE_STRINGS = {"sequences", "sequence batches"}


@pytest.mark.parametrize("name", DATASETS)
def test_elements_are_the_same(name: str) -> None:
    same(lambda tf: list(DATASETS[name](tf)))


@pytest.mark.parametrize("name", sorted(set(DATASETS) - SPARSE_STRINGS))
def test_numpy_elements_are_the_same(name: str) -> None:
    same(lambda tf: list(DATASETS[name](tf).as_numpy_iterator()))


@pytest.mark.parametrize("reads", [None, 1, 2, 3, 4, 7])
def test_parallel_reads_take_turns(reads: int | None) -> None:
    names = [f"raw-{shard}.tfrecord" for shard in range(4)]
    same(lambda tf: list(tf.data.TFRecordDataset(names, num_parallel_reads=reads)))


@pytest.mark.parametrize("cycle", [1, 2, 3, 5])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_interleave_takes_turns(cycle: int, block: int) -> None:
    def program(tf: Any) -> Any:
        numbers = tf.data.Dataset.range(5)
        return list(
            numbers.interleave(
                lambda n: tf.data.Dataset.range(n * 10, n * 10 + (n * 7) % 4), cycle, block
            )
        )

    same(program)


@pytest.mark.parametrize("buffer", [1, 2, 5, 20])
def test_shuffle_is_a_permutation_that_its_seed_repeats(buffer: int) -> None:
    def orders(tf: Any) -> list[list[int]]:
        ds = tf.data.Dataset.range(12).shuffle(buffer, seed=3)
        again = tf.data.Dataset.range(12).shuffle(buffer, seed=3)
        return [[int(n) for n in one] for one in (ds, ds, again)]

    for tf in (tfrecs.tf, theirs):
        first, second, again = orders(tf)
        assert sorted(first) == sorted(second) == list(range(12))
        assert first == again
        assert (first == second) == (buffer == 1)


def test_shuffle_once() -> None:
    for tf in (tfrecs.tf, theirs):
        ds: Any = tf.data.Dataset.range(30).shuffle(30, reshuffle_each_iteration=False)
        first = [int(n) for n in ds]
        assert first == [int(n) for n in ds] == [int(n) for n in ds.repeat(1)]
        assert sorted(first) == list(range(30))


CARDINALITIES: dict[str, Program] = {
    name: DATASETS[name]
    for name in (
        "range",
        "repeat",
        "records",
        "filter",
        "batch of batches",
        "zip",
        "slices",
        "names",
    )
} | {"endless": lambda tf: tf.data.Dataset.range(3).repeat()}


@pytest.mark.parametrize("name", CARDINALITIES)
def test_cardinality_is_the_same(name: str) -> None:
    same(lambda tf: CARDINALITIES[name](tf).cardinality())
    same(lambda tf: len(CARDINALITIES[name](tf)))


def test_where_another_error_is_raised_on_purpose() -> None:
    """A body that records do not fill is a file that was cut, whether it is compressed or not."""

    def program(tf: Any) -> Any:
        return list(tf.data.FixedLengthRecordDataset("fixed.bin", 5))

    assert outcome(program, theirs) == {"InvalidArgumentError"}
    assert outcome(program, tfrecs.tf) == {"DataLossError"}
