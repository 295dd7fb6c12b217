"""Runs an operation with less and less memory: an error, or the answer; no abort and no panic.

A process of its own. Each try is a fork with a limit of its own. It prints a line of JSON: what
went wrong, and how many were tried.
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tfrecs
from tfrecs.features import Features

MB = 1 << 20
# Seconds until a try counts as hung and is killed.
SECONDS = 30

RECORDS = 60_000
SPEC: Features = {
    "number": tfrecs.FixedLenFeature([], "int64"),
    "words": tfrecs.VarLenFeature("string"),
    "values": tfrecs.RaggedFeature("float32"),
}


def make_data(folder: Path) -> None:
    """Write what the operations read."""
    rows = (
        tfrecs.encode_example(
            {"number": n, "words": [b"word %d" % n] * (n % 3), "values": [0.5] * (n % 7)}
        )
        for n in range(RECORDS)
    )
    records = list(rows)
    for name, codec in (("a.tfrecord", ""), ("a.tfrecord.gz", "GZIP")):
        with tfrecs.RecordWriter(folder / name, codec) as out:
            out.write_batch(records)
    with tfrecs.RecordWriter(folder / "large.tfrecord") as out:
        out.write_batch([bytes(12 * MB), b"a", bytes(30 * MB)])
    damaged = bytearray((folder / "a.tfrecord").read_bytes())
    for place in range(1000, len(damaged), 5000):
        damaged[place] ^= 1
    (folder / "damaged.tfrecord").write_bytes(damaged)
    with tfrecs.RecordWriter(folder / "steps.tfrecord") as out:
        for n in range(300):
            steps = [[float(n)] * 40] * 50
            out.write(tfrecs.encode_sequence_example({"id": n}, {"steps": steps}))


def total(batches: Any) -> int:
    return sum(len(batch) for batch in batches)


def read_batches(path: Path) -> int:
    reader, count = tfrecs.RecordReader(path), 0
    while found := reader.read_batch(10**6).tolist():
        count += len(found)
    return count


def wide(folder: Path) -> tfrecs.Batch:
    records = tfrecs.open(folder / "a.tfrecord", index="memory")[:]
    return tfrecs.decode_batch(records, SPEC)


def write(folder: Path, codec: str) -> int:
    with tfrecs.RecordWriter(folder / "out", codec, sync=False) as out:
        out.write_batch([bytes(1000)] * 30_000)
        out.write(bytes(20 * MB))
    return out.num_records


OPERATIONS: dict[str, Callable[[Path], Any]] = {
    "read one by one": lambda at: total(tfrecs.RecordReader(at / "a.tfrecord")),
    "read gzip": lambda at: total(tfrecs.RecordReader(at / "a.tfrecord.gz")),
    "read large records": lambda at: total(tfrecs.RecordReader(at / "large.tfrecord")),
    "read_batch": lambda at: read_batches(at / "a.tfrecord"),
    "tolist": lambda at: len(tfrecs.open(at / "a.tfrecord", index="memory")[:].tolist()),
    "open gzip": lambda at: len(tfrecs.open(at / "a.tfrecord.gz", index="memory")[::7]),
    "count": lambda at: tfrecs.count([at / "a.tfrecord", at / "a.tfrecord.gz"]),
    "verify": lambda at: tfrecs.verify(at / "a.tfrecord.gz").records,
    "build_index": lambda at: tfrecs.build_index(at / "a.tfrecord.gz", at / "out"),
    "salvage": lambda at: sum(1 for _ in tfrecs.salvage(at / "damaged.tfrecord")),
    "repair": lambda at: tfrecs.repair(at / "damaged.tfrecord", at / "out").records,
    "batches": lambda at: total(tfrecs.Dataset(at / "a.tfrecord", SPEC).batch(5000)),
    "one batch": lambda at: total(tfrecs.Dataset(at / "a.tfrecord", SPEC).batch(RECORDS)),
    "shuffled gzip": lambda at: total(
        tfrecs.Dataset(at / "a.tfrecord.gz", SPEC).shuffle(1).batch(500)
    ),
    "elements": lambda at: sum(
        int(row["number"]) for row in tfrecs.Dataset(at / "a.tfrecord", SPEC).take(9000)
    ),
    "steps": lambda at: total(
        tfrecs.Dataset(
            at / "steps.tfrecord",
            context_features={"id": tfrecs.FixedLenFeature([], "int64")},
            sequence_features={"steps": tfrecs.FixedLenSequenceFeature([40], "float32")},
        ).batch(100)
    ),
    "decode_example": lambda at: len(
        [*map(tfrecs.decode_example, tfrecs.open(at / "a.tfrecord", index="memory")[:9000])]
    ),
    "encode_example": lambda at: len(tfrecs.encode_example({"a": np.arange(3_000_000)})),
    "encode_batch": lambda at: len(tfrecs.encode_batch(wide(at))),
    "columns as lists": lambda at: len(wide(at)["words"].tolist()),
    "write": lambda at: write(at, ""),
    "write gzip": lambda at: write(at, "GZIP"),
}


def answer(name: str, folder: Path) -> Any:
    """Result of an operation, computed in another process so that this one keeps no free memory."""
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(mouth, json.dumps(OPERATIONS[name](folder)).encode())
        os._exit(0)
    os.close(mouth)
    with os.fdopen(ear) as said:
        found = json.load(said)
    os.waitpid(child, 0)
    (folder / "out").unlink(missing_ok=True)
    return found


def outcome(name: str, folder: Path, more: int) -> str:
    """Run an operation with that many bytes of address space more; how it ended."""
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ear)
        os.dup2(mouth, 2)
        status = 3
        try:
            signal.alarm(SECONDS)
            _allow(more)
            found = OPERATIONS[name](folder)
            status = 0 if found == ANSWERS[name] else 4
        except MemoryError:
            status = 1
        except tfrecs.FileError as error:  # of the system: it cannot make a thread or map a file
            status = 1 if error.errno == 12 else 3
        except BaseException as error:  # noqa: BLE001 - it is judged
            os.write(2, type(error).__name__.encode())
        finally:
            os._exit(status)
    os.close(mouth)
    with os.fdopen(ear, errors="replace") as said:
        text = said.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    (folder / "out").unlink(missing_ok=True)
    ends = {0: "right", 1: "MemoryError", 4: "a wrong answer"}
    if code in {0, 1}:
        return ends[code]
    return f"{ends.get(code, code)}: {text[:200].strip()}"


def _allow(more: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


ANSWERS: dict[str, Any] = {}


def main() -> None:
    """Try one operation with 0, 1, 2, ... MB; the answers go to standard output."""
    name, folder, step = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    child = os.fork()
    if child == 0:
        make_data(folder)
        os._exit(0)
    os.waitpid(child, 0)
    list(tfrecs.Dataset([b""]).batch(1))  # what is imported late is imported now
    ANSWERS[name] = answer(name, folder)
    gc.collect()
    wrong, tries = Counter[str](), 0
    rights = 0
    # `make soak` begins elsewhere each time.
    seed = os.environ.get("FAULT_SEED")
    more = random.Random(f"{seed} {name}").random() * step * MB if seed else 0.0
    while rights < 3 and more < 400 * MB:
        found = outcome(name, folder, int(more))
        tries += 1
        rights = rights + 1 if found == "right" else 0
        if found not in {"right", "MemoryError"}:
            wrong[f"{more / MB:.2f} MB: {found}"] += 1
        more += step * MB
    sys.stdout.write(json.dumps({"wrong": wrong, "tries": tries, "enough": more / MB}))


if __name__ == "__main__":
    main()
