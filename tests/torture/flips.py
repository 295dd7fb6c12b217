"""Every other value of every byte of a file: an error that says where, and no wrong record.

`run(cases, seed)` tries `cases` of them (all, if there are no more), read through, by read_batch
and by number.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import frames

import tfrecs
from torture.drained import drained, folder, in_batches, misplaced

RECORDS = [b"first", b"", b"x" * 60, bytes(range(90)), b"\0", b"\xff" * 33, b"7", b"8" * 80]
RECORDS += [b"nine, and after it", b"last"]
STARTS = frames.starts(RECORDS)
PLAIN = frames.plain(RECORDS)
FIELDS = ("checksum of its length field", "checksum of its data")


def chosen(cases: int, seed: int) -> Iterator[tuple[int, int]]:
    """Places, and what to change there."""
    every = [(place, change) for place in range(len(PLAIN)) for change in range(1, 256)]
    yield from every if cases >= len(every) else random.Random(seed).sample(every, cases)


def wrong_with(path: Path, place: int) -> str | None:
    """What is wrong with reading a file that is changed at this place."""
    record = sum(end <= place for end in STARTS[1:])
    field = FIELDS[place - STARTS[record] >= 12]
    for read in (tfrecs.RecordReader, in_batches):
        found, error = drained(read(path))
        if found != RECORDS[:record]:
            return f"{len(found)} records instead of {record}"
        if wrong := misplaced(error, path, record, STARTS[record]):
            return wrong
        if type(error) is not tfrecs.CorruptRecordError or field not in error.reason:
            return f"{error!r} does not say that it is the {field}"
    return by_number(path, record)


def by_number(path: Path, record: int) -> str | None:
    """Records that lie before, and after, are found by number, if anything is."""
    try:
        records = tfrecs.open(path, index="memory", num_threads=1)
    except tfrecs.CorruptRecordError as damage:
        return misplaced(damage, path, record, STARTS[record])
    if len(records) != len(RECORDS):
        return f"{len(records)} records by number"
    for number, wanted in enumerate(RECORDS):
        found, error = drained(records[i] for i in [number])
        if number != record and (found, error) != ([wanted], None):
            return f"record {number} is {found or error!r}"
        if number == record and (found or misplaced(error, path, record, STARTS[record])):
            return f"record {number} is {found or error!r}, and it is damaged"
    return None


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Change that many bytes, one at a time; what was wrong."""
    failures, count = [], 0
    with folder() as here:
        path = here / "flipped"
        for place, change in chosen(cases, seed):
            damaged = bytearray(PLAIN)
            damaged[place] ^= change
            frames.save(path, bytes(damaged))
            count += 1
            if wrong := wrong_with(path, place):
                failures.append(f"byte {place} ^ {change}: {wrong}")
    return count, failures
