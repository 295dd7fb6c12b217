"""`make torture`: every way to hurt a file, or a process that reads or writes one, at length.

A row is an item of the bar (docs/reliability.md), and a module beside this one: `run(cases, seed)`
returns how many cases it has tried, and a text for each that went wrong. Exit code 1: some did.
"""

import argparse
import importlib
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

TESTS = Path(__file__).parents[1]
# Of a row that goes wrong in many ways, that many are shown.
SHOWN = 5


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        item: Its number in the bar.
        what: What is done.
        module: What does it.
        full: How many cases, or what the module takes for that.
        small: As many as are tried in all tests; 0: tests of its own try some.
    """

    item: str
    what: str
    module: str
    full: int
    small: int


ROWS = [
    Row("1", "every other value of every byte", "flips", 200_000, 150),
    Row("2", "the same, and every cut, salvaged", "salvaged", 200_000, 150),
    Row("3", "files and pipes that end anywhere", "cuts", 100_000, 60),
    Row("4", "1 to 20 damages at a time, salvaged", "damages", 1_000_000, 0),
    Row("5", "manifests: records and shards deleted, doubled, swapped", "mutations", 10_000, 0),
    Row("6", "compressed files: damaged, split, followed, misnamed", "compressed", 100_000, 60),
    Row("7", "lengths that nothing has", "lengths", 1000, 5),
    Row("8", "bombs of 10 GiB", "bombs", 10_240, 40),
    Row("9", "messages made to cost, up to 20 MB", "messages", 1_000_000, 1000),
    Row("10", "mutated messages, beside protobuf", "judged", 10_000_000, 4000),
    Row("11", "what fuzzing has kept, again", "replayed", 1, 0),
    Row("12", "panics are exceptions", "panics", 1000, 4),
    Row("13", "every read, every large allocation fails", "failing", 1, 0),
    Row("13", "less and less address space", "shortage", 300, 2),
    Row("14", "kill -9 of writers", "kills", 1000, 0),
    Row("15", "the power fails after any call of a writer", "outage", 1, 0),
    Row("16", "overwritten; cut and appended to; two writers", "appended", 10_000, 60),
    Row("17", "every call of a writer to the disk fails", "refused", 1, 0),
    Row("19", "indices damaged, cut, swapped, stale", "stale", 1_000_000, 40),
    Row("20", "random pipelines, resumed at every step", "pipelines", 500, 10),
    Row("23", "forks while threads open files", "forked", 1000, 20),
    Row("24", "Ctrl-C while reading and indexing", "stops", 200, 2),
    Row("24", "Ctrl-C while writing", "interrupts", 200, 0),
    Row("26", "queues of TensorFlow 1's names: failing, stopped, forgotten", "queued", 1000, 40),
]


@dataclass(frozen=True)
class Outcome:
    """What came of a row."""

    cases: int
    failures: list[str]
    seconds: float


def attempt(row: Row, cases: int, seed: int) -> Outcome:
    """Run a row. Whatever it raises is a failure of its own."""
    begin = time.perf_counter()
    try:
        count, failures = importlib.import_module(f"torture.{row.module}").run(cases, seed)
    except Exception as error:  # noqa: BLE001 - the other rows are to run
        count, failures = 0, [f"{row.module}: {error!r}"]
    return Outcome(count, failures, time.perf_counter() - begin)


def find_tests() -> None:
    """Let modules beside this one, and frames.py, be imported, in processes of their own too."""
    sys.path.insert(0, str(TESTS))
    os.environ["PYTHONPATH"] = str(TESTS)
    importlib.import_module("torture.heard").hear_interrupts()


def outcomes(rows: list[Row], scale: float, seed: int, jobs: int) -> Iterator[tuple[Row, Outcome]]:
    """Run rows, that many at a time; they come in order."""
    spawn = get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, initializer=find_tests) as pool:
        futures: list[tuple[Row, Future[Outcome]]] = [
            (row, pool.submit(attempt, row, max(int(row.full * scale), 1), seed)) for row in rows
        ]
        for row, future in futures:
            yield row, future.result()


def chosen(items: list[str]) -> list[Row]:
    """The rows of these items, or modules; all, if none are named."""
    unknown = set(items) - {row.item for row in ROWS} - {row.module for row in ROWS}
    if unknown:
        raise SystemExit(f"torture: there is no item {', '.join(sorted(unknown))}")
    return [row for row in ROWS if not items or {row.item, row.module} & set(items)]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Every way to hurt a file, at length.")
    parser.add_argument("items", nargs="*", help="items of the bar, or modules")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="rows at a time")
    given = parser.parse_args()
    print("| item | what | cases | failures | seconds |")
    print("|---:|---|---:|---:|---:|", flush=True)
    failed = False
    for row, outcome in outcomes(chosen(given.items), given.scale, given.seed, given.jobs):
        figures = f"{outcome.cases:,} | {len(outcome.failures):,} | {outcome.seconds:,.0f}"
        print(f"| {row.item} | {row.what} | {figures} |", flush=True)
        for failure in outcome.failures[:SHOWN]:
            print(f"  {row.module}: {failure}", file=sys.stderr)
        failed = failed or bool(outcome.failures)
    return int(failed)


if __name__ == "__main__":
    find_tests()
    sys.exit(main())
