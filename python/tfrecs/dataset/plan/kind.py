"""What the elements of a plan are, as far as the plan alone says: for the libraries they go to."""

from __future__ import annotations

from dataclasses import dataclass

from tfrecs.dataset.plan.native_form import Choice, Grouped, ReadBatches
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.source import RecordRoot
from tfrecs.dataset.plan.spec import Spec


@dataclass(frozen=True)
class Parsed:
    """Elements that are parsed of records, and nothing else.

    Attributes:
        spec: What is parsed.
        keyed: Whether each comes with its key.
        in_batches: Whether they are batches.
        rows: How many records each of these is made of, if that is known.
    """

    spec: Spec
    keyed: bool
    in_batches: bool
    rows: int | None = None


def parsed_of(node: Node) -> Parsed | None:
    """Return what is parsed of records, if the elements are no more than that."""
    while node.traits.keeps_kind and node.order() is None:
        (node,) = node.sources
    form = node.native_form()
    if isinstance(form, Choice) and not form.conditions:
        return Parsed(form.order.files.spec, form.order.keyed, False)
    if isinstance(form, Grouped) and not form.conditions and form.padding is None:
        order, rows = form.choice.order, form.size if form.drop_remainder else None
        return Parsed(order.files.spec, order.keyed, True, rows)
    if isinstance(form, ReadBatches) and form.reader.spec is not None:
        return Parsed(form.reader.spec, False, True, form.size if form.drop_remainder else None)
    reader = node.batch_reader()
    if reader is not None and reader.spec is not None:
        return Parsed(reader.spec, False, False)
    return None


def parsed_where_read(node: Node, spec: Spec) -> Node | None:
    """Return the plan of the same records, parsed where they are read, if they can be."""
    if isinstance(node, RecordRoot):
        return None if node.parses or node.order() is None else node.parsing(spec)
    only_groups = node.traits.gives_batches and not node.traits.pads
    if len(node.sources) != 1 or not (node.traits.keeps_kind or only_groups):
        return None
    below = parsed_where_read(node.sources[0], spec)
    return None if below is None else node.over(below)
