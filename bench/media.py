"""Decoding images, by tfrecs and by TensorFlow in turn.

500 images of 500 x 375 pixels that look like photographs, as JPEG and as PNG. tfrecs decodes them
in batches; TensorFlow by tf.data's map with num_parallel_calls=AUTOTUNE. Each measurement is a
process of its own, in which everything was decoded once before the clock starts. Fails if the
pixels differ. "cpu" is the processors' time, all threads together.
"""

import json
import statistics
from functools import partial
from pathlib import Path
from typing import Any

from figures import seconds, times
from options import Options
from photos import FORMATS, HEIGHT, SYSTEMS, WIDTH, made
from processes import HERE, last_line
from report import Part, Table
from turns import Runs, roads_in_turn

COUNT = 500
PILLOW = "tfrecs, Pillow alone"  # whose pixels of a JPEG may differ


def part(options: Options) -> Part:
    """Measure every system on every format."""
    count = max(50, round(COUNT * options.scale))
    found = Part("media", [], [])
    rows: list[list[str]] = []
    for form in FORMATS:
        path = made(form, count)
        runs = in_turn(form, path, options, found)
        size = path.stat().st_size / count / 1000
        rows += [line(form, size, system, runs) for system in runs]
        found.data.extend(
            {"format": form, "system": system, "runs": each} for system, each in runs.items()
        )
    title = f"Decoding {count} images of {HEIGHT} x {WIDTH} pixels"
    head = ("format", "system", "seconds", "min-max", "cpu s", "images/s", "TF")
    found.text.append(Table(title, head, 2, rows))
    return found


def in_turn(form: str, path: Path, options: Options, found: Part) -> Runs:
    """Measure the systems in turn, and compare their pixels."""
    systems = {system: partial(measured, system, form, path, options) for system in SYSTEMS}
    runs = roads_in_turn(f"media: {form}", systems, options.runs, found)
    digests = {run["digest"] for name, each in runs.items() if name != PILLOW for run in each}
    if len(digests) > 1:
        found.failures.append(f"media {form}: the pixels differ")
    return runs


def measured(system: str, form: str, path: Path, options: Options) -> dict[str, Any]:
    """Measure in a process of its own."""
    python = options.interpreters.of("tensorflow" if system == "tensorflow" else "")
    command = [python, str(HERE / "photos.py"), system, form, str(path)]
    figures: dict[str, Any] = json.loads(last_line(command))
    return figures


def line(form: str, size: float, system: str, runs: Runs) -> list[str]:
    """Return a system's figures as text."""
    medians = {name: statistics.median(run["seconds"] for run in runs[name]) for name in runs}
    taken = [run["seconds"] for run in runs[system]]
    reference = medians.get("tensorflow")
    return [
        f"{form}, {size:.0f} KB each",
        system,
        seconds(medians[system]),
        f"{seconds(min(taken))}-{seconds(max(taken))}",
        seconds(statistics.median(run["cpu"] for run in runs[system])),
        f"{runs[system][0]['count'] / medians[system]:,.0f}",
        times(reference / medians[system]) if reference and system != "tensorflow" else "",
    ]
