"""unbatch(): the elements of batches one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.collate.rows import row_of, rows_of
from tfrecs.dataset.plan.node import Step, Traits
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import MOST, Saved, State


@dataclass(frozen=True, eq=False)
class Unbatch(
    Step,
    traits=Traits(keeps_kind=False, gives_batches=False, pads=False, divisible=False),
):
    """The rows of the source's elements."""

    def describe(self) -> str:
        """Return the call."""
        return "  .unbatch()"

    def length(self) -> Length:
        """Return None: it is unknown how large the batches are."""
        return 0 if self.source.length() == 0 else None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first row, or the one that a state says."""
        return _Unbatch(self, run, saved)


class _Unbatch(ChainedStage):
    """Its state is where the source was before the batch, and how many of its rows were given."""

    def __init__(self, node: Unbatch, run: Run, saved: Saved | None) -> None:
        self._row, inner = 0, None
        if saved is not None:
            self._row = saved.only(["row", "source"]).integer("row", most=MOST)
            inner = saved.child("source")
        super().__init__(start(node.source, run, inner))
        self._before = self._source.state()
        self._batch: Any = None
        self._rows = 0
        if self._row:
            self._open(next(self._source, None))

    def _open(self, batch: Any) -> None:
        self._batch, self._rows = batch, 0 if batch is None else rows_of(batch)

    def __next__(self) -> Any:
        while self._row >= self._rows:
            self._before = self._source.state()
            batch = next(self._source)
            self._row = 0
            self._open(batch)
        self._row += 1
        return row_of(self._batch, self._row - 1)

    def state(self) -> State:
        """Return where the source was before the batch, and which row comes next."""
        if self._row >= self._rows:
            return {"source": self._source.state(), "row": 0}
        return {"source": self._before, "row": self._row}
