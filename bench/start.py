"""From Python's start to the first parsed batch: the whole wall time, imports and all."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from figures import seconds, times
from files import made
from options import Options
from processes import HERE, FailedError, SkippedError, environment, warm_page_cache
from report import Part, Table
from workloads import WORKLOADS

SYSTEMS = {"tfrecs": "", "tensorflow": "tensorflow"}  # and their environments


def part(options: Options) -> Part:
    """Measure the systems in turn."""
    images = WORKLOADS["img"]
    path = made(images, images.scaled(options.scale))
    found = Part("start", [], [])
    taken: dict[str, list[float]] = {}
    for _ in range(options.runs):
        for system, peer in SYSTEMS.items():
            try:
                python = options.interpreters.of(peer)
                taken.setdefault(system, []).append(started(python, system, path, images.batch))
            except SkippedError as error:
                found.skipped.append(f"{system}: {error}")
            except FailedError as error:
                found.failures.append(f"start, {system}: {error}")
    found.data.extend({"system": system, "times": each} for system, each in taken.items())
    found.text.append(table(taken))
    return found


def started(python: str, system: str, path: Path, batch: int) -> float:
    """Return how long it takes until the first batch is there."""
    warm_page_cache(path)
    command = [python, str(HERE / f"start_{system}.py"), str(path), str(batch)]
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()
    ) as process:
        line = process.stdout.readline() if process.stdout else ""
        taken = time.perf_counter() - start
    if line.strip() != str(batch):
        raise FailedError(f"no batch ({' '.join(command)})")
    print(f"start: {system}", file=sys.stderr, flush=True)
    return taken


def table(taken: dict[str, list[float]]) -> Table:
    """Return the figures."""
    medians = {system: statistics.median(each) for system, each in taken.items()}
    reference = medians.get("tensorflow")
    rows = [
        [
            system,
            seconds(medians[system]),
            f"{seconds(min(each))}-{seconds(max(each))}",
            times(reference / medians[system]) if reference and system != "tensorflow" else "",
        ]
        for system, each in taken.items()
    ]
    title = "From Python's start to the first parsed batch of img"
    return Table(title, ("system", "seconds", "min-max", "TF"), 1, rows)
