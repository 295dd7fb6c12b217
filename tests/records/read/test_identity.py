"""Files are known again by their content: by states elsewhere, by caches and indices here."""

from __future__ import annotations

import functools
import json
import logging
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecs
from tfrecs.dataset.transforms.function_digest import digest_of

COUNT = 500


def written(path: Path, first: int = 0, count: int = COUNT, codec: str = "") -> Path:
    path.parent.mkdir(exist_ok=True)
    with tfrecs.RecordWriter(path, codec) as out:
        out.write_batch([b"%030d" % n for n in range(first, first + count)])
    return path


PLANS: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "plain": lambda ds: ds,
    "batches": lambda ds: ds.batch(7),
    "shuffled": lambda ds: ds.shuffle(3),
    "mapped": lambda ds: ds.map(bytes),
    "buffer": lambda ds: ds.shuffle(3, buffer_size=100),
}


def state_after(ds: tfrecs.Dataset, count: int) -> Any:
    it = iter(ds)
    for _ in range(count):
        next(it)
    return json.loads(json.dumps(it.state_dict()))


@pytest.mark.parametrize("plan", PLANS)
def test_a_state_is_not_of_files_that_were_rewritten(plan: str, tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{n}.tfrecord", n * COUNT) for n in range(3)]
    state = state_after(PLANS[plan](tfrecs.Dataset(paths)), 5)
    assert len(json.dumps(state)) < 1500
    written(paths[0], 7_000_000)
    with pytest.raises(tfrecs.StateError, match="not what is in them"):
        iter(PLANS[plan](tfrecs.Dataset(paths))).load_state_dict(state)


@pytest.mark.parametrize("plan", PLANS)
def test_a_state_goes_on_on_a_copy_elsewhere(plan: str, tmp_path: Path) -> None:
    paths = [written(tmp_path / "here" / f"{n}.tfrecord", n * COUNT) for n in range(3)]
    make = PLANS[plan]
    it = iter(make(tfrecs.Dataset(paths)))
    for _ in range(5):
        next(it)
    state = json.loads(json.dumps(it.state_dict()))
    copies = [tmp_path / "there" / path.name for path in paths]
    (tmp_path / "there").mkdir()
    for path, copy in zip(paths, copies, strict=True):
        shutil.copyfile(path, copy)  # another inode, another time
    other = iter(make(tfrecs.Dataset(copies)))
    other.load_state_dict(state)
    assert [repr(one) for one in other] == [repr(one) for one in it]


def test_files_that_were_not_opened_go_by_name_and_size(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # More than is read ahead.
    paths = [written(tmp_path / f"{n}.tfrecord", n * COUNT, 20_000) for n in range(20)]
    ds = tfrecs.Dataset(paths, num_threads=1)
    state = state_after(ds, 1)
    ranges = state["files"][0]["sampled"]["ranges"]
    assert ranges[0] == 0
    assert 0 < ranges[1] < 20
    written(paths[-1], 7_000_000, 20_000)
    caplog.set_level(logging.INFO, "tfrecs")
    iter(tfrecs.Dataset(paths)).load_state_dict(state)
    assert f"{20 - ranges[1]} of 20 files are known to the state by name and size" in caplog.text
    written(paths[0], 7_000_000, 20_000)
    with pytest.raises(tfrecs.StateError, match="not what is in them"):
        iter(tfrecs.Dataset(paths)).load_state_dict(state)


def test_a_state_of_many_files_is_small(tmp_path: Path) -> None:
    source = written(tmp_path / "a.tfrecord", 0, 1)
    paths = []
    for n in range(2000):
        paths.append(tmp_path / f"{n:05d}.tfrecord")
        os.link(source, paths[-1])
    for ds in (tfrecs.Dataset(paths), tfrecs.Dataset(paths).shuffle(1)):
        assert len(json.dumps(state_after(ds, 3))) < 1500


@pytest.mark.parametrize(
    "sampled",
    [
        7,
        [],
        {},
        {"ranges": [0], "digest": "a"},
        {"ranges": [3, 1], "digest": "a"},
        {"ranges": [0, 99], "digest": "a"},
        {"ranges": [0, -1], "digest": "a"},
        {"ranges": [0, 1] * 9, "digest": "a"},
        {"ranges": [0, 1], "digest": 7},
        {"ranges": [0, 1], "digest": "a", "more": 1},
    ],
)
def test_hostile_samples_in_a_state(sampled: Any, tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{n}.tfrecord") for n in range(3)]
    state = state_after(tfrecs.Dataset(paths), 5)
    state["files"][0]["sampled"] = sampled
    with pytest.raises(tfrecs.StateError):
        iter(tfrecs.Dataset(paths)).load_state_dict(state)


def test_a_state_of_text_is_not_of_other_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    state = state_after(tfrecs.Dataset.from_lines(path), 1)
    iter(tfrecs.Dataset.from_lines(path)).load_state_dict(state)
    path.write_text("one\nTWO\n")
    with pytest.raises(tfrecs.StateError, match="not what is in them"):
        iter(tfrecs.Dataset.from_lines(path)).load_state_dict(state)


def rewrite_in_place(path: Path) -> None:
    content = bytearray(path.read_bytes())
    written(path.with_name("other"), 7_000_000)
    content[:] = path.with_name("other").read_bytes()
    path.write_bytes(content)


def restore_times(path: Path, change: Callable[[Path], object]) -> None:
    before = path.stat()
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "replaced": lambda path: written(path, 7_000_000),
    "written in place": rewrite_in_place,
    "with its time put back": lambda path: restore_times(path, rewrite_in_place),
    "replaced with the same time": lambda path: restore_times(
        path, lambda path: written(path, 7_000_000)
    ),
    "touched": lambda path: os.utime(path, ns=(1, 1)),
    "replaced by a copy": lambda path: restore_times(
        path,
        lambda path: (
            shutil.copyfile(path, path.with_name("copy")),
            path.with_name("copy").replace(path),
        ),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_cache_is_not_of_a_file_that_has_changed(change: str, tmp_path: Path) -> None:
    paths = [written(tmp_path / "data" / f"{n}.tfrecord", n * COUNT) for n in range(3)]
    kept = tmp_path / "kept"
    ds = tfrecs.Dataset(paths).cache(kept)
    assert list(ds) == list(tfrecs.Dataset(paths).cache(kept))
    CHANGES[change](paths[1])
    with pytest.raises(tfrecs.StateError, match=r"1\.tfrecord has changed since"):
        list(tfrecs.Dataset(paths).cache(kept))
    with pytest.raises(tfrecs.StateError, match=r"1\.tfrecord has changed since"):
        list(ds)


def test_an_index_in_the_cache_folder_is_of_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy with the same time and content is another file to the cache, not beside the data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = written(tmp_path / "data" / "a.tfrecord", 0, 60_000)
    tfrecs.open(path)
    (beside,) = path.parent.glob(".*")
    cached = tmp_path / "cache" / "tfrecs" / "indices"
    from tfrecs.records.index_files import _places, is_indexed

    assert is_indexed(path, "auto")
    beside.unlink()
    assert not is_indexed(path, "auto")
    place = Path(_places(str(path))[1])
    cached.mkdir(parents=True)
    tfrecs.build_index(path, place)
    assert not is_indexed(path, "auto")  # it is not of this inode


class Adds:
    def __init__(self, more: Any) -> None:
        self.more = more

    def __call__(self, value: Any) -> Any:
        return value, self.more

    def method(self, value: Any) -> Any:
        return self.more, value


def decorated(by: int) -> Callable[[Any], Any]:
    def decorator(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(function)
        def wrapper(value: Any) -> Any:
            return function(value), by

        return wrapper

    @decorator
    def inner(value: Any) -> Any:
        return value

    return inner


def closing_over(value: Any) -> Callable[[Any], Any]:
    return lambda element: (element, value)


def with_default(value: Any) -> Callable[..., Any]:
    def function(element: Any, *, more: Any = value) -> Any:
        return element, more

    return function


VALUES: list[tuple[Any, Any]] = [
    (1, 2),
    (1, 1.0),
    (1, True),
    ("a", b"a"),
    ([1, 2], [2, 1]),
    ([1, [2]], [1, 2]),
    ([12], [1, 2]),
    (("a", "bc"), ("ab", "c")),
    ({"a": 1}, {"a": 2}),
    ({1, 2}, {1, 3}),
    (np.arange(5), np.arange(1, 6)),
    (np.zeros(4), np.zeros((2, 2))),
    (np.zeros(2, "f4"), np.zeros(1, "f8")),
    (np.array(["a", None]), np.array(["b", None])),
    (np.float32(1), np.float64(1)),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (Adds(1), Adds(2)),
    (Adds(np.arange(3)), Adds(np.arange(1, 4))),
    (Path("a"), Path("b")),
    (int, float),
    (len, repr),
    (np.add, np.subtract),
    (None, 0),
]
MADE_OF: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "closure": closing_over,
    "default": with_default,
    "partial": lambda value: functools.partial(closing_over, value),
    "keyword": lambda value: functools.partial(closing_over, value=value),
    "object": Adds,
    "method": lambda value: Adds(value).method,
    "function in a closure": lambda value: closing_over(closing_over(value)),
    "in a list": lambda value: closing_over([{"a": (value,)}]),
    "lru_cache": lambda value: functools.lru_cache(closing_over(value)),
}


@pytest.mark.parametrize("made", MADE_OF)
@pytest.mark.parametrize("pair", range(len(VALUES)))
def test_a_function_is_known_by_what_it_holds(made: str, pair: int) -> None:
    one, other = (digest_of(MADE_OF[made](value), "it") for value in VALUES[pair])
    assert one != other
    assert one == digest_of(MADE_OF[made](VALUES[pair][0]), "it")


def test_a_function_is_known_by_its_decorators() -> None:
    assert digest_of(decorated(1), "it") != digest_of(decorated(2), "it")
    assert digest_of(decorated(1), "it") == digest_of(decorated(1), "it")


def test_functions_that_hold_themselves() -> None:
    def first(value: Any) -> Any:
        return first, value

    looped: list[Any] = []
    looped.append(looped)
    assert digest_of(first, "it") == digest_of(first, "it")
    assert digest_of(closing_over(looped), "it") == digest_of(closing_over(looped), "it")


def test_what_cannot_be_known_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tfrecord")
    ds = tfrecs.Dataset(path).map(closing_over(threading.Lock()))
    with pytest.warns(RuntimeWarning, match=r"holds what cannot be compared \(lock\)"):
        list(ds.map(repr).cache(tmp_path / "kept"))


def test_a_cache_is_not_of_a_function_that_holds_something_else(tmp_path: Path) -> None:
    path, kept = written(tmp_path / "a.tfrecord"), tmp_path / "kept"

    def ds(table: Any) -> tfrecs.Dataset:
        return tfrecs.Dataset(path).map(lambda record: int(table[int(record) % 3])).cache(kept)

    first = list(ds(np.arange(3)))
    assert list(ds(np.arange(3))) == first
    with pytest.raises(tfrecs.StateError, match="the function"):
        list(ds(np.arange(1, 4)))
