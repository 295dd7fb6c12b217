"""Systems measured in turn: all once, then all once more, so that what else happens hits each."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from figures import is_limit
from measure import Measurement, Order
from options import Options
from processes import FailedError, SkippedError, measured
from report import Part

Roads = Mapping[str, Callable[[], dict[str, Any]]]
"""What measures each road, as a mapping of figures."""

Runs = dict[str, list[dict[str, Any]]]
"""The figures of each road, a mapping a run."""


@dataclass
class Turns:
    """What came out.

    Attributes:
        label: What was measured.
        runs: The measurements of each system.
        skipped: Why a system has none.
        failures: What went wrong.
    """

    label: str
    runs: dict[str, list[Measurement]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def take(self, order: Order, path: Path, options: Options) -> bool:
        """Measure once; return whether there is any use in doing so again."""
        found = self.runs.setdefault(order.system, [])
        try:
            found.append(measured(order, path, options.interpreters))
        except SkippedError as error:
            self.skipped.append(f"{order.system}: {error}")
        except FailedError as error:
            self.failures.append(f"{self.label}, {order.system}: {error}")
        else:
            return True
        del self.runs[order.system]
        return False

    def compare(self) -> None:
        """Drop the systems whose output is not that of the first one."""
        wanted = next((run.digest for runs in self.runs.values() for run in runs if run.digest), "")
        for system, runs in list(self.runs.items()):
            if any(run.digest not in {wanted, ""} for run in runs):
                self.failures.append(f"{self.label}, {system}: another output")
                del self.runs[system]


def in_turn(order: Order, path: Path, systems: list[str], runs: int, options: Options) -> Turns:
    """Measure the systems in turn, so often, and compare their outputs.

    The limit copies as many bytes as the output of ours has, and so comes after it.
    """
    turns = Turns(f"{order.workload} {order.job}")
    left, size = list(systems), 0
    for _ in range(runs):
        for system in list(left):
            mine = replace(order, system=system, output_bytes=size)
            if cannot(mine) or not turns.take(mine, path, options):
                left.remove(system)
            else:
                size = size or turns.runs[system][-1].output_bytes
    turns.compare()
    return turns


def cannot(order: Order) -> bool:
    """Whether this is the limit of an output that is not known."""
    return is_limit(order.system) and not order.output_bytes


def roads_in_turn(label: str, roads: Roads, runs: int, found: Part) -> Runs:
    """Measure roads in turn, so often; what has none is said in `found`."""
    figures: Runs = {road: [] for road in roads}
    for _ in range(runs):
        for road in list(figures):
            print(f"{label}, {road}", file=sys.stderr, flush=True)
            try:
                figures[road].append(roads[road]())
            except SkippedError as error:
                found.skipped.append(f"{road}: {error}")
                del figures[road]
            except FailedError as error:
                found.failures.append(f"{label}, {road}: {error}")
                del figures[road]
    return figures
