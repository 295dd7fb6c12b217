"""What gives a dataset's elements to another library, pass after pass, and knows where it is.

What becomes of an element is the library's, and the way to where it computes.
"""

from __future__ import annotations

import contextlib
import copy
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, TypeAlias

from tfrecs import _core
from tfrecs.dataset.distributed.ranks import Ranks, known_length
from tfrecs.dataset.distributed.shard_iterator import ShardIterator
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.run.timings import DatasetTimings

Convert: TypeAlias = Callable[[Any], Any]
"""What makes of an element what the library takes."""


class Transfer(Protocol):
    """Where elements go, and how."""

    def send(self, element: Any) -> Any:
        """Set an element on its way."""

    def receive(self, sent: Any) -> Any:
        """Return an element that was sent, for work that begins now."""


class HostMemory:
    """No way at all: elements are where they belong as soon as they are made."""

    def send(self, element: Any) -> Any:
        """Return it."""
        return element

    def receive(self, sent: Any) -> Any:
        """Return it."""
        return sent


@dataclass(frozen=True)
class Beginning:
    """Where a pass begins.

    Attributes:
        epoch: Which pass it is.
        base: How many elements of all ranks come before.
        state: The state to resume from, or None.
    """

    epoch: int
    base: int = 0
    state: Mapping[str, Any] | None = None


@dataclass
class Upcoming:
    """Where the next pass begins.

    A loader and its passes share it, so that neither holds the other. A pass begins with its first
    element: libraries call `iter()` just to see whether an object has one, and `set_epoch()` after.
    """

    beginning: Beginning

    def set_epoch(self, epoch: int) -> None:
        """Begin with `epoch`; where a pass of it was to be resumed, it still is."""
        if self.beginning.epoch != epoch:
            self.beginning = Beginning(epoch)


class Loader:
    """Iterates over a dataset as a library wants it; each pass is the next epoch.

    Its state is where the last pass is, after the element that was taken, whatever is under way;
    after the end of a pass it is the beginning of the next.
    """

    def __init__(
        self, node: Node, epoch: int, ranks: Ranks, convert: Convert, transfer: Transfer, ahead: int
    ) -> None:
        """Keep the plan, and how many elements are under way beside the one in use."""
        self._node = node
        self._upcoming = Upcoming(Beginning(epoch))
        self._ranks = ranks
        self._convert = convert
        self._road = transfer
        self._ahead = ahead
        self._current: LoaderIterator | None = None

    def __iter__(self) -> LoaderIterator:
        """Begin a pass: the next epoch, or what is left of one if a state was loaded.

        Its first element decides which epoch is the next.
        """
        self._current = self._pass(None)
        return self._current

    def begin_at(self, number: int) -> LoaderIterator:
        """Begin the next epoch at its element `number`; no element before it is read."""
        base = number * self._ranks.part().num_ranks
        self._current = self._pass(Beginning(self._upcoming.beginning.epoch, base))
        return self._current

    def _pass(self, beginning: Beginning | None) -> LoaderIterator:
        """Return the pass that begins there, or with the next epoch."""
        begin = partial(_begin, self._node, self._ranks)
        way = Way(self._convert, self._road, self._ahead)
        return LoaderIterator(self._upcoming, begin, way, beginning)

    def __len__(self) -> int:
        """Return how many elements a pass has: files are counted for that, by an index.

        Raises:
            TypeError: There is no end, or the number is unknown before all is read.
        """
        return known_length(self._node, self._ranks.part())

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass; passes count on by themselves.

        A state that was loaded still counts if it is one of this epoch.
        """
        self._upcoming.set_epoch(epoch)

    def timings(self) -> DatasetTimings:
        """Return what the pass that began last has given so far; see `Dataset.timings`."""
        return (self._current or self._pass(None)).timings()

    def state_dict(self) -> dict[str, Any]:
        """Return where the pass is that began last, or where the next one begins."""
        current = self._current
        if current is not None and current.is_under_way:
            return current.state_dict()
        with self._pass(None) as upcoming:
            return upcoming.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the next pass be what is left of the one that `state` was taken in.

        Raises:
            StateError: It is none, or of another plan, or of other files.
        """
        with contextlib.closing(_begin(self._node, self._ranks, Beginning(0))) as resumed:
            resumed.load_state_dict(state)
            self._resume(Beginning(resumed.epoch, state=copy.deepcopy(state)))

    def _resume(self, beginning: Beginning) -> None:
        """Let the next pass be this one; the last one is over."""
        self._upcoming.beginning, self._current = beginning, None


