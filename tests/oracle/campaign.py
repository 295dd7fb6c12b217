"""Many random cases against TensorFlow, fast: a case is one record under one spec.

`run` draws a spec and a batch of records, again and again, and has them examined; `shrunk` finds a
small part of a batch that fails, and what is told of it suffices to run it again. A round depends
on the seed, the family, the kind of bytes and its own number only, so that rounds can be divided
among processes, and one of them repeated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from random import Random
from typing import Any

import tensorflow as tf
from reference import SequenceSpec

from oracle.examine import (
    DeviationError,
    Tally,
    examine,
    examine_oddities,
    examine_reference,
)
from oracle.families import FAMILIES, Case, Family, case_of, draw_cases

BATCHES = (1, 4, 64, 200, 300, 500)  # of these sizes; large, for the sake of speed
CHUNK = 64  # rounds that one process does at a time
CHUNKS_PER_PROCESS = 16  # TensorFlow keeps something of every spec that it has seen


def campaign(family: str, kind: str, cases: int, seed: int, jobs: int) -> Tally:
    """At least this many cases, in several processes if there are several jobs.

    Raises:
        DeviationError: ours differ from TensorFlow's; with the least that shows it.
    """
    chunks = _chunks(cases)
    if jobs == 1 and len(chunks) <= CHUNKS_PER_PROCESS:
        return _sum(run(family, kind, seed, first, count) for first, count in chunks)
    each = jobs * CHUNKS_PER_PROCESS
    groups = [chunks[start : start + each] for start in range(0, len(chunks), each)]
    return _sum(_in_new_processes(family, kind, seed, group, jobs) for group in groups)


def _in_new_processes(
    family: str, kind: str, seed: int, chunks: list[tuple[int, int]], jobs: int
) -> Tally:
    """Some chunks, in processes that end with them. (max_tasks_per_child can deadlock.)"""
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = [pool.submit(run, family, kind, seed, first, count) for first, count in chunks]
        try:
            return _sum(future.result() for future in futures)
        finally:
            pool.shutdown(cancel_futures=True)  # one deviation is enough


def _chunks(cases: int) -> list[tuple[int, int]]:
    """Rounds that make this many cases: the number of the first and how many, for each chunk."""
    rounds = len(BATCHES) * math.ceil(cases / sum(BATCHES))
    return [(first, min(CHUNK, rounds - first)) for first in range(0, rounds, CHUNK)]


def _sum(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.update(tally)
    return total


def run(family: str, kind: str, seed: int, first: int, count: int) -> Tally:
    """Some rounds."""
    tf.get_logger().setLevel("ERROR")
    tally = Tally()
    for number in range(first, first + count):
        _round(FAMILIES[family], kind, f"{seed}/{family}/{kind}/{number}", number, tally)
    return tally


def _round(family: Family, kind: str, seed: str, number: int, tally: Tally) -> None:
    rng = Random(seed)
    spec = family.draw_spec(rng)
    cases = draw_cases(rng, family, kind, spec, BATCHES[number % len(BATCHES)])
    try:
        examine(family, spec, cases, Random(seed), tally)
        if number % 16 == 0:
            examine_reference(family, spec, cases)
    except AssertionError as error:
        raise DeviationError(_report(family, spec, cases, seed, error)) from error
    if number % 4 == 1 and kind == "odd":
        examine_oddities(family, spec, cases, tally)
    tally["cases"] += len(cases)


def _report(family: Family, spec: Any, cases: list[Case], seed: str, error: Exception) -> str:
    cases, text = shrunk(family, spec, cases, str(error))
    spec, cases, text = simpler(family, spec, cases, text)
    return "\n".join(
        [
            text,
            f"{family.functions[0]} with {spec!r}",
            f"of {len(cases)} records, in hex, and what is odd about each:",
            *(f"  {case.record.hex() or '(empty)'}  {sorted(case.seen)}" for case in cases),
            f"(round {seed}; the same SEED runs it again)",
        ]
    )


def shrunk(family: Family, spec: Any, cases: list[Case], text: str) -> tuple[list[Case], str]:
    """As few of the cases as still fail, and with what text."""
    size = len(cases)
    while size := size // 2:
        for start in range(0, len(cases), size):
            fewer = cases[:start] + cases[start + size :]
            found = _failure(family, spec, fewer) if fewer else None
            if found is not None:
                return shrunk(family, spec, fewer, found)
    return cases, text


def simpler(family: Family, spec: Any, cases: list[Case], text: str) -> tuple[Any, list[Case], str]:
    """As few features as still fail, with these records."""
    for fewer in _smaller(family, spec):
        again = [
            case_of(family, fewer, case.record, family.decode(case.record), case.asked, case.seen)
            for case in cases
        ]
        found = _failure(family, fewer, again)
        if found is not None:
            return simpler(family, fewer, again, found)
    return spec, cases, text


def _smaller(family: Family, spec: Any) -> Iterator[Any]:
    """The spec without one of its features."""
    parts = list(family.parts(spec))
    for number, part in enumerate(parts):
        for name in part:
            fewer = {other: feature for other, feature in part.items() if other != name}
            rest = [*parts[:number], fewer, *parts[number + 1 :]]
            if any(rest):
                yield SequenceSpec(*rest) if isinstance(spec, SequenceSpec) else fewer


def _failure(family: Family, spec: Any, cases: list[Case]) -> str | None:
    try:
        for seed in range(2):
            examine(family, spec, cases, Random(seed), Tally())
    except AssertionError as error:
        return str(error)
    return None
