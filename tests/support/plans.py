"""Plans of every step, for tests of what must hold whatever the plan: states, threads, endings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tfrecs

SPEC: dict[str, Any] = {
    "n": tfrecs.FixedLenFeature([], "int64"),
    "name": tfrecs.FixedLenFeature([], "string"),
    "list": tfrecs.VarLenFeature("int64"),
}


def without_samples(state: Any) -> Any:
    """A state but for which of its files were opened, which becomes more whatever else happens."""
    return {**state, "files": [{**one, "sampled": None} for one in state["files"]]}


def example(n: int) -> bytes:
    return tfrecs.encode_example({"n": n, "name": f"r{n}", "list": [n] * (n % 4)})


def save_shards(folder: Path, codec: str) -> list[Path]:
    """Write 24 records to four files, one of them empty."""
    made, n = [], 0
    for shard, size in enumerate([11, 0, 5, 8]):
        made.append(folder / f"{shard}.tfrecord")
        with tfrecs.RecordWriter(made[-1], codec) as out:
            out.write_batch([example(i) for i in range(n, n + size)])
        n += size
    return made


def total(row: Any) -> Any:
    return row["n"] * 10 + 1


def is_odd(row: Any) -> bool:
    return bool(row["n"] % 2)


def length(row: Any) -> int:
    return int(row["n"]) % 4


def lists(row: Any) -> dict[str, Any]:
    """A row of lists, of which some lack a key."""
    n = int(row["n"])
    return {"n": [n] * (n % 3), "m": {"word": "w"}} if n % 4 else {"x": 0.5, "n": [n]}


FILL = {"x": 0.0, "word": "", "n": []}


Make = Callable[[tfrecs.Dataset], tfrecs.Dataset]

STEPS: dict[str, Make] = {
    "records": lambda ds: ds,
    "batch": lambda ds: ds.batch(5),
    "batch of all": lambda ds: ds.batch(100, drop_remainder=True),
    "shuffle": lambda ds: ds.shuffle(3),
    "shuffle batch": lambda ds: ds.shuffle(3).batch(7),
    "shuffle repeat batch": lambda ds: ds.shuffle(3).repeat(3).batch(7, drop_remainder=True),
    "shard": lambda ds: ds.shard(3, 1).batch(2),
    "shard drop": lambda ds: ds.shuffle(1).shard(5, 4, "drop").batch(2),
    "shard pad": lambda ds: ds.shuffle(1).shard(5, 4, "pad").batch(2),
    "shard of batches": lambda ds: ds.batch(2).shard(5, 3, "pad"),
    "take skip": lambda ds: ds.skip(3).take(15).batch(4),
    "take batches": lambda ds: ds.batch(2).skip(2).take(5),
    "buffer": lambda ds: ds.shuffle(5, buffer_size=4),
    "buffer of one": lambda ds: ds.shuffle(5, buffer_size=1),
    "buffer of all": lambda ds: ds.shuffle(5, buffer_size=50).repeat(2).batch(4),
    "buffer of batches": lambda ds: ds.batch(2).shuffle(5, buffer_size=3),
    "map": lambda ds: ds.map(total).batch(3),
    "map batches": lambda ds: ds.batch(3).map(total),
    "map on threads": lambda ds: ds.batch(3).map(total, num_threads=3),
    "filter": lambda ds: ds.filter(is_odd).map(total).repeat(2).batch(3),
    "enumerate": lambda ds: ds.enumerate(5).map(lambda pair: (pair[0], total(pair[1]))),
    "map in any order": lambda ds: ds.map(total, num_threads=1, ordered=False),
    "prefetch": lambda ds: ds.batch(3).map(total).prefetch(3),
    "unbatch": lambda ds: ds.map(total).batch(4).unbatch(),
    "padded batch": lambda ds: ds.padded_batch(3, padding_values=-1),
    "buckets": lambda ds: ds.map(lambda row: np.full(length(row), row["n"])).bucket_by_length(
        len, [1, 3], [3, 4, 2]
    ),
    "rows of lists": lambda ds: ds.map(lambda row: {"v": [int(row["n"])] * 2}).batch(3),
    "filled batch": lambda ds: ds.map(lists).batch(3, fill=FILL),
    "filled batch, shuffled": lambda ds: (
        ds.map(lists).shuffle(2, buffer_size=6).batch(3, fill=FILL)
    ),
    "filled batch, taken apart": lambda ds: ds.map(lists).batch(3, fill=FILL).unbatch(),
    "filled padded batch": lambda ds: ds.map(lists).padded_batch(4, fill=FILL),
    "filled buckets": lambda ds: ds.map(lists).bucket_by_length(
        lambda row: len(row["n"]), [1, 2], [3, 4, 2], fill=FILL
    ),
    "filled and cached": lambda ds: ds.map(lists).batch(4, fill=FILL).cache().repeat(2),
    "zip": lambda ds: ds.batch(2).zip(ds.shuffle(1).batch(3)),
    "concatenate": lambda ds: ds.take(3).concatenate(ds.skip(20), ds.shuffle(2)).map(total),
    "mix": lambda ds: ds.take(5).mix(ds.shuffle(2), ds, weights=[1, 2, 3], stop="all").map(total),
    "mix to the first": lambda ds: ds.mix(ds.shuffle(2).repeat(), seed=9).map(total).batch(3),
    "interleave": lambda ds: (
        ds.map(total)
        .batch(6)
        .interleave(lambda some: ds.skip(int(some[0])).map(total), cycle_length=3, block_length=2)
    ),
    "keys": lambda ds: ds.with_keys(),
    "keys of batches": lambda ds: ds.shuffle(3).with_keys().repeat(2).shard(2, 1).batch(4),
    "keys of elements": lambda ds: ds.with_keys().shuffle(1, buffer_size=7).skip(2).enumerate(),
    "keys of padded batches": lambda ds: ds.with_keys().padded_batch(5),
    "repeat": lambda ds: ds.map(total).shuffle(1, buffer_size=5).repeat(3),
    "cache": lambda ds: ds.map(total).cache().repeat(2).batch(5),
    "shard of elements": lambda ds: ds.filter(is_odd).shard(3, 2, "pad").map(total),
}

# More steps: what takes several threads, of Python and of the native side.
MORE: dict[str, Make] = {
    "threads on threads": lambda ds: (
        ds.batch(2).map(total, num_threads=2).prefetch(2).map(len, num_threads=2).prefetch(1)
    ),
    "prefetched parts": lambda ds: ds.map(total).prefetch(2).zip(ds.batch(2).prefetch(3)),
    "interleaved threads": lambda ds: ds.take(4).interleave(
        lambda row: ds.skip(int(row["n"])).map(total, num_threads=2), cycle_length=3
    ),
    "cached threads": lambda ds: ds.map(total, num_threads=2).cache(),
}
PLANS = {**STEPS, **MORE}
