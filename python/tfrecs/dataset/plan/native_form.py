"""What the native side can make of a step by itself, as data: `run/start.py` begins it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from tfrecs.dataset.collate.pad import Padding
from tfrecs.dataset.plan.order import RecordOrder
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved
from tfrecs.errors import SpecError
from tfrecs.expressions import Expression, RecordColumns


@dataclass(frozen=True)
class Choice:
    """Records of an order for which conditions hold.

    Attributes:
        order: The records to choose from.
        conditions: What must hold.
    """

    order: RecordOrder
    conditions: tuple[Expression, ...] = ()

    def where(self, condition: Expression) -> Choice:
        """Return those of them for which another condition holds too.

        Raises:
            SpecError: It makes no sense for records of these features.
        """
        more = replace(self, conditions=(*self.conditions, condition))
        condition.mask(more.columns().empty())
        return more

    def columns(self, *others: Expression | None) -> RecordColumns:
        """Return the columns that the conditions need, and other expressions.

        Raises:
            SpecError: Nobody says what the type of one is.
        """
        needed = [*self.conditions, *(one for one in others if one is not None)]
        keys = [key for expression in needed for key in expression.columns()]
        return RecordColumns(keys, self.order.files.spec.of_examples)


@dataclass(frozen=True)
class Grouped:
    """Batches of `size` records.

    Attributes:
        choice: The records.
        size: How many make a batch.
        drop_remainder: Whether a last batch of fewer is left out.
        padding: How parsed columns are padded; None: as the features say.
    """

    choice: Choice
    size: int
    drop_remainder: bool
    padding: Padding | None = None

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """What must hold for the records."""
        return self.choice.conditions


@dataclass(frozen=True)
class FilteredBatches:
    """Batches of records in order, without the rows for which the conditions of `choice` fail."""

    choice: Choice
    size: int
    drop_remainder: bool


@dataclass(frozen=True)
class Division:
    """How elements are divided by their lengths.

    Attributes:
        boundaries: Where one bucket ends and the next begins.
        sizes: How many elements make a batch, for each bucket.
        padding: How they are made equally long.
        drop_remainder: Whether what is left in the end is left out.
        to_boundary: Whether all is padded as far as its bucket reaches.
        fixed: The features that have a shape of their own, whatever the bucket.
    """

    boundaries: tuple[int, ...]
    sizes: tuple[int, ...]
    padding: Padding
    drop_remainder: bool
    to_boundary: bool
    fixed: frozenset[str] = frozenset()

    def padding_of(self, bucket: int) -> Padding:
        """Return how the elements of a bucket are padded.

        Raises:
            SpecError: To a boundary, and there is none.
        """
        if not self.to_boundary:
            return self.padding
        if bucket >= len(self.boundaries):
            raise SpecError(
                f"an element has a length of {self.boundaries[-1] if self.boundaries else 0} or "
                "more, and pad_to_bucket_boundary needs a boundary after it"
            )
        return replace(self.padding, length=self.boundaries[bucket] - 1, fixed=self.fixed)


@dataclass(frozen=True)
class Divided:
    """Padded batches of records whose `length` lies between the same boundaries."""

    choice: Choice
    length: Expression
    division: Division


class BatchReader(Protocol):
    """Reads batches of records that have no order known in advance."""

    @property
    def spec(self) -> Spec | None:
        """What it parses of them; None where its batches are of another kind."""

    def begin_batches(
        self, size: int, drop_remainder: bool, run: Run, saved: Saved | None
    ) -> Stage:
        """Start reading batches."""


@dataclass(frozen=True)
class ReadBatches:
    """Batches of `size` records as a source reads them by itself."""

    reader: BatchReader
    size: int
    drop_remainder: bool

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Start reading."""
        return self.reader.begin_batches(self.size, self.drop_remainder, run, saved)


NativeForm: TypeAlias = Choice | Grouped | FilteredBatches | Divided | ReadBatches
