"""Sequences of records that are closed: nothing is read any more, and nothing is held."""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import frames
import numpy as np
import pytest

import tfrecs

RECORDS = [b"%d" % number * 20 for number in range(3000)]


def opened(folder: Path, name: str = "a") -> tfrecs.IndexedRecords:
    codec = "GZIP" if name.endswith(".gz") else ""
    data = frames.plain(RECORDS)
    path = frames.save(folder / name, frames.compressed(codec, data) if codec else data)
    return tfrecs.open(path, index="memory")


ACCESSES: dict[str, Callable[[tfrecs.IndexedRecords], Any]] = {
    "len": len,
    "one": lambda records: records[0],
    "the last": lambda records: records[-1],
    "a slice": lambda records: records[1:3],
    "nothing": lambda records: records[0:0],
    "some": lambda records: records[[1, 0]],
    "an array": lambda records: records[np.arange(3)],
    "items": lambda records: records.__getitems__([1]),
    "iter": iter,
    "reversed": lambda records: next(reversed(records)),
    "in": lambda records: b"" in records,
    "index": lambda records: records.index(RECORDS[1]),
    "count": lambda records: records.count(b""),
    "locate": lambda records: records.locate(0),
    "sample": lambda records: records.sample(1),
    "with": lambda records: records.__enter__(),
    "pickle": pickle.dumps,
}


@pytest.mark.parametrize("access", ACCESSES)
def test_whatever_is_asked_for_says_that_it_is_closed(tmp_path: Path, access: str) -> None:
    records = opened(tmp_path)
    ACCESSES[access](records)
    records.close()
    with pytest.raises(ValueError, match=r"closed; tfrecs\.open\(\) opens") as caught:
        ACCESSES[access](records)
    assert isinstance(caught.value, tfrecs.StateError)


def test_what_it_was_is_still_known(tmp_path: Path) -> None:
    records = opened(tmp_path)
    was_closed = records.closed
    records.close()
    records.close()
    assert (was_closed, records.closed) == (False, True)
    assert records.paths == [str(tmp_path / "a")]
    assert records.index_paths == [None]
    assert repr(records) == f"IndexedRecords({str(tmp_path / 'a')!r}, closed)"


def test_what_was_read_stays(tmp_path: Path) -> None:
    with opened(tmp_path) as records:
        some, copy = records[10:20], pickle.dumps(records)
    assert some.tolist() == RECORDS[10:20]
    assert pickle.loads(copy)[5] == RECORDS[5]


def test_a_block_that_fails_closes_too(tmp_path: Path) -> None:
    with pytest.raises(KeyError), opened(tmp_path) as records:
        raise KeyError
    assert records.closed


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no list of open files")
def test_the_files_are_closed(tmp_path: Path) -> None:
    def is_open() -> bool:
        there = {os.path.realpath(entry) for entry in Path("/proc/self/fd").iterdir()}
        return str(tmp_path / "a") in there

    records = opened(tmp_path)
    assert records[7] == RECORDS[7]
    assert is_open()
    records.close()
    assert not is_open()


def test_an_iterator_ends_with_an_error(tmp_path: Path) -> None:
    """It gives out what it has read ahead, some megabytes."""
    path = frames.save(tmp_path / "a", frames.plain([bytes(1_000_000)] * 10))
    for steps in (0, 1, 8):
        records = tfrecs.open(path)
        each = iter(records)
        assert sum(1 for _ in zip(range(steps), each, strict=False)) == steps
        records.close()
        with pytest.raises(tfrecs.StateError, match="closed"):
            list(each)


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_closed_while_others_read(tmp_path: Path, name: str) -> None:
    """They get what they have asked for, or are told."""
    for _ in range(10):
        records, begun = opened(tmp_path, name), threading.Barrier(4)
        with ThreadPoolExecutor(3) as threads:
            outcomes = [threads.submit(read_on, records, begun) for _ in range(3)]
            begun.wait()
            records.close()
        for outcome in outcomes:
            with pytest.raises(tfrecs.StateError, match="closed"):
                outcome.result()


def read_on(records: tfrecs.IndexedRecords, begun: threading.Barrier) -> None:
    begun.wait()
    while True:
        assert records[5] == RECORDS[5]
        assert records[::7].tolist() == RECORDS[::7]


def test_a_copy_in_a_process_that_runs_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pickle holds where the files are, not how they were named."""
    frames.save(tmp_path / "a", frames.plain(RECORDS))
    monkeypatch.chdir(tmp_path)
    tfrecs.build_index("a", "a.index")
    script = "import pickle, sys; print(len(pickle.load(sys.stdin.buffer)[:]))"
    for records in (tfrecs.open("a"), tfrecs.open("a", index_paths="a.index")):
        assert records.paths == ["a"]
        monkeypatch.chdir("/")
        done = subprocess.run(
            [sys.executable, "-c", script],
            input=pickle.dumps(records),
            capture_output=True,
            check=True,
            cwd="/",
        )
        assert int(done.stdout) == len(RECORDS)
        monkeypatch.chdir(tmp_path)
