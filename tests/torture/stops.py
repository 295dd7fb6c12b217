"""Ctrl-C at random times while files are read, or indices made: heard at once, nothing left.

`run(cases, seed)` interrupts `cases` processes. (Writing: interrupts.py.)
"""

import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import frames

import tfrecs
from torture.drained import folder
from torture.heard import fault, interrupt

# The most seconds from the signal to the exception.
LONGEST = 0.2

PRELUDE = """
import sys, time, tfrecs
path, fifo = sys.argv[1:]
plain, gzip, sound, torn = path + ".plain", path + ".gz", path + ".sound", path + ".torn"
def salvage(path):
    for _ in tfrecs.salvage(path).batches():
        pass
def ready():
    print("ready", flush=True)
def forever(work):
    ready()
    while True:
        work()
try:
"""
# Each continues until it is stopped.
WAYS = {
    "records": "forever(lambda: list(tfrecs.RecordReader(gzip)))",
    "batches": "forever(lambda: tfrecs.RecordReader(gzip).read_batch(10**9))",
    "verify": "forever(lambda: tfrecs.verify([plain, gzip]))",
    "count": "forever(lambda: tfrecs.count(gzip))",
    "dataset": "forever(lambda: list(tfrecs.Dataset([plain, gzip], num_threads=3)))",
    "dataset, batches": "forever(lambda: list(tfrecs.Dataset(plain).batch(1000)))",
    "a pipe": "ready(); list(tfrecs.RecordReader(fifo))",
    "a dataset of a pipe": "ready(); list(tfrecs.Dataset(fifo))",
    "open": "forever(lambda: tfrecs.open([gzip, plain], index='memory'))",
    "index": "forever(lambda: tfrecs.build_index([gzip, plain]))",
    "by number": "records = tfrecs.open(plain); forever(lambda: records.sample(1000))",
    "salvage": "forever(lambda: salvage(torn))",
    "salvage, gzip": "forever(lambda: salvage(gzip + '.torn'))",
    "skipping": "forever(lambda: list(tfrecs.Dataset(torn, on_corrupt='skip').batch(1000)))",
    "in gzip": "records = tfrecs.open(sound); forever(lambda: records.sample(100))",
}
EPILOGUE = """
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
else:
    print("it ended by itself", flush=True)
"""


def make(here: Path) -> None:
    """Files that take a while to read."""
    records = [b"%d" % number * 20 for number in range(200_000)]
    for name in ("file.plain", "file.gz", "file.sound"):
        codec = "" if name == "file.plain" else "GZIP"
        with tfrecs.RecordWriter(here / name, codec, sync=False) as out:
            out.write_batch(records)
    tfrecs.build_index(here / "file.sound")
    # One stream, much longer than it looks.
    block = frames.compressed("GZIP", frames.frame(bytes(1000)) * 20_000, level=1)
    frames.save(here / "file.gz", block * 20)
    frames.save(here / "file.gz.torn", block * 4 + block[:-20])
    # Records that hold records, 2,000 of them damaged, and some bytes missing.
    with tfrecs.RecordWriter(here / "file.torn", sync=False) as out:
        out.write_batch([frames.plain(records[:20])] * 30_000)
    data = bytearray((here / "file.torn").read_bytes())
    for place in range(1000, len(data), len(data) // 2000):
        data[place] ^= 1
    del data[5000:5100]
    frames.save(here / "file.torn", bytes(data))


def one_case(here: Path, rng: random.Random, longest: float) -> str | None:
    """What is wrong, or None."""
    way = rng.choice(list(WAYS))
    script = PRELUDE + textwrap.indent(WAYS[way], "    ") + EPILOGUE
    fifo = here / "fifo"
    command = [sys.executable, "-c", script, str(here / "file"), str(fifo)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child,
        fifo.open("r+b", buffering=0) as feeder,
    ):
        feeder.write(frames.frame(b"some record") * 5)
        sent, said = interrupt(child, rng)
    return fault(way, sent, said, longest) or left_behind(here)


def left_behind(here: Path) -> str | None:
    """A file that nobody asked for; an index that does not fit."""
    allowed = {"fifo", "file.plain", "file.gz", "file.sound", "file.torn", "file.gz.torn"}
    indices = {f".{name}.tfrindex" for name in allowed}
    there = {path.name for path in here.iterdir()}
    if there - allowed - indices:
        return f"{there - allowed - indices} is left"
    for name in ("file.gz", "file.plain"):
        index = here / f".{name}.tfrindex"
        if index.exists():
            if tfrecs.open(here / name).index_paths != [str(index)]:
                return f"half an index of {name} is left"
            index.unlink()
    return None


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Interrupt that many processes; what was wrong."""
    failures = []
    with folder() as here:
        make(here)
        os.mkfifo(here / "fifo")
        for case in range(cases):
            number = seed * 1_000_003 + case
            if wrong := one_case(here, random.Random(number), LONGEST):
                failures.append(f"case {number}: {wrong}")
    return cases, failures
