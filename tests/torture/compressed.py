"""Compressed files, damaged, taken apart, followed by something, or called something else.

`run(cases, seed)` tries `cases`; what is wrong must be said, and what comes before it must come.
"""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import frames

import tfrecs
from torture.drained import drained, folder

Case = tuple[bytes, str, int, bool]
"""A file, what to call it, how many records at least, and whether it is sound."""


def drawn_records(rng: random.Random) -> list[bytes]:
    """Some records, of which some compress well."""
    sizes = [rng.choice([0, 1, rng.randrange(40), rng.randrange(400)]) for _ in range(12)]
    return [rng.randbytes(size) if rng.random() < 0.5 else bytes(size) for size in sizes]


def split(records: list[bytes], rng: random.Random) -> Case:
    """Two to five members, split anywhere."""
    data = frames.plain(records)
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 5)))
    edges = [0, *cuts, len(data)]
    members = (frames.compressed("GZIP", data[begin:end]) for begin, end in pairwise(edges))
    return b"".join(members), rng.choice(["auto", "GZIP"]), len(records), True


def one(codec: str, records: list[bytes], rng: random.Random) -> bytes:
    return frames.compressed(codec, frames.plain(records), rng.randrange(10))


def followed(records: list[bytes], rng: random.Random) -> Case:
    """Padding, garbage, or the beginning of another stream, after the end."""
    codec = rng.choice(["GZIP", "ZLIB"])
    junk = rng.choice(
        [
            bytes(rng.randrange(1, 600)),
            rng.randbytes(rng.randrange(1, 50)),
            b"\x1f\x8b",
            b"\x78\x9c",
        ]
    )
    return one(codec, records, rng) + junk, rng.choice(["auto", codec]), len(records), False


def second_zlib_stream(records: list[bytes], rng: random.Random) -> Case:
    return one("ZLIB", records, rng) * 2, rng.choice(["auto", "ZLIB"]), len(records), False


def wrong_codec(records: list[bytes], rng: random.Random) -> Case:
    codec, told = rng.sample(["", "GZIP", "ZLIB"], 2)
    return one(codec, records, rng), told, 0, False


def cut(records: list[bytes], rng: random.Random) -> Case:
    codec = rng.choice(["GZIP", "ZLIB"])
    data = one(codec, records, rng)
    data = data[: rng.randrange(1, len(data))]
    whole = frames.whole_records(records, frames.inflated_before(data))
    return data, rng.choice(["auto", codec]), whole, False


def flipped(records: list[bytes], rng: random.Random) -> Case:
    """Any bit; those of the trailer are the likeliest."""
    codec = rng.choice(["GZIP", "ZLIB"])
    data = bytearray(one(codec, records, rng))
    place = rng.choice([rng.randrange(len(data)), rng.randrange(-8, 0)]) % len(data)
    before = frames.inflated_before(bytes(data[:place]))
    data[place] ^= 1 << rng.randrange(8)
    return bytes(data), codec, frames.whole_records(records, before), False


KINDS: list[Callable[[list[bytes], random.Random], Case]] = [
    split,
    followed,
    second_zlib_stream,
    wrong_codec,
    cut,
    flipped,
]


def wrong_with(path: Path, records: list[bytes], case: Case) -> str | None:
    """What is wrong with what comes out of a file."""
    data, told, least, is_sound = case
    frames.save(path, data)
    found, error = drained(tfrecs.RecordReader(path, told) if path.exists() else [])
    if found[:least] != records[:least]:
        return f"{len(found)} records, and {least} others are before the damage"
    # A bit of deflate may repeat what stands before it, whole frames too: an error follows.
    if not set(found) <= set(records):
        return "a record that was never written"
    if error is None:
        stream = frames.plain(records)
        is_sound = is_sound or frames.is_harmless(data, stream)
        return None if is_sound and found == records else f"{len(found)} records and no error"
    if is_sound:
        return f"{error!r} of a sound file"
    expected = tfrecs.CorruptRecordError | tfrecs.TruncatedFileError | tfrecs.NotTFRecordError
    named = isinstance(error, expected) and error.path == str(path) and bool(error.reason)
    return None if named else f"{error!r}"


def attempt(path: Path, records: list[bytes], case: Case) -> str | None:
    """The same, where even opening may fail."""
    try:
        return wrong_with(path, records, case)
    except (tfrecs.CorruptRecordError, tfrecs.NotTFRecordError) as error:
        _, _, least, is_sound = case
        is_early = not is_sound and least == 0 and error.path == str(path)
        return None if is_early else f"{error!r} at once"


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Read that many files; what was wrong."""
    failures = []
    with folder() as here:
        for number in range(cases):
            rng = random.Random(seed * 1_000_003 + number)
            records = drawn_records(rng)
            kind = KINDS[number % len(KINDS)]
            if wrong := attempt(here / "file", records, kind(records, rng)):
                failures.append(f"case {seed} {number}, {kind.__name__}: {wrong}")
    return cases, failures
