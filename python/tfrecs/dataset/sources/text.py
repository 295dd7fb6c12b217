"""Files that are not TFRecord files: lines of text, records of one length, whole files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfrecs import _core
from tfrecs._internal.cached_property import cached_property
from tfrecs._internal.checks import Limits, checked_threads
from tfrecs._internal.native_types import ReadingInTurn, RecordFormat
from tfrecs.dataset.native.batches import AHEAD, AHEAD_BYTES, keys_of
from tfrecs.dataset.plan.identity import Samples
from tfrecs.dataset.plan.native_form import BatchReader
from tfrecs.dataset.plan.node import SOURCE, Node
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.plan.source import Root, content_of
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.sources.pipes import Once
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import MOST, Saved, State
from tfrecs.records.reader import Records

# Files beyond this number are compared by name and size only.
MOST_SAMPLED = 10_000


@dataclass(frozen=True, eq=False)
class Foreign(Root, traits=SOURCE):
    """Records of files of another format, some files in turn.

    Attributes:
        call: What made it, without the files.
        paths: The files.
        format: What a record is, as the native side takes it.
        compression_type: How the files are compressed.
        limits: What is too much.
        cycle: How many files are read at a time.
        block: How many records come of one before it is the next one's turn.
        keyed: Whether each record comes with its key.
    """

    call: str
    paths: tuple[str, ...]
    format: RecordFormat
    compression_type: str
    limits: Limits
    cycle: int
    block: int
    keyed: bool = False
    once: Once = field(default_factory=Once)

    @property
    def spec(self) -> Spec | None:
        """Nothing is parsed of them."""
        return None

    def describe(self) -> str:
        """Return the call."""
        files = repr(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files"
        name, _, rest = self.call.partition("(")
        keys = "\n  .with_keys()" if self.keyed else ""
        return f"Dataset.{name}({files}{'' if rest == ')' else ', '}{rest}{keys}"

    def identity(self) -> str:
        """Return what is read of files, whatever they are called."""
        return f"{self.call} {tuple(self.format)} {self.keyed}"

    def content(self) -> tuple[int, int, Any]:
        """Return what distinguishes the files from others."""
        return content_of(self.paths)

    @cached_property
    def sampled(self) -> Samples:
        """Samples of the first files."""
        return Samples(self.paths)

    def samples(self) -> Samples:
        """Return the samples that distinguish files of equal names and sizes."""
        self.sampled.of(0, min(len(self.paths), MOST_SAMPLED), checked_threads(None))
        return self.sampled

    def __getstate__(self) -> dict[str, Any]:
        """Drop the samples when pickled: the receiver takes its own."""
        return {name: value for name, value in self.__dict__.items() if name != "sampled"}

    def length(self) -> Length:
        """Return how many records there are, where that is known without reading."""
        kind, header, record, footer = self.format
        if kind == "whole":
            return len(self.paths)
        if kind == "fixed" and not self.compression_type:
            bodies = [size - header - footer for _, size in self.content()[2]]
            return sum(int(max(body, 0) // record) for body in bodies)
        return None

    def with_keys(self) -> Node | None:
        """Return the same records, each with its key."""
        return replace(self, keyed=True)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first record, or the one that a state says."""
        del run
        return _Elements(self, saved)

    @property
    def gives_records(self) -> bool:
        """Whether its elements are records."""
        return not self.keyed

    def batch_reader(self) -> BatchReader | None:
        """Return itself."""
        return self

    def begin_batches(
        self, size: int, drop_remainder: bool, run: Run, saved: Saved | None
    ) -> Stage:
        """Begin with the first batch of records, or the one that a state says."""
        del run
        return _Batches(self, size, drop_remainder, saved)

    def open(self, place: Any = None) -> _core.Foreign:
        """Begin to read, at a place if one is given."""
        self.once.begin(self.paths)
        how = ReadingInTurn(self.format, self.compression_type, self.limits, self.cycle, self.block)
        return _core.Foreign(self.paths, how, place)


class _Reading(Stage):
    """Reads records; a state is where reading is, file by file."""

    def __init__(self, node: Foreign, saved: Saved | None) -> None:
        self._node = node
        self._numbered = node.format.kind != "whole"
        self._native = node.open(None if saved is None else _place(saved, node))

    def close(self) -> None:
        """Close the files."""
        self._native.close()


