"""with_keys(): which record of which file each element is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tfrecs.dataset.gathered import Elements
from tfrecs.dataset.node import Node, Run, Stage
from tfrecs.dataset.order import Length, RecordOrder
from tfrecs.dataset.saved import Saved


@dataclass(frozen=True, eq=False)
class WithKeys(Node):
    """Pairs of a key and a record; what is behind it and native gives keys beside its batches."""

    source: Node

    @property
    def sources(self) -> tuple[Node, ...]:
        """The records."""
        return (self.source,)

    def describe(self) -> str:
        """Return the call."""
        return "  .with_keys()"

    def length(self) -> Length:
        """Return how many there are."""
        return self.source.length()

    def order(self) -> RecordOrder | None:
        """Return the same records; with_keys() has seen to it that the source has an order."""
        order = self.source.order()
        return None if order is None else replace(order, keyed=True)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin at the first one."""
        order = self.order()
        assert order is not None
        return Elements(order, run, saved)
