"""How long another Python thread waits while one large record is read, decoded or encoded.

A heartbeat thread sleeps a millisecond at a time beside each call, and notes its longest pause.
Python lets a thread wait 5 ms before it asks for its turn (`sys.getswitchinterval`).
"""

import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tfrecs
from options import Options
from report import Part, Table

MB = 1 << 20
RUNS = 9
LIMIT_MS = 50.0
BEAT = 0.001

Call = Callable[[], object]


class Heartbeat(threading.Thread):
    """A thread that notes the longest time between two of its beats."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.longest = 0.0

    def run(self) -> None:
        """Beat until the end."""
        last = time.perf_counter()
        while not self.ended.is_set():
            time.sleep(BEAT)
            now = time.perf_counter()
            self.longest = max(self.longest, now - last)
            last = now


def measured(call: Call) -> tuple[float, float]:
    """Return the seconds that a call takes, and the longest pause of a thread beside it."""
    heart = Heartbeat()
    heart.start()
    time.sleep(20 * BEAT)
    heart.longest = 0.0
    begin = time.perf_counter()
    result = call()
    taken = time.perf_counter() - begin
    heart.ended.set()
    heart.join()
    del result  # freeing it is Python's
    return taken, heart.longest


def calls(folder: Path, scale: float) -> dict[str, Call]:
    """Return the calls by what they do: on a record of 300 MB, or of 10,000,000 values."""
    size, count = int(300 * MB * scale), int(10_000_000 * scale)
    content = os.urandom(MB) * (size // MB)
    integers = np.random.default_rng(1).integers(0, 1 << 40, count)
    path, packed = folder / "record.tfrecord", folder / "record.tfrecord.gz"
    for target, record in ((path, content), (packed, bytes(size))):
        with tfrecs.RecordWriter(target) as out:
            out.write(record)
    wide = tfrecs.encode_example({"x": integers})
    large = tfrecs.encode_example({"x": content})
    records = tfrecs.Records([content])
    return {
        "RecordReader: a record": lambda: list(tfrecs.RecordReader(path)),
        "RecordReader: a record of a .gz": lambda: list(tfrecs.RecordReader(packed)),
        "open()[0]": lambda: tfrecs.open(path, index="memory")[0],
        "Dataset: a record": lambda: list(tfrecs.Dataset(path)),
        "RecordWriter.write": lambda: written(folder / "new.tfrecord", content),
        "salvage": lambda: list(tfrecs.salvage(path)),
        "Records([record])": lambda: tfrecs.Records([content]),
        "Records.tolist": records.tolist,
        "decode_example: integers": lambda: tfrecs.decode_example(wide),
        "decode_example: a byte string": lambda: tfrecs.decode_example(large),
        "decode_batch: integers": lambda: tfrecs.decode_batch([wide]),
        "encode_example: an array": lambda: tfrecs.encode_example({"x": integers}),
        "encode_example: a byte string": lambda: tfrecs.encode_example({"x": content}),
    }


def written(path: Path, record: bytes) -> None:
    """Write a file of one record."""
    with tfrecs.RecordWriter(path) as out:
        out.write(record)


def part(options: Options) -> Part:
    """Measure each call; fail if a thread's median wait is above the limit."""
    rows, data, failures = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(Path(folder), options.scale).items():
            print(f"threads: {name}", file=sys.stderr, flush=True)
            taken, waits = zip(
                *(measured(call) for _ in range(min(options.runs, RUNS))), strict=True
            )
            wait = statistics.median(waits) * 1000
            data.append({"call": name, "seconds": taken, "waits": waits})
            seconds = statistics.median(taken)
            rows.append([name, f"{seconds:.3f}", f"{wait:.0f}", f"{max(waits) * 1000:.0f}"])
            if wait > LIMIT_MS and not options.is_trial:
                failures.append(f"{name}: other threads wait {wait:.0f} ms")
    head = ("call", "seconds", "wait, ms", "longest")
    title = "How long other threads wait during one call (300 MB, 10,000,000 values)"
    return Part("threads", [Table(title, head, 1, rows)], data, failures=failures)
