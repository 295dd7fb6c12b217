"""Datasets of Hugging Face as sources of plans: rows, or batches."""

from __future__ import annotations

import copy
import json
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import datasets

from tfrecs._internal.wording import counted
from tfrecs.dataset.collate.rows import row_of
from tfrecs.dataset.plan.node import SOURCE, Node
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import StateError
from tfrecs.integrations.huggingface.columns import columns_of

# How many rows are taken at once where they are wanted one by one.
AHEAD = 256


@dataclass(frozen=True, eq=False)
class Rows(Node, traits=None):
    """The rows of a dataset, one by one or `size` of them at a time."""

    dataset: Any
    size: int | None

    sources = ()

    def describe(self) -> str:
        """Return what is read; where it came from makes no difference."""
        names = ", ".join(self.dataset.column_names or ["?"])
        size = "" if self.size is None else f", batch_size={self.size}"
        return f"Dataset.from_hf({self.many()} of {names}{size})"

    @property
    def gives_batches(self) -> bool:
        """Whether rows come some at a time."""
        return self.size is not None

    @abstractmethod
    def many(self) -> str:
        """Return how many rows there are, in words."""


class Stored(Rows, traits=SOURCE):
    """The rows of a datasets.Dataset, any of which can be read at once."""

    def many(self) -> str:
        """Return how many rows there are, in words."""
        return counted(len(self.dataset), "row")

    def length(self) -> Length:
        """Return how many elements there are."""
        return len(self.dataset) if self.size is None else -(-len(self.dataset) // self.size)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first row, or the one that a state says."""
        del run
        at = 0 if saved is None else saved.only(["at"]).integer("at", most=len(self.dataset))
        return _Stored(self, at)


class _Stored(Stage):
    def __init__(self, node: Stored, at: int) -> None:
        self._table = node.dataset.with_format("arrow")
        self._features = node.dataset.features
        self._rows, self._size = len(node.dataset), node.size
        self._at = at
        self._ready: Iterator[Any] = iter(())

    def __next__(self) -> Any:
        """Return the next row, or the next rows."""
        if self._at >= self._rows:
            raise StopIteration
        if self._size is not None:
            batch = self._read(self._size)
            self._at = min(self._at + self._size, self._rows)
            return batch
        row = next(self._ready, None)
        if row is None:
            self._ready = rows_in(self._read(AHEAD), min(AHEAD, self._rows - self._at))
            row = next(self._ready)
        self._at += 1
        return row

    def _read(self, count: int) -> Any:
        table = self._table[self._at : min(self._at + count, self._rows)]
        return columns_of(table, self._features)

    def skip(self, n: int) -> None:
        """Continue after the next ones, without reading them."""
        self._at = min(self._at + n * (self._size or 1), self._rows)
        self._ready = iter(())

    def state(self) -> State:
        """Return how many rows there were."""
        return {"at": self._at}


class Streamed(Rows, traits=SOURCE):
    """The rows of a datasets.IterableDataset, in the order in which they come."""

    def many(self) -> str:
        """Return how many rows there are, in words."""
        return "rows"

    def length(self) -> Length:
        """Return None: it is unknown."""
        return None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first row, or the one that a state says."""
        return _Streamed(self, run, saved)


class _Streamed(Stage):
    """Its state is the dataset's before the rows that were taken, and how many were given."""

    def __init__(self, node: Streamed, run: Run, saved: Saved | None) -> None:
        # The state of such a dataset is its own, not that of an iterator over it.
        self._dataset = copy.deepcopy(node.dataset).with_format("arrow")
        self._dataset.set_epoch(run.epoch)
        self._features, self._size = node.dataset.features, node.size
        self._row, left = 0, 0
        if saved is not None:
            text = saved.only(["at", "row"]).string("at")
            left = saved.integer("row", most=AHEAD)
            self._load(text)
        self._tables = self._dataset.iter(self._size or AHEAD)
        self._before = self._state()
        self._ready: Iterator[Any] = iter(())
        for _ in range(left):
            next(self, None)

    def _load(self, text: str) -> None:
        try:
            state, ours = json.loads(text), self._dataset.state_dict()
            # One of another epoch, or none at all, it would begin anew with.
            fits = state.keys() == ours.keys() and state["epoch"] == ours["epoch"]
            self._dataset.load_state_dict(state)
            # It is looked at now, and not when the first row is asked for.
            self._dataset._prepare_ex_iterable_for_iteration()  # noqa: SLF001 - nothing else does
        except Exception as error:
            raise StateError(f"datasets does not take its part of the state: {error}") from error
        if not fits:
            raise StateError("datasets' part of the state is none, or of another epoch")

    def _state(self) -> str:
        return json.dumps(self._dataset.state_dict())

    def __next__(self) -> Any:
        """Return the next row, or the next rows."""
        if self._size is not None:
            return self._read()[0]
        row = next(self._ready, None)
        while row is None:
            self._before, self._row = self._state(), 0
            batch, count = self._read()
            self._ready = rows_in(batch, count)
            row = next(self._ready, None)
        self._row += 1
        return row

    def _read(self) -> tuple[Any, int]:
        table = next(self._tables)
        return columns_of(table, self._features), table.num_rows

    def state(self) -> State:
        """Return where the dataset was before the rows that were taken, and which comes next."""
        if self._size is not None:
            return {"at": self._state(), "row": 0}
        return {"at": self._before, "row": self._row}

    def close(self) -> None:
        """Let go of what it reads."""
        self._tables.close()


def rows_of(dataset: Any, size: int | None) -> Rows:
    """Return the node of a dataset."""
    return (Stored if isinstance(dataset, datasets.Dataset) else Streamed)(dataset, size)


def rows_in(batch: Any, count: int) -> Iterator[Any]:
    """Yield the rows of a batch."""
    return (row_of(batch, row) for row in range(count))
