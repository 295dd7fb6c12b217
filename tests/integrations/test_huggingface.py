"""to_hf(): our datasets as Hugging Face's, exactly on from anywhere."""

from __future__ import annotations

import doctest
import gc
import importlib
import itertools
import json
import os
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
import tasks

import tfrecs
import tfrecs.testing
from tfrecs import SpecError, StateError
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.stages.stage import Run

os.environ.setdefault("HF_HUB_OFFLINE", "1")
datasets = needs.optional("datasets")
torch = needs.optional("torch")
stateful = needs.optional("torchdata.stateful_dataloader")
Image = needs.optional("PIL.Image")
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),  # torchdata 0.11 calls it
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # datasets itself forks and parses
]

ROWS = 53
SPEC: Any = {
    "n": tfrecs.FixedLenFeature([], "int64"),
    "box": tfrecs.FixedLenFeature([2, 2], "float32"),
    "name": tfrecs.FixedLenFeature([], "string"),
    "ids": tfrecs.VarLenFeature("int64"),
    "words": tfrecs.RaggedFeature("string"),
    "places": tfrecs.SparseFeature("at", "v", "float32", 5),
    "padded": tfrecs.FixedLenSequenceFeature([2], "int64", allow_missing=True),
    "small": tfrecs.FixedLenFeature([], "uint8"),
}


def row(n: int) -> dict[str, Any]:
    return {
        "n": n,
        "box": [n + 0.5] * 4,
        "name": b"%d" % n,
        "ids": list(range(n % 4)),
        "words": [b"a", b""][: n % 3],
        "at": [1, 3][: n % 3],
        "v": [0.5, 1.5][: n % 3],
        "padded": [n, 2] * (n % 3),
        "small": n,
    }


def example(n: int) -> dict[str, Any]:
    """What comes of the row there."""
    found = row(n)
    places = {"indices": found.pop("at"), "values": found.pop("v")}
    rest = {"box": [[n + 0.5] * 2] * 2, "places": places, "padded": [[n, 2]] * (n % 3)}
    return {name: (found | rest)[name] for name in SPEC}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("examples") / "some.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([tfrecs.encode_example(row(n)) for n in range(ROWS)])
    return path


def numbers(rows: Any) -> list[int]:
    return [int(one["n"]) for one in rows]


def expected(ds: tfrecs.Dataset, epoch: int = 0) -> list[int]:
    """The numbers of a pass of batches or rows."""
    passed = [np.atleast_1d(one["n"]).tolist() for one in DatasetIterator(ds.node, Run(epoch))]
    return [n for some in passed for n in some]


@pytest.mark.parametrize("plan", ["batches", "rows", "a row each", "functions"])
def test_examples_are_the_rows(path: Path, plan: str) -> None:
    ds = tfrecs.Dataset(path, SPEC)
    made = {
        "batches": lambda: ds.batch(8),
        "rows": lambda: ds.skip(0),
        "a row each": lambda: ds.map(plainly),
        "functions": lambda: ds.batch(8).prefetch(2),
    }[plan]()
    found = list(made.to_hf())
    assert found == [example(n) for n in range(ROWS)]


def plainly(row: Any) -> Any:
    """The same without what needs its feature to be understood."""
    places = row["places"]
    return {
        **row,
        "places": {"indices": places.indices[:, 0].tolist(), "values": places.values.tolist()},
    }


def test_features_are_known_without_reading(path: Path) -> None:
    value, lists = datasets.Value, datasets.List
    features = {
        "n": value("int64"),
        "box": lists(lists(value("float32"))),
        "name": value("binary"),
        "ids": lists(value("int64")),
        "words": lists(value("binary")),
        "places": {"indices": lists(value("int64")), "values": lists(value("float32"))},
        "padded": lists(lists(value("int64"))),
        "small": value("uint8"),
    }
    ds = tfrecs.Dataset(path, SPEC)
    for one in (ds.batch(4), ds, ds.shuffle(1).repeat(2), ds.batch(4).take(2).cache()):
        assert one.to_hf().features == datasets.Features(features)
    keyed = ds.with_keys().batch(4).to_hf()
    assert keyed.features == datasets.Features({"__key__": value("binary"), **features})
    assert next(iter(keyed))["__key__"] == f"{path}:0".encode()
    assert ds.batch(4).map(dict).to_hf().features is None
    label = datasets.ClassLabel(ROWS)
    assert ds.to_hf({"small": label}).features["small"] == label
    with pytest.raises(SpecError, match=r"no \['other'\]"):
        ds.to_hf({"other": label})


