"""batch(): elements side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol

from tfrecs.dataset.native.batches import Batches
from tfrecs.dataset.plan.node import Node, Step
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.plan.state import Saved
from tfrecs.dataset.run.stage import Behind, Run, Stage
from tfrecs.dataset.transforms.collate import collate
from tfrecs.dataset.transforms.fill import Fill


@dataclass(frozen=True, eq=False)
class Batch(Step):
    """Batches of `size` elements."""

    size: int
    drop_remainder: bool
    fill: Fill | None = None

    def describe(self) -> str:
        """Return the call."""
        rest = ", drop_remainder=True" if self.drop_remainder else ""
        rest += "" if self.fill is None else self.fill.describe()
        return f"  .batch({self.size}{rest})"

    has_batches = True

    def length(self) -> Length:
        """Return how many batches there are."""
        return batches(self.source.length(), self.size, self.drop_remainder)

    def native(self, run: Run, saved: Saved | None) -> Stage | None:
        """Begin; whoever wants some of the batches of records reads no others."""
        order = self.source.order()
        if order is None:
            return None
        return Batches(order, self.size, self.drop_remainder, run, saved)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with elements that no native code makes batches of."""
        batched = self.source.batched(self.size, self.drop_remainder, run, saved)
        if batched is not None:
            return batched
        make = partial(collate, fill=self.fill)
        return Groups(self.source, self.size, self.drop_remainder, make, run, saved)


def batches(length: Length, size: int, drop_remainder: bool) -> Length:
    """Return how many batches so many elements are."""
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


class Groups(Behind):
    """Takes a fixed number of elements at a time, and makes a batch of them; it holds none back."""

    def __init__(
        self,
        source: Node,
        size: int,
        drop_remainder: bool,
        make: Make,
        run: Run,
        saved: Saved | None,
    ) -> None:
        """Start `source`, and take `size` of its elements for each batch."""
        super().__init__(source.start(run, saved))
        self._size = size
        self._drop_remainder = drop_remainder
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
