"""make_batched_features_dataset: what TensorFlow's gives, without TensorFlow."""

from __future__ import annotations

import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecs
from tfrecs.testing import assert_resumes, same

FEATURES: dict[str, Any] = {
    "n": tfrecs.FixedLenFeature([], "int64"),
    "word": tfrecs.FixedLenFeature([], "string"),
    "ids": tfrecs.VarLenFeature("int64"),
    "pad": tfrecs.FixedLenSequenceFeature([], "int64", allow_missing=True, default_value=-1),
}
SIZES = {"b": 7, "a": 5, "empty": 0, "c": 8}
TOTAL = 20


def example(n: int) -> bytes:
    return tfrecs.encode_example(
        {"n": n, "word": f"w{n}", "ids": [n] * (n % 3), "pad": [n] * (n % 2)}
    )


@pytest.fixture(scope="module", params=["", "GZIP"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose records are numbered in the order of their names."""
    made = tmp_path_factory.mktemp("files")
    n = 0
    for name, size in sorted(SIZES.items()):
        with tfrecs.RecordWriter(made / f"{name}.tfrecord", request.param) as out:
            out.write_batch([example(i) for i in range(n, n + size)])
        n += size
    return made


def dataset(folder: Path, batch_size: int = 6, *arguments: Any, **options: Any) -> tfrecs.Dataset:
    return tfrecs.make_batched_features_dataset(
        str(folder / "*.tfrecord"), batch_size, FEATURES, *arguments, **options
    )


def numbers(ds: tfrecs.Dataset, most: int = 1000) -> list[list[int]]:
    return [
        (element[0] if isinstance(element, tuple) else element)["n"].tolist()
        for element in islice(ds, most)
    ]


def flat(ds: tfrecs.Dataset) -> list[int]:
    return [n for batch in numbers(ds) for n in batch]


# The ways records are read: natively, natively after a reader's own steps, and by Python.
READERS: dict[str, Any] = {
    "none": None,
    "class": tfrecs.RecordReader,
    "dataset": tfrecs.Dataset,
    "function": lambda files: tfrecs.Dataset(files, num_threads=1),
    "steps": lambda files: tfrecs.Dataset(files).skip(0),
    "skips damage": lambda files: tfrecs.Dataset(files, on_corrupt="skip"),
    "python": lambda files: tfrecs.Dataset(files).map(bytes),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("epochs", [0, 1, 3])
@pytest.mark.parametrize("drop", [False, True])
def test_batches_go_on_across_epochs(folder: Path, name: str, epochs: int, drop: bool) -> None:
    ds = dataset(folder, 6, READERS[name], num_epochs=epochs, shuffle=False, drop_final_batch=drop)
    wanted = [*range(TOTAL)] * epochs
    stop = len(wanted) - 5 if drop else len(wanted)
    found = list(ds)
    assert len(found) == len(range(0, stop, 6))
    for at, batch in zip(range(0, stop, 6), found, strict=True):
        expected = tfrecs.parse_example([example(n) for n in wanted[at : at + 6]], FEATURES)
        assert same({**batch}, expected)
        assert isinstance(batch, tfrecs.Batch)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("epochs", [None, -1, -7])
def test_without_end_all_batches_are_full(folder: Path, name: str, epochs: int | None) -> None:
    ds = dataset(folder, 6, READERS[name], num_epochs=epochs, shuffle=False)
    found = numbers(ds, 9)
    assert [n for batch in found for n in batch] == [n % TOTAL for n in range(54)]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("buffer_size", [1, 4, 10_000])
def test_each_epoch_has_each_record_once_in_an_order_of_its_own(
    folder: Path, name: str, buffer_size: int
) -> None:
    options: dict[str, Any] = {"num_epochs": 3, "shuffle_buffer_size": buffer_size}
    order = flat(dataset(folder, 7, READERS[name], shuffle_seed=5, **options))
    epochs = [tuple(order[at : at + TOTAL]) for at in range(0, 3 * TOTAL, TOTAL)]
    assert [sorted(epoch) for epoch in epochs] == [[*range(TOTAL)]] * 3
    assert len(set(epochs)) == (1 if buffer_size == 1 else 3)
    assert flat(dataset(folder, 7, READERS[name], shuffle_seed=5, **options)) == order
    if buffer_size > 1:
        assert flat(dataset(folder, 7, READERS[name], shuffle_seed=6, **options)) != order


def test_python_shuffles_as_the_native_side_does(folder: Path) -> None:
    for seed in range(3):
        one, other = (
            flat(dataset(folder, 6, READERS[name], num_epochs=3, shuffle_seed=seed))
            for name in ("none", "python")
        )
        assert one == other


def test_without_a_seed_each_call_has_an_order_of_its_own(folder: Path) -> None:
    orders = {tuple(flat(dataset(folder, num_epochs=1))) for _ in range(4)}
    assert len(orders) == 4
    ds = dataset(folder, num_epochs=1)
    assert flat(ds) != flat(ds), "and each pass"


def test_the_label_stands_beside_the_features(folder: Path) -> None:
    for name in ("none", "python"):
        ds = dataset(folder, 6, READERS[name], "word", num_epochs=1, shuffle=False)
        at = 0
        for features, label in ds:
            rows = range(at, min(at + 6, TOTAL))
            assert type(features) is dict
            assert list(features) == ["n", "ids", "pad"]
            assert features["n"].tolist() == [*rows]
            assert isinstance(features["ids"], tfrecs.SparseTensor)
            assert label.tolist() == [b"w%d" % n for n in rows]
            at += 6
    only = {"n": FEATURES["n"]}
    ds = tfrecs.make_batched_features_dataset(
        folder / "a.tfrecord", 9, only, label_key="n", num_epochs=1, shuffle=False
    )
    assert same([*ds], [({}, np.arange(5))])


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "options",
    [
        {"num_epochs": 1, "shuffle": False},
        {"num_epochs": 2, "shuffle_seed": 3, "shuffle_buffer_size": 6},
        {"num_epochs": 2, "shuffle_seed": 3, "label_key": "n", "drop_final_batch": True},
    ],
)
def test_it_resumes_at_every_step(folder: Path, name: str, options: dict[str, Any]) -> None:
    assert_resumes(dataset(folder, 6, READERS[name], **options))


def test_an_endless_one_resumes(folder: Path) -> None:
    assert_resumes(dataset(folder, 6, shuffle_seed=1), most=12)


def test_workers_share_the_work(folder: Path) -> None:
    whole = dataset(folder, 3, label_key="word", num_epochs=1, shuffle_seed=2)
    ds = pickle.loads(pickle.dumps(whole))
    parts = [numbers(ds.shard(3, index)) for index in range(3)]
    dealt = [parts[n % 3][n // 3] for n in range(sum(map(len, parts)))]
    assert dealt == numbers(whole)


def test_patterns_match_as_one_sorted_list_with_duplicates(folder: Path) -> None:
    def files(*patterns: str | Path) -> list[int]:
        ds = tfrecs.make_batched_features_dataset(
            [*patterns], 100, FEATURES, num_epochs=1, shuffle=False
        )
        return flat(ds)

    a, b, c = [*range(5)], [*range(5, 12)], [*range(12, 20)]
    assert files(f"{folder}/c*", folder / "a.tfrecord") == a + c
    assert files(f"{folder}/[bc]*", f"{folder}/b*", f"{folder}/nothing*") == b + b + c
    assert files(f"{folder}/nothing", f"{folder}/a.tfrecord") == a
    for nothing in ([], [f"{folder}/nothing"], f"{folder}/nothing*", f"{folder}/nothing"):
        with pytest.raises(tfrecs.FileError, match="no file matches"):
            tfrecs.make_batched_features_dataset(nothing, 2, FEATURES)


def test_a_dataset_of_nothing_ends(folder: Path) -> None:
    for options in ({}, {"shuffle": False}, {"num_epochs": 5}):
        ds = tfrecs.make_batched_features_dataset(
            str(folder / "empty*"),
            2,
            FEATURES,
            **options,
        )
        assert list(ds) == []


def test_a_reader_opens_all_files_with_its_arguments(folder: Path) -> None:
    asked = []

    def reader(files: list[str], *arguments: Any) -> tfrecs.Dataset:
        asked.append((files, arguments))
        return tfrecs.Dataset(files).take(3)

    ds = dataset(folder, 2, reader, None, ["x", 1], num_epochs=2, shuffle=False)
    assert numbers(ds) == [[0, 1], [2, 0], [1, 2]]
    names = [f"{folder}/{name}.tfrecord" for name in sorted(SIZES)]
    assert asked == [(names, ("x", 1))]
    whole = (folder / "a.tfrecord").read_bytes()[:1] == b"\x1f"
    for kind in (None, tfrecs.RecordReader):
        ds = dataset(folder, 99, kind, None, ["GZIP"], 1, False)
        if whole:
            assert numbers(ds) == [[*range(TOTAL)]]
        else:
            with pytest.raises(tfrecs.Error):
                list(ds)


def test_what_a_native_plan_is(folder: Path) -> None:
    ds = dataset(folder, 6, READERS["steps"], "n", None, 2, True, 50, 3)
    assert repr(ds).splitlines()[-5:] == [
        "  .skip(0)",
        "  .shuffle(3, buffer_size=50)",
        "  .repeat(2)",
        "  .batch(6)",
        "  label_key='n'",
    ]
    assert "parse_example" not in repr(ds)
    assert "parse_example" in repr(dataset(folder, 6, READERS["python"]))
    assert ds.cardinality() == 7


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch_size": 0}, "positive number of records"),
        ({"batch_size": -1}, "positive number of records"),
        ({"label_key": "m"}, "label_key must be one of the features, 'n', 'word', .*, not 'm'"),
        ({"features": {}}, "features must say what to parse"),
        ({"features": None}, "features must say what to parse"),
        ({"features": {"n": 3}}, "n"),
        ({"shuffle_buffer_size": 0}, "buffer_size"),
        ({"reader_num_threads": 0}, "num_threads"),
        ({"parser_num_threads": 0}, "num_threads"),
        ({"prefetch_buffer_size": -2}, "prefetch_buffer_size"),
        ({"reader": list}, "reader must return a Dataset of records, not list"),
        ({"reader": lambda files: tfrecs.Dataset(files, FEATURES)}, "and this one parses them"),
    ],
)
def test_wrong_arguments_say_what_is_wrong(
    folder: Path, options: dict[str, Any], text: str
) -> None:
    given: dict[str, Any] = {
        "file_pattern": f"{folder}/*",
        "batch_size": 2,
        "features": FEATURES,
    } | options
    with pytest.raises(ValueError, match=text) as caught:
        tfrecs.make_batched_features_dataset(**given)
    assert isinstance(caught.value, tfrecs.SpecError)


def test_a_reader_of_something_else_is_told(folder: Path) -> None:
    ds = dataset(folder, 2, lambda files: tfrecs.Dataset(files).map(len))
    with pytest.raises(tfrecs.SpecError, match="gives no records"):
        next(iter(ds))


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    with tfrecs.RecordWriter(tmp_path / "broken") as out:
        out.write_batch([example(0), b"\xff", example(1)])
    for reader in (None, READERS["python"]):
        ds = tfrecs.make_batched_features_dataset(
            tmp_path / "broken", 5, FEATURES, reader, num_epochs=1, shuffle=False
        )
        with pytest.raises(tfrecs.ParseError, match="record 1"):
            list(ds)
