"""to_tf(): TensorFlow gets what its own parsers make of the same records, pass after pass."""

from __future__ import annotations

import doctest
import gc
import importlib
import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tasks
import tensorflow as tf

import tfrecs
import tfrecs.testing
from tfrecs import StateError
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.stages.stage import Run

ROWS = 50


def row(n: int) -> dict[str, Any]:
    return {
        "n": n,
        "box": [n + 0.5] * 4,
        "name": b"%d" % n,
        "ids": list(range(n % 4)),
        "words": [b"a", b""][: n % 3],
        "at": [1, 3][: n % 3],
        "v": [0.5, 1.5][: n % 3],
        "many": list(range(n % 5)),
        "lengths": [n % 4, n % 5 - n % 4] if n % 5 >= n % 4 else [n % 5],
    }


def features(kinds: Any, dtype: Any) -> dict[str, Any]:
    """What to parse: TensorFlow's classes or ours."""
    lengths = [kinds.RaggedFeature.RowLengths("lengths")]
    return {
        "n": kinds.FixedLenFeature([], dtype("int64")),
        "box": kinds.FixedLenFeature([2, 2], dtype("float32")),
        "name": kinds.FixedLenFeature([], dtype("string")),
        "ids": kinds.VarLenFeature(dtype("int64")),
        "words": kinds.RaggedFeature(dtype("string")),
        "places": kinds.SparseFeature("at", "v", dtype("float32"), 5),
        "deep": kinds.RaggedFeature(
            dtype("int64"), "many", partitions=lengths, row_splits_dtype=dtype("int64")
        ),
    }


OURS = features(tfrecs, str)
THEIRS = features(tf.io, tf.as_dtype)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("examples") / "some.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([tfrecs.encode_example(row(n)) for n in range(ROWS)])
    return str(path)


