"""How much memory the order of many records takes, and how long the way into its middle.

A file of 10 million small Examples; each measurement is a process of its own (resumed.py).
"""

import json
import statistics
from functools import partial
from pathlib import Path
from typing import Any

from options import Options
from processes import HERE, last_line, warm_page_cache
from report import Part, Table
from resumed import BATCH, BATCHES, RECORDS, STEP, made
from turns import roads_in_turn
from workloads import FOLDER

ROADS = ("in order", "shuffled", "resumed", "a step")


def part(options: Options) -> Part:
    """Measure all."""
    found = Part("resume", [], [])
    path = made(FOLDER, max(round(RECORDS * options.scale), 20_000))
    roads = {road: partial(measured, road, path, options) for road in ROADS}
    runs = roads_in_turn("resume", roads, options.runs, found)
    rows = []
    for road, each in runs.items():
        medians = {name: statistics.median(run[name] for run in each) for name in each[0]}
        rows.append([road, f"{medians['seconds']:.2g}", f"{medians['megabytes']:.1f}"])
    title = (
        f"Batches {BATCHES:,} x {BATCH:,} of 10 million small records; and the first one after "
        f"step {STEP:,}"
    )
    found.text.append(Table(title, ("road", "seconds", "MB at most"), 1, rows))
    found.data.extend({"road": road, "runs": each} for road, each in runs.items())
    return found


def measured(road: str, path: Path, options: Options) -> dict[str, Any]:
    """Measure in a process of its own."""
    warm_page_cache(path)
    command = [options.interpreters.of(""), str(HERE / "resumed.py"), road, str(path)]
    figures: dict[str, Any] = json.loads(last_line(command))
    return figures
