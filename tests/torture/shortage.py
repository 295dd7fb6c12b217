"""Reading with less and less address space: an error, or the records, and never an abort.

`run(cases, seed)` tries `cases` sizes of it, each in a process of its own. (The n-th failing
read and the n-th failing allocation are Rust tests: io_failures.rs, no_memory.rs.)
"""

import random
import re

import frames

import tfrecs
from torture.child import in_child
from torture.drained import folder

MB = 1 << 20
SIZES = [10, 30 * MB, 100, 12 * MB, 3 * MB]

# The largest buffer that every reader, or every one of its threads, has.
FIXED = 1 << 20

WORK = """
path = arguments["path"]
allow(arguments["space"])
wanted = arguments["sizes"]
def parallel(records):
    return [len(record) for batch in records.batch(1) for record in batch]
WAYS = {
    "one by one": lambda: [len(record) for record in tfrecs.RecordReader(path)],
    "pieces": lambda: [len(record) for record in iter(tfrecs.RecordReader(path))],
    "dataset": lambda: parallel(tfrecs.Dataset(path, num_threads=1)),
    "threads": lambda: parallel(tfrecs.Dataset(path, num_threads=4)),
    "by number": lambda: [len(record) for record in tfrecs.open(path, index="memory")[:]],
    "verify": lambda: [0] * tfrecs.verify(path).records,
}
result = []
for name, way in WAYS.items():
    try:
        found = way()
    except (MemoryError, tfrecs.FileError, tfrecs.StateError):
        continue
    except Exception as error:
        result.append(f"{name}: {error!r}")
        continue
    if name != "verify" and found != wanted:
        result.append(f"{name}: {found}")
"""


def is_fixed(end: str) -> bool:
    """Whether a process ended for want of what does not depend on the input: see reliability.md."""
    sizes = [int(size) for size in re.findall(r"memory allocation of (\d+) bytes", end)]
    return "thread-local data" in end or (bool(sizes) and max(sizes) <= FIXED)


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Try that many amounts of address space; what was wrong."""
    rng, failures = random.Random(seed), []
    with folder() as here:
        small = str(frames.save(here / "small", frames.plain([b"one"])))
        for codec in frames.CODECS:
            with tfrecs.RecordWriter(here / f"a{codec}", codec, sync=False) as out:
                out.write_batch([bytes(size) for size in SIZES])
        for number in range(cases):
            path = str(here / f"a{frames.CODECS[number % 3]}")
            space = rng.randrange(MB, 200 * MB)
            try:
                _, wrong = in_child(WORK, path=path, small=small, space=space, sizes=SIZES)
            except AssertionError as error:
                wrong = [] if is_fixed(str(error)) else [str(error)]
            failures += [f"{path}, {space} bytes: {what}" for what in wrong]
    return cases, failures