def plain(value: Any) -> Any:
    """Values, wherever they lie."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, tf.RaggedTensor):
        return (str(value.dtype), value.nested_row_splits[0].dtype.name, value.to_list())
    if isinstance(value, tf.SparseTensor):
        return tuple(map(plain, (value.indices, value.values, value.dense_shape)))
    return (value.dtype.name, value.shape.as_list(), np.asarray(value).tolist())


def same(ours: Any, theirs: Any) -> None:
    """Hold both to the same elements, of the same kind."""
    assert ours.element_spec == theirs.element_spec
    assert [*map(plain, ours)] == [*map(plain, theirs)]


@pytest.mark.parametrize("drop", [False, True])
def test_batches_are_what_parse_example_gives(path: str, drop: bool) -> None:
    theirs = tf.data.TFRecordDataset(path).batch(8, drop_remainder=drop)
    ds = tfrecs.Dataset(path, OURS).batch(8, drop_remainder=drop)
    same(ds.to_tf(), theirs.map(lambda some: tf.io.parse_example(some, THEIRS)))
    raw = tfrecs.Dataset(path).batch(8, drop_remainder=drop)
    same(raw.prefetch(2).to_tf(), theirs)


def test_single_ones_are_what_parse_single_example_gives(path: str) -> None:
    theirs = tf.data.TFRecordDataset(path)
    same(
        tfrecs.Dataset(path, OURS).take(20).to_tf(),
        theirs.take(20).map(lambda one: tf.io.parse_single_example(one, THEIRS)),
    )
    same(tfrecs.Dataset(path).skip(45).cache().to_tf(), theirs.skip(45))


def sequence_features(kinds: Any, dtype: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    lists: dict[str, Any] = {
        "dense": kinds.FixedLenSequenceFeature([2], dtype("float32")),
        "any": kinds.VarLenFeature(dtype("string")),
    }
    return {"label": kinds.FixedLenFeature([], dtype("int64"))}, lists


def test_sequences(tmp_path: Path) -> None:
    path = str(tmp_path / "sequences.tfrecord")
    with tfrecs.RecordWriter(path) as out:
        for n in range(11):
            lists: Any = {
                "dense": [[float(n), 0.5]] * (n % 3),
                "any": [[b"x"] * k for k in range(n % 4)],
            }
            out.write(tfrecs.encode_sequence_example({"label": n}, lists))
    context, steps = sequence_features(tfrecs, str)
    ds = tfrecs.Dataset(path, context_features=context, sequence_features=steps)
    first, second = sequence_features(tf.io, tf.as_dtype)
    theirs = tf.data.TFRecordDataset(path)
    same(
        ds.batch(4).to_tf(),
        theirs.batch(4).map(lambda some: tf.io.parse_sequence_example(some, first, second)),
    )
    same(
        ds.to_tf(),
        theirs.map(lambda one: tf.io.parse_single_sequence_example(one, first, second)),
    )


def test_keys_and_types_that_tensorflow_does_not_parse(path: str) -> None:
    spec: Any = {
        "n": tfrecs.FixedLenFeature([], "uint8"),
        "ids": tfrecs.VarLenFeature("int32"),
        "many": tfrecs.RaggedFeature("float64", "box"),
    }
    made = tfrecs.Dataset(path, spec).with_keys().batch(4).to_tf()
    keys, batch = next(iter(made))
    assert keys.numpy().tolist() == [f"{path}:{n}".encode() for n in range(4)]
    assert {name: one.dtype.name for name, one in batch.items()} == {
        "n": "uint8",
        "ids": "int32",
        "many": "float64",
    }
    assert batch["n"].numpy().tolist() == [0, 1, 2, 3]


def pair(batch: Any) -> Any:
    return {"image": np.ones((len(batch["n"]), 2, 3)), "ids": batch["ids"]}, batch["n"]


def test_what_functions_make_is_seen(path: str) -> None:
    ds = tfrecs.Dataset(path, OURS)
    made = ds.batch(16).map(pair).to_tf()
    assert made.element_spec == (
        {
            "image": tf.TensorSpec([None, 2, 3], tf.float64),
            "ids": tf.SparseTensorSpec([None, None], tf.int64),
        },
        tf.TensorSpec([None], tf.int64),
    )
    assert [len(numbers) for _, numbers in made] == [16, 16, 16, 2]
    ids = tfrecs.Dataset(path, {"ids": tfrecs.VarLenFeature("int64")})
    padded = ids.padded_batch(3).to_tf()
    assert padded.element_spec == {"ids": tf.TensorSpec([None, None], tf.int64)}
    assert [batch["ids"].shape[1] for batch in padded][:6] == [2, 3, 3, 3, 2, 3]
    nothing = tfrecs.Dataset(path, OURS).take(0).map(pair)
    with pytest.raises(tfrecs.SpecError, match="output_signature"):
        nothing.to_tf()
    signature = tf.TensorSpec([None], tf.int64)
    assert len(list(nothing.to_tf(signature))) == 0
    with pytest.raises(tf.errors.OpError, match=r"generator.*yielded an element"):
        list(ds.batch(4).map(lambda batch: batch["box"]).to_tf(signature))


def numbers(some: Any) -> list[list[int]]:
    return [one["n"].numpy().tolist() for one in some]


def expected(ds: tfrecs.Dataset, epoch: int) -> list[list[int]]:
    return [batch["n"].tolist() for batch in DatasetIterator(ds.node, Run(epoch))]


def test_each_iteration_is_the_next_epoch(path: str) -> None:
    ds = tfrecs.Dataset(path, OURS).shuffle(3).batch(8)
    made = ds.to_tf()
    passes = [numbers(made) for _ in range(2)] + [numbers(made.repeat(2))]
    four = [expected(ds, epoch) for epoch in range(4)]
    assert passes == [four[0], four[1], four[2] + four[3]]
    assert four[0] != four[1]
    ds.set_epoch(7)
    assert numbers(ds.to_tf()) == expected(ds, 7)


@pytest.mark.parametrize("plan", ["native", "functions"])
def test_states_lie_beside_elements(path: str, plan: str) -> None:
    ds = tfrecs.Dataset(path, OURS).shuffle(3).batch(8)
    if plan == "functions":
        ds = ds.map(dict).prefetch(3)
    rest = expected(ds, 0)
    signature = {"n": tf.TensorSpec([None], tf.int64)}
    only = ds.map(lambda batch: {"n": batch["n"]})
    # What tf.data makes ahead does not matter.
    for step, (batch, state) in enumerate(only.to_tf(signature, with_states=True).prefetch(5)):
        assert batch["n"].numpy().tolist() == rest[step]
        for given in (state.numpy(), state.numpy().decode()):
            assert numbers(only.to_tf(signature, state=given)) == rest[step + 1 :]
        again = only.to_tf(signature, state=json.loads(state.numpy()))
        assert numbers(again) == rest[step + 1 :]
        assert numbers(again) == expected(ds, 1)


def test_foreign_states_are_refused(path: str) -> None:
    ds = tfrecs.Dataset(path, OURS).batch(8)
    state = iter(ds).state_dict()
    for other in (ds.take(3), tfrecs.Dataset(path, OURS).batch(9)):
        with pytest.raises(StateError, match="another plan"):
            other.to_tf(state=state)
    wrong: list[Any] = ["{", "[]", b"\xff", {}, "1"]
    for bad in wrong:
        with pytest.raises(StateError):
            ds.to_tf(state=bad)


def test_errors_come_with_their_place(path: str, tmp_path: Path) -> None:
    damaged = bytearray(Path(path).read_bytes())
    damaged[len(damaged) * 3 // 4] ^= 1
    bad = tmp_path / "bad.tfrecord"
    bad.write_bytes(damaged)
    with pytest.raises(tf.errors.OpError, match=r"bad\.tfrecord.*record \d+ at byte \d+"):
        list(tfrecs.Dataset(bad, OURS).batch(8).to_tf())

    def fails(batch: Any) -> Any:
        raise KeyError("my own")

    signature = tf.TensorSpec([None], tf.int64)
    with pytest.raises(tf.errors.OpError, match="my own"):
        list(tfrecs.Dataset(path, OURS).batch(8).map(fails).to_tf(signature))


@pytest.mark.parametrize("plan", ["native", "prefetch"])
def test_what_is_given_up_leaves_nothing(path: str, plan: str) -> None:
    def held() -> tuple[int, int]:
        gc.collect()
        # TensorFlow's own threads, on which our Python runs, stay.
        ours = [one.name for one in threading.enumerate()] + tasks.names()
        mine = [name for name in ours if name.startswith("tfrecs")]
        return len(mine), len(list(Path("/proc/self/fd").iterdir()))

    ds = tfrecs.Dataset(path, OURS, num_threads=2).batch(4)
    ds = ds.map(dict, num_threads=2).prefetch(2) if plan == "prefetch" else ds.shuffle(0, 2)
    made = ds.to_tf()
    next(iter(made))
    time.sleep(0.2)
    before = held()
    for _ in range(5):
        it = iter(made)
        next(it)
        del it
    for _ in range(100):
        if held() <= before:
            break
        time.sleep(0.05)
    assert held() <= before


def test_the_examples_run() -> None:
    module = importlib.import_module("tfrecs.integrations.tensorflow.tensors")
    assert doctest.testmod(module) == (0, 2)
