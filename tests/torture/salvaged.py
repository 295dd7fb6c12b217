"""Every other value of every byte, and every cut: all that is undamaged comes, and nothing else.

`run(cases, seed)` tries `cases` (all, if there are no more). (Several damages at a time, and
records that hold records, are Rust tests: salvage.rs.)
"""

import random
from pathlib import Path

import frames

import tfrecs
from torture.drained import folder
from torture.flips import PLAIN, RECORDS, STARTS

Case = tuple[bytes, int, bool]
"""A file, the number of the record that is damaged, and whether it can be proved all the same."""


def flipped(place: int, change: int) -> Case:
    """A file with another byte there."""
    damaged = bytearray(PLAIN)
    damaged[place] ^= change
    record = sum(end <= place for end in STARTS[1:])
    return bytes(damaged), record, place - STARTS[record] < 12


def wrong_with(path: Path, case: Case) -> str | None:
    """What is wrong with what is salvaged of a file."""
    data, damaged, is_proved = case
    frames.save(path, data)
    whole = [record for number, record in enumerate(RECORDS) if number != damaged or is_proved]
    expected = whole[: sum(end <= len(data) for end in STARTS[1:])]
    pieces = list(tfrecs.salvage(path, ""))
    found = [piece for piece in pieces if isinstance(piece, bytes)]
    if found != expected:
        return f"{len(found)} records instead of {len(expected)}"
    lost = sum(piece.nbytes for piece in pieces if isinstance(piece, tfrecs.SkippedRegion))
    kept = sum(len(record) + 16 for record in found)
    return None if lost + kept == len(data) else f"{lost} bytes are lost, and {kept} are kept"


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Salvage that many files; what was wrong."""
    every = [(place, change) for place in range(len(PLAIN)) for change in range(1, 256)]
    every += [(cut, 0) for cut in range(len(PLAIN) + 1)]
    if cases < len(every):
        every = random.Random(seed).sample(every, cases)
    failures = []
    with folder() as here:
        for place, change in every:
            case = flipped(place, change) if change else (PLAIN[:place], len(RECORDS), False)
            if wrong := wrong_with(here / "file", case):
                failures.append(f"byte {place} ^ {change}: {wrong}")
    return len(every), failures
