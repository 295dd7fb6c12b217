"""Files that are overwritten, or cut anywhere and then appended to; two writers at once.

`run(cases, seed)` tries `cases`: until a writer has closed, the old file is there as it was; what
is whole in a cut one stays, and a second writer is refused.
"""

import random
import warnings
from pathlib import Path

import frames

import tfrecs
from torture.compressed import drawn_records
from torture.drained import drained, folder

NEW = [b"new", b"", bytes(300)]


def written(path: Path, codec: str, rng: random.Random) -> tuple[list[bytes], bytes]:
    """Some records, and the file that somebody made of them: we, or another."""
    records = drawn_records(rng)
    if codec and rng.random() < 0.5:
        return records, frames.compressed(codec, frames.plain(records), rng.randrange(10))
    with tfrecs.RecordWriter(path, codec, sync=False) as out:
        for record in records:
            out.write(record)
            if rng.random() < 0.3:
                out.flush()
    return records, path.read_bytes()


def second_writer(path: Path, codec: str, mode: str) -> str | None:
    """What is wrong with how a second writer is treated, or None."""
    try:
        tfrecs.RecordWriter(path, codec, mode=mode).discard()
    except tfrecs.Error:
        return None
    return "two writers at once"


def overwrite(path: Path, codec: str, rng: random.Random) -> str | None:
    """The old file or the new one, and nothing between."""
    _, data = written(path, codec, rng)
    path.write_bytes(data)
    out = tfrecs.RecordWriter(path, codec, sync=False)
    out.write_batch(NEW)
    if rng.random() < 0.5:
        out.flush()
    wrong = second_writer(path, codec, "w")
    if path.read_bytes() != data:
        wrong = "the old file has changed before close()"
    if rng.random() < 0.5:
        out.discard()
        return wrong or (None if path.read_bytes() == data else "discard() has changed the file")
    out.close()
    found = drained(tfrecs.RecordReader(path, codec))
    return wrong or (None if found == (NEW, None) else f"{found} instead of the new records")


def append(path: Path, codec: str, rng: random.Random) -> str | None:
    """What can be read of a file that ends anywhere stays, and what is new stands after it."""
    records, data = written(path, codec, rng)
    data = data[: rng.randrange(len(data) + 1)]
    path.write_bytes(data)
    try:
        out = tfrecs.RecordWriter(path, codec, mode="a", sync=False)
    except tfrecs.Error as error:
        if codec != "ZLIB":
            return f"it is refused: {error}"
        return None if path.read_bytes() == data else "it is refused, and has changed"
    wrong = second_writer(path, codec, "a")
    out.write_batch(NEW)
    out.close()
    stream = frames.inflated(data) if codec else data
    whole = records[: frames.whole_records(records, stream)]
    found = drained(tfrecs.RecordReader(path, codec))
    return wrong or (None if found == (whole + NEW, None) else f"{found} instead of {whole} + NEW")


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Try that many; what was wrong."""
    failures = []
    with folder() as here, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of records that are torn
        for case in range(cases):
            number = seed * 1_000_003 + case
            rng = random.Random(number)
            way, codec = rng.choice([overwrite, append]), rng.choice(["", "GZIP", "ZLIB"])
            if wrong := way(here / "file", codec, rng):
                failures.append(f"case {number}: {way.__name__} {codec}: {wrong}")
            (here / "file").unlink(missing_ok=True)
            if left := [path.name for path in here.iterdir()]:
                failures.append(f"case {number}: {left} is left")
    return cases, failures
