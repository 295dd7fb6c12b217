"""Indices that are damaged, cut, of another file or of another time: never a wrong record.

`run(cases, seed)` tries `cases`: every other value of every byte of an index, every cut (all of
them, if there are no more), and as many changes of the file after its index.
"""

import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import frames

import tfrecs
from torture.drained import folder

RECORDS = [bytes([number]) * (number % 17) + b"%d" % number for number in range(70)]


def by_number(path: Path, index: Path) -> list[bytes] | tfrecs.Error:
    """All records by their numbers, with this index."""
    try:
        records = tfrecs.open(path, index_paths=index, num_threads=1)
        found = [records[number] for number in range(len(records))]
        if records[:].tolist() != found:
            return tfrecs.Error("a slice has other records than one by one")
    except tfrecs.Error as error:
        return error
    return found


def wrong_with(path: Path, index: Path, wanted: list[bytes]) -> str | None:
    """Whatever the index is, the records are those of the file, or there is an error."""
    found = by_number(path, index)
    if isinstance(found, tfrecs.Error):
        return None if type(found) is not tfrecs.Error else str(found)
    return None if found == wanted else "wrong records"


def damaged_indices(index: bytes, other: bytes, cases: int, rng: random.Random) -> list[bytes]:
    """Flips, cuts, additions, and the index of another file."""
    flips = [(place, change) for place in range(len(index)) for change in range(1, 256)]
    cuts = list(range(len(index)))
    if cases < len(flips) + len(cuts):
        flips = rng.sample(flips, min(cases * 9 // 10, len(flips)))
        cuts = rng.sample(cuts, min(cases // 10, len(cuts)))
    damaged = [other, index + b"\0", index * 2]
    damaged += [index[:cut] for cut in cuts]
    for place, change in flips:
        damaged.append(index[:place] + bytes([index[place] ^ change]) + index[place + 1 :])
    return damaged


def longer(records: list[bytes], rng: random.Random) -> list[bytes]:
    return [*records, rng.randbytes(5)]


def shorter(records: list[bytes], rng: random.Random) -> list[bytes]:
    return records[: rng.randrange(len(records))]


def swapped(records: list[bytes], rng: random.Random) -> list[bytes]:
    """Of the same length."""
    return rng.sample(records, len(records))


def changed(records: list[bytes], rng: random.Random) -> list[bytes]:
    place = rng.randrange(len(records))
    return [*records[:place], rng.randbytes(len(records[place])), *records[place + 1 :]]


CHANGES: list[Callable[[list[bytes], random.Random], list[bytes]]]
CHANGES = [longer, shorter, swapped, changed]


def stale(here: Path, number: int, rng: random.Random) -> str | None:
    """A file that changes after its index was made, and, half of the time, hides when."""
    codec = frames.CODECS[number % 3]
    path, index = here / "file", here / "index"
    frames.save(path, frames.compressed(codec, frames.plain(RECORDS)))
    index.unlink(missing_ok=True)
    tfrecs.build_index(path, index)
    before = path.stat()
    change = CHANGES[number // 3 % len(CHANGES)]
    after = change(RECORDS, rng)
    frames.save(path, frames.compressed(codec, frames.plain(after)))
    hidden = rng.random() < 0.5
    if hidden:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    wrong = wrong_with(path, index, after)
    return wrong and f"{codec} {change.__name__}, hidden: {hidden}: {wrong}"


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Try that many indices; what was wrong."""
    warnings.simplefilter("ignore", RuntimeWarning)  # of indices that are none
    rng, failures, count = random.Random(seed), [], 0
    with folder() as here:
        for codec in frames.CODECS:
            path, index = here / f"a{codec}", here / f"a{codec}.index"
            other = frames.save(here / "other", frames.plain(RECORDS[::-1]))
            frames.save(path, frames.compressed(codec, frames.plain(RECORDS)))
            for name, to in ((path, index), (other, here / "other.index")):
                tfrecs.build_index(name, to)
            content = index.read_bytes()
            others = (here / "other.index").read_bytes()
            for damaged in damaged_indices(content, others, cases, rng):
                frames.save(index, damaged)
                count += 1
                if wrong := wrong_with(path, index, RECORDS):
                    failures.append(f"{codec}: {damaged.hex()}: {wrong}")
        for number in range(min(cases, 2000)):
            count += 1
            if wrong := stale(here, number, rng):
                failures.append(f"case {seed} {number}: {wrong}")
    return count, failures
