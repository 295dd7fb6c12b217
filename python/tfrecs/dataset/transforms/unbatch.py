"""unbatch(): the elements of batches one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.plan.node import Step
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.plan.state import MOST, Saved, State
from tfrecs.dataset.run.stage import Behind, Run, Stage
from tfrecs.errors import SpecError
from tfrecs.tensors import SparseTensor


@dataclass(frozen=True, eq=False)
class Unbatch(Step):
    """The rows of the source's elements."""

    def describe(self) -> str:
        """Return the call."""
        return "  .unbatch()"

    has_batches = False

    def length(self) -> Length:
        """Return None: nobody knows how large the batches are."""
        return 0 if self.source.length() == 0 else None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first row, or the one that a state says."""
        return _Unbatch(self, run, saved)


class _Unbatch(Behind):
    """Its state is where the source was before the batch, and how many of its rows were given."""

    def __init__(self, node: Unbatch, run: Run, saved: Saved | None) -> None:
        self._row, inner = 0, None
        if saved is not None:
            self._row = saved.only(["row", "source"]).integer("row", most=MOST)
            inner = saved.child("source")
        super().__init__(node.source.start(run, inner))
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


def rows_of(batch: Any) -> int:
    """Return how many rows a batch has.

    Raises:
        SpecError: It has none, for example because it is a number, or its parts have not equally
            many.
    """
    if isinstance(batch, Mapping):
        return int(batch.num_rows) if hasattr(batch, "num_rows") else _rows(batch.values())
    if isinstance(batch, tuple):
        return _rows(batch)
    if isinstance(batch, SparseTensor):
        return int(batch.dense_shape[0])
    try:
        return len(batch)
    except TypeError as error:
        raise SpecError(f"unbatch() needs batches, not {type(batch).__name__}") from error


def _rows(parts: Iterable[Any]) -> int:
    # An empty mapping, and None in place of a column, have as many rows as their neighbours.
    counted = [part for part in parts if not _has_no_rows(part)]
    counts = {rows_of(part) for part in counted}
    if len(counts) > 1:
        raise SpecError(f"unbatch() needs parts of equally many rows, not {sorted(counts)}")
    return max(counts, default=0)


def _has_no_rows(part: Any) -> bool:
    return part is None or (isinstance(part, Mapping) and not part)


def row_of(batch: Any, row: int) -> Any:
    """Return a row of a batch; of a SparseTensor, the SparseTensor of that row."""
    if isinstance(batch, Mapping):
        return {name: row_of(column, row) for name, column in batch.items()}
    if isinstance(batch, tuple):
        return tuple([row_of(column, row) for column in batch])
    if isinstance(batch, SparseTensor):
        return sparse_row(batch, row)
    return None if batch is None else batch[row]


def sparse_row(batch: SparseTensor, row: int) -> SparseTensor:
    """Return a row of a SparseTensor, with one dimension less.

    Raises:
        SpecError: It has one dimension only.
    """
    if len(batch.dense_shape) < 2:  # noqa: PLR2004 - rows, and what is in them
        raise SpecError("unbatch() needs a SparseTensor of two dimensions or more")
    mine = batch.indices[:, 0] == row
    return SparseTensor(batch.indices[mine, 1:], batch.values[mine], batch.dense_shape[1:])