Begin: TypeAlias = Callable[[Beginning], ShardIterator]
"""What begins a pass."""


def _begin(node: Node, ranks: Ranks, beginning: Beginning) -> ShardIterator:
    dealt = ShardIterator(node, beginning.epoch, ranks.part(), beginning.base)
    if beginning.state is not None:
        dealt.load_state_dict(beginning.state)
    return dealt


@dataclass(frozen=True)
class Way:
    """What becomes of elements: how each is converted, its transfer, and how many are under way."""

    convert: Convert
    transfer: Transfer
    ahead: int


class LoaderIterator(_core.Exclusive, Iterator[Any]):
    """A pass of a Loader; threads may share it."""

    def __init__(
        self, upcoming: Upcoming, begin: Begin, way: Way, beginning: Beginning | None
    ) -> None:
        """Begin there with the first element, or with the epoch that is the next then."""
        self._upcoming = upcoming
        self._begin = begin
        self._way = way
        self._beginning = beginning
        self._begun: ShardIterator | None = None
        self._under_way: deque[tuple[Any, Any]] = deque()
        self._place: Any = None
        self._failed: Exception | None = None
        # Whether an element was taken, and whether the end was reached, or reading has failed.
        self._has_begun = False
        self.is_over = False

    @property
    def _dealt(self) -> ShardIterator:
        if self._begun is None:
            self._begun = self._begin(self._beginning or self._upcoming.beginning)
        return self._begun

    def _dealt_now(self) -> ShardIterator:
        """Return the pass, also while another thread begins it."""
        if self._begun is None:
            with self._turn:
                return self._dealt
        return self._begun

    def _next(self) -> Any:
        """Return the next element, where it is computed with."""
        if not self._has_begun:
            self._upcoming.beginning = Beginning(self.epoch + 1)
            self._has_begun = True
        if not self._way.ahead:
            return self._way.convert(self._pulled())
        self._send()
        if not self._under_way:
            self._raise()
        sent, self._place = self._under_way.popleft()
        return self._way.transfer.receive(sent)

    @property
    def epoch(self) -> int:
        """Which pass it is."""
        return self._dealt.epoch

    @property
    def is_under_way(self) -> bool:
        """Whether elements were taken, and others are to come."""
        return self._has_begun and not self.is_over

    def _pulled(self) -> Any:
        try:
            return next(self._dealt)
        except StopIteration:
            self.is_over = True
            raise

    def _send(self) -> None:
        """Have `ahead` elements under way beside the next one; errors wait for those before."""
        if self._place is None:
            self._place = self._dealt.place()
        while len(self._under_way) <= self._way.ahead and self._failed is None:
            try:
                sent = self._way.transfer.send(self._way.convert(next(self._dealt)))
            except Exception as error:  # noqa: BLE001 - it is raised when it is its turn
                self._failed = error
            else:
                self._under_way.append((sent, self._dealt.place()))

    def _raise(self) -> None:
        assert self._failed is not None
        self.is_over = isinstance(self._failed, StopIteration)
        raise self._failed

    def state_dict(self) -> dict[str, Any]:
        """Return where the pass is, after the element that was taken last."""
        with self._turn:
            return self._dealt.state_dict(self._place)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state` says.

        Raises:
            StateError: It is none, or of another plan, or of other files. The iterator is where it
                was.
        """
        with self._turn:
            self._dealt.load_state_dict(state)
            self._under_way.clear()
            self._place = self._failed = None
            self._has_begun, self.is_over = True, False
            self._upcoming.beginning = Beginning(self.epoch + 1)

    def timings(self) -> DatasetTimings:
        """Return what the pass has given so far, and where the time went."""
        return self._dealt_now().timings()

    def close(self) -> None:
        """Let go of threads and files. Nothing comes any more."""
        self._dealt_now().close()
        self._under_way.clear()
        self._failed = StopIteration()

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()
