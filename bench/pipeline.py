"""Training input: passes in order, shuffled, and in a buffer, by tfrecs and TensorFlow in turn.

Batches of 1,024, parsed; each measurement is a process of its own (passes.py), in which a few
batches were made before the clock starts.
"""

import json
import statistics
from functools import partial
from typing import Any

import files
from figures import seconds, times
from options import Options
from passes import ROADS
from processes import HERE, last_line, warm_page_cache
from report import Part, Table
from turns import Runs, roads_in_turn
from workloads import EVERY, Workload

NAMES = ("tab", "vec")


def part(options: Options) -> Part:
    """Measure every road on every workload."""
    found = Part("pipeline", [], [])
    rows: list[list[str]] = []
    for name in NAMES:
        runs = in_turn(EVERY[name], options, found)
        rows += [line(name, road, runs) for road in runs]
        found.data.extend(
            {"workload": name, "road": road, "runs": each} for road, each in runs.items()
        )
    head = ("workload", "road", "seconds", "min-max", "rec/s", "MB", "in order", "TF")
    found.text.append(Table("Passes as training takes them, in batches of 1,024", head, 2, rows))
    return found


def in_turn(workload: Workload, options: Options, found: Part) -> Runs:
    """Measure the roads in turn."""
    records = workload.scaled(options.scale)
    path = files.made(workload, records)

    def measured(road: str) -> dict[str, Any]:
        python = options.interpreters.of("tensorflow" if is_theirs(road) else "")
        command = [python, str(HERE / "passes.py"), road, workload.name, str(path), str(records)]
        warm_page_cache(path)
        figures: dict[str, Any] = json.loads(last_line(command))
        return figures

    roads = {road: partial(measured, road) for road in ROADS}
    return roads_in_turn(f"pipeline: {workload.name}", roads, options.runs, found)


def is_theirs(road: str) -> bool:
    """Whether this is TensorFlow's."""
    return road.startswith("tensorflow")


def line(name: str, road: str, runs: Runs) -> list[str]:
    """Return a road's figures as text."""
    medians = {each: statistics.median(run["seconds"] for run in runs[each]) for each in runs}
    taken = [run["seconds"] for run in runs[road]]
    mine = medians[road]
    theirs = medians.get(f"tensorflow: {road}")
    return [
        name,
        road,
        seconds(mine),
        f"{seconds(min(taken))}-{seconds(max(taken))}",
        f"{runs[road][0]['records'] / mine:,.0f}",
        f"{max(run['megabytes'] for run in runs[road]):.0f}",
        times(medians["in order"] / mine) if "in order" in medians else "",
        times(theirs / mine) if theirs else "",
    ]
