"""filter() by a condition on columns, which is worked out for many rows at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfrecs.dataset.collate.rows import columns_of, row_table, rows_at, rows_of
from tfrecs.dataset.plan.native_form import Choice, FilteredBatches, Grouped, NativeForm
from tfrecs.dataset.plan.node import Node, Step, Traits
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import Saved
from tfrecs.dataset.transforms.with_keys import with_keys
from tfrecs.expressions import BatchTable, Expression


@dataclass(frozen=True, eq=False)
class Where(
    Step,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """The elements of the source for which a condition holds; of batches, their rows."""

    condition: Expression

    @classmethod
    def of(cls, source: Node, condition: Expression) -> Where:
        """Return the step, if the condition makes sense.

        Raises:
            SpecError: It makes none.
        """
        made = cls(source, condition)
        made.native_form()
        return made

    def describe(self) -> str:
        """Return the call."""
        return f"  .filter({self.condition!r})"

    def length(self) -> Length:
        """Return None: it is unknown."""
        return 0 if self.source.length() == 0 else None

    def choice(self) -> Choice | None:
        """Return the records that also satisfy this condition."""
        choice = self.source.choice()
        return None if choice is None else choice.where(self.condition)

    def with_keys(self) -> Node | None:
        """Return the same records, each with its key."""
        source = with_keys(self.source)
        return None if source is None else replace(self, source=source)

    def native_form(self) -> NativeForm | None:
        """Return the chosen records, or batches of records without the rows that are not chosen."""
        below = self.source.native_form()
        if isinstance(below, Grouped) and not below.conditions and below.padding is None:
            return FilteredBatches(
                below.choice.where(self.condition), below.size, below.drop_remainder
            )
        return self.choice()

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        return _Where(self, start(self.source, run.whole(), saved))


class _Where(ChainedStage):
    """What is not read as records: batches, and what Python functions made."""

    def __init__(self, node: Where, source: Stage) -> None:
        self._condition = node.condition
        self._of_batches = node.source.gives_batches
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
