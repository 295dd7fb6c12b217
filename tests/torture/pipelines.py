"""Random pipelines: of each, every state is loaded, and what comes after it compared.

`run(cases, seed)` returns how many there were, and what went wrong.
"""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import frames
import numpy as np

import tfrecs
from tfrecs.testing import assert_resumes
from torture.drained import folder

# No pass is looked at any longer.
MOST = 40

Step = Callable[[random.Random, tfrecs.Dataset], tfrecs.Dataset]


def number(element: Any) -> int:
    """A number for any element: what the steps of Python do their work on."""
    if isinstance(element, int | np.integer):
        return int(element)
    if isinstance(element, bytes):
        return int(element or b"0")
    return sum(map(number, element)) % 997


def is_wanted(divisor: int, element: Any) -> bool:
    """Whether to keep an element."""
    return number(element) % divisor != 0


def length(element: Any) -> int:
    """A length for any element."""
    return number(element) % 7


def as_row(element: Any) -> Any:
    """Any element as an array of some length."""
    return np.full(length(element), number(element))


def others(rng: random.Random, ds: tfrecs.Dataset) -> list[tfrecs.Dataset]:
    """Datasets of the same kind of elements."""
    return [rng.choice([ds.take(5), ds.skip(3), ds]) for _ in range(rng.randint(1, 2))]


def interleaved(size: int, ds: tfrecs.Dataset, element: Any) -> tfrecs.Dataset:
    """A few of the elements of a dataset."""
    return ds.skip(number(element) % 5).take(size)


ON_ELEMENTS: list[Step] = [
    lambda rng, ds: ds.shuffle(rng.randrange(9), rng.randint(1, 30)),
    lambda rng, ds: ds.shard(num := rng.randint(1, 3), rng.randrange(num), "pad"),
    lambda rng, ds: ds.shard(num := rng.randint(1, 3), rng.randrange(num), "uneven"),
    lambda rng, ds: ds.repeat(rng.choice([None, 1, 2, 3])),
    lambda rng, ds: ds.take(rng.randint(0, 60)),
    lambda rng, ds: ds.skip(rng.randint(0, 10)),
    lambda rng, ds: ds.map(number, num_threads=rng.choice([0, 0, 2])),
    lambda rng, ds: ds.filter(partial(is_wanted, rng.randint(2, 4))),
    lambda rng, ds: ds.prefetch(rng.randint(1, 3)),
    lambda rng, ds: ds.cache(),
    lambda rng, ds: ds.concatenate(*others(rng, ds)),
    lambda rng, ds: ds.mix(
        *others(rng, ds), seed=rng.randrange(9), stop=rng.choice(["first", "all"])
    ),
    lambda rng, ds: ds.take(4).interleave(partial(interleaved, 6, ds), 2, rng.randint(1, 3)),
]

LAST: list[Step] = [
    lambda rng, ds: ds,
    lambda rng, ds: ds.batch(rng.randint(1, 9), rng.random() < 0.5),
    lambda rng, ds: ds.map(number).batch(rng.randint(1, 9)).unbatch(),
    lambda rng, ds: ds.map(as_row).padded_batch(rng.randint(1, 6), padding_values=-1),
    lambda rng, ds: ds.map(as_row).bucket_by_length(len, [2, 5], [2, 3, 2]),
    lambda rng, ds: ds.batch(rng.randint(1, 5)).zip(ds.enumerate()),
    lambda rng, ds: ds.batch(rng.randint(1, 5)).shuffle(3, 4).prefetch(2),
]


def source(rng: random.Random, paths: list[Path]) -> tfrecs.Dataset:
    """The records of files; or of memory, or lines of text."""
    kind = rng.randrange(5)
    if kind == 0:
        return tfrecs.Dataset([b"%d" % n for n in range(rng.randint(1, 30))])
    if kind == 1:
        lines = [path.with_suffix(".txt") for path in paths]
        cycle, block = rng.randint(1, 3), rng.randint(1, 4)
        return tfrecs.Dataset.from_lines(lines, cycle_length=cycle, block_length=block)
    return tfrecs.Dataset(paths, num_threads=rng.choice([1, 2]))


def pipeline(rng: random.Random, paths: list[Path]) -> tfrecs.Dataset:
    """A dataset of some steps."""
    ds = source(rng, paths)
    if ds.node.order() is not None and rng.random() < 0.5:
        ds = ds.shuffle(rng.randrange(9))
    for step in rng.choices(ON_ELEMENTS, k=rng.randint(0, 4)):
        ds = step(rng, ds)
    return rng.choice(LAST)(rng, ds)


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Try that many pipelines; what was wrong."""
    failures = []
    with folder() as here:
        paths, records = [], iter(range(1000))
        for shard, (codec, size) in enumerate(zip(frames.CODECS, (13, 6, 9), strict=True)):
            some = [b"%d" % next(records) for _ in range(size)]
            content = frames.plain(some)
            (here / f"{shard}.txt").write_bytes(b"\n".join(some))
            paths.append(frames.save(here / f"{shard}", frames.compressed(codec, content)))
        for case in range(cases):
            ds = pipeline(random.Random(seed * 1_000_003 + case), paths)
            try:
                assert_resumes(ds, most=MOST)
            except Exception as error:  # noqa: BLE001 - the other cases are to run
                failures.append(f"case {case}: {error!r}: {ds!r}")
    return cases, failures
