"""Bars that show how far a pass is: tqdm's, where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any, Protocol

from tfrecs._internal.optional import integration
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.source import Root
from tfrecs.dataset.stages.stage import Run
from tfrecs.errors import Error


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
        return None
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
