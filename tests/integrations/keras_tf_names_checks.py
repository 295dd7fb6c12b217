"""Datasets of tfrecs.tf as `fit` takes them; test_keras_tf_names.py runs this for each backend."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import tfrecs
from tfrecs import SpecError, tf

RECORDS, SIZE, BATCHES = 44, 8, 6
SPEC = {"x": tf.io.FixedLenFeature([3], tf.float32), "y": tf.io.FixedLenFeature([1], tf.float32)}
NUMBER = {"number": tf.io.FixedLenFeature([1], tf.int64)}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files compressed by gzip, in the working directory."""
    monkeypatch.chdir(tmp_path)
    source = np.random.default_rng(0)
    for shard in range(4):
        with tf.io.TFRecordWriter(f"{shard}.tfrecord.gz", "GZIP") as out:
            for number in range(shard, RECORDS, 4):
                x = source.normal(size=3)
                row = {"number": number, "x": x, "y": x.sum(), "name": b"%d" % number}
                out.write(tfrecs.encode_example(row))


def opened(filename: Any) -> Any:
    return tf.data.TFRecordDataset(filename, compression_type="GZIP")


def batches(num_epochs: int | None = 1, spec: Any = SPEC) -> Any:
    return tf.data.experimental.make_batched_features_dataset(
        "*.gz", SIZE, spec, opened, "y", num_epochs=num_epochs, shuffle_seed=3
    )


def model_of(*, is_built: bool = True) -> Any:
    keras.utils.set_random_seed(1)
    if is_built:
        x = keras.Input((3,), name="x")
        model = keras.Model({"x": x}, keras.layers.Dense(1)(x))
    else:
        model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    return model


def test_it_is_of_both_libraries() -> None:
    ds = batches()
    assert isinstance(ds, tf.data.Dataset)
    assert isinstance(ds, keras.utils.PyDataset)
    assert isinstance(ds.take(2).prefetch(1), keras.utils.PyDataset)
    assert ds.num_batches == BATCHES
    with pytest.raises(TypeError, match="unknown"):
        len(ds)  # as TensorFlow, which does not count the records of files
    assert [int(y.shape[0]) for _, y in ds] == [SIZE] * 5 + [4]


def test_without_keras_it_is_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keras")
    assert type(batches()) is tf.data.Dataset


def test_one_made_before_keras_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.delitem(sys.modules, "keras")
        ds = batches()
        assert not isinstance(ds, keras.utils.PyDataset)
    before, after = model_of(), model_of()
    before.fit(ds, epochs=2, verbose=0)
    after.fit(batches(), epochs=2, verbose=0)
    for ours, theirs in zip(before.get_weights(), after.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert isinstance(ds, tf.data.Dataset)
    assert isinstance(ds, keras.utils.PyDataset)


def test_fit_gives_the_weights_of_to_keras() -> None:
    ours = tfrecs.make_batched_features_dataset(
        "*.gz", SIZE, SPEC, label_key="y", num_epochs=1, shuffle_seed=3
    )
    model, other = model_of(), model_of()
    losses = model.fit(batches(), epochs=3, verbose=0).history["loss"]
    assert losses == other.fit(ours.to_keras(), epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    pairs = zip(model.get_weights(), other.get_weights(), strict=True)
    assert all(np.array_equal(*pair) for pair in pairs)


def test_evaluate_and_predict() -> None:
    ds, model = batches(), model_of()
    in_order = tf.data.experimental.make_batched_features_dataset(
        "*.gz", SIZE, SPEC, opened, "y", num_epochs=1, shuffle=False
    )
    made = model.predict(in_order, verbose=0)
    labels = np.concatenate([y.numpy() for _, y in in_order])
    loss = float(np.mean((made - labels) ** 2))
    assert model.evaluate(ds, verbose=0) == pytest.approx(loss, rel=1e-5)
    assert model.evaluate(in_order, verbose=0) == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("is_built", [True, False])
def test_each_pass_has_all_records_for_training_and_validation(is_built: bool) -> None:
    seen: list[list[int]] = []

    def numbered(parsed: Any) -> Any:
        number = parsed["number"]
        seen.append(number.numpy().ravel().tolist())
        x = tf.concat([tf.cast(number, tf.float32)] * 3, axis=1)
        return {"x": x} if is_built else x, tf.cast(number, tf.float32)

    ds = tf.data.TFRecordDataset(tf.io.gfile.glob("*.gz"), "GZIP").shuffle(RECORDS, seed=1)
    ds = ds.batch(SIZE).map(lambda record: tf.io.parse_example(record, NUMBER)).map(numbered)
    model_of(is_built=is_built).fit(ds, validation_data=ds, epochs=3, verbose=0)
    passes = seen[-2 * 3 * BATCHES :]  # before them Keras may look at a batch
    assert len(seen) - len(passes) <= 1
    for begin in range(0, len(passes), BATCHES):
        assert sorted(flat(passes[begin : begin + BATCHES])) == list(range(RECORDS))
    assert passes[:BATCHES] != passes[2 * BATCHES : 3 * BATCHES]  # shuffled anew


def flat(rows: Iterable[list[int]]) -> list[int]:
    return [one for row in rows for one in row]


def test_without_an_end() -> None:
    history = model_of().fit(
        batches(None), epochs=4, steps_per_epoch=BATCHES, shuffle=False, verbose=0
    )
    assert history.history["loss"][-1] < history.history["loss"][0]


def test_strings_are_refused() -> None:
    spec = {**SPEC, "name": tf.io.FixedLenFeature([], tf.string)}
    with pytest.raises(SpecError, match="name"):
        model_of().fit(batches(spec=spec), verbose=0)


def test_a_backup_is_one_of_the_plan(tmp_path: Path) -> None:
    data, model = batches().plan.to_keras(), model_of()
    backup = data.backup(tmp_path / "backup")
    model.fit(data, epochs=2, callbacks=[backup], verbose=0)
    assert batches().plan.to_keras().backup(tmp_path / "backup").restore(model_of()) == 2
