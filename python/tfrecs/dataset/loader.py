"""What gives a dataset's elements to another library, pass after pass, and knows where it is.

What becomes of an element is the library's, and the way to where it computes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

from tfrecs.dataset.dealt import DealtIterator
from tfrecs.dataset.node import Node
from tfrecs.dataset.ranks import Ranks, known_length
from tfrecs.dataset.stats import DatasetStats

Convert: TypeAlias = Callable[[Any], Any]
"""What makes of an element what the library takes."""


class Road(Protocol):
    """Where elements go, and how."""

    def send(self, element: Any) -> Any:
        """Set an element on its way."""

    def receive(self, sent: Any) -> Any:
        """Return an element that was sent, for work that begins now."""


class Here:
    """No way at all: elements are where they belong as soon as they are made."""

    def send(self, element: Any) -> Any:
        """Return it."""
        return element

    def receive(self, sent: Any) -> Any:
        """Return it."""
        return sent


@dataclass
class Count:
    """Which epoch the next pass is; of a loader and of its passes, which do not hold each other."""

    next: int


class Loader:
    """Iterates over a dataset as a library wants it; each pass is the next epoch.

    Its state is where the last pass is, behind the element that was taken, whatever is under way;
    behind the end of a pass it is the beginning of the next.
    """

    def __init__(
        self, node: Node, epoch: int, ranks: Ranks, convert: Convert, road: Road, ahead: int
    ) -> None:
        """Keep the plan, and how many elements are under way beside the one in use."""
        self._node = node
        self._count = Count(epoch)
        self._ranks = ranks
        self._convert = convert
        self._road = road
        self._ahead = ahead
        self._current: LoaderIterator | None = None
        self._resumed: LoaderIterator | None = None

    def __iter__(self) -> LoaderIterator:
        """Begin a pass: the next epoch, or what is left of one if a state was loaded."""
        self._current, self._resumed = self._resumed or self._begin(), None
        return self._current

    def _begin(self) -> LoaderIterator:
        self._count.next += 1
        return self._iterator(self._count.next - 1)

    def _iterator(self, epoch: int, base: int = 0) -> LoaderIterator:
        dealt = DealtIterator(self._node, epoch, self._ranks.part(), base)
        return LoaderIterator(self._count, dealt, self._convert, self._road, self._ahead)

    def __len__(self) -> int:
        """Return how many elements a pass has: files are counted for that, by an index.

        Raises:
            TypeError: There is no end, or nobody knows before all is read.
        """
        return known_length(self._node, self._ranks.part())

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass is; passes count on by themselves."""
        self._count.next = epoch

    def stats(self) -> DatasetStats:
        """Return what the pass that began last has given so far; see `Dataset.stats`."""
        return (self._current or self._iterator(self._count.next)).stats()

    def state_dict(self) -> dict[str, Any]:
        """Return where the pass is that began last."""
        current = self._resumed or self._current
        if current is not None and not current.is_over:
            return current.state_dict()
        with self._iterator(self._count.next) as upcoming:
            return upcoming.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the next pass be what is left of the one that `state` was taken in.

        Raises:
            StateError: It is none, or of another plan, or of other files.
        """
        resumed = self._iterator(self._count.next)
        resumed.load_state_dict(state)
        self._resumed = resumed


class LoaderIterator(Iterator[Any]):
    """A pass of a Loader."""

    def __init__(
        self, count: Count, dealt: DealtIterator, convert: Convert, road: Road, ahead: int
    ) -> None:
        """Begin with the first element."""
        self._count = count
        self._dealt = dealt
        self._convert = convert
        self._road = road
        self._ahead = ahead
        self._under_way: deque[tuple[Any, Any]] = deque()
        self._place: Any = None
        self._failed: Exception | None = None
        # Whether the end was reached, or reading has failed.
        self.is_over = False

    def __next__(self) -> Any:
        """Return the next element, where it is computed with."""
        if not self._ahead:
            return self._convert(self._pulled())
        self._send()
        if not self._under_way:
            self._raise()
        sent, self._place = self._under_way.popleft()
        return self._road.receive(sent)

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
        while len(self._under_way) <= self._ahead and self._failed is None:
            try:
                sent = self._road.send(self._convert(next(self._dealt)))
            except Exception as error:  # noqa: BLE001 - it is raised when it is its turn
                self._failed = error
            else:
                self._under_way.append((sent, self._dealt.place()))

    def _raise(self) -> None:
        assert self._failed is not None
        self.is_over = isinstance(self._failed, StopIteration)
        raise self._failed

    def state_dict(self) -> dict[str, Any]:
        """Return where the pass is, behind the element that was taken last."""
        return self._dealt.state_dict(self._place)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state` says.

        Raises:
            StateError: It is none, or of another plan, or of other files. The iterator is where it
                was.
        """
        self._dealt.load_state_dict(state)
        self._under_way.clear()
        self._place = self._failed = None
        self.is_over = False
        self._count.next = self._dealt.epoch + 1

    def stats(self) -> DatasetStats:
        """Return what the pass has given so far, and where the time went."""
        return self._dealt.stats()

    def close(self) -> None:
        """Let go of threads and files. Nothing comes any more."""
        self._dealt.close()
        self._under_way.clear()
        self._failed = StopIteration()

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()
