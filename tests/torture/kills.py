"""Writers are killed at random times: what was flushed is there, and no name shows half a file.

`run(cases, seed)` returns how many writers were killed, and what was wrong with what they left.
`python kills.py CASES SEED` prints it as JSON.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tfrecs

# The most milliseconds from the first record to the end; some writers are done before.
LONGEST = 30.0
CLOSED = 1 << 62


@dataclass(frozen=True)
class Case:
    """A way to write, and when to kill who does."""

    options: dict[str, Any]
    has_old: bool
    sizes: list[int]
    flush_every: int
    uses_sync: bool
    wait: float
    batch: bool

    @property
    def is_seen(self) -> bool:
        """Whether the file grows under its own name."""
        appends = self.options["mode"] == "a" and self.has_old
        return appends or not self.options["atomic"]


def draw(rng: random.Random) -> Case:
    """A random case."""
    codec, options = rng.choice(
        [
            ("", {}),
            ("", {"num_threads": 1}),
            ("GZIP", {}),
            ("GZIP", {"num_threads": 1}),
            ("GZIP", {"compression_level": 1}),
            ("ZLIB", {}),
        ]
    )
    mode = rng.choice("wax" if codec != "ZLIB" else "wx")
    has_old = rng.random() < 0.5 and mode != "x"
    largest = rng.choice([20, 2000, 400_000])
    count = min(3000, 20_000_000 // largest)
    return Case(
        {
            "compression_type": codec,
            "mode": mode,
            "atomic": rng.random() < 0.6,
            "sync": rng.random() < 0.5,
            **options,
        },
        has_old,
        [rng.randrange(largest) for _ in range(count)],
        rng.choice([1, 3, 10, 100]),
        rng.random() < 0.1,
        rng.random() ** 2 * LONGEST / 1000,
        rng.random() < 0.3,
    )


def record(number: int, size: int) -> bytes:
    """Record `number` of a case."""
    text = b"%d:" % number
    return text + bytes(range(256)) * (size // 256 + 1) if size > 256 else text + bytes(size)


def write(case: Case, path: Path, acknowledge: int) -> None:
    """What the child does: after each flush it says how many records there are."""
    with tfrecs.RecordWriter(path, **case.options) as out:
        for number, size in enumerate(case.sizes):
            if case.batch:
                out.write_batch([record(number, size)])
            else:
                out.write(record(number, size))
            if (number + 1) % case.flush_every == 0:
                (out.sync if case.uses_sync else out.flush)()
                os.write(acknowledge, (number + 1).to_bytes(8, "little"))
    os.write(acknowledge, CLOSED.to_bytes(8, "little"))


def kill(case: Case, path: Path) -> int:
    """Kill a process that writes; how many records it has flushed."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            write(case, path, writing)
        finally:
            os._exit(0)
    os.close(writing)
    first = os.read(reading, 8)
    time.sleep(case.wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    told = first
    while more := os.read(reading, 1 << 16):
        told += more
    os.close(reading)
    return int.from_bytes(told[-8:], "little")


def readable(path: str | Path) -> tuple[list[bytes], bool]:
    """The records of a file up to an error, and whether there was one."""
    records = []
    try:
        for one in tfrecs.RecordReader(path):
            records.append(one)  # noqa: PERF402 - those before the cut count
    except tfrecs.TruncatedFileError:
        return records, True
    return records, False


def check(case: Case, path: Path, old: list[bytes], flushed: int) -> str | None:
    """What is wrong with what a killed writer has left."""
    everything = [record(number, size) for number, size in enumerate(case.sizes)]
    kept = old if case.options["mode"] == "a" else []
    found, is_cut = readable(path) if path.exists() else ([], False)
    is_complete = found == kept + everything and not is_cut
    if flushed == CLOSED:
        return None if is_complete else "a closed file is not complete"
    if is_complete and not case.is_seen:
        return None  # killed between publishing it and saying so
    if not case.is_seen:
        if (found, is_cut, path.exists()) != (old, False, case.has_old):
            return "half a file has the name"
        left = tfrecs.leftovers(path)
        found, is_cut = readable(left[0].path) if left else ([], False)
        kept = []
    wrong = compare(found, kept, everything, flushed)
    is_stream = "compression_level" in case.options or case.options["compression_type"] == "ZLIB"
    if is_stream and not is_cut and found[len(kept) :] not in ([], everything):
        wrong = "nothing says that the stream is cut"
    return wrong or go_on(case, path, found)


def compare(
    found: list[bytes], kept: list[bytes], everything: list[bytes], flushed: int
) -> str | None:
    """What is wrong with the records."""
    new = found[len(kept) :]
    if found[: len(kept)] != kept:
        return "old records are lost"
    if len(new) < flushed:
        return f"{flushed} records were flushed, and {len(new)} are there"
    if new != everything[: len(new)]:
        return "other records than were written"
    return None


def go_on(case: Case, path: Path, there: list[bytes]) -> str | None:
    """Write the rest, as the killed writer would have."""
    if case.options["compression_type"] == "ZLIB":
        return None  # a stream that nothing can be added to
    options = dict(case.options, sync=False)
    if case.is_seen:
        options.update(mode="a")
    else:
        options.update(resume=True)
    with tfrecs.RecordWriter(path, **options) as out:
        if out.num_old_records != len(there):
            return f"{len(there)} records are there, and {out.num_old_records} are gone on with"
        out.write(b"the rest")
    if list(tfrecs.RecordReader(path)) != [*there, b"the rest"]:
        return "continuing has changed what was there"
    return f"{len(left)} leftovers in the end" if (left := tfrecs.leftovers(path)) else None


def one_case(folder: Path, rng: random.Random) -> str | None:
    """What is wrong, or None."""
    case = draw(rng)
    path = folder / "file"
    old = [b"old", b"and old"] if case.has_old else []
    if case.has_old:
        codec = case.options["compression_type"]
        with tfrecs.RecordWriter(path, codec, sync=False) as out:
            out.write_batch(old)
    flushed = kill(case, path)
    wrong = check(case, path, old, flushed)
    return wrong and f"{wrong} ({case.options}, {flushed} flushed, killed after {case.wait:.4f} s)"


def here(cases: int, seed: int) -> list[str]:
    """Do it in this process."""
    warnings.simplefilter("ignore", RuntimeWarning)  # of files that are cut
    failures = []
    for case in range(cases):
        number = seed * 1_000_003 + case
        with tempfile.TemporaryDirectory() as folder:
            wrong = one_case(Path(folder), random.Random(number))
        if wrong is not None:
            failures.append(f"case {number}: {wrong}")
    return failures


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Kill that many writers, in a process of its own, which can be forked: no thread is in it."""
    command = [sys.executable, __file__, str(cases), str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return cases, json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps(here(int(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
