"""Datasets of `tfrecs.tf` beside TensorFlow's, at the edges: nothing, too much, the wrong thing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle.programs import Program, same, write_files

RAW = [f"raw-{shard}.tfrecord" for shard in range(4)]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()
    Path("empty").touch()


def names(tf: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(RAW)


def numbers(tf: Any, *args: int) -> Any:
    return tf.data.Dataset.range(*args)


def ranges(tf: Any) -> Any:
    """Arrays of one, two and three numbers."""
    return numbers(tf, 1, 4).map(tf.range)


def slices(tf: Any, given: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(given)


def generated(tf: Any, elements: list[Any], *kinds: Any, **how: Any) -> Any:
    return tf.data.Dataset.from_generator(lambda: iter(elements), *kinds, **how)


def tfrecords(tf: Any, *args: Any, **how: Any) -> Any:
    return tf.data.TFRecordDataset(*args, **how)


DATASETS: dict[str, Program] = {
    "names in a tensor": lambda tf: tfrecords(tf, tf.constant(RAW)),
    "names in two dimensions": lambda tf: tfrecords(tf, tf.constant([RAW[:2], RAW[2:]])),
    "a single name": lambda tf: tfrecords(tf, tf.constant(RAW[0])),
    "a path": lambda tf: tfrecords(tf, Path(RAW[0])),
    "names of numpy": lambda tf: tfrecords(tf, np.array(RAW)),
    "names that are numbers": lambda tf: tfrecords(tf, numbers(tf, 3)),
    "a file with nothing in it": lambda tf: tfrecords(tf, ["empty", RAW[0]]),
    "a folder": lambda tf: tfrecords(tf, "."),
    "buffers": lambda tf: tfrecords(tf, RAW, "", 10),
    "lines of nothing": lambda tf: tf.data.TextLineDataset(["empty", "lines.txt"], buffer_size=1),
    "lines in turn": lambda tf: tf.data.TextLineDataset(["lines.txt"] * 2, num_parallel_reads=2),
    "fixed, in turn": lambda tf: tf.data.FixedLengthRecordDataset(
        ["fixed.bin"] * 2, 2, header_bytes=2, footer_bytes=1, num_parallel_reads=2
    ),
    "fixed, of no length": lambda tf: tf.data.FixedLengthRecordDataset("fixed.bin", 0),
    "fixed, below nothing": lambda tf: tf.data.FixedLengthRecordDataset("fixed.bin", 2, -1),
    "slices of nothing": lambda tf: slices(tf, []),
    "slices of a number": lambda tf: slices(tf, 3),
    "slices that do not match": lambda tf: slices(tf, ([1, 2], [3.0])),
    "slices in structures": lambda tf: slices(tf, {"a": [1, 2], "b": (["x", "y"], [[1.0], [2.0]])}),
    "slices of sparse": lambda tf: slices(
        tf, tf.sparse.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2])
    ),
    "one dict": lambda tf: tf.data.Dataset.from_tensors({"a": [1, 2], "b": "x"}),
    "yields what is said": lambda tf: generated(
        tf,
        [(1, "a"), (2, "b")],
        output_signature=(tf.TensorSpec((), tf.int64), tf.TensorSpec((), tf.string)),
    ),
    "yields another type": lambda tf: generated(tf, ["a"], tf.int32),
    "yields another shape": lambda tf: generated(tf, [[1, 2]], tf.int32, (3,)),
    "yields a shape left open": lambda tf: generated(tf, [[1, 2], [3]], tf.int32, (None,)),
    "yields dicts": lambda tf: generated(tf, [{"a": 1}], {"a": tf.float32}, {"a": ()}),
    "a generator of arguments": lambda tf: tf.data.Dataset.from_generator(
        lambda n: iter(range(n)), tf.int64, (), args=(3,)
    ),
    "no generator": lambda tf: tf.data.Dataset.from_generator([1, 2], tf.int32),
    "range down": lambda tf: numbers(tf, 5, 0, -2),
    "range of nothing": lambda tf: numbers(tf, 3, 1),
    "range without steps": lambda tf: numbers(tf, 1, 3, 0),
    "range of floats": lambda tf: tf.data.Dataset.range(2, output_type=tf.float32),
    "skip all": lambda tf: numbers(tf, 3).skip(-1),
    "skip more": lambda tf: numbers(tf, 3).skip(9),
    "take nothing": lambda tf: numbers(tf, 3).take(0),
    "repeat nothing": lambda tf: numbers(tf, 0).repeat(),
    "repeat never": lambda tf: numbers(tf, 3).repeat(0),
    "repeat for ever": lambda tf: numbers(tf, 2).repeat(-1).take(5),
    "a shard too many": lambda tf: numbers(tf, 7).shard(3, 3),
    "a shard below nothing": lambda tf: numbers(tf, 7).shard(3, -1),
    "no shards": lambda tf: numbers(tf, 7).shard(0, 0),
    "batches of nothing": lambda tf: numbers(tf, 5).batch(0),
    "batches of different shapes": lambda tf: ranges(tf).batch(2),
    "batches in parallel": lambda tf: numbers(tf, 5).batch(2, True, 2, deterministic=True),
    "padded to what is said": lambda tf: ranges(tf).padded_batch(2, padded_shapes=[4]),
    "padded, left open": lambda tf: ranges(tf).padded_batch(2, [-1], tf.constant(-1, tf.int64)),
    "padded, dropped": lambda tf: ranges(tf).padded_batch(2, drop_remainder=True),
    "padded in another rank": lambda tf: ranges(tf).padded_batch(2, padded_shapes=[2, 2]),
    "padded in two dimensions": lambda tf: (
        numbers(tf, 1, 4).map(lambda n: tf.ones([n, n + 1], tf.int32)).padded_batch(3)
    ),
    "padded tuples, left open": lambda tf: (
        numbers(tf, 1, 4)
        .map(lambda n: (n, tf.range(n)))
        .padded_batch(2, padded_shapes=([], [None]))
    ),
    "unbatch numbers": lambda tf: numbers(tf, 2).unbatch(),
    "unbatch dicts": lambda tf: tf.data.Dataset.from_tensors({"a": [1, 2], "b": "xy"}).unbatch(),
    "unbatch what does not match": lambda tf: tf.data.Dataset.from_tensors(([1, 2], [1])).unbatch(),
    "map to a constant": lambda tf: numbers(tf, 2).map(lambda n: (7, "a", np.float64(1))),
    "map of two arguments": lambda tf: numbers(tf, 2).map(lambda n, m: n),
    "map with python": lambda tf: numbers(tf, 3).map(
        lambda n: tf.py_function(lambda one: one.numpy() * 2, [n], tf.int64)
    ),
    "map with numpy": lambda tf: numbers(tf, 3).map(
        lambda n: tf.numpy_function(lambda one: (one * 2, str(one)), [n], [tf.int64, tf.string])
    ),
    "filter by numbers": lambda tf: numbers(tf, 5).filter(lambda n: n),
    "filter by several": lambda tf: numbers(tf, 5).filter(lambda n: tf.constant([True, False])),
    "filter tuples": lambda tf: slices(tf, ([1, 2], [3, 4])).filter(lambda a, b: a > 1),
    "flat_map of ranges": lambda tf: numbers(tf, 4).flat_map(tf.data.Dataset.range),
    "interleave one": lambda tf: names(tf).interleave(tf.data.TFRecordDataset, 1),
    "interleave in parallel": lambda tf: names(tf).interleave(
        tf.data.TFRecordDataset, cycle_length=3, block_length=2, num_parallel_calls=2
    ),
    "interleave none": lambda tf: names(tf).interleave(tf.data.TFRecordDataset, 0),
    "interleave blocks of none": lambda tf: names(tf).interleave(tf.data.TFRecordDataset, 1, 0),
    "zip several": lambda tf: tf.data.Dataset.zip(numbers(tf, 3), numbers(tf, 2)),
    "zip one": lambda tf: tf.data.Dataset.zip(numbers(tf, 2)),
    "zip no datasets": lambda tf: tf.data.Dataset.zip([1, 2]),
    "enumerate tuples": lambda tf: slices(tf, (["a"], [1])).enumerate(),
    "shuffle in no buffer": lambda tf: numbers(tf, 3).shuffle(0),
    "shuffle in one": lambda tf: numbers(tf, 3).shuffle(1),
    "prefetch nothing": lambda tf: numbers(tf, 3).prefetch(0),
    "prefetch less": lambda tf: numbers(tf, 3).prefetch(-2),
    "apply to no dataset": lambda tf: numbers(tf, 3).apply(lambda dataset: 3),
    "several patterns": lambda tf: tf.data.Dataset.list_files(["raw-2*", "raw-0*"], shuffle=False),
}


@pytest.mark.parametrize("program", DATASETS.values(), ids=DATASETS)
def test_elements_are_the_same(program: Program) -> None:
    same(lambda tf: list(program(tf)))


OTHERS: dict[str, Program] = {
    "length without end": lambda tf: len(numbers(tf, 5).repeat()),
    "length of nobody knows": lambda tf: len(numbers(tf, 5).filter(lambda n: n > 1)),
    "length of files": lambda tf: len(tfrecords(tf, RAW)),
    "truth": lambda tf: bool(numbers(tf, 0)),
    "sum": lambda tf: numbers(tf, 5).reduce(np.int64(0), lambda state, n: state + n),
    "pairs": lambda tf: numbers(tf, 5).reduce(
        (np.int64(0), np.int64(1)), lambda state, n: (state[0] + n, state[1] * 2)
    ),
    "two passes of a cache": lambda tf: [list(kept := numbers(tf, 3).cache()), list(kept)],
    "next and get_next": lambda tf: [next(it := iter(numbers(tf, 2))), it.get_next(), next(it, 0)],
    "after the end": lambda tf: [next(it := iter(numbers(tf, 1))), it.get_next()],
    "no shape": lambda tf: [
        str(tf.TensorShape(None)),
        repr(tf.TensorShape(None)),
        tf.TensorShape(None).rank,
        tf.TensorShape(None).is_fully_defined(),
        tf.TensorShape(None).num_elements(),
        tf.TensorShape([1, None]).rank,
        bool(tf.TensorShape(None)),
    ],
    "no list of a shape": lambda tf: tf.TensorShape(None).as_list(),
    "no length of a shape": lambda tf: len(tf.TensorShape(None)),
    "no dimensions of a shape": lambda tf: list(tf.TensorShape(None)),
}


@pytest.mark.parametrize("program", OTHERS.values(), ids=OTHERS)
def test_results_are_the_same(program: Program) -> None:
    same(program)
