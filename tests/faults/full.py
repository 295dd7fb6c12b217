"""Writes files of one kind on a disk that is full from the n-th call on, for every n.

A process of its own, into which names.c is loaded. It prints a line of JSON: what is wrong with the
errors and with what is left, and how many calls failed.
"""

from __future__ import annotations

import ctypes
import errno
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import tfrecs

shim = ctypes.CDLL(None)

RECORDS = [b"%d" % n * 50 for n in range(500)]


def write(folder: Path, name: str) -> Path:
    """Write a file of records."""
    with tfrecs.RecordWriter(folder / name) as out:
        out.write_batch(RECORDS)
    return folder / name


def index(folder: Path) -> None:
    """Make indexes beside the data."""
    tfrecs.build_index([folder / "a.tfrecord", folder / "b.tfrecord.gz"])


def index_elsewhere(folder: Path) -> None:
    """Make an index in another folder."""
    tfrecs.build_index(folder / "a.tfrecord", folder / "indexes" / "a.idx")


def shards(folder: Path) -> None:
    """Write a set with a manifest."""
    path = folder / "s-{shard}.tfrecord"
    with tfrecs.ShardedWriter(path, num_shards=2, manifest=True) as out:
        for record in RECORDS:
            out.write(record)


def cache(folder: Path) -> None:
    """Keep elements in a file."""
    list(tfrecs.Dataset(folder / "a.tfrecord").cache(folder / "elements"))


def repair(folder: Path) -> None:
    """Copy what is sound."""
    tfrecs.repair(folder / "a.tfrecord", folder / "repaired.tfrecord.gz")


WAYS: dict[str, Callable[[Path], object]] = {
    "index": index,
    "index elsewhere": index_elsewhere,
    "shards": shards,
    "cache": cache,
    "repair": repair,
    "gzip": lambda folder: write(folder, "w.tfrecord.gz"),
}


def fail(number: int) -> None:
    """Let this call fail, counted from here; -1: none."""
    shim.names_set(ctypes.c_long(number), errno.ENOSPC)


def names(folder: Path) -> set[str]:
    """Return all files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def wrong(work: Callable[[Path], object], folder: Path, number: int, whole: set[str]) -> list[str]:
    """Return what is wrong when this call fails."""
    before = names(folder)
    fail(number)
    try:
        work(folder)
    except tfrecs.FileError as error:
        fail(-1)
        found = []
        if error.errno != errno.ENOSPC:
            found.append(f"errno {error.errno}: {error}")
        if not error.path or not Path(error.path).is_relative_to(folder):
            found.append(f"no path of ours: {error.path!r}: {error}")
        # An index, and the journal of a set, have hidden names of their own; others are temporary.
        if error.path and Path(error.path).suffix == ".tmp":
            found.append(f"the name of a temporary file: {error.path}")
        # What got its name is whole. A set is finished or taken back by the next run: its journal
        # says how.
        left = names(folder) - before
        if not left <= whole and not [*folder.glob(".*.journal")]:
            found.append(f"left: {sorted(left - whole)}")
        return found
    finally:
        fail(-1)
    return [] if names(folder) == whole else [f"no error, and not there: {whole - names(folder)}"]


def all_wrong(work: Callable[[Path], object], folder: Path) -> Iterator[str]:
    """Let each call fail in turn."""
    (folder / "indexes").mkdir(parents=True)
    write(folder, "a.tfrecord")
    write(folder, "b.tfrecord.gz")
    template = folder.with_name("template")
    shutil.copytree(folder, template)
    fail(-1)
    work(folder)
    shim.names_calls.restype = ctypes.c_long
    calls, whole = shim.names_calls(), names(folder)
    for number in range(calls):
        shutil.rmtree(folder)
        shutil.copytree(template, folder)
        for text in wrong(work, folder, number, whole):
            yield f"call {number} of {calls}: {text}"
    yield str(calls)


def main() -> None:
    """Run one way; the answer goes to standard output."""
    *found, calls = all_wrong(WAYS[sys.argv[1]], Path(sys.argv[2]) / "data")
    sys.stdout.write(json.dumps({"wrong": found, "tries": int(calls)}))


if __name__ == "__main__":
    main()
