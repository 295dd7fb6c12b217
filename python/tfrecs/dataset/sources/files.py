"""The source of a plan: files of records, and what is parsed of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tfrecs import _core
from tfrecs._internal.cached_property import cached_property
from tfrecs._internal.checks import Limits
from tfrecs._internal.logging import logger
from tfrecs.dataset.native.batches import AHEAD, AHEAD_BYTES
from tfrecs.dataset.plan.identity import Samples
from tfrecs.dataset.plan.losses import Losses
from tfrecs.dataset.plan.native_form import BatchReader
from tfrecs.dataset.plan.node import SOURCE, Node
from tfrecs.dataset.plan.order import Length, RecordOrder, share
from tfrecs.dataset.plan.source import RecordRoot, content_of
from tfrecs.dataset.plan.spec import RECORDS_UP_TO_ERRORS, Spec
from tfrecs.dataset.sources.pipes import Once
from tfrecs.dataset.sources.skip_damage import Replayed, Skipping
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved
from tfrecs.records.index_files import is_indexed
from tfrecs.records.indexed import IndexedRecords
from tfrecs.records.indexed import open as open_records
from tfrecs.records.salvage import SkippedRegion
from tfrecs.storage.paths import size_of

# Records of files that have no more bytes together are counted in a few milliseconds.
SMALL = 16 << 20


@dataclass(frozen=True)
class Reading:
    """How files are read.

    Attributes:
        compression_type: As for RecordReader.
        verify: Whether data is checked.
        limits: What is too much.
        threads: How many threads read and parse.
        memory_map: Whether records at random places are copied out of mapped memory.
        on_skip: Is called with each damaged region that is skipped.
        skips: Whether it is.
        most_ahead: How many bytes of records may be read before they are asked for.
    """

    compression_type: str
    verify: bool
    limits: Limits
    threads: int
    memory_map: bool
    skips: bool
    on_skip: Callable[[str, SkippedRegion], object] | None
    most_ahead: int | None = None


@dataclass(frozen=True, eq=False)
class Files(RecordRoot, traits=SOURCE):
    """Records of files, one file after the other."""

    paths: tuple[str, ...]
    spec: Spec
    reading: Reading
    losses: Losses = field(default_factory=Losses)
    progress: bool = False
    once: Once = field(default_factory=Once)

    @cached_property
    def sampled(self) -> Samples:
        """Samples of the files that were opened."""
        return Samples(self.paths)

    def samples(self) -> Samples:
        """Return them; an index has those of all files."""
        if "records" in self.__dict__:
            self.sampled.take_over(self.records._samples())  # noqa: SLF001 - not for users
        return self.sampled

    @property
    def at_once(self) -> int:
        """How many threads read and parse."""
        return self.reading.threads

    @cached_property
    def records(self) -> IndexedRecords:
        """The records, any of them at once. To find them takes a pass, unless there is an index."""
        how = self.reading
        record, decompressed = how.limits
        return open_records(
            self.paths,
            how.compression_type,
            verify=how.verify,
            memory_map=how.memory_map,
            num_threads=how.threads,
            max_record_bytes=record,
            max_decompressed_bytes=decompressed,
        )

    @property
    def skips(self) -> bool:
        """Whether damage is skipped."""
        return self.reading.skips

    @property
    def is_counted(self) -> bool:
        """Whether it is known how many records there are, or found out in no time."""
        if "records" in self.__dict__:
            return True
        small = sum(map(size_of, self.paths)) <= SMALL
        return small or is_indexed(self.paths, self.reading.compression_type)

    @cached_property
    def inflated(self) -> int | None:
        """How many bytes the records have, if any of the files is compressed.

        It depends on the files alone, and so does their order when they are shuffled.
        """
        return self.records._inflated()  # noqa: SLF001 - not for users

    def __getstate__(self) -> dict[str, Any]:
        """Leave the open files after: who gets this opens them for itself."""
        opened = ("records", "inflated", "sampled")
        return {name: value for name, value in self.__dict__.items() if name not in opened}

    def describe(self) -> str:
        """Return the files and what is parsed."""
        files = repr(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files"
        return "\n".join([f"Dataset({files})", *(f"  {line}" for line in self.spec.lines())])

    def length(self) -> Length:
        """Return how many records there are; where damage is skipped it is unknown."""
        return None if self.reading.skips else len(self.records)

    def order(self) -> RecordOrder | None:
        """Return all records in order; where damage is skipped none can be found by number."""
        return None if self.reading.skips else RecordOrder(self)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Read one by one, around the damage."""
        scan = self.scan(AHEAD, False, RECORDS_UP_TO_ERRORS, AHEAD_BYTES)
        scan.count_in(run.meters.reading(self))
        return Replayed(scan, self.spec.one, saved, one_by_one=True)

    def parsing(self, spec: Spec) -> Node:
        """Return the same records, of which this is parsed."""
        return replace(self, spec=spec)

    def batch_reader(self) -> BatchReader | None:
        """Return itself, where it reads around damage."""
        return self if self.reading.skips else None

    def begin_batches(
        self, size: int, drop_remainder: bool, run: Run, saved: Saved | None
    ) -> Stage:
        """Read batches, around the damage."""
        scan = self.scan(size, drop_remainder, self.spec.output)
        scan.count_in(run.meters.reading(self))
        return Replayed(scan, self.spec.batch, saved, one_by_one=False)

    def scan(
        self, size: int, drop_remainder: bool, output: _core.Output, most_bytes: int | None = None
    ) -> _core.Scan | Skipping:
        """Begin to read batches from the beginning, without an index."""
        how = self.reading
        self.once.begin(self.paths)
        logger.debug("reads %d files, from the beginning of %s", len(self.paths), self.paths[0])
        read = _core.ReadOptions(how.compression_type, how.verify, how.limits, how.skips)
        batching = self.batching(size, drop_remainder, most_bytes)
        scan = _core.Scan(self.paths, read, batching, output, self.sampled)
        if not how.skips:
            return scan
        self.losses.clear()
        return Skipping(scan, self.losses, how.on_skip)

    def batching(
        self, size: int, drop_remainder: bool, most_bytes: int | None = None
    ) -> _core.Batching:
        """Return how batches of `size` records, or of fewer with `most_bytes`, are made."""
        how = self.reading
        return _core.Batching(size, drop_remainder, how.threads, most_bytes, how.most_ahead)

    def about(self, nbytes: int, most: int) -> int:
        """Return how many records have about `nbytes` bytes, `most` of them at most."""
        count = len(self.records)  # first: it says what is wrong with a file
        total = sum(map(size_of, self.paths))
        return share(nbytes, most, total, count)

    def identity(self) -> str:
        """Return what is parsed: files are distinguished by their sizes, wherever they lie."""
        return "\n".join(["Dataset", *self.spec.lines()])

    def content(self) -> tuple[int, int, Any]:
        """Return what distinguishes the files from others."""
        return content_of(self.paths)
