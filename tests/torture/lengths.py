"""Headers that announce what is not there, from 2^20 to 2^64 bytes, with a checksum that is right.

`run(cases, seed)` tries `cases` lengths (all, if there are no more) in every codec and every way of
reading. Each is refused as cut off, and all together they take less than a megabyte or two, in a
process that could not have more than 64 MiB of address space for it.
"""

import random

import frames

from torture.child import in_child
from torture.drained import folder

LENGTHS = sorted(
    {length for k in range(20, 65) for length in range(2**k - 4, 2**k + 5) if length < 2**64}
)
# The address space that a process may have more, and the memory that it may take.
SPACE = 256 << 20
MOST = 4 << 20

WORK = """
import threading, time
allow(arguments["space"])
def by_pipe(path):
    os.mkfifo(path + ".pipe")
    def feed():
        try:
            with open(path + ".pipe", "wb") as pipe: pipe.write(open(path, "rb").read())
        except BrokenPipeError:
            pass
    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        return list(tfrecs.RecordReader(path + ".pipe"))
    finally:
        feeder.join()
        os.unlink(path + ".pipe")
def verified(path):
    raise tfrecs.verify(path).errors[0]
WAYS = {
    "one by one": lambda path: list(tfrecs.RecordReader(path)),
    "in batches": lambda path: [*iter(lambda: len(tfrecs.RecordReader(path).read_batch(9)), 0)],
    "pipe": by_pipe,
    "dataset": lambda path: list(tfrecs.Dataset(path, num_threads=1).batch(5)),
    "open": lambda path: tfrecs.open(path, index="memory", num_threads=1),
    "count": tfrecs.count,
    "verify": verified,
}
result, longest = [], 0
for path in arguments["paths"]:
    for name, way in WAYS.items():
        begin = time.perf_counter()
        try:
            way(path)
        except tfrecs.TruncatedFileError as error:
            ok = (error.record, error.offset) == (0, 0)
        except Exception as error:
            ok = False
            path = f"{path}: {error!r}"
        else:
            ok = False
        longest = max(longest, time.perf_counter() - begin)
        if not ok:
            result.append(f"{name}: {path}")
"""


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Try that many lengths; what was wrong."""
    lengths = LENGTHS
    if cases < len(lengths):
        lengths = random.Random(seed).sample(lengths, cases)
    failures, count = [], 0
    with folder() as here:
        small = frames.save(here / "small", frames.plain([b"one"]))
        for codec in frames.CODECS:
            paths = [
                str(
                    frames.save(
                        here / f"{codec}-{length}",
                        frames.compressed(codec, frames.header(length) + b"a few bytes"),
                    )
                )
                for length in lengths
            ]
            count += 7 * len(paths)
            try:
                taken, wrong = in_child(WORK, paths=paths, small=str(small), space=SPACE)
            except AssertionError as error:
                failures.append(f"{codec}: {error}")
                continue
            failures += wrong
            if taken > MOST:
                failures.append(f"{codec}: {taken} bytes of memory")
    return count, failures
