"""Damaged and hostile files of ours: caches, manifests, journals, and states of datasets.

Whatever stands in them, the answer is the one of the sound file, or a tfrecs.Error: never an error
of JSON, NumPy or Python, and never other data.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from plans import SPEC, STEPS, example

import tfrecs
from tfrecs.storage.journal import own_checksum
from tfrecs.testing import same

HOSTILE: list[Any] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    -(2**70),
    float("nan"),
    float("inf"),
    "",
    "x" * 300,
    "a\0b",
    "\ud800",
    "..",
    [],
    [[]],
    {},
    {"a": [1]},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with tfrecs.RecordWriter(tmp_path / "a.tfrecord") as out:
        out.write_batch([example(n) for n in range(4)])
    return tmp_path / "a.tfrecord"


def changes(value: Any) -> Iterator[Any]:
    """Yield copies of JSON data with one part replaced, or one that is left out."""
    for place in places(value):
        for hostile in (*HOSTILE, KeyError):
            changed = copy.deepcopy(value)
            parent = changed
            for key in place[:-1]:
                parent = parent[key]
            if hostile is KeyError:
                del parent[place[-1]]
            else:
                parent[place[-1]] = hostile
            yield changed


def places(value: Any) -> list[list[Any]]:
    keys = list(value) if isinstance(value, dict) else []
    keys = list(range(len(value))) if isinstance(value, list) else keys
    return [[key, *rest] for key in keys for rest in [[], *places(value[key])]]


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or the error of ours that it raises."""
    try:
        return call()
    except tfrecs.Error as error:
        return error


# --- Caches ---


def cached(path: Path) -> tuple[tfrecs.Dataset, Path, list[Any]]:
    """Return a dataset with a cache, the cache, and the elements."""
    kept = path.parent / "kept"
    ds = tfrecs.Dataset(path, SPEC).batch(2).cache(kept)
    return ds, kept, list(ds)


def check_cache(ds: tfrecs.Dataset, kept: Path, content: bytes, elements: list[Any]) -> bool:
    """See that a cache of this content is refused, or is as good as the sound one: return which."""
    kept.write_bytes(content)
    found = outcome(lambda: list(ds))
    if isinstance(found, tfrecs.Error):
        assert str(kept) in str(found), found
        return False
    assert same(found, elements)
    return True


def test_no_flipped_byte_of_a_cache_changes_an_element(path: Path) -> None:
    ds, kept, elements = cached(path)
    sound = kept.read_bytes()
    for place in range(len(sound)):
        content = bytearray(sound)
        content[place] ^= 1 << place % 8
        assert not check_cache(ds, kept, bytes(content), elements), place
    assert check_cache(ds, kept, sound, elements)


def test_a_cut_cache_is_never_taken_for_a_whole_one(path: Path) -> None:
    ds, kept, elements = cached(path)
    sound = kept.read_bytes()
    for length in range(len(sound)):
        assert not check_cache(ds, kept, sound[:length], elements), length
        assert isinstance(outcome(ds.cardinality), tfrecs.Error)


def test_a_cache_without_its_last_elements_is_refused(path: Path) -> None:
    ds, kept, _ = cached(path)
    records = list(tfrecs.RecordReader(kept))
    for changed in (records[:-1], records[:-2], [*records, records[-1]], records[:1], records[1:]):
        write(kept, changed)
        with pytest.raises(tfrecs.Error, match="kept"):
            list(ds)


def write(path: Path, records: list[bytes]) -> None:
    path.unlink(missing_ok=True)
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(records)


def test_a_cache_of_another_version_is_refused(path: Path) -> None:
    ds, kept, _ = cached(path)
    first, *records = list(tfrecs.RecordReader(kept))
    for version in (0, 1, 3, "2", None):
        write(kept, [json.dumps({**json.loads(first), "tfrecs cache": version}).encode(), *records])
        with pytest.raises(tfrecs.StateError, match="another version of tfrecs made it"):
            list(ds)


