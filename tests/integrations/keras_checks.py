"""Datasets in Keras, on the backend of KERAS_BACKEND: test_keras.py runs this for each."""

from __future__ import annotations

import doctest
import importlib
import itertools
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from loading import expected
from tasks import has_threads

import tfrecs
from tfrecs import SpecError, StateError
from tfrecs.features import Features

RECORDS, SIZE = 44, 8
BATCHES = 6
BACKEND = keras.backend.backend()
SPEC: Features = {
    "number": tfrecs.FixedLenFeature([1], "int64"),
    "x": tfrecs.FixedLenFeature([3], "float32"),
    "y": tfrecs.FixedLenFeature([], "float32"),
    "weight": tfrecs.FixedLenFeature([], "float32"),
    "kind": tfrecs.FixedLenFeature([], "int64"),
}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples") / "some.tfrecord"
    source = np.random.default_rng(0)
    with tfrecs.RecordWriter(path) as out:
        for n in range(RECORDS):
            x = source.normal(size=3)
            row = {"number": n, "x": x, "y": x.sum(), "weight": n % 3 + 0.5, "kind": n % 2}
            out.write(tfrecs.encode_example({**row, "name": b"%d" % n, "rows": [1.0] * (n % 3)}))
    return path


@pytest.fixture
def ds(path: Path) -> tfrecs.Dataset:
    return tfrecs.Dataset(path, SPEC, num_threads=2).shuffle(5).batch(SIZE)


def model_of(lr: float = 0.05, **options: Any) -> Any:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.layers.Input((3,)), keras.layers.Dense(4), keras.layers.Dropout(0.3)]
    )
    model.add(keras.layers.Dense(1))
    model.compile(keras.optimizers.Adam(lr), "mse", **options)
    return model


class Seen(keras.callbacks.Callback):  # type: ignore[misc, unused-ignore]
    """Notes what is trained with: what was taken last when a step ends."""

    def __init__(self, data: Any, stop: int | None = None) -> None:
        super().__init__()
        self.data, self.stop = data, stop
        self.batches: list[list[int]] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.batches.append(self.data.last)
        if len(self.batches) == self.stop:
            raise KeyboardInterrupt


def watched(ds: tfrecs.Dataset, *keys: Any) -> Any:
    """Data that remembers the numbers of the batch that was taken last."""
    data = ds.to_keras(*keys or ("y", None))
    take = type(data).__getitem__

    class Metered(type(data)):  # type: ignore[misc]
        def __getitem__(self, index: int) -> Any:
            batch = take(self, index)
            self.last = batch[0].pop("number").ravel().tolist()
            return batch[0]["x"], batch[1]

    data.__class__ = Metered
    return data


def order(ds: tfrecs.Dataset, epochs: int, begin: int = 0) -> list[list[int]]:
    found: list[Any] = [one for n in range(begin, begin + epochs) for one in expected(ds, n)]
    return [[*itertools.chain.from_iterable(batch)] for batch in found]


def trained(data: Any, model: Any = None, **options: Any) -> list[list[int]]:
    """The batches that a model is trained with."""
    seen = Seen(data)
    (model or model_of()).fit(data, verbose=0, callbacks=[seen], **options)
    return seen.batches


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = "tfrecs.integrations.keras"
    for module, examples in {"dataset": 10, "elements": 4}.items():
        found = doctest.testmod(importlib.import_module(f"{folder}.{module}"))
        assert found == (0, examples), module


# --- Epochs ---


