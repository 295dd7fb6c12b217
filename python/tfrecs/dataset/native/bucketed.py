"""Records divided by their lengths into buckets, of which batches are parsed and padded whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs.dataset.collate.pad import PaddedColumns
from tfrecs.dataset.native.batches import keys_of
from tfrecs.dataset.native.filtered import Piece, Reader, check_shards, shards_of
from tfrecs.dataset.plan.native_form import Choice, Divided
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import SpecError, StateError
from tfrecs.expressions import Expression
from tfrecs.records.reader import Records

Places = npt.NDArray[np.int64]


def check_length(length: Expression, choice: Choice) -> None:
    """Refuse what is no length of these records.

    Raises:
        SpecError: It is none.
    """
    array, _ = length.evaluate(choice.columns(length).empty())
    if getattr(array, "dtype", np.dtype(object)).kind not in "iuf":
        raise SpecError(f"{length!r} is no length: it must be a number")


class _Part:
    """Some records of a bucket: where they lie among others, and where in the order."""

    def __init__(self, records: Records, chosen: Places, places: Places) -> None:
        self.records = records
        self.chosen = chosen
        self.places = places

    @property
    def first(self) -> int:
        """The place of the first one in the order."""
        return int(self.places[0])

    def last(self, count: int) -> _Part:
        """Return the last `count` of them, or all."""
        start = max(len(self.places) - count, 0)
        return _Part(self.records, self.chosen[start:], self.places[start:])

    def alone(self) -> _Part:
        """Return the same without the records that lie beside them."""
        if len(self.chosen) == len(self.records):
            return self
        records = _core.pick_records([(self.records, self.chosen)])
        return _Part(records, np.arange(len(records)), self.places)


class _Bucket:
    """What waits in a bucket."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.count = 0
        self.parts: list[_Part] = []

    def add(self, part: _Part) -> None:
        """Put records after the others."""
        if len(part.places):
            self.parts.append(part)
            self.count += len(part.places)

    def keep(self, count: int) -> None:
        """Let go of all but the last `count`."""
        kept: list[_Part] = []
        while self.parts and count > 0:
            part = self.parts.pop().last(count)
            count -= len(part.places)
            kept.insert(0, part)
        self.parts, self.count = kept, sum(len(part.places) for part in kept)

    def compact(self) -> None:
        """Let go of the records that lie beside those that wait."""
        self.parts = [part.alone() for part in self.parts]

    def take(self) -> Records:
        """Return all of them, and be empty."""
        records = _core.pick_records([(part.records, part.chosen) for part in self.parts])
        self.parts, self.count = [], 0
        return records


class RecordBuckets(Stage):
    """Batches of records of about the same length.

    A batch takes all that is in a bucket. So a state says how many wait in each, and where the
    oldest of them lies: what waits is the last of what has been read since.
    """

    def __init__(self, form: Divided, run: Run, saved: Saved | None) -> None:
        """Begin with empty buckets, or with what a state says is in them."""
        self._division, self._order = form.division, form.choice.order
        division = form.division
        features = self._order.files.spec.features
        assert features is not None
        self._pads = [
            PaddedColumns(padding, features) if padding is not None else None
            for padding in map(self._padding_of, range(len(division.sizes)))
        ]
        self._buckets = [_Bucket(size) for size in division.sizes]
        self._edges = np.asarray(division.boundaries)
        self._at, self._flushed, start = 0, 0, 0
        if saved is not None:
            saved.only(["from", "at", "held", "flushed", "shards"])
            check_shards(saved, self._order)
            self._at = saved.integer("at")
            start = saved.integer("from", most=self._at)
            self._flushed = saved.integer("flushed", most=len(division.sizes))
        self._reader = Reader(form.choice, run, start, form.length)
        # What has been read and not divided yet: the rest of a piece, and the bucket of each.
        self._piece: Piece | None = None
        self._which: Places = np.empty(0, np.int64)
        if saved is not None:
            self._refill(saved, start)

    def _padding_of(self, bucket: int) -> Any:
        is_last = bucket == len(self._division.boundaries)
        return None if is_last and self._division.to_boundary else self._division.padding_of(bucket)

    def _refill(self, saved: Saved, start: int) -> None:
        """Read what a state says was read, and keep the last of it in each bucket."""
        held = saved.integers("held", len(self._buckets), max(self._division.sizes))
        too_many = [
            count >= bucket.size for count, bucket in zip(held, self._buckets, strict=False)
        ]
        if len(held) != len(self._buckets) or any(too_many):
            raise StateError("the state is not one of this dataset: it holds another number")
        while start < self._at and self._read() and self._piece is not None:
            start = self._piece.end
            self._divide(int(np.searchsorted(self._piece.places, self._at)))
            for bucket, count in zip(self._buckets, held, strict=True):
                bucket.keep(count)
                bucket.compact()

    def _read(self) -> bool:
        """Read another piece; false if there is none."""
        self._piece = self._reader.read()
        if self._piece is None:
            return False
        lengths = self._piece.measures
        assert lengths is not None
        self._which = np.searchsorted(self._edges, lengths, side="right")
        return True

    def _divide(self, count: int) -> None:
        """Put the next `count` records of the piece into their buckets."""
        piece = self._piece
        assert piece is not None
        chosen, places, which = piece.chosen[:count], piece.places[:count], self._which[:count]
        piece.chosen, piece.places = piece.chosen[count:], piece.places[count:]
        self._which = self._which[count:]
        for number in np.unique(which).tolist():
            mine = which == number
            self._buckets[number].add(_Part(piece.records, chosen[mine], places[mine]))

    def _next_full(self) -> int | None:
        """Return how many records of the piece fill a bucket; None if they fill none."""
        ends = []
        for number, bucket in enumerate(self._buckets):
            mine = np.flatnonzero(self._which == number)
            missing = bucket.size - bucket.count
            if len(mine) >= missing:
                ends.append(int(mine[missing - 1]) + 1)
        return min(ends, default=None)

    def _full(self) -> int:
        """Return the next bucket that is full; after all records, that is not empty."""
        while not self._flushed:
            if self._piece is None and not self._read():
                break
            assert self._piece is not None
            count = self._next_full()
            if count is not None:
                which = int(self._which[count - 1])
                self._at = int(self._piece.places[count - 1]) + 1
                self._divide(count)
                return which
            self._divide(len(self._which))
            self._at = self._piece.end
            self._piece = None
            for bucket in self._buckets:
                bucket.compact()
        while self._flushed < len(self._buckets):
            self._flushed += 1
            if self._buckets[self._flushed - 1].count and not self._division.drop_remainder:
                return self._flushed - 1
        raise StopIteration

    def __next__(self) -> Any:
        """Return the next batch."""
        which = self._full()
        pad = self._pads[which] or self._division.padding_of(which)
        records = self._buckets[which].take()
        made = pad(self._order.files.spec.parsed(records))  # type: ignore[operator]
        return (keys_of(records), made) if self._order.keyed else made

    def skip(self, n: int) -> None:
        """Leave out `n` batches: they are divided, and not parsed."""
        for _ in range(n):
            try:
                self._buckets[self._full()].take()
            except StopIteration:
                break

    def state(self) -> State:
        """Return where the oldest record that waits lies, and how many wait in each bucket."""
        firsts = [bucket.parts[0].first for bucket in self._buckets if bucket.parts]
        return {
            "from": min(firsts, default=self._at),
            "at": self._at,
            "held": [bucket.count for bucket in self._buckets],
            "flushed": self._flushed,
            "shards": shards_of(self._order),
        }

    def close(self) -> None:
        """Stop the threads."""
        self._reader.close()
