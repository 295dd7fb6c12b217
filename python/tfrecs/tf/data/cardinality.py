"""How many elements a dataset has, as far as TensorFlow says so.

A plan of tfrecs may know more: it counts the records of files by an index, and knows that a filter
of nothing gives nothing. Here `Dataset.cardinality()` is the same number as there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tfrecs._internal.wording import counted
from tfrecs.dataset.plan.node import SOURCE, Node, Step
from tfrecs.dataset.plan.order import ENDLESS, Length
from tfrecs.dataset.sources.files import Files
from tfrecs.dataset.sources.text import Foreign
from tfrecs.dataset.transforms.batch import Batch
from tfrecs.dataset.transforms.bucket import Bucket
from tfrecs.dataset.transforms.interleave import Interleave
from tfrecs.dataset.transforms.map import Filter
from tfrecs.dataset.transforms.mix import Mix
from tfrecs.dataset.transforms.multi_source import Several
from tfrecs.dataset.transforms.repeat import Repeat
from tfrecs.dataset.transforms.take import Skip
from tfrecs.dataset.transforms.unbatch import Unbatch
from tfrecs.tf.data.steps import AllSkipped

INFINITE, UNKNOWN = -1, -2


def cardinality_of(node: Node) -> int:
    """Return how many elements a plan gives: -1 without end, -2 if it must be run to know."""
    length = _length(node)
    if length is None:
        return UNKNOWN
    return INFINITE if length == ENDLESS else int(length)


def _length(node: Node) -> Length:
    if isinstance(node, Files) or (isinstance(node, Foreign) and node.format.kind != "whole"):
        return None
    lengths = [_length(source) for source in node.sources]
    if type(node) in _RULES:
        return _RULES[type(node)](node, *lengths)
    if isinstance(node, Several):
        return replace(node, parts=tuple(map(_Known, lengths))).length()
    if isinstance(node, Step):
        return _by_itself(node, lengths[0])
    return node.length()


@dataclass(frozen=True, eq=False)
class _Known(Node, traits=SOURCE):
    """Stands for a step of which only the length is asked for."""

    known: Length

    @property
    def sources(self) -> tuple[Node, ...]:
        """Return none."""
        return ()

    def describe(self) -> str:
        """Return the length."""
        return counted(self.known, "element")

    def length(self) -> Length:
        """Return the length."""
        return self.known


def _unknown(node: Node, length: Length) -> Length:
    return None


def _endless_or_unknown(node: Node, *lengths: Length) -> Length:
    return ENDLESS if ENDLESS in lengths else None


def _unbatched(node: Any, length: Length) -> Length:
    """Return the rows of batches that all have one size, which is known of no others."""
    source = node.source
    if isinstance(source, Batch) and source.drop_remainder and length is not None:
        size: int = source.size
        return length * size if length else 0
    return _endless_or_unknown(node, length)


def _repeated(node: Any, length: Length) -> Length:
    if node.count is None and length != 0:
        return ENDLESS
    return _by_itself(node, length)


def _skipped(node: Any, length: Length) -> Length:
    return ENDLESS if length == ENDLESS else _by_itself(node, length)


def _by_itself(node: Step, length: Length) -> Length:
    """Return how many elements a step says that it makes of that many."""
    return replace(node, source=_Known(length)).length()


_RULES: dict[type[Node], Callable[..., Length]] = {
    Filter: _unknown,
    Interleave: _unknown,
    Mix: _endless_or_unknown,
    Bucket: _endless_or_unknown,
    Unbatch: _unbatched,
    Repeat: _repeated,
    Skip: _skipped,
    AllSkipped: _skipped,
}
