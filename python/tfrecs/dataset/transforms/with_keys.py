"""with_keys(): which record of which file each element is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tfrecs.dataset.plan.node import Node, Step, Traits
from tfrecs.dataset.plan.order import RecordOrder


@dataclass(frozen=True, eq=False)
class WithKeys(
    Step,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """Pairs of a key and a record; what is after it and native gives keys beside its batches."""

    def describe(self) -> str:
        """Return the call."""
        return "  .with_keys()"

    def order(self) -> RecordOrder | None:
        """Return the same records; with_keys() has seen to it that the source has an order."""
        order = self.source.order()
        return None if order is None else replace(order, keyed=True)


def with_keys(node: Node) -> Node | None:
    """Return the elements of a step, each with its key; None if they have none."""
    order = node.order()
    if order is not None:
        return node if order.keyed else WithKeys(node)
    return node.with_keys()
