"""DataLoaders begin, again and again, while threads of this very process read: none hangs.

A fork takes along neither a lock that a thread holds nor half a pool of threads. Run it at length:

    python tests/integrations/starts.py fork forkserver spawn --starts 1000 --workers 1
"""

import argparse
import faulthandler
import multiprocessing
import tempfile
import threading
import time
from pathlib import Path

from torch.utils.data import DataLoader

import tfrecs

RECORDS, SIZE = 2000, 100
# Seconds after which a batch that does not come is a hang; one that is spawned imports PyTorch, and
# may have to share two cores with others that do.
PATIENCE = {"fork": 10, "forkserver": 10, "spawn": 120}


def files(folder: Path) -> tfrecs.Dataset:
    """Records to load, in batches."""
    path = folder / "numbers.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([tfrecs.encode_example({"number": n}) for n in range(RECORDS)])
    features = {"number": tfrecs.FixedLenFeature([], "int64")}
    return tfrecs.Dataset(path, features, num_threads=2).shuffle(0).batch(SIZE)


def start(ds: tfrecs.Dataset, context: str, workers: int, patience: float) -> float:
    """Load a pass with workers that begin in this way; return the longest wait for a batch."""
    loader = DataLoader(
        ds.to_torch(),
        batch_size=None,
        num_workers=workers,
        multiprocessing_context=context,
        timeout=patience,
    )
    found, waits, begin = [], [], time.perf_counter()
    for batch in loader:
        waits.append(time.perf_counter() - begin)
        found += batch["number"].tolist()
        begin = time.perf_counter()
    assert sorted(found) == list(range(RECORDS))
    return max(waits)


def run(
    context: str, starts: int, workers: int, patience: float, pause: float
) -> tuple[float, float]:
    """Start loaders beside threads that read; return the seconds, and the longest wait."""
    stop = threading.Event()

    def read(ds: tfrecs.Dataset) -> None:
        while not stop.wait(pause):
            for _ in ds.to_torch_loader():
                pass

    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        ds = files(Path(folder))
        threads = [threading.Thread(target=read, args=[ds]) for _ in range(2)]
        for thread in threads:
            thread.start()
        begin = time.perf_counter()
        try:
            for _ in range(starts):
                # Whatever hangs, a worker or this process, ends it and shows where.
                faulthandler.dump_traceback_later(10 * patience, exit=True)
                slowest = max(slowest, start(ds, context, workers, patience))
        finally:
            faulthandler.cancel_dump_traceback_later()
            stop.set()
            for thread in threads:
                thread.join()
    return time.perf_counter() - begin, slowest


def main() -> None:
    """Run it for each context, and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("contexts", nargs="+", choices=list(PATIENCE))
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--patience", type=float, help="seconds without a batch that are a hang")
    parser.add_argument(
        "--pause", type=float, default=0, help="seconds between passes of the threads that read"
    )
    asked = parser.parse_args()
    multiprocessing.set_forkserver_preload(["torch", "tfrecs"])
    for context in asked.contexts:
        patience = asked.patience or PATIENCE[context]
        seconds, slowest = run(context, asked.starts, asked.workers, patience, asked.pause)
        print(
            f"{context}: {asked.starts} starts of {asked.workers} workers in {seconds:.0f} s, "
            f"no hang; the longest wait for a batch was {slowest:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
