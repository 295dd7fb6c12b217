"""A large file shuffled, and entered in the middle: `resumed.py WHAT FILE`.

WHAT is "in order" or "shuffled", that many batches; "resumed", the first batch after step
1,000,000; or "a step", what a batch of eight records costs the thread that iterates. Prints
seconds and the most memory held, as JSON; the file's index was made before.
"""

import json
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

from measure import peak_rss

RECORDS = 10_000_000
BATCH, BATCHES = 1024, 1000
STEP, STEP_BATCH = 999_990, 10
SMALL, STEPS = 8, 50_000


def made(folder: Path, records: int) -> Path:
    """Return a file of that many Examples of 20 to 110 bytes, written unless it is there."""
    import numpy as np  # noqa: PLC0415 - not in what is measured

    import tfrecs  # noqa: PLC0415 - likewise

    path = folder / f"small-{records}.tfrecord"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        with tfrecs.RecordWriter(path) as out:
            for start in range(0, records, 100_000):
                ids = np.arange(start, min(start + 100_000, records))
                words = [b"x" * length for length in random.integers(0, 90, len(ids)).tolist()]
                out.write_batch(tfrecs.encode_batch({"id": ids, "word": words}))
        tfrecs.open(path)
    return path


def batches(ds: Any) -> float:
    """Return the seconds of that many batches."""
    begin = time.perf_counter()
    for batch in islice(ds.batch(BATCH), BATCHES):
        dict(batch)
    return time.perf_counter() - begin


def resumed(ds: Any) -> float:
    """Return the seconds from a dataset to its first batch after a step."""
    import tfrecs  # noqa: PLC0415 - its import is not what is measured

    plan = ds.shuffle(1).batch(STEP_BATCH)
    state, last = iter(plan).state_dict(), plan.cardinality() - 1
    begin = time.perf_counter()
    again = tfrecs.Dataset(ds.node.paths, ds.node.spec.features).shuffle(1).batch(STEP_BATCH)
    it = iter(again)
    it.load_state_dict({**state, "at": {"at": min(STEP, last)}})
    next(it)
    return time.perf_counter() - begin


def a_step(ds: Any) -> float:
    """Return the seconds of a processor that a small batch costs this thread."""
    it = iter(ds.batch(SMALL))
    next(it)
    begin = time.thread_time()
    steps = 0
    for batch in islice(it, STEPS):
        _ = batch["id"]
        steps += 1
    return (time.thread_time() - begin) / steps


def main() -> None:
    """Measure what the command line says."""
    import tfrecs  # noqa: PLC0415 - its import is not what is measured

    what, path = sys.argv[1:]
    ds = tfrecs.Dataset(path, {"id": tfrecs.FixedLenFeature([], "int64")})
    roads = {
        "in order": lambda: batches(ds),
        "shuffled": lambda: batches(ds.shuffle(1)),
        "resumed": lambda: resumed(ds),
        "a step": lambda: a_step(ds),
    }
    print(json.dumps({"seconds": roads[what](), "megabytes": peak_rss() / 1e6}))


if __name__ == "__main__":
    main()