class _Batches(_Reading):
    """Batches of records."""

    def __init__(self, node: Foreign, size: int, drop_remainder: bool, saved: Saved | None) -> None:
        super().__init__(node, None if saved is None else saved.only(_NAMES))
        self._size = size
        self._drop_remainder = drop_remainder
        self._short: Records | None = None
        self._before: Any = None

    def __next__(self) -> Any:
        """Return the next batch."""
        records = self._read()
        if not len(records) or (self._drop_remainder and len(records) < self._size):
            raise StopIteration
        return (keys_of(records, self._numbered), records) if self._node.keyed else records

    def _read(self) -> Records:
        """Return the records of a batch; where it stops before, that is the end, or an error."""
        before = self._native.place()
        records = self._short or self._native.read(self._size, MOST)
        if 0 < len(records) < self._size:
            # After an interrupt here, the next call resumes with them.
            self._short, self._before = records, self._before or before
            rest = self._native.read(self._size - len(records), MOST)
            self._short = self._before = None
            if len(rest):  # a file has grown meanwhile
                parts = [(part, np.arange(len(part))) for part in (records, rest)]
                return _core.pick_records(parts)
        return records

    def skip(self, n: int) -> None:
        """Leave out the records of `n` batches."""
        self._native.skip(n * self._size)

    def state(self) -> State:
        """Return where reading is."""
        return _state(self._before or self._native.place())


class _Elements(_Reading):
    """Records one by one, read some at a time.

    A state is where the ones were read from that are being given, and how many of them were.
    """

    def __init__(self, node: Foreign, saved: Saved | None) -> None:
        super().__init__(node, None if saved is None else saved.only([*_NAMES, "passed"]))
        passed = 0 if saved is None else saved.integer("passed", most=AHEAD)
        self._before = self._native.place()
        self._ready: Iterator[Any] = iter(())
        self._passed = 0
        if passed:
            self._fill()
            self.skip(passed)

    def _fill(self) -> None:
        before = self._native.place()
        records = self._native.read(AHEAD, AHEAD_BYTES)
        self._before, self._passed = before, 0
        self._ready = iter(records)
        if self._node.keyed:
            keys = keys_of(records, self._numbered).tolist()
            self._ready = zip(keys, records, strict=True)

    def __next__(self) -> Any:
        """Return the next record."""
        for record in self._ready:
            self._passed += 1
            return record
        self._fill()
        record = next(self._ready)
        self._passed += 1
        return record

    def skip(self, n: int) -> None:
        """Leave out records: those that are read one by one, the others at once."""
        for _ in zip(range(n), self._ready, strict=False):
            self._passed += 1
            n -= 1
        if n:
            self._ready, self._passed = iter(()), 0
            self._native.skip(n)
            self._before = self._native.place()

    def state(self) -> State:
        """Return where reading was, and how many records have been given since."""
        return {**_state(self._before), "passed": self._passed}


_NAMES = ["open", "place", "given", "next"]


def _state(place: Any) -> State:
    opened, turn, given, following = place
    files = [
        {"place": at, "file": file, "record": record, "offset": offset}
        for at, file, record, offset in opened
    ]
    return {"open": files, "place": turn, "given": given, "next": following}


def _place(saved: Saved, node: Foreign) -> Any:
    cycle = min(node.cycle, len(node.paths))
    opened = []
    for one in saved.children("open", 0, cycle):
        one.only(["place", "file", "record", "offset"])
        at, file = one.integer("place", most=cycle - 1), one.integer("file", most=MOST)
        opened.append((at, file, one.integer("record"), one.integer("offset")))
    place, given = saved.integer("place", most=cycle - 1), saved.integer("given", most=node.block)
    return opened, place, given, saved.integer("next", most=len(node.paths))


@dataclass(frozen=True, eq=False)
class Listed(Root, traits=SOURCE):
    """The names of files."""

    paths: tuple[str, ...]

    def describe(self) -> str:
        """Return the call."""
        return f"Dataset.list_files({len(self.paths)} files)"

    def identity(self) -> str:
        """Return what it is."""
        return "list_files"

    def content(self) -> tuple[int, int, Any]:
        """Return what distinguishes the files from others."""
        return content_of(self.paths)

    def length(self) -> Length:
        """Return how many files there are."""
        return len(self.paths)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first name, or the one that a state says."""
        del run
        return _Names(self.paths, 0 if saved is None else saved.only(["at"]).integer("at"))


class _Names(Stage):
    def __init__(self, paths: tuple[str, ...], at: int) -> None:
        self._paths = paths
        self._at = at

    def __next__(self) -> str:
        """Return the next name."""
        if self._at >= len(self._paths):
            raise StopIteration
        self._at += 1
        return self._paths[self._at - 1]

    def skip(self, n: int) -> None:
        """Continue after them."""
        self._at += n

    def state(self) -> State:
        """Return how many there were."""
        return {"at": self._at}
