"""Two versions of tfrecs in turn: `python bench/compare.py BEFORE AFTER`.

Each is a folder that holds a package: `unzip WHEEL -d FOLDER` makes one. Every job of the table
runs with the old version, the new one, and the old one again, each in a process of its own, and all
of it `--runs` times. A figure is worse if its median is worse by more than 3 %, and by more than
those of the old version and the old version again differ. Exit code 1: one is.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from files import made
from jobs import JOBS, SYSTEMS
from measure import Measurement, Order
from processes import HERE, last_line, warm_page_cache
from workloads import WORKLOADS

ALLOWED = 0.03


@dataclass(frozen=True)
class Compared:
    """A job of both versions, in seconds.

    Attributes:
        before: The median of the old version.
        again: The median of the old version, measured once more.
        after: The median of the new version.
    """

    before: float
    again: float
    after: float

    @property
    def noise(self) -> float:
        """By which part the old version differs from itself."""
        return abs(self.again / self.before - 1)

    @property
    def change(self) -> float:
        """By which part the new version takes longer."""
        return self.after / statistics.mean([self.before, self.again]) - 1

    @property
    def is_worse(self) -> bool:
        """Whether that is more than is allowed, and more than noise."""
        return self.change > max(ALLOWED, self.noise)


def orders(asked: argparse.Namespace) -> Iterator[Order]:
    """Yield everything that tfrecs does in the table."""
    for name in asked.jobs or JOBS:
        for workload in JOBS[name].workloads:
            if workload in (asked.workloads or WORKLOADS):
                records = WORKLOADS[workload].scaled(asked.scale)
                for system in JOBS[name].systems:
                    if SYSTEMS[system].ours:
                        yield Order(workload, name, system, records)


def seconds(order: Order, path: Path, package: Path) -> float:
    """Measure one version once."""
    warm_page_cache(path)
    command = [sys.executable, str(HERE / "measure.py"), json.dumps(asdict(order))]
    return Measurement(**json.loads(last_line(command, package))).seconds


def compared(order: Order, before: Path, after: Path, runs: int) -> Compared:
    """Measure both versions in turn."""
    path = made(WORKLOADS[order.workload], order.records, JOBS[order.job].form)
    taken = [[seconds(order, path, one) for one in (before, after, before)] for _ in range(runs)]
    first, new, again = map(statistics.median, zip(*taken, strict=True))
    return Compared(first, again, new)


def main() -> int:
    """Print a line for each job, and return 1 if a figure is worse."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="a folder with the package tfrecs")
    parser.add_argument("after", type=Path, help="a folder with another one")
    parser.add_argument("--jobs", nargs="+", choices=JOBS)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the records, as 0.02")
    asked = parser.parse_args()
    worse = 0
    for order in orders(asked):
        found = compared(order, asked.before.resolve(), asked.after.resolve(), asked.runs)
        worse += found.is_worse
        line = f"{order.workload:5} {order.job:18} {order.system:20} {found.before * 1e3:9.1f} ms"
        line += f" {found.after * 1e3:9.1f} ms {found.change:+7.1%} (noise {found.noise:.1%})"
        print(line, "WORSE" if found.is_worse else "", flush=True)
    print(f"{worse} figures are worse")
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
