"""Records of files in any order that can be computed: what the native side reads by itself."""

from __future__ import annotations

import math
from collections.abc import Sized
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from tfrecs import _core
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.plan.state import Saved, State
from tfrecs.errors import StateError

Length: TypeAlias = int | float | None
"""How many elements there are: math.inf, or None if nobody knows before it has read them."""

ENDLESS = math.inf

Step: TypeAlias = tuple[Any, ...]
"""A step as the native side takes it."""

# So many blocks of compressed files are shuffled together. It can never change, as their size.
BLOCKS = 16


def share(nbytes: int, most: int, total: int, count: int) -> int:
    """Return how many of `count` records of `total` bytes have about `nbytes`, `most` at most."""
    each = max(total // max(count, 1), 1)
    return max(min(nbytes // each, most), 1)


class Source(Protocol):
    """Files, and how they are read."""

    @property
    def spec(self) -> Spec:
        """What to parse of them."""

    @property
    def records(self) -> Sized:
        """The records, any of them at once."""

    @property
    def block(self) -> int | None:
        """How many records are read at once where single ones would cost too much."""

    def scan(
        self,
        size: int,
        drop_remainder: bool,
        most_bytes: int | None = None,
        raw: bool = False,
        beside: tuple[Any, ...] | None = None,
    ) -> Any:
        """Begin to read batches from the beginning, without an index.

        They are parsed; or `raw`; or raw with these columns of theirs `beside`. Raw ones before an
        error come before it, as a batch of fewer.
        """

    def gather(
        self,
        steps: list[Step],
        epoch: int,
        size: int,
        drop_remainder: bool,
        first_batch: int,
        raw: bool = False,
        beside: tuple[Any, ...] | None = None,
    ) -> Any:
        """Begin to read batches of records in the order that `steps` say, as `scan` does."""

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

    files: Source
    steps: tuple[Step, ...] = ()
    keyed: bool = False

    def then(self, *step: Any) -> RecordOrder:
        """Return the order that a further step makes of this one."""
        return replace(self, steps=(*self.steps, step))

    @property
    def native(self) -> list[Step]:
        """All steps as the native side takes them; the files are opened for that.

        Single records of compressed files cost too much: to shuffle them means to shuffle blocks,
        each of which is read at once, and then records as far as some of these blocks reach.
        """
        steps: list[Step] = [("records", len(self.files.records))]
        for step in self.steps:
            block = self.files.block if step[0] == "shuffle" else None
            if block is None:
                steps.append(step)
            else:
                steps.append(("blocks", step[1], block))
                steps.append(("window", step[1], block * BLOCKS))
        return steps

    def length(self) -> Length:
        """Return how many records there are."""
        length = _core.order_length(self.native)
        return ENDLESS if length is None else length

    def at_shard(self, saved: Saved | None, per_element: int) -> tuple[RecordOrder, Saved | None]:
        """Return the order from which a state's remainder comes, whatever its number of shards.

        A state of one shard of four is one of all: each has given as many elements. So two shards
        can go on where four have stopped, unless something behind them depends on their number.

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
        if not self.steps or self.steps[-1][0] != "shard":
            return self, saved.only(names)
        saved.only([*names, "num", "base"])
        num, base, at = saved.integer("num", 1), saved.integer("base"), saved.integer("at")
        _, mine, index, _, policy = self.steps[-1]
        if num != mine:
            base, at = base + at * per_element * num, 0
        moved = replace(self, steps=(*self.steps[:-1], ("shard", mine, index, base, policy)))
        return moved, Saved({"at": at, "num": mine, "base": base})

    def state(self, at: int) -> State:
        """Return the state behind `at` elements."""
        place = {"at": at, **self._inner_shards()}
        if self.steps and self.steps[-1][0] == "shard":
            place |= {"num": self.steps[-1][1], "base": self.steps[-1][3]}
        return place

    def _inner_shards(self) -> State:
        """Return into how many shards it was divided before the last step, if it was."""
        shards = [step[1] for step in self.steps[:-1] if step[0] == "shard"]
        return {"shards": shards} if shards else {}
