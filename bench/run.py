"""Every job on every workload, by tfrecs and by TensorFlow in turn: `python bench/run.py --help`.

Each measurement is a process of its own, on a file that was read just before. Fails if the two
systems' outputs differ.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import report
from jobs import JOBS
from measure import SYSTEMS, Measurement
from report import Row
from workloads import WORKLOADS

MEASURE = Path(__file__).parent / "measure.py"


@dataclass(frozen=True)
class Cell:
    """A job on the file of a workload."""

    workload: str
    job: str
    records: int
    path: Path


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, choices in {"workloads": [*WORKLOADS], "jobs": [*JOBS], "systems": SYSTEMS}.items():
        parser.add_argument(f"--{name}", nargs="+", choices=choices, default=choices)
    parser.add_argument("--runs", type=int, default=5, help="processes for each figure")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="part of the records, such as 0.01"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_const", dest="form", const=report.as_json)
    form.add_argument("--markdown", action="store_const", dest="form", const=report.markdown)
    return parser.parse_args()


def run(cell: Cell, system: str) -> Measurement:
    """Measure once, in a process of its own."""
    warm_page_cache(cell.path)
    command = [sys.executable, str(MEASURE), cell.workload, cell.job, system, str(cell.records)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stderr}\nfailed: {' '.join(command)}")
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


def warm_page_cache(path: Path) -> None:
    """Read a file, so that the measurement finds it in the page cache."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def measured(cell: Cell, systems: list[str], runs: int) -> list[Row]:
    """Measure the systems in turn, so often, and compare their outputs."""
    found: dict[str, list[Measurement]] = {system: [] for system in systems}
    for _ in range(runs):
        for system in systems:
            found[system].append(run(cell, system))
    if len({run.digest for runs in found.values() for run in runs}) > 1:
        raise SystemExit(f"{cell.workload}, {cell.job}: the outputs differ")
    size = cell.path.stat().st_size
    return [
        Row(cell.workload, cell.job, system, cell.records, size, tuple(runs))
        for system, runs in found.items()
    ]


def main() -> None:
    """Measure, and print the table."""
    options = arguments()
    rows: list[Row] = []
    for name in options.workloads:
        records = WORKLOADS[name].scaled(options.scale)
        path = WORKLOADS[name].write(records)
        for job in options.jobs:
            if name in JOBS[job].workloads:
                print(f"{name}: {JOBS[job].title}", file=sys.stderr, flush=True)
                cell = Cell(name, job, records, path)
                rows += measured(cell, options.systems, options.runs)
    if not rows:
        raise SystemExit("none of these jobs makes sense on these workloads")
    print((options.form or report.text)(rows))


if __name__ == "__main__":
    main()
