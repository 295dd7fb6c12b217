"""Forks while threads open files: the child reads what it has inherited.

`run(cases, seed)` returns how many forks there were, and what went wrong in the children. A fork
copies the open files some milliseconds before the last of the memory: the more, the longer.
"""

import os
import signal
import time
from pathlib import Path

import tfrecs
from torture.drained import folder

FILES, EACH = 40, 20
MEMORY = 1 << 30
# So long may a child take, which reads 800 records.
LONGEST = 20.0


def written(place: Path) -> list[str]:
    """The names of some files, which are written."""
    names = [str(place / f"{shard}.tfrecord") for shard in range(FILES)]
    for shard, name in enumerate(names):
        with tfrecs.RecordWriter(name) as out:
            out.write_batch([f"{shard}-{number}".encode() for number in range(EACH)])
    return names


def heavy() -> list[bytearray]:
    """Memory that a fork has to go over, page by page."""
    pieces = [bytearray(1 << 18) for _ in range(MEMORY >> 18)]
    for piece in pieces:
        piece[::4096] = b"x" * len(piece[::4096])
    return pieces


def child(records: tfrecs.IndexedRecords, expected: list[bytes]) -> None:
    """Read all in the child of a fork; its code: 1 for an error, 2 for other records."""
    code = 1
    try:
        code = 0 if records[:].tolist() == expected else 2
    finally:
        os._exit(code)


def ended(process: int) -> str:
    """What is wrong with how a child ends."""
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return {0: "", 1: "an error", 2: "other records"}[os.waitstatus_to_exitcode(status)]
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "it hung"


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Fork that many times, each time as soon as the first records have come."""
    failures = []
    ballast = heavy()
    with folder() as place:
        names = written(place)
        expected = [record for name in names for record in tfrecs.RecordReader(name)]
        for case in range(cases):
            records = tfrecs.open(names)
            # Threads of this one open the files, one after the other.
            batches = iter(tfrecs.Dataset(records).shuffle(seed + case).batch(7))
            next(batches)
            process = os.fork()
            if process == 0:
                child(records, expected)
            if wrong := ended(process):
                failures.append(f"fork {case} of seed {seed}: {wrong}")
            del batches
    del ballast
    return cases, failures
