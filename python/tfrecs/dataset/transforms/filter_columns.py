"""filter() by a condition on columns, which is worked out for many rows at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfrecs.dataset.native.filtered import Choice, ChosenElements, ChosenRows
from tfrecs.dataset.plan.node import Node, Step
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.plan.state import Saved
from tfrecs.dataset.run.stage import Behind, Run, Stage
from tfrecs.dataset.transforms.batch import Batch
from tfrecs.dataset.transforms.rows import columns_of, row_table, rows_at
from tfrecs.dataset.transforms.unbatch import rows_of
from tfrecs.dataset.transforms.with_keys import with_keys
from tfrecs.expressions import BatchTable, Expression


@dataclass(frozen=True, eq=False)
class Where(Step):
    """The elements of the source for which a condition holds; of batches, their rows."""

    condition: Expression

    @classmethod
    def of(cls, source: Node, condition: Expression) -> Where:
        """Return the step, if the condition makes sense.

        Raises:
            SpecError: It makes none.
        """
        made = cls(source, condition)
        made.choice()
        made.rows()
        return made

    def describe(self) -> str:
        """Return the call."""
        return f"  .filter({self.condition!r})"

    def length(self) -> Length:
        """Return None: nobody knows."""
        return 0 if self.source.length() == 0 else None

    def choice(self) -> Choice | None:
        """Return the records of which so many more are left out."""
        choice = self.source.choice()
        return None if choice is None else choice.where(self.condition)

    def with_keys(self) -> Node | None:
        """Return the same records, each with its key."""
        source = with_keys(self.source)
        return None if source is None else replace(self, source=source)

    def rows(self) -> Choice | None:
        """Return the records to choose from in each batch, if the source makes batches of those."""
        if not isinstance(self.source, Batch):
            return None
        choice = self.source.source.choice()
        return None if choice is None or choice.conditions else choice.where(self.condition)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        choice = self.choice()
        if choice is not None:
            return ChosenElements(choice, run.whole(), saved)
        rows = self.rows()
        if rows is not None and isinstance(self.source, Batch):
            return ChosenRows(rows, self.source.size, self.source.drop_remainder, run, saved)
        return _Where(self, self.source.start(run.whole(), saved))


class _Where(Behind):
    """What is not read as records: batches, and what Python functions made."""

    def __init__(self, node: Where, source: Stage) -> None:
        self._condition = node.condition
        self._of_batches = node.source.has_batches
        self._where = node.describe().strip()
        super().__init__(source)

    def __next__(self) -> Any:
        for element in self._source:
            kept = self._rows(element) if self._of_batches else self._one(element)
            if kept is not None:
                return kept
        raise StopIteration

    def _rows(self, batch: Any) -> Any:
        """Return the rows to keep of a batch; None if there are none."""
        columns = columns_of(batch, self._where)
        mask = self._condition.mask(BatchTable(columns, rows_of(columns)))
        if mask.all():
            return batch if len(mask) else None
        return rows_at(batch, np.flatnonzero(mask)) if mask.any() else None

    def _one(self, element: Any) -> Any:
        """Return an element, if it is to be kept."""
        return element if self._condition.mask(row_table(element, self._where))[0] else None
