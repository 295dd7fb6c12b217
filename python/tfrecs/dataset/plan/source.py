"""Where the elements of a plan come from."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any

from tfrecs import _core
from tfrecs._internal.cached_property import cached_property
from tfrecs._internal.wording import counted
from tfrecs.dataset.plan.identity import Samples, check_sampled, sampled_state, short_digest
from tfrecs.dataset.plan.losses import Losses
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import StateError
from tfrecs.storage.paths import size_of


class Root(Node, traits=None):
    """A step without a source."""

    sources = ()
    # What errors call what a state is of.
    things = "files"
    # What the pass that began last has skipped: nothing, unless a source knows how to.
    losses: Losses = Losses()

    # Whether a bar shows how far passes are.
    progress: bool = False

    @property
    def skips(self) -> bool:
        """Whether damage is skipped."""
        return False

    @property
    def is_counted(self) -> bool:
        """Whether it is known how many elements there are, or found out in no time."""
        return True

    @property
    def parses(self) -> bool:
        """Whether its elements are parsed, and no records."""
        return False

    @abstractmethod
    def identity(self) -> str:
        """Return what a state depends on, beside the content."""

    @abstractmethod
    def content(self) -> tuple[int, int, Any]:
        """Return how many things and bytes there are, and what distinguishes them from others."""

    @cached_property
    def fingerprint(self) -> State:
        """Return what identifies the content on any machine: names and sizes."""
        count, size, what = self.content()
        return {"count": count, "bytes": size, "digest": short_digest(what)}

    def samples(self) -> Samples | None:
        """Return the samples that distinguish files of equal names and sizes, if any."""
        return None

    def saved(self) -> State:
        """Return what a state knows the content by."""
        return {**self.fingerprint, "sampled": sampled_state(self.samples())}

    def check(self, saved: Saved) -> None:
        """Refuse a state of other content.

        Raises:
            StateError: It is one.
        """
        ours, things = self.fingerprint, self.things
        count, size = saved.integer("count"), saved.integer("bytes")
        if (count, size) != (ours["count"], ours["bytes"]):
            raise StateError(
                f"the state is of other {things}: of {count} with {counted(size, 'byte')} "
                f"together, and these are {ours['count']} with {counted(ours['bytes'], 'byte')}"
            )
        if saved.string("digest") != ours["digest"]:
            what = "names, sizes or order" if things == "files" else "contents or order"
            raise StateError(
                f"the state is of other {things}, as many and as large together: their {what} "
                "differ"
            )
        samples = self.samples()
        if samples is not None:
            check_sampled(samples, saved.optional_child("sampled"), count)


class RecordRoot(Root, traits=None):
    """Records that can be parsed where they are read."""

    spec: Spec

    @property
    def parses(self) -> bool:
        """Whether features are parsed."""
        return self.spec.parses

    @property
    def gives_records(self) -> bool:
        """Whether its elements are records."""
        return not self.spec.parses

    @property
    @abstractmethod
    def records(self) -> Any:
        """The records, any of them at once."""

    @abstractmethod
    def batching(
        self, size: int, drop_remainder: bool, most_bytes: int | None = None
    ) -> _core.Batching:
        """Return how batches of `size` records, or of fewer with `most_bytes`, are made."""

    def gather(
        self,
        order: _core.Order,
        epoch: int,
        size: int,
        drop_remainder: bool,
        first_batch: int,
        output: _core.Output,
    ) -> Any:
        """Begin to read batches of records in any order, with batch number `first_batch`."""
        batching = self.batching(size, drop_remainder)
        return _core.Gather(self.records, order, epoch % 2**64, first_batch, batching, output)

    @abstractmethod
    def parsing(self, spec: Spec) -> Node:
        """Return the same records, of which this is parsed."""


def roots_of(node: Node) -> list[Root]:
    """Return the sources of a plan."""
    if isinstance(node, Root):
        return [node]
    return [root for source in node.sources for root in roots_of(source)]


def content_of(paths: tuple[str, ...]) -> tuple[int, int, Any]:
    """Return what distinguishes files from others: how many, how large, their names and sizes."""
    sizes = [(os.path.basename(path), size_of(path)) for path in paths]  # noqa: PTH119
    return len(sizes), sum(size for _, size in sizes), sizes