@pytest.mark.parametrize("is_built", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
def test_each_epoch_is_a_pass(ds: tfrecs.Dataset, is_built: bool, shuffle: bool) -> None:
    data = watched(ds)
    assert len(data) == data.num_batches == BATCHES
    model = model_of()
    if not is_built:
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    assert trained(data, model, epochs=3, shuffle=shuffle) == order(ds, 3)
    # Further calls continue counting, also of a model that is compiled, and so built, anew.
    assert trained(data, model, epochs=2) == order(ds, 2, 3)
    model.compile("sgd", "mse", metrics=["mae"])
    assert trained(data, model) == order(ds, 1, 5)
    assert has_threads(0)
    data.set_epoch(9)
    assert trained(data, model, epochs=2) == order(ds, 2, 9)


def test_one_batch_is_a_pass_too(path: Path) -> None:
    ds = tfrecs.Dataset(path, SPEC).shuffle(3).batch(RECORDS)
    data = watched(ds)
    model = model_of()
    assert trained(data, model, epochs=2) == order(ds, 2)
    assert trained(data, model, epochs=2) == order(ds, 2, 2)


@pytest.mark.parametrize("steps", [1, 2, 3, 6])
def test_steps_per_epoch_go_on_in_the_pass(ds: tfrecs.Dataset, steps: int) -> None:
    data, model = watched(ds), model_of()
    epochs = 2 * BATCHES // steps
    assert trained(data, model, epochs=epochs, steps_per_epoch=steps) == order(ds, 2)
    assert trained(data, model, epochs=epochs, steps_per_epoch=steps) == order(ds, 2, 2)


def test_without_an_end_or_a_length(path: Path) -> None:
    records = tfrecs.Dataset(path, SPEC).shuffle(5)
    endless = records.repeat().batch(SIZE)
    wanted = order(endless.take(12), 1)
    data = watched(endless)
    assert trained(data, epochs=4, steps_per_epoch=3, shuffle=False) == wanted
    with pytest.raises(TypeError, match="no end"):
        len(data)
    assert data
    data.close()
    assert has_threads(0)
    filtered = records.filter(lambda row: row["number"][0] % 2).batch(SIZE)
    found = trained(watched(filtered), epochs=2, steps_per_epoch=4, shuffle=False)
    assert found == (order(filtered, 3))[:8]


def test_nothing_to_train_with_is_an_error(path: Path) -> None:
    nothing = tfrecs.Dataset(path, SPEC).filter(lambda row: False).batch(SIZE)
    with pytest.raises(SpecError, match="no batch"):
        model_of().fit(nothing.to_keras("y", "x"), steps_per_epoch=1, shuffle=False, verbose=0)


def test_a_fit_that_is_interrupted_leaves_its_epoch(ds: tfrecs.Dataset) -> None:
    data, model = watched(ds), model_of()
    for stop in (1, 2, 5):
        seen = Seen(data, stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(data, verbose=0, callbacks=[seen])
        assert seen.batches == order(ds, 1)[:stop]
    assert trained(data, model, epochs=2) == order(ds, 2)


def test_an_error_has_its_place(ds: tfrecs.Dataset) -> None:
    broken = ds.map(lambda batch: {**batch, "y": batch["z"]} if 7 in batch["number"] else batch)
    with pytest.raises(KeyError, match="z") as caught:
        model_of().fit(broken.to_keras("y", "x"), verbose=0)
    assert "of a Dataset" in "".join(caught.value.__notes__)
    assert has_threads(0)


# --- Evaluation, prediction ---


def test_validation(path: Path, ds: tfrecs.Dataset) -> None:
    plain = tfrecs.Dataset(path, SPEC).batch(SIZE)
    data = watched(ds)
    history = model_of(lr=0.0).fit(
        data,
        validation_data=plain.to_keras("y", "x"),
        epochs=3,
        verbose=0,
        callbacks=[seen := Seen(data)],
    )
    assert seen.batches == order(ds, 3)
    assert len(set(history.history["val_loss"])) == 1
    # Of a shuffled one with validation_steps it is the same samples each time.
    history = model_of(lr=0.0).fit(
        ds.to_keras("y", "x"),
        validation_data=ds.to_keras("y", "x"),
        validation_steps=2,
        epochs=3,
        verbose=0,
    )
    assert len(set(history.history["val_loss"])) == 1


def test_prediction(path: Path) -> None:
    plain = tfrecs.Dataset(path, SPEC).batch(SIZE)
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Identity()])
    wanted = np.concatenate([batch["x"] for batch in plain])
    data = plain.to_keras(feature_key="x")
    for _ in range(2):
        assert np.array_equal(model.predict(data, verbose=0), wanted)
    assert np.array_equal(model.predict(data, steps=2, verbose=0), wanted[: 2 * SIZE])
    assert np.array_equal(model.predict(data, verbose=0), wanted)
    # Labels, if there are some, are left aside.
    assert np.array_equal(model.predict(plain.to_keras("y", "x"), verbose=0), wanted)


