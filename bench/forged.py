"""What salvage takes beside strict reading, of files with a hundred thousand forged headers.

What must not be is a time that grows with the square of their number; crates/core/tests/forged.rs
and record/salvage/forged.rs count bytes instead of time.
"""

import random
import statistics
import struct
import sys
import time
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

import tfrecs
from options import Options
from report import Part, Table
from workloads import FOLDER, SEED

HEADERS = 100_000
SIZE = 100_000_000


def header(length: int) -> bytes:
    """Return the header of a record that is so long: that of one which is not there."""
    claimed = struct.pack("<Q", length)
    # The checksum of a record of these eight bytes is what stands in the header.
    return claimed + _checksum(claimed)


def _checksum(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def scattered(rng: random.Random, headers: int, size: int) -> list[bytes]:
    """One record, in which any header claims any length."""
    noise = rng.randbytes(size // headers - 12)
    return [b"".join(header(rng.randrange(size)) + noise for _ in range(headers))]


def chained(rng: random.Random, headers: int, size: int) -> list[bytes]:
    """One record, in which each header claims to end at another."""
    step = size // headers
    noise = rng.randbytes(step - 12)
    return [b"".join(header(step * rng.randrange(1, 50) - 16) + noise for _ in range(headers))]


def spread(rng: random.Random, headers: int, size: int) -> list[bytes]:
    """Many records that hold some each."""
    (whole,) = scattered(rng, headers, size)
    step = len(whole) // 1000
    return [whole[at : at + step] for at in range(0, len(whole), step)]


SHAPES: tuple[Callable[[random.Random, int, int], list[bytes]], ...] = (scattered, chained, spread)


def part(options: Options) -> Part:
    """Measure both in turn, shape by shape."""
    headers, size = round(HEADERS * options.scale), round(SIZE * options.scale)
    found = Part("forged", [], [])
    rows = []
    for shape in SHAPES:
        print(f"forged: {shape.__name__}", file=sys.stderr, flush=True)
        times = measured(shape(random.Random(SEED), headers, size), options.runs)
        strict, salvage = map(statistics.median, times)
        ratio = salvage / strict
        rows.append([shape.__name__, f"{strict:.4f}", f"{salvage:.4f}", f"{ratio:.1f}x"])
        found.data.append({"shape": shape.__name__, "strict": times[0], "salvage": times[1]})
    title = f"salvage-forged: {headers:,} forged headers in {size / 1e6:.0f} MB, the first damaged"
    found.text.append(Table(title, ("shape", "read s", "salvage s", "ratio"), 1, rows))
    return found


def measured(records: list[bytes], runs: int) -> tuple[list[float], list[float]]:
    """Return what reading the sound file takes, and salvaging it with a damaged header."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    sound, damaged = FOLDER / "forged.tfrecord", FOLDER / "forged-damaged.tfrecord"
    with tfrecs.RecordWriter(sound, sync=False) as out:
        out.write_batch([b"first", *records])
    content = bytearray(sound.read_bytes())
    content[23:28] = bytes(byte ^ 0x5A for byte in content[23:28])  # of the second record's header
    damaged.write_bytes(content)
    pairs = [(timed(read, sound), timed(salvaged, damaged)) for _ in range(runs)]
    sound.unlink()
    damaged.unlink()
    return [strict for strict, _ in pairs], [salvage for _, salvage in pairs]


def timed(work: Callable[[Path], int], path: Path) -> float:
    """Return how long it takes, once the file is in memory."""
    path.read_bytes()
    begin = time.perf_counter()
    work(path)
    return time.perf_counter() - begin


def read(path: Path) -> int:
    """Return how many records a strict reader gives."""
    reader = tfrecs.RecordReader(path, compression_type=None)
    return sum(map(len, takewhile(len, iter(lambda: reader.read_batch(4096), None))))


def salvaged(path: Path) -> int:
    """Return how many records come back."""
    pieces = tfrecs.salvage(path, compression_type=None).batches()
    return sum(0 if isinstance(it, tfrecs.SkippedRegion) else len(it) for it in pieces)
