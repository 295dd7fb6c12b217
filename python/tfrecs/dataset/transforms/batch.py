"""batch(): elements side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol

from tfrecs.dataset.collate.collate import collate
from tfrecs.dataset.collate.fill import Fill
from tfrecs.dataset.plan.native_form import Grouped, NativeForm, ReadBatches
from tfrecs.dataset.plan.node import Node, Step, Traits
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import Saved


@dataclass(frozen=True, eq=False)
class FixedBatch(Step, traits=None):
    """Batches of `size` elements."""

    size: int
    drop_remainder: bool

    def length(self) -> Length:
        """Return how many batches there are."""
        return batches(self.source.length(), self.size, self.drop_remainder)


@dataclass(frozen=True, eq=False)
class Batch(
    FixedBatch,
    traits=Traits(keeps_kind=False, gives_batches=True, pads=False, divisible=False),
):
    """Batches of elements side by side."""

    fill: Fill | None = None

    def describe(self) -> str:
        """Return the call."""
        rest = ", drop_remainder=True" if self.drop_remainder else ""
        rest += "" if self.fill is None else self.fill.describe()
        return f"  .batch({self.size}{rest})"

    def native_form(self) -> NativeForm | None:
        """Return batches of records, where the source is an order of them or reads them itself."""
        choice = self.source.choice()
        if choice is not None:
            return Grouped(choice, self.size, self.drop_remainder)
        reader = self.source.batch_reader()
        return None if reader is None else ReadBatches(reader, self.size, self.drop_remainder)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with elements that no native code makes batches of."""
        return Groups(self, partial(collate, fill=self.fill), run, saved)


def batches(length: Length, size: int, drop_remainder: bool) -> Length:
    """Return how many batches `length` elements make."""
    if not isinstance(length, int):
        return length
    return length // size if drop_remainder else -(-length // size)


def check_fill(fill: Fill | None, source: Node) -> None:
    """Refuse a fill for keys that the features of the source do not have.

    Raises:
        SpecError: There is such a key, and the features are known.
    """
    choice = source.choice()
    features = None if choice is None else choice.order.files.spec.features
    if fill is not None and features is not None:
        fill.check(features)


class Make(Protocol):
    """Makes a batch of elements."""

    def __call__(self, elements: Sequence[Any], *, numbers: Sequence[int] | None) -> Any:
        """Return the batch; `numbers` are the places of its elements in the pass, if known."""


class Groups(ChainedStage):
    """Takes a fixed number of elements at a time, and makes a batch of them; it holds none back."""

    def __init__(self, node: FixedBatch, make: Make, run: Run, saved: Saved | None) -> None:
        """Start the source of `node`, and take `size` of its elements for each batch."""
        super().__init__(start(node.source, run, saved))
        self._size = node.size
        self._drop_remainder = node.drop_remainder
        self._make = make
        # How many elements the source has given; a state does not say how many came before it.
        self._taken = 0 if saved is None else None

    def __next__(self) -> Any:
        """Return the next batch."""
        elements = list(islice(self._source, self._size))
        numbers = self._count(len(elements))
        if not elements or (len(elements) < self._size and self._drop_remainder):
            raise StopIteration
        return self._make(elements, numbers=numbers)

    def _count(self, n: int) -> Sequence[int] | None:
        if self._taken is None:
            return None
        self._taken += n
        return range(self._taken - n, self._taken)

    def skip(self, n: int) -> None:
        """Leave out the elements of `n` batches."""
        self._source.skip(n * self._size)
        self._count(n * self._size)
