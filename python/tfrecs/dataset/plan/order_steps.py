"""Steps of an order of records: data here, computed by the native side (`_core.Order`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tfrecs import _core


@dataclass(frozen=True)
class TakeRecords:
    """The first `count`."""

    count: int

    def then(self, order: _core.Order) -> _core.Order:
        """Return the order that this step makes of `order`."""
        return order.take(self.count)


@dataclass(frozen=True)
class SkipRecords:
    """Those after the first `count`."""

    count: int

    def then(self, order: _core.Order) -> _core.Order:
        """Return the order that this step makes of `order`."""
        return order.skip(self.count)


@dataclass(frozen=True)
class RepeatRecords:
    """All of them `count` times, without end if that is None; each time is an epoch."""

    count: int | None

    def then(self, order: _core.Order) -> _core.Order:
        """Return the order that this step makes of `order`."""
        return order.repeat(self.count)


@dataclass(frozen=True)
class ShuffleRecords:
    """All of them in another order in each epoch."""

    seed: int

    def then(self, order: _core.Order, inflated: int | None = None) -> _core.Order:
        """Return the order; of files with `inflated` bytes of compressed records, by blocks."""
        return order.shuffle(self.seed, inflated)


@dataclass(frozen=True)
class ShuffleWindow:
    """In another order in each epoch; none gets farther than one and a half times `size`."""

    seed: int
    size: int

    def then(self, order: _core.Order) -> _core.Order:
        """Return the order that this step makes of `order`."""
        return order.window(self.seed, self.size)


@dataclass(frozen=True)
class ShardRecords:
    """Every `num`-th, from `base + index` on; `remainder` as for shard()."""

    num: int
    index: int
    base: int
    remainder: str

    def then(self, order: _core.Order) -> _core.Order:
        """Return the order that this step makes of `order`."""
        return order.shard(self.num, self.index, self.base, self.remainder)


@dataclass(frozen=True)
class StripeRecords:
    """Every `num`-th block of `block` records, from block `index` on."""

    block: int
    num: int
    index: int

    def then(self, order: _core.Order) -> _core.Order:
        """Return the order that this step makes of `order`."""
        return order.stripe(self.block, self.num, self.index)


OrderStep: TypeAlias = (
    TakeRecords
    | SkipRecords
    | RepeatRecords
    | ShuffleRecords
    | ShuffleWindow
    | ShardRecords
    | StripeRecords
)