def test_hostile_headers_of_a_cache_are_refused(path: Path) -> None:
    ds, kept, elements = cached(path)
    first, *records = list(tfrecs.RecordReader(kept))
    taken = 0
    for changed in changes(json.loads(first)):
        write(kept, [json.dumps(changed).encode(), *records])
        taken += check_cache(ds, kept, kept.read_bytes(), elements)
    assert taken < 10 * len(HOSTILE)  # such as another version of Python


def test_hostile_elements_of_a_cache_are_errors(path: Path) -> None:
    ds, kept, elements = cached(path)
    records = list(tfrecs.RecordReader(kept))
    line, _, memory = records[1].partition(b"\n")
    for changed in changes(json.loads(line)):
        records[1] = json.dumps(changed).encode() + b"\n" + memory
        write(kept, records)
        found = outcome(lambda: list(ds))
        is_error = isinstance(found, tfrecs.CorruptRecordError)
        assert is_error or len(found) == len(elements), found


# --- Manifests and journals ---


def with_checksum(data: Any) -> str:
    return json.dumps({**data, "crc32": own_checksum(data)})


def test_hostile_manifests_are_errors_or_reports(tmp_path: Path) -> None:
    template = tmp_path / "a-{shard}-of-{num_shards}"
    with tfrecs.ShardedWriter(template, num_shards=2, manifest=True, schema=SPEC) as out:
        out.write_batch([example(n) for n in range(4)])
    manifest = tmp_path / "a.manifest.json"
    sound = json.loads(manifest.read_text())
    assert tfrecs.read_manifest(manifest).verify().ok
    for changed in changes(sound):
        manifest.write_text(with_checksum(changed))
        found = outcome(lambda: tfrecs.read_manifest(manifest).verify())
        if not isinstance(found, tfrecs.Error):
            assert all(file.error is None or str(file.error) for file in found.files)
        outcome(lambda: tfrecs.count(tmp_path))


@pytest.mark.parametrize(
    "name", ["x" * 256, "x" * 5000, "\ud800", "a\0b", "..", "../a", "/etc/passwd", "", "a/" * 3000]
)
def test_hostile_names_in_a_manifest(tmp_path: Path, name: str) -> None:
    with tfrecs.ShardedWriter(tmp_path / "a-{shard}", num_shards=1, manifest=True) as out:
        out.write(b"a record")
    manifest = tmp_path / "a.manifest.json"
    assert out.manifest_path == str(manifest)
    data = json.loads(manifest.read_text())
    data["shards"][0]["name"] = name
    manifest.write_text(with_checksum(data))
    found = outcome(lambda: tfrecs.read_manifest(manifest).verify())
    assert isinstance(found, tfrecs.Error) or not found.ok
    assert isinstance(outcome(lambda: tfrecs.count(tmp_path)), tfrecs.Error | int)


def test_hostile_journals_are_errors_and_touch_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"whole")
    move = {"from": ".a.tfrecs.tmp", "to": "a", "size": 5, "crc32": "00000000"}
    records = {"records": 1, "record_bytes": 5, "checksum": "00000000"}
    journal = tmp_path / ".set.tfrecs.journal"
    for entry in (move, {**move, **records}):
        data = {"format": "tfrecs journal", "version": 1, "moves": [entry], "old": ["b"]}
        for changed in changes(data):
            journal.write_text(with_checksum(changed))
            for call in (tfrecs.repair, tfrecs.count, tfrecs.leftovers):
                outcome(partial(call, tmp_path))
            assert (tmp_path / "a").read_bytes() == b"whole"


# --- States ---


@pytest.mark.parametrize("name", STEPS)
def test_hostile_states_are_refused_or_are_states(path: Path, name: str) -> None:
    ds = STEPS[name](tfrecs.Dataset(path, SPEC))
    begun = iter(ds)
    list(islice(begun, 2))
    for changed in changes(json.loads(json.dumps(begun.state_dict()))):
        it = iter(ds)
        try:
            it.load_state_dict(changed)
        except tfrecs.StateError:
            continue
        list(islice(it, 20))
        assert json.dumps(it.state_dict())
        it.close()
