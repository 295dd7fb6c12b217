"""batch(): elements side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from tfrecs.dataset.collate import collate
from tfrecs.dataset.files import Files
from tfrecs.dataset.gathered import Batches
from tfrecs.dataset.node import Node, Run, Stage
from tfrecs.dataset.order import Length
from tfrecs.dataset.saved import Saved, State
from tfrecs.dataset.skipping import Replayed


@dataclass(frozen=True, eq=False)
class Batch(Node):
    """Batches of `size` elements."""

    source: Node
    size: int
    drop_remainder: bool

    @property
    def sources(self) -> tuple[Node, ...]:
        """The elements."""
        return (self.source,)

    def describe(self) -> str:
        """Return the call."""
        rest = ", drop_remainder=True" if self.drop_remainder else ""
        return f"  .batch({self.size}{rest})"

    def length(self) -> Length:
        """Return how many batches there are."""
        return batches(self.source.length(), self.size, self.drop_remainder)

    def start(self, run: Run, saved: Saved | None) -> Stage:
        """Begin; whoever wants some of the batches of records reads no others."""
        order = self.source.order()
        if order is None:
            return super().start(run, saved)
        return Batches(order, self.size, self.drop_remainder, run, saved)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with elements that no native code makes batches of."""
        if isinstance(self.source, Files):
            scan = self.source.scan(self.size, self.drop_remainder)
            return Replayed(scan, self.source.spec.batch, saved, one_by_one=False)
        return _Batches(self, self.source.start(run, saved))


def batches(length: Length, size: int, drop_remainder: bool) -> Length:
    """Return how many batches so many elements are."""
    if not isinstance(length, int):
        return length
    return length // size if drop_remainder else -(-length // size)


class _Batches(Stage):
    """Batches of any elements. None is left over between two: the state is the source's."""

    def __init__(self, node: Batch, source: Stage) -> None:
        self._node = node
        self._source = source

    def __next__(self) -> Any:
        """Return the next batch."""
        elements = list(islice(self._source, self._node.size))
        short = len(elements) < self._node.size
        if not elements or (short and self._node.drop_remainder):
            raise StopIteration
        return collate(elements)

    def skip(self, n: int) -> None:
        """Leave out the elements of `n` batches."""
        self._source.skip(n * self._node.size)

    def state(self) -> State:
        """Return the source's."""
        return self._source.state()

    def close(self) -> None:
        """Close the source."""
        self._source.close()
