"""Files and pipes that end at every byte: what is whole comes, what is cut is said to be.

`run(cases, seed)` tries `cases` cuts (all, if there are no more).
"""

import os
import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import frames

import tfrecs
from torture.drained import drained, folder, in_batches, misplaced

RECORDS = [bytes([number]) * (number * number % 97) + b"%d" % number for number in range(40)]
STARTS = frames.starts(RECORDS)
PLAIN = frames.plain(RECORDS)
EDGES = [0, STARTS[9], STARTS[20] + 5, STARTS[31] + 20, len(PLAIN)]
MEMBERS = [frames.compressed("GZIP", PLAIN[begin:end]) for begin, end in pairwise(EDGES)]


def files() -> dict[str, tuple[bytes, set[int]]]:
    """Files, and where each may end without anybody being able to say that it is cut."""
    ends = {sum(map(len, MEMBERS[:count])) for count in (0, 1)}  # the others end inside a record
    return {
        "plain": (PLAIN, set(STARTS)),
        "gzip": (frames.compressed("GZIP", PLAIN), {0}),
        "gzip members": (b"".join(MEMBERS), ends),
        "zlib": (frames.compressed("ZLIB", PLAIN), {0}),
        "zlib stored": (frames.compressed("ZLIB", PLAIN, level=0), {0}),
    }


def by_pipe(path: Path) -> Iterator[bytes]:
    """The same through a pipe that closes."""
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)

    def feed() -> None:
        with suppress(BrokenPipeError):
            pipe.write_bytes(path.read_bytes())

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield from tfrecs.RecordReader(pipe)
    finally:
        feeder.join()
        pipe.unlink()


def wrong_with(path: Path, ends: set[int], cut: int) -> str | None:
    """What is wrong with reading a file that ends there."""
    whole = frames.whole_records(RECORDS, frames.inflated_before(path.read_bytes()))
    for read in (tfrecs.RecordReader, in_batches, by_pipe):
        found, error = drained(read(path))
        name = path.with_name("pipe") if read is by_pipe else path
        if found != RECORDS[:whole]:
            return f"{len(found)} records instead of {whole}"
        if cut in ends:
            if error is not None:
                return f"{error!r} of a whole file"
            continue
        if wrong := misplaced(error, name, whole, STARTS[whole]):
            return wrong
        if not isinstance(error, tfrecs.TruncatedFileError):
            return f"{error!r} of a cut file"
    report = tfrecs.verify(path)
    if report.ok != (cut in ends) or report.records != whole:
        return f"verify() finds {report}"
    return None


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Cut files at that many places; what was wrong."""
    every = [(name, cut) for name, (data, _) in files().items() for cut in range(len(data) + 1)]
    if cases < len(every):
        every = random.Random(seed).sample(every, cases)
    failures, content = [], files()
    with folder() as here:
        for name, cut in every:
            data, ends = content[name]
            path = frames.save(here / "cut", data[:cut])
            if wrong := wrong_with(path, ends | {len(data)}, cut):
                failures.append(f"{name} cut at {cut}: {wrong}")
    return len(every), failures