def test_evaluation_and_weights(path: Path) -> None:
    plain = tfrecs.Dataset(path, SPEC).batch(RECORDS)
    (batch,) = plain
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    off = (batch["x"] @ np.asarray(model.get_weights()[0]))[:, 0] - batch["y"]

    def loss(data: Any, **options: Any) -> Any:
        return model.fit(data, verbose=0, **options).history["loss"][0]

    assert np.isclose(loss(plain.to_keras("y", "x")), np.mean(off**2), rtol=1e-4)
    assert np.isclose(model.evaluate(plain.to_keras("y", "x"), verbose=0), np.mean(off**2))
    weighted = np.mean(off**2 * batch["weight"])
    assert np.isclose(loss(plain.to_keras("y", "x", "weight")), weighted, rtol=1e-4)
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2)])
    model.compile(keras.optimizers.SGD(0.0), keras.losses.SparseCategoricalCrossentropy(True))
    kinds = plain.to_keras("kind", "x")
    halves = [loss(kinds, class_weight={0: 1.0, 1: 0.0}), loss(kinds, class_weight={0: 0, 1: 1.0})]
    assert np.isclose(sum(halves), loss(kinds), rtol=1e-4)


# --- What becomes of what ---


def first(ds: tfrecs.Dataset, *keys: Any, **options: Any) -> Any:
    return ds.to_keras(*keys, **options)[0]


def test_keys(path: Path) -> None:
    batches = tfrecs.Dataset(path, SPEC).batch(4)
    (inputs,) = first(batches)
    assert set(inputs) == set(SPEC)
    inputs, label, weight = first(batches, "y", None, "weight")
    assert list(inputs) == ["number", "x", "kind"]
    assert (label.shape, weight.tolist()) == ((4,), [0.5, 1.5, 2.5, 0.5])
    inputs, labels = first(batches, ["y", "kind"], ["x"])
    assert (list(inputs), list(labels)) == (["x"], ["y", "kind"])
    inputs, labels = first(batches, "x", "x")
    assert np.array_equal(inputs, labels)
    with pytest.raises(SpecError, match="label_key: no feature is called 'z'; there are 'number'"):
        first(batches, "z")
    with pytest.raises(SpecError, match="label_key is missing"):
        batches.to_keras(weight_key="weight")


def test_elements_that_are_tuples(path: Path) -> None:
    pairs = tfrecs.Dataset(path, SPEC).batch(4).map(lambda batch: (batch["x"], batch["y"]))
    assert [part.shape for part in first(pairs)] == [(4, 3), (4,)]
    assert [part.shape for part in first(pairs.map(lambda pair: pair[0]))] == [(4, 3)]
    with pytest.raises(SpecError, match="an element is tuple"):
        first(pairs, "y")
    with pytest.raises(SpecError, match="4 parts"):
        first(pairs.map(lambda pair: pair + pair))
    with pytest.raises(SpecError, match=r"a single number is no batch: batch\(\)"):
        first(tfrecs.Dataset(path, SPEC), "y", "x")


def test_strings_and_lists(path: Path) -> None:
    spec: Features = {
        "name": tfrecs.FixedLenFeature([], "string"),
        "rows": tfrecs.RaggedFeature("float32"),
        "sparse": tfrecs.SparseFeature("number", "y", "float32", RECORDS),
    }
    batches = tfrecs.Dataset(path, spec).batch(4)
    with pytest.raises(SpecError, match="feature 'name': Keras has no arrays of byte strings"):
        first(batches)
    (inputs,) = first(batches, strings="drop")
    assert inputs["rows"].tolist() == [[0, 0], [1, 0], [1, 1], [0, 0]]
    assert inputs["sparse"].shape == (4, RECORDS)
    with pytest.raises(SpecError, match="strings must be one of raise, drop"):
        batches.to_keras(strings="list")


def test_large_integers(path: Path) -> None:
    large = tfrecs.Dataset(path, SPEC).batch(4).map(lambda batch: {"n": batch["number"] + 2**40})
    if BACKEND == "jax":
        with pytest.raises(SpecError, match=r"feature 'n': 10995116277.. does not fit in int32"):
            first(large)
    else:
        assert first(large)[0]["n"][0, 0] == 2**40


def test_ranks(ds: tfrecs.Dataset) -> None:
    found = [trained(ranked(ds, rank), epochs=2) for rank in range(2)]
    assert [one for both in zip(*found, strict=True) for one in both] == order(ds, 2)


def ranked(ds: tfrecs.Dataset, rank: int) -> Any:
    data, part = watched(ds), ds.to_keras("y", rank=rank, num_ranks=2)
    data._ranks = part._ranks
    return data