def test_records(path: Path) -> None:
    records = list(tfrecs.Dataset(path))
    for ds in (tfrecs.Dataset(path), tfrecs.Dataset(path).batch(7)):
        assert [one["record"] for one in ds.to_hf()] == records
    mapped = tfrecs.Dataset(path).map(lambda record: record[:3]).to_hf()
    assert [one["record"] for one in mapped] == [record[:3] for record in records]


def test_sequences(tmp_path: Path) -> None:
    path = tmp_path / "sequences.tfrecord"
    rows: list[Any] = [
        ({"label": n}, {"dense": [[float(n), 0.5]] * (n % 3), "any": [[b"x"] * (n % 4)]})
        for n in range(11)
    ]
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([tfrecs.encode_sequence_example(*one) for one in rows])
    ds = tfrecs.Dataset(
        path,
        context_features={"label": tfrecs.FixedLenFeature([], "int64")},
        sequence_features={
            "dense": tfrecs.FixedLenSequenceFeature([2], "float32"),
            "any": tfrecs.RaggedFeature("string"),
        },
    )
    for made in (ds.batch(4).to_hf(), ds.to_hf()):
        assert list(made) == [{**context, **lists} for context, lists in rows]
        assert made.features["dense"] == datasets.List(datasets.List(datasets.Value("float32")))


def test_tables_lie_where_batches_do(path: Path) -> None:
    tables = importlib.import_module("tfrecs.integrations.huggingface.tables")
    batch = next(iter(tfrecs.Dataset(path, SPEC).batch(8)))
    table = tables.table_of(batch)
    for name, array in {"n": batch["n"], "box": batch["box"], "name": batch["name"].data}.items():
        whole = table[name].chunk(0)
        buffer = [one for one in whole.buffers() if one is not None][-1]
        assert buffer.address == array.__array_interface__["data"][0], name


def test_what_functions_make(path: Path) -> None:
    def made(batch: Any) -> Any:
        several = [np.arange(n % 3) for n in batch["n"]]
        return {"n": batch["n"], "both": {"x": batch["n"] / 2, "s": batch["name"]}, "l": several}

    found = list(tfrecs.Dataset(path, SPEC).batch(8).map(made).to_hf())
    assert found == [
        {"n": n, "both": {"x": n / 2, "s": b"%d" % n}, "l": list(range(n % 3))} for n in range(ROWS)
    ]


def test_what_arrow_does_not_have(path: Path) -> None:
    spec = {"box": tfrecs.FixedLenFeature([4], "bfloat16")}
    with pytest.raises(SpecError, match="'box': Arrow has no bfloat16"):
        tfrecs.Dataset(path, spec).batch(2).to_hf()
    pairs = tfrecs.Dataset(path, SPEC).batch(2).map(lambda batch: (batch["n"], batch["box"]))
    with pytest.raises(SpecError, match="elements that are dicts, not tuple"):
        next(iter(pairs.to_hf()))


@pytest.mark.parametrize("plan", ["batches", "rows", "functions"])
def test_epochs_are_said(path: Path, plan: str) -> None:
    ds = tfrecs.Dataset(path, SPEC).shuffle(3)
    ds = {"batches": ds.batch(8), "rows": ds, "functions": ds.batch(8).map(dict)}[plan]
    made = ds.to_hf()
    assert numbers(made) == numbers(made) == expected(ds, 0)
    for epoch in (1, 2, 7):
        made.set_epoch(epoch)
        assert numbers(made) == expected(ds, epoch)
        assert numbers(made.map(lambda one: one).take(9)) == expected(ds, 0)[:9]
    ds.set_epoch(5)
    assert numbers(ds.to_hf()) == expected(ds, 5)


