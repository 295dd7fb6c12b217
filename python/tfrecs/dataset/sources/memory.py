"""Sources that are no files of their own: records in memory, opened ones, and those of others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from tfrecs import _core
from tfrecs._internal.cached_property import cached_property
from tfrecs._internal.wording import counted
from tfrecs.dataset.plan.identity import Samples
from tfrecs.dataset.plan.node import SOURCE, Node
from tfrecs.dataset.plan.order import Length, OrderedSource, RecordOrder, share
from tfrecs.dataset.plan.source import RecordRoot
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.sources.files import Files
from tfrecs.errors import Error
from tfrecs.records.indexed import IndexedRecords
from tfrecs.records.reader import Records


@runtime_checkable
class RecordSource(Protocol):
    """Records of somebody else's, any of them at once: what a Dataset can be made of.

    With an attribute `name`, keys and errors say so; and with a method `fingerprint`, states of
    sources of as many records but another fingerprint are refused.
    """

    def __len__(self) -> int:
        """Return how many records there are."""

    def read_records(self, indices: Sequence[int]) -> Records | Sequence[bytes]:
        """Return the records at these places, in this order."""


class RandomAccess:
    """What sources have in common whose records are found without a pass over those before."""

    def scan(
        self: OrderedSource,
        size: int,
        drop_remainder: bool,
        output: _core.Output,
        most_bytes: int | None = None,
    ) -> Any:
        """Begin to make batches from the beginning: it is known where each record is."""
        del most_bytes
        return self.gather(_core.Order(len(self.records)), 0, size, drop_remainder, 0, output)


@dataclass(frozen=True, eq=False)
class Pool(RandomAccess, RecordRoot, traits=None):
    """Records any of which can be had at once, but for files."""

    spec: Spec
    threads: int
    progress: bool = field(default=False, kw_only=True)
    inflated = None
    things = "records"

    def identity(self) -> str:
        """Return what is parsed: the records are distinguished by their content."""
        return "\n".join(["Dataset", *self.spec.lines()])

    def describe(self) -> str:
        """Return how many records there are, and what is parsed."""
        first = f"Dataset({self.name()})"
        return "\n".join([first, *(f"  {line}" for line in self.spec.lines())])

    def parsing(self, spec: Spec) -> Node:
        """Return the same records, of which this is parsed."""
        return replace(self, spec=spec)

    def name(self) -> str:
        """Return what a plan shows of the records."""
        return counted(self.length(), "record")

    def order(self) -> RecordOrder | None:
        """Return all records in order."""
        return RecordOrder(self)

    def length(self) -> Length:
        """Return how many records there are."""
        return len(self.records)

    def batching(
        self, size: int, drop_remainder: bool, most_bytes: int | None = None
    ) -> _core.Batching:
        """Return how batches of `size` records, or of fewer with `most_bytes`, are made."""
        return _core.Batching(size, drop_remainder, self.threads, most_bytes)

    @abstractmethod
    def about(self, nbytes: int, most: int) -> int:
        """Return how many records have about `nbytes` bytes, `most` of them at most."""


@dataclass(frozen=True, eq=False)
class Memory(Pool, traits=SOURCE):
    """Records that lie in memory."""

    given: Records

    @cached_property
    def records(self) -> Records:
        """The records, each of which knows its number."""
        return self.given._numbered()  # noqa: SLF001 - not for users

    def content(self) -> tuple[int, int, Any]:
        """Return what distinguishes the records from others."""
        count, size, checksum = self.given._digest()  # noqa: SLF001 - not for users
        return count, size, checksum

    def about(self, nbytes: int, most: int) -> int:
        """Return how many records have about `nbytes` bytes, `most` of them at most."""
        return share(nbytes, most, self.given.nbytes, len(self.given))


@dataclass(frozen=True, eq=False)
class Opened(RandomAccess, Files, traits=SOURCE):
    """Records that somebody has opened."""

    opened: IndexedRecords = field(kw_only=True)

    @cached_property
    def records(self) -> IndexedRecords:
        """The records, any of them at once."""
        return self.opened

    def samples(self) -> Samples:
        """Return by what the files are known again, all of which are open."""
        self.sampled.take_over(self.opened._samples())  # noqa: SLF001 - not for users
        return self.sampled


@dataclass(frozen=True, eq=False)
class CustomSource(Pool, traits=SOURCE):
    """Records of somebody else's source."""

    given: RecordSource

    @property
    def records(self) -> RecordSource:
        """The source."""
        return self.given

    def name(self) -> str:
        """Return the name of the source."""
        return str(getattr(self.given, "name", type(self.given).__name__))

    def identity(self) -> str:
        """Return what is parsed, and the source's own fingerprint if it has one."""
        fingerprint = getattr(self.given, "fingerprint", lambda: "")
        return f"{super().identity()}\n{fingerprint()}"

    def content(self) -> tuple[int, int, Any]:
        """Return how many there are: nothing else is known of them."""
        return len(self.given), 0, None

    def about(self, nbytes: int, most: int) -> int:
        """Return `most`: it is unknown how large records are."""
        del nbytes
        return most

    def gather(
        self,
        order: _core.Order,
        epoch: int,
        size: int,
        drop_remainder: bool,
        first_batch: int,
        output: _core.Output,
    ) -> Any:
        """Begin to make batches of records in any order, with batch number `first_batch`."""
        taken = _Taken(order, epoch % 2**64, size, drop_remainder, first_batch * size)
        return _Gathered(self, taken, output)


@dataclass
class _Taken:
    """What of an order comes next, a batch at a time."""

    order: _core.Order
    epoch: int
    size: int
    drop_remainder: bool
    at: int

    def __post_init__(self) -> None:
        """Note where it ends."""
        self.end = self.order.length

    def next(self) -> tuple[int, list[int]] | None:
        """Return where the next batch ends, and its records."""
        stop = self.at + self.size
        if self.end is not None:
            stop = min(stop, self.end)
        count = stop - self.at
        if count <= 0 or (self.drop_remainder and count < self.size):
            return None
        return stop, self.order.records(self.at, stop, self.epoch)


class _Gathered(Iterator[Any]):
    """Batches of a source in any order, as the native side makes them of files."""

    def __init__(self, source: CustomSource, taken: _Taken, output: _core.Output) -> None:
        self._source, self._taken, self._output = source, taken, output

    def __next__(self) -> Any:
        """Return the next batch; what comes before a record that cannot be read comes first."""
        try:
            return self._next()
        except Error:
            if not self._output.partial or self._taken.size == 1:
                raise
            self._taken.size = 1
            return self._next()

    def _next(self) -> Any:
        found = self._taken.next()
        if found is None:
            raise StopIteration
        stop, places = found
        read = _core.Records(self._source.given.read_records(places))
        records = read._named(self._source.name(), places)  # noqa: SLF001 - not for users
        self._taken.at = stop
        return self._output.of(records)

    def count_in(self, meter: _core.Meter) -> None:
        """Count nothing: what the source works, the step itself does."""

    def close(self) -> None:
        """Read nothing more."""
        self._taken.end = 0