def test_batched_features(path: Path) -> None:
    data = tfrecs.make_batched_features_dataset(
        str(path), SIZE, {"x": SPEC["x"], "y": SPEC["y"]}, label_key="y", num_epochs=1
    ).to_keras()
    inputs = {"x": keras.Input((3,), name="x")}
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs["x"]))
    model.compile("sgd", "mse")
    losses = model.fit(data, epochs=4, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


# --- Backups ---


@pytest.mark.parametrize("freq", [1, 3, "epoch"])
# Keras executes no steps together on PyTorch.
@pytest.mark.parametrize("together", [1] if BACKEND == "torch" else [1, 4])
def test_a_training_goes_on(ds: tfrecs.Dataset, tmp_path: Path, freq: Any, together: int) -> None:
    def fit(folder: Path, stop: int | None = None) -> Any:
        model, data = model_of(steps_per_execution=together), watched(ds)
        backup = data.backup(folder, freq)
        first = backup.restore(model)
        seen = Seen(data, stop)
        try:
            model.fit(data, epochs=3, initial_epoch=first, verbose=0, callbacks=[backup, seen])
        except KeyboardInterrupt:
            return None
        return seen.batches, model.get_weights()

    whole, weights = fit(tmp_path / "whole")
    assert together > 1 or whole == order(ds, 3)
    for stop in range(1, len(whole) + 1, 1 if BACKEND == "torch" else 6):
        folder = tmp_path / str(stop)
        assert fit(folder, stop) is None
        # Once more, from a state that was resumed.
        # If there is something left to train with.
        rest, resumed = fit(folder, 1) or fit(folder)
        assert whole[len(whole) - len(rest) :] == rest or together > 1
        assert all(map(np.array_equal, weights, resumed)), stop
        assert len([*folder.iterdir()]) == 2


@pytest.mark.parametrize("freq", [1, 2, 3])
def test_a_backup_is_saved_after_every_freq_batches(
    ds: tfrecs.Dataset, tmp_path: Path, freq: int
) -> None:
    class Saves(keras.callbacks.Callback):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.numbers: list[int] = []

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            saved = [int(one.name.split(".")[0]) for one in tmp_path.glob("*.weights.h5")]
            self.numbers.append(max(saved, default=0))

    data, saves = ds.to_keras("y", "x"), Saves()
    model_of().fit(data, verbose=0, callbacks=[data.backup(tmp_path, freq), saves])
    assert saves.numbers == [batch // freq for batch in range(1, BATCHES + 1)]


def test_backups_that_do_not_fit(ds: tfrecs.Dataset, tmp_path: Path) -> None:
    data, model = ds.to_keras("y", "x"), model_of()
    backup = data.backup(tmp_path)
    assert backup.restore(model) == 0
    data.set_epoch(4)
    assert backup.restore(model) == 4
    model.fit(data, verbose=0, callbacks=[backup])
    other = ds.map(len).to_keras()
    with pytest.raises(StateError, match="another plan"):
        other.backup(tmp_path).restore(model)
    plain = keras.Sequential([keras.layers.Input((3,)), *model.layers[::2]])
    plain.compile("adam", "mse")
    with pytest.raises(StateError, match="1 states of random numbers, and this one has 0"):
        data.backup(tmp_path).restore(plain)
    unbuilt = keras.Sequential([keras.layers.Dense(1)])
    unbuilt.compile("adam", "mse")
    with pytest.raises(StateError, match="not built"):
        data.backup(tmp_path).restore(unbuilt)
    for wrong in (0, True, "step", None):
        with pytest.raises(SpecError, match="save_freq"):
            data.backup(tmp_path, wrong)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_states_without_a_backup(ds: tfrecs.Dataset) -> None:
    whole = order(ds, 2)
    for taken in range(2 * BATCHES + 1):
        data = watched(ds)
        for number in range(taken):
            data[number]
        states = [data.state_dict(), data.state_dict(taken)]
        for state in states:
            again = watched(ds)
            again.load_state_dict(state)
            assert again.epoch == taken // BATCHES
            found = []
            for number in range(2 * BATCHES - taken):
                again[number]
                found.append(again.last)
            assert found == whole[taken:]
    data = watched(ds)
    with pytest.raises(StateError, match="none of those"):
        data.state_dict(99)
    data.load_state_dict(next_state(ds))
    assert trained(data) == whole[2:BATCHES]


def next_state(ds: tfrecs.Dataset) -> Any:
    """A state of another library's loader: they are all alike."""
    it = iter(ds.to_jax() if BACKEND == "jax" else ds.to_torch_loader())
    next(it), next(it)
    return it.state_dict()
