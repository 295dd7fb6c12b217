"""What can happen to the files of a set: a manifest notices each of it.

`run(cases, seed)` returns how many mutations were tried, and which were not noticed.
"""

import random
import shutil
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import frames

import tfrecs

Shards = list[list[bytes]]


def delete_record(shards: Shards, rng: random.Random) -> None:
    shard = rng.choice([shard for shard in shards if shard])
    del shard[rng.randrange(len(shard))]


def duplicate_record(shards: Shards, rng: random.Random) -> None:
    shard = rng.choice([shard for shard in shards if shard])
    shard.insert(rng.randrange(len(shard) + 1), rng.choice(shard))


def swap_records(shards: Shards, rng: random.Random) -> None:
    """Within a shard or between two."""
    places = [(n, k) for n, shard in enumerate(shards) for k in range(len(shard))]
    (a, b), (c, d) = rng.sample(places, 2)
    shards[a][b], shards[c][d] = shards[c][d], shards[a][b]


def move_record(shards: Shards, rng: random.Random) -> None:
    delete_from = rng.choice([shard for shard in shards if shard])
    record = delete_from.pop(rng.randrange(len(delete_from)))
    shard = rng.choice(shards)
    shard.insert(rng.randrange(len(shard) + 1), record)


def shuffle_shard(shards: Shards, rng: random.Random) -> None:
    rng.shuffle(rng.choice(shards))


def cut_at_a_boundary(shards: Shards, rng: random.Random) -> None:
    shard = rng.choice([shard for shard in shards if shard])
    del shard[rng.randrange(len(shard)) :]


def change_record(shards: Shards, rng: random.Random) -> None:
    """With all checksums right."""
    shard = rng.choice([shard for shard in shards if any(shard)])
    place = rng.choice([n for n, record in enumerate(shard) if record])
    record = bytearray(shard[place])
    record[rng.randrange(len(record))] ^= rng.randrange(1, 256)
    shard[place] = bytes(record)


def divide_otherwise(shards: Shards, rng: random.Random) -> None:
    """The same bytes, as other records: what a byte is moved from one to the next."""
    shard = rng.choice([shard for shard in shards if len(shard) > 1 and shard[0]])
    shard[:2] = [shard[0][:-1], shard[0][-1:] + shard[1]]


def swap_shards(shards: Shards, rng: random.Random) -> None:
    a, b = rng.sample(range(len(shards)), 2)
    shards[a], shards[b] = shards[b], shards[a]


def copy_shard(shards: Shards, rng: random.Random) -> None:
    a, b = rng.sample(range(len(shards)), 2)
    shards[a] = list(shards[b])


def concatenate_shards(shards: Shards, rng: random.Random) -> None:
    a, b = rng.sample(range(len(shards)), 2)
    shards[a] = shards[a] + shards[b]


RECORDS: tuple[Callable[[Shards, random.Random], None], ...] = (
    delete_record,
    duplicate_record,
    swap_records,
    move_record,
    shuffle_shard,
    cut_at_a_boundary,
    change_record,
    divide_otherwise,
    swap_shards,
    copy_shard,
    concatenate_shards,
)


def delete_file(paths: list[Path], rng: random.Random) -> None:
    rng.choice(paths).unlink()


def cut_file(paths: list[Path], rng: random.Random) -> None:
    path = rng.choice(paths)
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


def flip_byte(paths: list[Path], rng: random.Random) -> None:
    path = rng.choice(paths)
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
    path.write_bytes(data)


def swap_files(paths: list[Path], rng: random.Random) -> None:
    a, b = rng.sample(paths, 2)
    first, second = a.read_bytes(), b.read_bytes()
    a.write_bytes(second)
    b.write_bytes(first)


FILES: tuple[Callable[[list[Path], random.Random], None], ...] = (
    delete_file,
    cut_file,
    flip_byte,
    swap_files,
)


def checksum_of(records: list[bytes]) -> str:
    """What a manifest says of such records."""
    parts = b"".join(struct.pack("<QI", len(it), frames.masked_crc(it)) for it in records)
    rotated = (frames.masked_crc(parts) - 0xA282EAD8) & 0xFFFFFFFF
    return f"{(rotated << 15 | rotated >> 17) & 0xFFFFFFFF:08x}"


def random_set(rng: random.Random) -> Shards:
    """Some shards of some records, of which some are alike."""
    count = rng.randint(2, 4)
    some = [rng.randbytes(rng.choice([1, 2, 8, 8, 30])) for _ in range(6)]
    return [
        [rng.choice(some) if rng.random() < 0.3 else rng.randbytes(8) for _ in range(size)]
        for size in (rng.randint(2, 12) for _ in range(count))
    ]


def save_set(folder: Path, shards: Shards, codec: str) -> None:
    for number, records in enumerate(shards):
        frames.save(folder / f"{number}", frames.compressed(codec, frames.plain(records)))


def one_case(folder: Path, seed: int, codec: str) -> str | None:
    """What was not noticed, or None."""
    rng = random.Random(seed)
    shards = random_set(rng)
    with tfrecs.ShardedWriter(
        folder / "{shard}",
        num_shards=len(shards),
        compression_type=codec,
        manifest=folder / "m.json",
        sha256=True,
        sync=False,
    ) as out:
        for turn in range(max(map(len, shards))):
            for records in shards:
                out.write(records[turn % len(records)])
    manifest = tfrecs.read_manifest(folder / "m.json")
    if not manifest.verify().ok:
        return f"seed {seed}: {manifest.verify().errors}, and nothing has happened"
    written = [list(tfrecs.RecordReader(path)) for path in manifest.paths]
    number = rng.randrange(len(RECORDS) + len(FILES))
    of_records = number < len(RECORDS)
    if of_records:
        changed = [list(records) for records in written]
        RECORDS[number](changed, rng)
        save_set(folder, changed, codec)
        has_changed = changed != written
    else:
        paths = list(map(Path, manifest.paths))
        before = [path.read_bytes() for path in paths]
        FILES[number - len(RECORDS)](paths, rng)
        has_changed = before != [path.read_bytes() if path.exists() else b"-" for path in paths]
    is_the_same = manifest.verify(recompressed=of_records).ok
    if is_the_same == has_changed:
        return f"seed {seed}: mutation {number} of {codec or 'plain'}, changed: {has_changed}"
    return None


def run(cases: int, seed: int, codec: str | None = None) -> tuple[int, list[str]]:
    """Try that many mutations; how many, and those that were not noticed."""
    failures = []
    for case in range(cases):
        with tempfile.TemporaryDirectory() as name:
            used = frames.CODECS[case % 3] if codec is None else codec
            failure = one_case(Path(name), seed * 1_000_003 + case, used)
            shutil.rmtree(name, ignore_errors=True)
            Path(name).mkdir()
        if failure is not None:
            failures.append(failure)
    return cases, failures
