"""Bars that show how far a pass is: tqdm's where it is installed, else a line of text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any, Protocol, TextIO

from tfrecs._internal.optional import integration
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.source import Root
from tfrecs.dataset.stages.stage import Run
from tfrecs.errors import Error

# The line is written anew after that many seconds.
PERIOD = 0.5


class Bar(Protocol):
    """What shows how many elements there were."""

    def step(self) -> None:
        """Show one more."""

    def close(self) -> None:
        """Show no more; it may be called twice."""


class Rates:
    """How fast a pass reads, as text."""

    def __init__(self, run: Run, sources: Sequence[Root]) -> None:
        """Measure from now on."""
        self._run, self._sources = run, sources
        self._begun = monotonic()

    def __str__(self) -> str:
        """Say it for all files together."""
        read = [self._run.meters.read(files)[1] for files in self._sources]
        seconds = max(monotonic() - self._begun, 1e-9)
        records = sum(one.records for one in read) / seconds
        nbytes = sum(one.nbytes for one in read) / seconds
        return f"{records:,.0f} records/s, {nbytes / 1e6:,.1f} MB/s"


class Line:
    """A line of text on a terminal, which is written over and over."""

    def __init__(self, name: str, total: int | None, rates: object, file: TextIO) -> None:
        """Begin with none of `total` elements."""
        self._name, self._rates, self._file = name, rates, file
        self._total = "" if total is None else f" of {total:,}"
        self._count, self._width = 0, 0
        self._next = monotonic() + PERIOD

    def step(self) -> None:
        """Count one more, and show how many there were if it is time to."""
        self._count += 1
        now = monotonic()
        if now >= self._next:
            self._next = now + PERIOD
            self._show()

    def _show(self) -> None:
        text = f"{self._name}: {self._count:,}{self._total}, {self._rates}"
        self._file.write(f"\r{text:<{self._width}}")
        self._file.flush()
        self._width = len(text)

    def close(self) -> None:
        """Leave the line with what there was in the end."""
        if self._width:
            self._show()
            self._file.write("\n")
            self._file.flush()
        self._width, self._next = 0, float("inf")

    def __del__(self) -> None:
        """Close it for whoever stops without a word."""
        self.close()


def bar_of(node: Node, run: Run, sources: Sequence[Root]) -> Bar | None:
    """Return a bar for a pass, if one of its sources asks for it.

    Of processes that share a pass the first one shows it.
    """
    if not any(files.progress for files in sources) or (run.stripe and run.stripe[1]):
        return None
    name, total, rates = f"epoch {run.epoch}", _total(node, run, sources), Rates(run, sources)
    try:
        leaf: Any = integration("tqdm")
    except ModuleNotFoundError:
        return Line(name, total, rates, sys.stderr) if sys.stderr.isatty() else None
    bar: Bar = leaf.TqdmBar(name, total, rates, sys.stderr)
    return bar


def _total(node: Node, run: Run, sources: Sequence[Root]) -> int | None:
    """Return how many elements come, if that is known or found out in no time."""
    try:
        length = node.length() if all(files.is_counted for files in sources) else None
    except Error:  # the pass will say it where it is
        return None
    if not isinstance(length, int):
        return None
    return length if run.stripe is None else -(-length // run.stripe[0])