def steps(ds: Any) -> Any:
    """The kinds of datasets that people make of ours."""
    return {
        "plain": lambda: ds,
        "mapped": lambda: ds.map(lambda one: {"n": one["n"]}),
        "batched map": lambda: ds.map(lambda some: {"n": some["n"]}, batched=True, batch_size=5),
        "filtered": lambda: ds.filter(lambda one: one["n"] % 3 > 0),
        "renamed": lambda: ds.select_columns(["n"]),
        "taken": lambda: ds.skip(3).take(40),
        "torch": lambda: ds.with_format("torch"),
        "repeated": lambda: ds.repeat(2),
    }


@pytest.mark.parametrize("step", [*steps(None)])
@pytest.mark.parametrize("plan", ["batches", "rows", "functions"])
def test_resumed_on_the_way(path: Path, plan: str, step: str) -> None:
    ds = tfrecs.Dataset(path, SPEC, num_threads=2).shuffle(3)
    ds = {"batches": ds.batch(8), "rows": ds, "functions": ds.batch(8).map(dict)}[plan]

    def made() -> Any:
        return steps(ds.to_hf())[step]()

    first = made()
    first.set_epoch(1)
    whole = numbers(first)
    it = iter(first)
    for given, one in enumerate(it, start=1):
        assert int(one["n"]) == whole[given - 1]
        if given % 5:  # batches have 8 rows
            continue
        state = json.loads(json.dumps(first.state_dict()))
        again = made()
        again.set_epoch(1)
        again.load_state_dict(state)
        rest = iter(again)
        assert numbers(itertools.islice(rest, 3)) == whole[given : given + 3]
        twice = made()
        twice.set_epoch(1)
        twice.load_state_dict(again.state_dict())
        assert numbers(twice) == whole[given + 3 :]
        rest.close()
    it.close()


@pytest.mark.parametrize("how", ["in turn", "drawn", "one after the other"])
def test_resumed_among_others(path: Path, how: str) -> None:
    ds = tfrecs.Dataset(path, {"n": SPEC["n"]}).shuffle(3)

    def made() -> Any:
        theirs = datasets.Dataset.from_dict({"n": list(range(100, 130))})
        three = [ds.batch(8).to_hf(), ds.to_hf(), theirs.to_iterable_dataset(num_shards=2)]
        if how == "one after the other":
            return datasets.concatenate_datasets(three)
        drawn = {"probabilities": [0.2, 0.5, 0.3], "seed": 1} if how == "drawn" else {}
        return datasets.interleave_datasets(three, **drawn)

    first, whole = made(), numbers(made())
    for given, one in enumerate(first, start=1):
        assert one["n"] == whole[given - 1]
        if given % 5 == 0:
            again = made()
            again.load_state_dict(json.loads(json.dumps(first.state_dict())))
            assert numbers(again) == whole[given:]


def test_states_are_small(path: Path) -> None:
    made = tfrecs.Dataset(path, SPEC).shuffle(3).batch(8).to_hf()
    it = iter(made)
    next(it)
    assert len(json.dumps(made.state_dict())) < 1000
    bad = made.state_dict()
    it.close()
    other = tfrecs.Dataset(path, SPEC).shuffle(4).batch(8).to_hf()
    other.load_state_dict(bad)
    with pytest.raises(StateError, match="another plan"):
        next(iter(other))


def test_hostile_states(path: Path) -> None:
    ds = tfrecs.Dataset(path, SPEC).batch(8)
    first = ds.to_hf()
    next(iter(first))
    state = first.state_dict()

    def changed(value: Any, **new: Any) -> Any:
        """The state with these in place of what is there, wherever that is."""
        if not isinstance(value, dict):
            return value
        return {name: new.get(name, changed(one, **new)) for name, one in value.items()}

    wrong: list[Any] = [{"at": at} for at in (None, 3, "{", "[]", "{}", '{"at": 1}')]
    wrong += [{"row": row} for row in (-1, 9, "x", 2**70)]
    for new in wrong:
        again = ds.to_hf()
        again.load_state_dict(changed(state, **new))
        with pytest.raises(StateError):
            next(iter(again))


