"""from_hf(): Hugging Face's datasets as sources of ours, and on from anywhere."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest

import tfrecs
import tfrecs.testing
from tfrecs import SpecError, StateError

os.environ.setdefault("HF_HUB_OFFLINE", "1")
datasets = needs.optional("datasets")
torch = needs.optional("torch")
Image = needs.optional("PIL.Image")
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # datasets itself forks and parses
]

ROWS = 53


def numbers(rows: Any) -> list[int]:
    return [int(one["n"]) for one in rows]


TABLE: Any = {
    "n": list(range(ROWS)),
    "x": [n / 2 for n in range(ROWS)],
    "flag": [n % 2 == 0 for n in range(ROWS)],
    "text": [str(n) for n in range(ROWS)],
    "raw": [b"\xff" * (n % 3) for n in range(ROWS)],
    "ids": [list(range(n % 4)) for n in range(ROWS)],
    "deep": [[["a"] * (n % 3), []] for n in range(ROWS)],
    "box": [[[n, 1], [2, 3]] for n in range(ROWS)],
    "who": [{"name": str(n), "age": n} for n in range(ROWS)],
    "boxes": [[{"at": [k, n], "what": "x"} for k in range(n % 3)] for n in range(ROWS)],
}
TYPES = datasets.Features(
    {
        "n": datasets.Value("int32"),
        "x": datasets.Value("float32"),
        "flag": datasets.Value("bool"),
        "text": datasets.Value("string"),
        "raw": datasets.Value("binary"),
        "ids": datasets.List(datasets.Value("int64")),
        "deep": datasets.List(datasets.List(datasets.Value("string"))),
        "box": datasets.List(datasets.List(datasets.Value("int64"), 2), 2),
        "who": {"name": datasets.Value("string"), "age": datasets.Value("int64")},
        "boxes": datasets.List(
            {"at": datasets.List(datasets.Value("int64"), 2), "what": datasets.Value("string")}
        ),
    }
)


def theirs(kind: str) -> Any:
    stored = datasets.Dataset.from_dict(TABLE, features=TYPES)
    if kind == "indices":
        stored = datasets.concatenate_datasets([stored, stored]).select(range(ROWS))
    return stored if kind in {"stored", "indices"} else stored.to_iterable_dataset(num_shards=3)


KINDS = ["stored", "indices", "streamed"]


def bytes_of(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(bytes_of, value)]
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_theirs(kind: str) -> None:
    batches = list(tfrecs.Dataset.from_hf(theirs(kind), batch_size=10))
    assert [len(batch["n"]) for batch in batches] == [10] * 5 + [3]
    first = batches[0]
    assert {name: first[name].dtype.name for name in ("n", "x", "flag", "box")} == {
        "n": "int32",
        "x": "float32",
        "flag": "bool",
        "box": "int64",
    }
    assert first["box"].shape == (10, 2, 2)
    assert isinstance(first["text"], tfrecs.BytesArray)
    assert isinstance(first["deep"], tfrecs.RaggedTensor)
    for name, values in TABLE.items():
        if name not in {"who", "boxes"}:
            found = [one for batch in batches for one in batch[name].tolist()]
            assert found == bytes_of(values), name
    assert [n for batch in batches for n in batch["who/age"].tolist()] == list(range(ROWS))
    assert first["who/name"].tolist() == [b"%d" % n for n in range(10)]
    places = [one for batch in batches for one in batch["boxes/at"].tolist()]
    assert places == [[[k, n] for k in range(n % 3)] for n in range(ROWS)]
    assert first["boxes/what"].tolist() == [[b"x"] * (n % 3) for n in range(10)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plan", ["rows", "batches", "batched", "shuffled", "prefetched"])
def test_resumed_at_every_step(kind: str, plan: str) -> None:
    source = theirs(kind)
    only = source.select_columns(["n", "text", "ids"])
    rows, batches = tfrecs.Dataset.from_hf(only), tfrecs.Dataset.from_hf(only, batch_size=10)
    ds = {
        "rows": lambda: rows,
        "batches": lambda: batches,
        "batched": lambda: rows.padded_batch(7),
        "shuffled": lambda: rows.shuffle(1, buffer_size=9),
        "prefetched": lambda: batches.map(dict).prefetch(2),
    }[plan]()
    steps = None if kind == "stored" and plan != "shuffled" else range(5)
    tfrecs.testing.assert_resumes(ds, steps)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_theirs_are_written(kind: str, tmp_path: Path) -> None:
    """The way from their datasets to files."""
    only = theirs(kind).select_columns(["n", "x", "text", "ids"])
    with tfrecs.ShardedWriter(
        tmp_path / "part-{shard}-of-{num_shards}.tfrecord", num_shards=2
    ) as out:
        for batch in tfrecs.Dataset.from_hf(only, batch_size=10):
            out.write_batch(tfrecs.encode_batch(batch))
    spec: Any = {
        "n": tfrecs.FixedLenFeature([], "int64"),
        "text": tfrecs.FixedLenFeature([], "string"),
        "ids": tfrecs.VarLenFeature("int64"),
    }
    back = tfrecs.Dataset(tmp_path / "part-*.tfrecord", spec).to_hf()
    found = sorted(back, key=lambda one: one["n"])
    assert found == [{"n": n, "text": b"%d" % n, "ids": list(range(n % 4))} for n in range(ROWS)]


def test_lengths_and_plans() -> None:
    stored = theirs("stored")
    rows = tfrecs.Dataset.from_hf(stored)
    assert (rows.cardinality(), rows.batch(10).cardinality()) == (ROWS, 6)
    assert tfrecs.Dataset.from_hf(stored, 10).cardinality() == 6
    assert tfrecs.Dataset.from_hf(theirs("streamed")).cardinality() is None
    assert repr(rows.take(3)).splitlines() == [
        "Dataset.from_hf(53 rows of n, x, flag, text, raw, ids, deep, box, who, boxes)",
        "  .take(3)",
    ]
    assert rows.losses.regions == 0
    assert numbers(rows.skip(50)) == [50, 51, 52]
    assert numbers(rows.shard(3, 1))[:3] == [1, 4, 7]
    state = iter(rows).state_dict()
    other = tfrecs.Dataset.from_hf(stored.select(range(9)))
    with pytest.raises(StateError, match="another plan"):
        iter(other).load_state_dict(state)
    with pytest.raises(SpecError, match="one of 'train'"):
        tfrecs.Dataset.from_hf(datasets.DatasetDict(train=stored))
    with pytest.raises(SpecError, match="takes a Dataset"):
        tfrecs.Dataset.from_hf([1, 2])
    with pytest.raises(SpecError, match="shuffled all at once"):
        rows.shuffle(1)


def test_their_epochs() -> None:
    streamed = theirs("streamed").shuffle(seed=3, buffer_size=20)
    ds = tfrecs.Dataset.from_hf(streamed.select_columns(["n"]))
    first, second = numbers(ds), numbers(ds)
    assert sorted(first) == sorted(second) == list(range(ROWS))
    assert first != second
    ds.set_epoch(1)
    assert numbers(ds) == second


def test_hostile_states() -> None:
    for kind, states in {
        "stored": [{"at": -1}, {"at": 2**70}, {"at": None}, {}, {"at": 54}],
        "streamed": [
            {"at": "{}", "row": 0},
            {"at": "[", "row": 0},
            {"at": 7, "row": 0},
            {"row": 1},
        ],
    }.items():
        it = iter(tfrecs.Dataset.from_hf(theirs(kind)))
        whole = it.state_dict()
        for at in states:
            with pytest.raises(StateError):
                it.load_state_dict({**whole, "at": at})


def test_what_is_no_column() -> None:
    for values, match in (([1, None], "null"), ([None, "a"], "null"), ([None, None], "null")):
        ds = tfrecs.Dataset.from_hf(datasets.Dataset.from_dict({"x": values}))
        with pytest.raises(SpecError, match=f"'x'.*{match}"):
            next(iter(ds))
    missing = datasets.Dataset.from_dict({"x": [[1, 2], None, []]})
    batch = next(iter(tfrecs.Dataset.from_hf(missing, 3)))
    assert batch["x"].tolist() == [[1, 2], None, []]


def test_audio_and_files(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((2, 2, 3), np.uint8)).save(buffer, "PNG")
    (tmp_path / "a.png").write_bytes(buffer.getvalue())
    sounds = [{"bytes": b"RIFF", "path": None}, {"bytes": b"fLaC", "path": "b.flac"}]
    stored = datasets.Dataset.from_dict(
        {"sound": sounds, "image": [str(tmp_path / "a.png"), buffer.getvalue()]},
        features=datasets.Features(
            {
                "sound": {"bytes": datasets.Value("binary"), "path": datasets.Value("string")},
                "image": datasets.Image(),
            }
        ),
    ).cast_column("sound", datasets.Audio())
    batch = next(iter(tfrecs.Dataset.from_hf(stored, 2)))
    assert batch["sound"].tolist() == [b"RIFF", b"fLaC"]
    assert batch["image"].tolist() == [buffer.getvalue()] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_theirs_to_pytorch(kind: str) -> None:
    """Through ours into loaders, with workers too."""
    ds = tfrecs.Dataset.from_hf(theirs(kind).select_columns(["n"]), batch_size=10)
    dataset = pickle.loads(pickle.dumps(ds.to_torch()))
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2)
    assert [n for batch in loader for n in batch["n"].tolist()] == list(range(ROWS))
    assert numbers(tfrecs.Dataset.from_hf(theirs(kind)).to_hf()) == list(range(ROWS))
