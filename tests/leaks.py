"""Do everything again and again in one process, and measure whether its memory grows.

`python tests/leaks.py MINUTES` reads, writes, salvages, encodes and decodes files of every kind,
and prints what the process holds, minute by minute. Exit code 1: it grows by 1 MB an hour or more;
of less than half an hour the rate says nothing, because caches fill.
"""

from __future__ import annotations

import argparse
import gc
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tfrecs
from faults import operations, sets

MB = 1 << 20
HOUR = 3600.0
# Growth that is allowed, in bytes an hour.
LIMIT = 1 * MB
# The part of the time in which caches fill, allocators learn, and modules are imported.
WARM_UP = 0.25
# A shorter run says nothing about an hour: the first minutes' growth ends.
LEAST = HOUR / 2

VALUES = {"n": [1], "x": [0.5] * 300, "text": [b"text"] * 20}


@dataclass(frozen=True)
class Sample:
    """What the process held at some time.

    Attributes:
        seconds: Since the beginning.
        nbytes: Its resident memory.
    """

    seconds: float
    nbytes: int


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


def encode_and_decode(_: Path) -> Any:
    """Make messages of each kind, and read them."""
    record = tfrecs.encode_example(VALUES)
    sequence = tfrecs.encode_sequence_example(VALUES, {"steps": [[1], [2, 3]] * 40})
    batch = tfrecs.decode_batch([record] * 50)
    rows = tfrecs.encode_batch({"a": np.arange(200), "b": [b"x"] * 200})
    broken = [record[:-1], b"\x0a\xff", b"junk"]
    for one in broken:
        try:
            tfrecs.decode_example(one)
        except tfrecs.Error:
            continue
    return tfrecs.decode_example(record), tfrecs.decode_sequence_example(sequence), batch, rows


def write(folder: Path) -> None:
    """Write files of each codec, and sets with a manifest, over others."""
    for name in ("w.tfrecord", "w.tfrecord.gz"):
        with tfrecs.RecordWriter(folder / name) as out:
            out.write_batch([b"record"] * 500)
    (folder / "set").mkdir(exist_ok=True)
    for before, after in (sets.WAYS["shards with a manifest"], sets.WAYS["convert"]):
        before(folder / "set")
        after(folder / "set")
        shutil.rmtree(folder / "set")
        (folder / "set").mkdir()


def fail(folder: Path) -> None:
    """Read what is damaged, and what is not there."""
    content = bytearray(next(iter(folder.glob("a.tfrecord*"))).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "damaged.tfrecord").write_bytes(content)
    for path in (folder / "damaged.tfrecord", folder / "absent"):
        for read in (lambda path: list(tfrecs.Dataset(path)), tfrecs.count):
            try:
                read(path)
            except (tfrecs.Error, OSError):
                continue


WORK: list[Callable[[Path], Any]] = [
    *operations.OPERATIONS.values(),
    encode_and_decode,
    fail,
    lambda folder: write(folder.parent / "work"),
]


def do_all(folder: Path) -> None:
    """Do everything once with files of each kind, in new folders."""
    for kind in operations.CONTENTS:
        made = folder / kind
        if not made.exists():
            made.mkdir()
            operations.make_data(made, kind)
        for work in WORK:
            own = folder / "own"
            shutil.copytree(made, own / "data")
            (own / "work").mkdir()
            work(own / "data")
            shutil.rmtree(own)


def samples(seconds: float, work: Callable[[], object]) -> Iterator[Sample]:
    """Work until the time is over, and sample the memory after each round."""
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < seconds:
        work()
        gc.collect()
        yield Sample(passed, resident())


def growth(found: list[Sample]) -> float:
    """Return the growth in bytes an hour: a line through the samples after the warm-up.

    Example:
        >>> growth([Sample(second * 60.0, 100 + second) for second in range(61)])
        60.0
    """
    warm = [one for one in found if one.seconds >= WARM_UP * found[-1].seconds]
    if len(warm) < 2:
        return 0.0
    seconds, nbytes = zip(*((one.seconds, one.nbytes) for one in warm), strict=True)
    slope, _ = np.polyfit(seconds, nbytes, 1)
    return round(float(slope) * HOUR, 3)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Do everything again and again in one process.")
    parser.add_argument("minutes", type=float)
    seconds = parser.parse_args().minutes * 60
    found: list[Sample] = []
    shown = -1
    with tempfile.TemporaryDirectory() as folder:
        for sample in samples(seconds, lambda: do_all(Path(folder))):
            found.append(sample)
            if int(sample.seconds / 60) > shown:
                shown = int(sample.seconds / 60)
                print(f"leaks: minute {shown}: {sample.nbytes / MB:.1f} MB", flush=True)  # noqa: T201 - a script
    rate = growth(found)
    print(f"leaks: {len(found)} rounds, {rate / MB:.2f} MB an hour", flush=True)  # noqa: T201 - a script
    return int(seconds >= LEAST and rate >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
