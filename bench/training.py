"""Epochs as training loops take them: vectors, and photographs that are decoded and resized.

Each measurement is a process of its own (epochs.py), in which a whole epoch comes before the clock
starts. PyTorch, vahidk/tfrecord and tfrecs are in one environment, TensorFlow in another.
"""

import json
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import files
from epochs import BATCH, IMAGES, PHOTOS, SIDE, VECTORS
from figures import seconds, times
from options import Options
from photos import HEIGHT, WIDTH, examples
from processes import HERE, last_line, warm_page_cache
from report import Part, Table
from turns import Runs, roads_in_turn
from workloads import EVERY

COUNT = 500


def part(options: Options) -> Part:
    """Measure every road of both."""
    found = Part("training", [], [])
    records = EVERY["vec"].scaled(options.scale)
    vectors = files.made(EVERY["vec"], records)
    title = f"Epochs of vec, shuffled, in batches of {BATCH}"
    measure(title, VECTORS, vectors, records, options, found)
    count = max(50, round(COUNT * options.scale))
    title = (
        f"Epochs of JPEG images of {HEIGHT} x {WIDTH}, resized to {SIDE}, in batches of {PHOTOS}"
    )
    measure(title, IMAGES, examples(count), count, options, found)
    return found


def measure(
    title: str,
    roads: dict[str, tuple[str, Callable[[Path], Any]]],
    path: Path,
    records: int,
    options: Options,
    found: Part,
) -> None:
    """Measure roads in turn, and add what was found."""

    def measured(road: str) -> dict[str, Any]:
        python = options.interpreters.of(roads[road][0])
        warm_page_cache(path)
        command = [python, str(HERE / "epochs.py"), road, str(path), str(records)]
        figures: dict[str, Any] = json.loads(last_line(command))
        return figures

    runs = roads_in_turn(
        "training", {road: partial(measured, road) for road in roads}, options.runs, found
    )
    found.data.extend({"road": road, "runs": each} for road, each in runs.items())
    head = ("road", "seconds", "min-max", "rec/s", "MB", "of the first")
    found.text.append(Table(title, head, 1, [line(road, runs) for road in runs]))


def line(road: str, runs: Runs) -> list[str]:
    """Return a road's figures as text."""
    taken = [run["seconds"] for run in runs[road]]
    mine = statistics.median(taken)
    first = statistics.median(run["seconds"] for run in next(iter(runs.values())))
    return [
        road,
        seconds(mine),
        f"{seconds(min(taken))}-{seconds(max(taken))}",
        f"{runs[road][0]['records'] / mine:,.0f}",
        f"{max(run['megabytes'] for run in runs[road]):.0f}",
        times(mine / first),
    ]
