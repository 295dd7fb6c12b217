"""Peak memory beyond an interpreter with NumPy: streaming a whole workload, and one of ten times.

The larger one is the same file, listed ten times.
"""

import statistics
import sys
from concurrent.futures import ThreadPoolExecutor

from files import made
from jobs import JOBS
from measure import Order
from options import Options
from processes import last_line
from report import Part, Table
from turns import Turns, in_turn
from workloads import WORKLOADS

TIMES = (1, 10)
RUNS = 3  # memory varies little
FLOOR = "import numpy, sys; sys.path.insert(0, {!r}); import measure; print(measure.peak_rss())"
STREAMED = {
    "tab": "parse",
    "img": "parse",
    "vec": "parse",
    "tok": "parse",
    "seq": "parse-sequences",
}
SYSTEMS = ["tfrecs", "tensorflow"]


def part(options: Options) -> Part:
    """Measure the systems in turn, on each workload and ten of them."""
    asked = [(name, times) for name in STREAMED for times in TIMES if name in options.workloads]
    with ThreadPoolExecutor(options.beside) as pool:
        found = list(pool.map(lambda each: taken(each[0], each[1], options), asked))
    floor = int(last_line([sys.executable, "-c", FLOOR.format(sys.path[0])]))
    data = [
        {"workload": name, "times": times, "system": system, "floor": floor, "peak_rss": peak}
        for (name, times), turns in zip(asked, found, strict=True)
        for system, peak in peaks(turns).items()
    ]
    return Part(
        "memory",
        [table(data, floor)],
        data,
        skipped=[line for turns in found for line in turns.skipped],
        failures=[line for turns in found for line in turns.failures],
    )


def taken(name: str, times: int, options: Options) -> Turns:
    """Stream a workload that many times."""
    print(f"memory: {name}, {times} times", file=sys.stderr, flush=True)
    workload = WORKLOADS[name]
    records = workload.scaled(options.scale)
    order = Order(name, STREAMED[name], "", records, times)
    path = made(workload, records, JOBS[STREAMED[name]].form)
    return in_turn(order, path, SYSTEMS, min(options.runs, RUNS), options)


def peaks(turns: Turns) -> dict[str, float]:
    """Return the median of each system's peak."""
    return {
        system: statistics.median(run.peak_rss for run in runs)
        for system, runs in turns.runs.items()
    }


def table(data: list[dict[str, object]], floor: int) -> Table:
    """Return the figures: a row for a system and workload, a column for each size."""
    found = {(row["workload"], row["system"], row["times"]): row["peak_rss"] for row in data}
    names = dict.fromkeys((row["workload"], row["system"]) for row in data)
    rows = [
        [
            str(name),
            str(system),
            *(above(found.get((name, system, times)), floor) for times in TIMES),
        ]
        for name, system in names
    ]
    title = (
        f"Peak memory beyond Python with NumPy ({floor / 1e6:.0f} MB), parsing in batches, in MB"
    )
    return Table(title, ("file", "system", *(f"{times} x" for times in TIMES)), 2, rows)


def above(peak: object, floor: int) -> str:
    """Return how many MB this is above the floor."""
    return f"{(peak - floor) / 1e6:.1f}" if isinstance(peak, float | int) else ""
