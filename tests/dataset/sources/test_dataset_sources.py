"""Datasets of records in memory, of opened files, and of other people's sources."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import tfrecs
from tfrecs import col
from tfrecs.dataset import DatasetIterator
from tfrecs.dataset.stages.stage import Run
from tfrecs.testing import assert_resumes, same

FEATURES: dict[str, Any] = {
    "n": tfrecs.FixedLenFeature([], "int64"),
    "s": tfrecs.FixedLenFeature([], "string"),
}
RECORDS = [tfrecs.encode_example({"n": n, "s": b"x" * (n % 7)}) for n in range(60)]


class Reversed:
    """A source of somebody's own."""

    name = "mine"

    def __init__(self, records: Sequence[bytes]) -> None:
        self._records = list(records)

    def __len__(self) -> int:
        return len(self._records)

    def read_records(self, indices: Sequence[int]) -> list[bytes]:
        return [self._records[index] for index in indices]

    def fingerprint(self) -> str:
        return str(hash(tuple(self._records)))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sources") / "a.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(RECORDS)
    return path


def sources(path: Path) -> dict[str, Any]:
    return {
        "list": RECORDS,
        "tuple": tuple(RECORDS),
        "Records": tfrecs.Records(RECORDS),
        "records of a file": tfrecs.open(path)[:],
        "opened": tfrecs.open(path),
        "mine": Reversed(RECORDS),
    }


PLANS: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "elements": lambda ds: ds,
    "batches": lambda ds: ds.batch(7),
    "shuffled": lambda ds: ds.shuffle(5).repeat(2).batch(9, drop_remainder=True),
    "windows": lambda ds: ds.shuffle(5, buffer_size=20).shard(2, 1).batch(4),
    "cut": lambda ds: ds.skip(4).take(20).batch(6),
    "rows": lambda ds: ds.batch(7).filter(col("n", "int64") % 4 == 1),
    "filter": lambda ds: ds.shuffle(1).filter(col("n", "int64") % 4 == 1).batch(4),
    "one by one": lambda ds: ds.shuffle(1).filter(col("n", "int64") % 4 == 1),
}


@pytest.mark.parametrize(
    "name", ["list", "tuple", "Records", "records of a file", "opened", "mine"]
)
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("features", [None, FEATURES])
def test_they_are_as_files(path: Path, name: str, plan: str, features: Any) -> None:
    made = PLANS[plan](tfrecs.Dataset(sources(path)[name], features))
    like = PLANS[plan](tfrecs.Dataset(path, features))
    for stripe in (None, (3, 1)):
        run = Run(2, stripe)
        assert same(list(DatasetIterator(made.node, run)), list(DatasetIterator(like.node, run)))
    assert made.cardinality() == like.cardinality()


@pytest.mark.parametrize("name", ["list", "records of a file", "opened", "mine"])
def test_they_resume(path: Path, name: str) -> None:
    for plan in PLANS.values():
        assert_resumes(plan(tfrecs.Dataset(sources(path)[name], FEATURES)), steps=[0, 1, 3])


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("list", "memory:{}"),
        ("records of a file", "{path}:{}"),
        ("opened", "{path}:{}"),
        ("mine", "mine:{}"),
    ],
)
def test_keys_and_errors_say_which_record(path: Path, name: str, key: str) -> None:
    ds = tfrecs.Dataset(sources(path)[name], FEATURES).shuffle(3)
    for keys, batch in ds.with_keys().batch(8):
        expected = [key.format(n, path=path).encode() for n in batch["n"].tolist()]
        assert keys.tolist() == expected
    assert [k for k, _ in ds.with_keys()] == [
        key.format(int(row["n"]), path=path).encode() for row in DatasetIterator(ds.node, Run(0))
    ]
    broken = tfrecs.Dataset(
        sources(path)[name], {"other": tfrecs.FixedLenFeature([], "int64")}
    ).skip(3)
    with pytest.raises(tfrecs.ParseError, match="record 3") as caught:
        list(broken.batch(2))
    assert caught.value.record == 3


def test_states_of_other_records_are_refused(path: Path) -> None:
    other = [*RECORDS[:-2], RECORDS[-1], RECORDS[-2]]
    for make in (list, tfrecs.Records, Reversed):
        it = iter(tfrecs.Dataset(make(RECORDS)).shuffle(1).batch(5))
        next(it)
        again = iter(tfrecs.Dataset(make(RECORDS)).shuffle(1).batch(5))
        again.load_state_dict(it.state_dict())
        assert same(list(again), list(it))
        for odd in (other, RECORDS[1:]):
            refusing = iter(tfrecs.Dataset(make(odd)).shuffle(1).batch(5))
            with pytest.raises(tfrecs.StateError):
                refusing.load_state_dict(it.state_dict())


def test_they_are_pickled(path: Path) -> None:
    for name in ("list", "Records", "opened", "mine"):
        ds = tfrecs.Dataset(sources(path)[name], FEATURES).shuffle(3).batch(7)
        assert same(list(pickle.loads(pickle.dumps(ds))), list(ds))


def test_what_is_no_source(path: Path) -> None:
    class Short(Reversed):
        def read_records(self, indices: Sequence[int]) -> list[bytes]:
            return super().read_records(indices)[1:]

    with pytest.raises(TypeError, match="records asked for"):
        list(tfrecs.Dataset(Short(RECORDS)))
    with pytest.raises(tfrecs.SpecError):
        tfrecs.Dataset([b"a", "b"])  # type: ignore[arg-type]
    opened = tfrecs.open(path)
    opened.close()
    with pytest.raises(tfrecs.StateError, match="closed"):
        list(tfrecs.Dataset(opened))
    assert list(tfrecs.Dataset(tfrecs.Records([]))) == []
    assert repr(tfrecs.Dataset(RECORDS[:2])) == "Dataset(2 records)"
