"""A large file shuffled, and entered in the middle: `resumed.py WHAT FILE`.

WHAT is "in order" or "shuffled", so many batches, or "resumed", the first batch behind step
1,000,000. Prints seconds and the most memory held, as JSON; the file's index was made before.
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


def made(folder: Path, records: int) -> Path:
    """Return a file of so many Examples of 20 to 110 bytes, written unless it is there."""
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


def main() -> None:
    """Measure what the command line says."""
    import tfrecs  # noqa: PLC0415 - its import is not what is measured

    what, path = sys.argv[1:]
    begin = time.perf_counter()
    ds: Any = tfrecs.Dataset(path, {"id": tfrecs.FixedLenFeature([], "int64")})
    if what == "resumed":
        batches = iter(ds.shuffle(1).batch(STEP_BATCH))
        state = batches.state_dict()
        step = min(STEP, len(tfrecs.open(path)) // STEP_BATCH - 1)
        begin = time.perf_counter()
        batches = iter(tfrecs.Dataset(path, ds.node.spec.features).shuffle(1).batch(STEP_BATCH))
        batches.load_state_dict({**state, "at": {"at": step}})
        next(batches)
    else:
        ds = ds.shuffle(1) if what == "shuffled" else ds
        for batch in islice(ds.batch(BATCH), BATCHES):
            dict(batch)
    print(json.dumps({"seconds": time.perf_counter() - begin, "megabytes": peak_rss() / 1e6}))


if __name__ == "__main__":
    main()