def test_orders_of_generators(path: Path) -> None:
    made = tfrecs.Dataset(path, SPEC).shuffle(1).to_hf()
    shuffled = [
        made.shuffle(buffer_size=1, generator=np.random.default_rng([seed, 7])) for seed in (1, 2)
    ]
    first, second = map(numbers, shuffled)
    assert sorted(first) == sorted(second) == list(range(ROWS))
    assert first != second
    assert first == numbers(shuffled[0])


@pytest.mark.parametrize("size", [8, 12])
def test_batches_of_tensors(path: Path, size: int) -> None:
    ds = tfrecs.Dataset(path, {"n": SPEC["n"], "box": SPEC["box"]}).batch(8)
    batches = list(ds.to_hf().with_format("torch").iter(size))
    assert batches[0]["box"].shape == (size, 2, 2)
    assert batches[0]["box"].dtype is torch.float32
    assert [n for batch in batches for n in batch["n"].tolist()] == list(range(ROWS))


@pytest.mark.parametrize("workers", [0, 1, 2, 3, 5])
def test_workers_take_batches_in_turn(path: Path, workers: int) -> None:
    ds = tfrecs.Dataset(path, {"n": SPEC["n"]}, num_threads=2).shuffle(3).batch(8)
    made = ds.to_hf().with_format("torch")
    for epoch in range(2):
        made.set_epoch(epoch)
        loader = torch.utils.data.DataLoader(made, batch_size=8, num_workers=workers)
        found = [batch["n"].tolist() for batch in loader]
        assert found == [batch["n"].tolist() for batch in DatasetIterator(ds.node, Run(epoch))]


@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_nodes_and_shards(path: Path, nodes: int) -> None:
    split = importlib.import_module("datasets.distributed").split_dataset_by_node
    ds = tfrecs.Dataset(path, {"n": SPEC["n"]}).shuffle(3).batch(4)
    made = ds.to_hf()
    batches = [batch["n"].tolist() for batch in DatasetIterator(ds.node, Run(0))]
    found = [numbers(split(made, rank, nodes)) for rank in range(nodes)]
    assert sorted(itertools.chain(*found)) == list(range(ROWS))
    if 48 % nodes == 0:
        assert found == [list(itertools.chain(*batches[rank::nodes])) for rank in range(nodes)]
    shards = [made.shard(nodes, index) for index in range(nodes)]
    assert sum(shard.num_shards for shard in shards) == 48
    assert sorted(itertools.chain(*map(numbers, shards))) == list(range(ROWS))
    # More workers than shards: some have nothing, and nothing is lost.
    few = ds.to_hf(num_shards=2).with_format("torch")
    loader = torch.utils.data.DataLoader(few, batch_size=None, num_workers=nodes)
    assert sorted(numbers(loader)) == list(range(ROWS))


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_data_loaders(path: Path, workers: int) -> None:
    ds = tfrecs.Dataset(path, {"n": SPEC["n"]}, num_threads=2).shuffle(3).batch(8)

    def loader() -> Any:
        made = ds.to_hf().with_format("torch")
        return stateful.StatefulDataLoader(made, batch_size=8, num_workers=workers)

    order = [batch["n"].tolist() for batch in DatasetIterator(ds.node, Run(0))]
    for stop in (0, 1, 4, len(order) - 1):
        first, second = loader(), loader()
        it = iter(first)
        assert [one["n"].tolist() for one in itertools.islice(it, stop)] == order[:stop]
        second.load_state_dict(first.state_dict())
        assert [one["n"].tolist() for one in second] == order[stop:]


def test_errors_keep_their_place(path: Path, tmp_path: Path) -> None:
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) * 3 // 4] ^= 1
    bad = tmp_path / "bad.tfrecord"
    bad.write_bytes(damaged)
    with pytest.raises(tfrecs.CorruptRecordError, match=r"bad\.tfrecord"):
        list(tfrecs.Dataset(bad, SPEC).batch(4).to_hf())


