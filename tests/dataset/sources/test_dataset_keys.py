"""with_keys(): the key says which record it is, whatever the order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfrecs
from tfrecs.dataset import DatasetIterator
from tfrecs.dataset.stages.stage import Run

FEATURES = {"n": tfrecs.FixedLenFeature([], "int64")}


@pytest.fixture(params=["", "GZIP"])
def paths(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    made, n = [], 0
    for shard, size in enumerate([5, 0, 9, 7]):
        made.append(tmp_path / f"{shard}.tfrecord")
        with tfrecs.RecordWriter(made[-1], request.param) as out:
            out.write_batch([tfrecs.encode_example({"n": i}) for i in range(n, n + size)])
        n += size
    return made


def record_of(key: bytes) -> bytes:
    path, _, number = key.decode().rpartition(":")
    return tfrecs.open(path)[int(number)]


ORDERS: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "files": lambda ds: ds,
    "shuffle": lambda ds: ds.shuffle(4),
    "shuffle repeat": lambda ds: ds.shuffle(4).repeat(2),
    "buffer": lambda ds: ds.shuffle(4, buffer_size=5),
    "shard": lambda ds: ds.shuffle(1).shard(3, 2, "pad"),
    "skip take": lambda ds: ds.skip(3).take(11),
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("stripe", [None, (3, 0), (3, 2)])
def test_keys_are_those_of_the_records(
    paths: list[Path], name: str, stripe: tuple[int, int] | None
) -> None:
    plain = ORDERS[name](tfrecs.Dataset(paths))
    run = Run(5, stripe)
    for keyed in (plain.with_keys(), ORDERS[name](tfrecs.Dataset(paths).with_keys())):
        pairs: list[Any] = [*DatasetIterator(keyed.node, run)]
        assert [record for _, record in pairs] == [*DatasetIterator(plain.node, run)]
        assert [record_of(key) for key, _ in pairs] == [record for _, record in pairs]
        batches: list[Any] = [*DatasetIterator(keyed.batch(4).node, run)]
        expected = [batch.tolist() for batch in DatasetIterator(plain.batch(4).node, run)]
        assert [records.tolist() for _, records in batches] == expected
        for keys, records in batches:
            assert isinstance(keys, tfrecs.BytesArray)
            assert [record_of(key) for key in keys.tolist()] == records.tolist()


def test_features_beside_keys(paths: list[Path]) -> None:
    ds = tfrecs.Dataset(paths, FEATURES).shuffle(2).with_keys()
    for step in (ds.batch(4), ds.padded_batch(4), ds.map(lambda pair: pair).batch(4)):
        batches = [*step]
        assert [len(keys) for keys, _ in batches] == [4, 4, 4, 4, 4, 1]
        for keys, batch in batches:
            found = [tfrecs.decode_example(record_of(key))["n"][0] for key in keys.tolist()]
            assert batch["n"].tolist() == found


def test_elements_left_out_take_their_keys_along(paths: list[Path]) -> None:
    ds = tfrecs.Dataset(paths).with_keys()
    it = iter(ds.map(lambda pair: pair).shard(4, 1))
    assert all(record_of(key) == record for key, record in it)
    assert next(iter(ds.skip(20)))[0] == f"{paths[3]}:6".encode()


def test_what_has_no_keys_is_refused(paths: list[Path]) -> None:
    ds = tfrecs.Dataset(paths)
    assert ds.with_keys().with_keys().node is not None
    for other in (ds.map(len), ds.batch(2), tfrecs.Dataset(paths, on_corrupt="skip")):
        with pytest.raises(tfrecs.SpecError, match="only records of files have keys"):
            other.with_keys()
    with pytest.raises(tfrecs.SpecError, match="this one has keys"):
        tfrecs.make_batched_features_dataset(
            [*map(str, paths)], 2, FEATURES, lambda files: tfrecs.Dataset(files).with_keys()
        )
