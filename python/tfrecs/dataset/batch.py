"""batch(): elements side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tfrecs.dataset.collate import collate
from tfrecs.dataset.gathered import Batches
from tfrecs.dataset.node import Step
from tfrecs.dataset.order import Length
from tfrecs.dataset.saved import Saved
from tfrecs.dataset.stage import Behind, Run, Stage


@dataclass(frozen=True, eq=False)
class Batch(Step):
    """Batches of `size` elements."""

    size: int
    drop_remainder: bool

    def describe(self) -> str:
        """Return the call."""
        rest = ", drop_remainder=True" if self.drop_remainder else ""
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
        source = self.source.start(run, saved)
        return Groups(source, self.size, self.drop_remainder, collate)


def batches(length: Length, size: int, drop_remainder: bool) -> Length:
    """Return how many batches so many elements are."""
    if not isinstance(length, int):
        return length
    return length // size if drop_remainder else -(-length // size)


class Groups(Behind):
    """So many elements at a time, and what is made of them; none is left over between two."""

    def __init__(
        self,
        source: Stage,
        size: int,
        drop_remainder: bool,
        make: Callable[[Sequence[Any]], Any],
    ) -> None:
        """Take `size` elements of `source` for each."""
        super().__init__(source)
        self._size = size
        self._drop_remainder = drop_remainder
        self._make = make

    def __next__(self) -> Any:
        """Return the next batch."""
        elements = list(islice(self._source, self._size))
        if not elements or (len(elements) < self._size and self._drop_remainder):
            raise StopIteration
        return self._make(elements)

    def skip(self, n: int) -> None:
        """Leave out the elements of `n` batches."""
        self._source.skip(n * self._size)
