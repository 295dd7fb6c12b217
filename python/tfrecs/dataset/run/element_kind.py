"""What the elements of a plan are, as far as the plan alone tells: for the libraries they go to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.order import RecordOrder
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.sources.files import Files
from tfrecs.dataset.sources.memory import Pool
from tfrecs.dataset.transforms.batch import Batch
from tfrecs.dataset.transforms.bucket import Bucket
from tfrecs.dataset.transforms.cache import Cache
from tfrecs.dataset.transforms.padded_batch import PaddedBatch
from tfrecs.dataset.transforms.prefetch import Prefetch
from tfrecs.dataset.transforms.repeat import Repeat
from tfrecs.dataset.transforms.shard import Shard
from tfrecs.dataset.transforms.shuffle import BufferShuffle, Shuffle
from tfrecs.dataset.transforms.take import Skip, Take
from tfrecs.dataset.transforms.unbatch import Unbatch

# Steps whose elements are of the same kind as their source's.
_ALIKE = (Cache, Prefetch, Repeat, Shard, Skip, Take)


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
    while isinstance(node, _ALIKE) and node.order() is None:
        node = node.source
    if not isinstance(node, Batch):
        return _single(node)
    one = _single(node.source)
    if one is None:
        return None
    return Parsed(one.spec, one.keyed, True, node.size if node.drop_remainder else None)


def _single(node: Node) -> Parsed | None:
    order = node.order()
    if isinstance(order, RecordOrder):
        return Parsed(order.files.spec, order.keyed, False)
    return Parsed(node.spec, False, False) if isinstance(node, Files) else None


# Steps behind which records are still records, one by one.
ALIKE = (BufferShuffle, Prefetch, Repeat, Shard, Shuffle, Skip, Take)


def parsed_where_read(node: Node, spec: Spec) -> Node | None:
    """Return the plan of the same records, parsed where they are read, if they can be."""
    if isinstance(node, Files | Pool):
        return None if node.parses or node.order() is None else replace(node, spec=spec)
    if not isinstance(node, (*ALIKE, Batch)):
        return None
    below = parsed_where_read(node.source, spec)
    return None if below is None else replace(node, source=below)


def in_batches(node: Node) -> bool:
    """Whether the elements are batches, or made of batches."""
    if isinstance(node, Batch | PaddedBatch | Bucket):
        return True
    return not isinstance(node, Unbatch) and any(map(in_batches, node.sources))


def pads(node: Node) -> bool:
    """Whether elements are made as long as others that are beside them by chance."""
    return isinstance(node, PaddedBatch | Bucket) or any(map(pads, node.sources))
