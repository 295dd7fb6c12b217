"""A loader without worker processes: threads of the native side do the work."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from tfrecs.dataset.dealt import DealtIterator
from tfrecs.dataset.node import Node
from tfrecs.dataset.stats import DatasetStats
from tfrecs.integrations.torch.dataset import Ranks, known_length
from tfrecs.integrations.torch.device import Nowhere, Road
from tfrecs.integrations.torch.elements import Elements


@dataclass
class Count:
    """Which epoch the next pass is; of a loader and of its passes, which do not hold each other."""

    next: int


class TorchLoader:
    """Iterates over a dataset as tensors, on a device; each pass is the next epoch.

    Its state is where the last pass is, behind the element that was taken, whatever is under way;
    behind the end of a pass it is the beginning of the next.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("ages.tfrecord") as out:
        ...     out.write_batch([tfrecs.encode_example({"age": n}) for n in range(5)])
        >>> ds = tfrecs.Dataset("ages.tfrecord", {"age": tfrecs.FixedLenFeature([], "int64")})
        >>> loader = ds.batch(2).to_torch_loader()
        >>> len(loader)
        3
        >>> for batch in loader:
        ...     if 2 in batch["age"]:
        ...         state = loader.state_dict()
        >>> again = ds.batch(2).to_torch_loader()
        >>> again.load_state_dict(state)
        >>> list(again)
        [{'age': tensor([4])}]
    """

    def __init__(
        self, node: Node, epoch: int, ranks: Ranks, elements: Elements, road: Road, prefetch: int
    ) -> None:
        """Keep the plan; nothing is read yet."""
        self._node = node
        self._count = Count(epoch)
        self._ranks = ranks
        self._elements = elements
        self._road = road
        # Without a device the native side's own batches are all there is to make ahead.
        self._ahead = 0 if isinstance(road, Nowhere) else prefetch
        self._current: TorchLoaderIterator | None = None
        self._resumed: TorchLoaderIterator | None = None

    def __iter__(self) -> TorchLoaderIterator:
        """Begin a pass: the next epoch, or what is left of one if a state was loaded."""
        self._current, self._resumed = self._resumed or self._begin(), None
        return self._current

    def _begin(self) -> TorchLoaderIterator:
        self._count.next += 1
        return self._iterator(self._count.next - 1)

    def _iterator(self, epoch: int) -> TorchLoaderIterator:
        dealt = DealtIterator(self._node, epoch, self._ranks.part())
        return TorchLoaderIterator(self._count, dealt, self._elements, self._road, self._ahead)

    def __len__(self) -> int:
        """Return how many elements a pass has: files are counted for that, by an index.

        Raises:
            TypeError: There is no end, or nobody knows before all is read.
        """
        return known_length(self._node, self._ranks.part())

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass is; passes count on by themselves."""
        self._count.next = epoch

    def state_dict(self) -> dict[str, Any]:
        """Return where the pass is that began last."""
        current = self._resumed or self._current
        if current is not None and not current.is_over:
            return current.state_dict()
        with self._iterator(self._count.next) as upcoming:
            return upcoming.state_dict()

    def stats(self) -> DatasetStats:
        """Return what the pass that began last has given so far; see `Dataset.stats`."""
        return (self._current or self._iterator(self._count.next)).stats()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the next pass be what is left of the one that `state` was taken in.

        Raises:
            StateError: It is none, or of another plan, or of other files.
        """
        resumed = self._iterator(self._count.next)
        resumed.load_state_dict(state)
        self._resumed = resumed


class TorchLoaderIterator(Iterator[Any]):
    """A pass of a TorchLoader."""

    def __init__(
        self, count: Count, dealt: DealtIterator, elements: Elements, road: Road, ahead: int
    ) -> None:
        """Begin with the first element."""
        self._count = count
        self._dealt = dealt
        self._elements = elements
        self._road = road
        self._ahead = ahead
        self._under_way: deque[tuple[Any, Any]] = deque()
        self._place: Any = None
        self._failed: Exception | None = None
        # Whether the end was reached, or reading has failed.
        self.is_over = False

    def __next__(self) -> Any:
        """Return the next element, on its device."""
        if not self._ahead:
            return self._elements(self._pulled())
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
        """Have as many elements under way as may be; errors wait for those before them."""
        if self._place is None:
            self._place = self._dealt.place()
        while len(self._under_way) < self._ahead and self._failed is None:
            try:
                sent = self._road.send(self._elements(next(self._dealt)))
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
