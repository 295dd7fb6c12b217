"""What each damaged record costs salvage: of every record, of every 2nd, of every 10th."""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tfrecs
from options import Options
from report import Part, Table

SIZE = 4_000_000
LENGTHS = (100, 1000)
EVERY = (1, 2, 10)
FRAME = 16
# The places of the damage in a frame.
PLACES = {"header": 3, "data": 40}


def damaged(path: Path, length: int, every: int, place: int, size: int) -> int:
    """Write a file of records with a changed byte in some of them, and return in how many."""
    count = size // (length + FRAME)
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([np.random.default_rng(n).bytes(length) for n in range(count)])
    content = bytearray(path.read_bytes())
    hit = range(place, len(content), every * (length + FRAME))
    for at in hit:
        content[at] ^= 0x55
    path.write_bytes(content)
    return len(hit)


def seconds(path: Path) -> float:
    """Return the time that salvaging a file takes."""
    begin = time.perf_counter()
    for _ in tfrecs.salvage(path):
        pass
    return time.perf_counter() - begin


def part(options: Options) -> Part:
    """Measure; the time of the sound records between them is included."""
    rows, data, size = [], [], round(SIZE * options.scale)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged.tfrecord"
        for length in LENGTHS:
            for every in EVERY:
                print(f"damaged: {length} bytes, every {every}", file=sys.stderr, flush=True)
                row = [f"{length} bytes", f"1 of {every}"]
                for name, place in PLACES.items():
                    count = damaged(path, length, every, place, size)
                    times = [seconds(path) * 1e6 / count for _ in range(options.runs)]
                    row.append(f"{statistics.median(times):.1f}")
                    data.append({"length": length, "every": every, "in": name, "us": times})
                rows.append(row)
    head = ("records", "damaged", "header", "data")
    title = "Salvage: µs for each damaged record, with a changed byte in its header or data"
    return Part("damaged", [Table(title, head, 2, rows)], data)