def test_what_is_given_up_leaves_nothing(path: Path) -> None:
    def held() -> int:
        gc.collect()
        python = [one.name for one in threading.enumerate()]
        return sum(name.startswith("tfrecs") for name in python + tasks.names())

    ds = tfrecs.Dataset(path, SPEC, num_threads=2).shuffle(1).batch(4).map(dict).prefetch(2)
    before = held()
    made = ds.to_hf()
    for count in (0, 1, 5):
        it = iter(made)
        for _ in range(count):
            next(it)
        del it
    for _ in range(100):
        if held() <= before:
            break
        time.sleep(0.05)
    assert held() <= before


def test_images(tmp_path: Path) -> None:
    path = tmp_path / "images.tfrecord"
    images = [np.full((3, 4, 3), n, np.uint8) for n in range(5)]
    with tfrecs.RecordWriter(path) as out:
        for n, image in enumerate(images):
            row = {"image": tfrecs.encode_image(image), "label": n}
            out.write(tfrecs.encode_example(row))
    spec = {
        "image": tfrecs.FixedLenFeature([], "string"),
        "label": tfrecs.FixedLenFeature([], "int64"),
    }
    ds = tfrecs.Dataset(path, spec).batch(2)
    labels = datasets.ClassLabel(names=list("abcde"))
    given = ds.to_hf({"image": datasets.Image(), "label": labels})
    cast = ds.to_hf().cast_column("image", datasets.Image())
    for made in (given, cast):
        found = list(made)
        assert [np.asarray(one["image"]).tolist() for one in found] == [
            one.tolist() for one in images
        ]
        assert [one["label"] for one in found] == list(range(5))
    assert next(iter(given.with_format("torch")))["image"].shape == (3, 3, 4)
    # And back: the bytes of the files, and pixels of them.
    stored = datasets.Dataset.from_list(list(given), features=given.features)
    back = tfrecs.Dataset.from_hf(stored, batch_size=2).decode_images("image")
    pixels = [one.tolist() for batch in back for one in batch["image"]]
    assert pixels == [one.tolist() for one in images]


@pytest.mark.parametrize("size", [None, 2])
def test_conditions_choose_rows(size: int | None) -> None:
    stored = datasets.Dataset.from_dict({"n": list(range(7)), "text": list("abcdefg")})
    ds = tfrecs.Dataset.from_hf(stored, batch_size=size).filter(tfrecs.col("n") % 3 == 1)
    found = list(ds if size is None else ds.unbatch())
    assert [int(row["n"]) for row in found] == [1, 4]
    assert [bytes(np.asarray(row["text"])[()]) for row in found] == [b"b", b"e"]


def test_sounds(tmp_path: Path) -> None:
    path = tmp_path / "sounds.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([tfrecs.encode_example({"sound": b"RIFF%d" % n}) for n in range(5)])
    ds = tfrecs.Dataset(path, {"sound": tfrecs.FixedLenFeature([], "string")})
    made = ds.batch(2).to_hf({"sound": datasets.Audio(decode=False)})
    assert [one["sound"]["bytes"] for one in made] == [b"RIFF%d" % n for n in range(5)]


@pytest.mark.parametrize("context", ["fork", "forkserver", "spawn"])
def test_other_processes(path: Path, context: str) -> None:
    ds = tfrecs.Dataset(path, {"n": SPEC["n"]}, num_threads=2).shuffle(3).batch(8)
    made = ds.to_hf().with_format("torch")
    assert numbers(pickle.loads(pickle.dumps(made))) == expected(ds)
    made.set_epoch(2)
    loader = torch.utils.data.DataLoader(
        made, batch_size=8, num_workers=2, multiprocessing_context=context
    )
    assert [n for batch in loader for n in batch["n"].tolist()] == expected(ds, 2)


def test_the_examples_run() -> None:
    folder = "tfrecs.integrations.huggingface"
    for module, examples in {"tables": 3, "columns": 3}.items():
        assert doctest.testmod(importlib.import_module(f"{folder}.{module}")) == (0, examples)
