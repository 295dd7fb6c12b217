"""Records of files in any order that can be computed: what the native side reads by itself."""

from __future__ import annotations

import math
from collections.abc import Sized
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from tfrecs import _core
from tfrecs.dataset.plan.order_steps import OrderStep, ShardRecords, ShuffleRecords
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import StateError

Length: TypeAlias = int | float | None
"""How many elements there are: math.inf, or None if it is unknown before they are read."""

ENDLESS = math.inf


def share(nbytes: int, most: int, total: int, count: int) -> int:
    """Return how many of `count` records of `total` bytes have about `nbytes`, `most` at most."""
    each = max(total // max(count, 1), 1)
    return max(min(nbytes // each, most), 1)


class OrderedSource(Protocol):
    """Files, and how they are read."""

    @property
    def spec(self) -> Spec:
        """What to parse of them."""

    @property
    def records(self) -> Sized:
        """The records, any of them at once."""

    @property
    def inflated(self) -> int | None:
        """How many bytes the records have, if they are compressed; None: any is read by itself."""

    def scan(
        self, size: int, drop_remainder: bool, output: _core.Output, most_bytes: int | None = None
    ) -> Any:
        """Begin to read batches from the beginning, without an index.

        A batch has `size` records, or fewer that have `most_bytes` together.
        """

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

    def about(self, nbytes: int, most: int) -> int:
        """Return how many records have about `nbytes` bytes, `most` of them at most."""


@dataclass(frozen=True)
class RecordOrder:
    """Some records of files, in some order.

    Attributes:
        files: The files.
        steps: What is done to the order of their records, from the files outwards.
        keyed: Whether each record comes with its key.
    """

    files: OrderedSource
    steps: tuple[OrderStep, ...] = ()
    keyed: bool = False

    def then(self, step: OrderStep) -> RecordOrder:
        """Return the order that a further step makes of this one."""
        return replace(self, steps=(*self.steps, step))

    @property
    def native(self) -> _core.Order:
        """The order as the native side computes it; the files are opened for that."""
        order = _core.Order(len(self.files.records))
        for step in self.steps:
            if isinstance(step, ShuffleRecords):
                order = step.then(order, self.files.inflated)
            else:
                order = step.then(order)
        return order

    def length(self) -> Length:
        """Return how many records there are."""
        length = self.native.length
        return ENDLESS if length is None else length

    def at_shard(self, saved: Saved | None, per_element: int) -> tuple[RecordOrder, Saved | None]:
        """Return the order from which a state's remainder comes, whatever its number of shards.

        A state of one shard of four is one of all: each has given as many elements. So two shards
        can continue where four have stopped, unless something after them depends on their number.

        Raises:
            StateError: Something does, and the number is another one.
        """
        if saved is None:
            return self, saved
        inner = self._inner_shards()
        names = ["at", *inner]
        if inner and not saved.is_same("shards", inner["shards"]):
            raise StateError(
                "the state is of another number of shards, and what was done to them since would "
                "give other records"
            )
        last = self.last_shard
        if last is None:
            return self, saved.only(names)
        saved.only([*names, "num", "base"])
        num, base, at = saved.integer("num", 1), saved.integer("base"), saved.integer("at")
        if num != last.num:
            base, at = base + at * per_element * num, 0
        moved = replace(self, steps=(*self.steps[:-1], replace(last, base=base)))
        return moved, Saved({"at": at, "num": last.num, "base": base})

    def state(self, at: int) -> State:
        """Return the state after `at` elements."""
        place = {"at": at, **self._inner_shards()}
        if self.last_shard is not None:
            place |= {"num": self.last_shard.num, "base": self.last_shard.base}
        return place

    @property
    def last_shard(self) -> ShardRecords | None:
        """The last step, if that is a shard."""
        last = self.steps[-1] if self.steps else None
        return last if isinstance(last, ShardRecords) else None

    def _inner_shards(self) -> State:
        """Return into how many shards it was divided before the last step, if it was."""
        shards = [step.num for step in self.steps[:-1] if isinstance(step, ShardRecords)]
        return {"shards": shards} if shards else {}
