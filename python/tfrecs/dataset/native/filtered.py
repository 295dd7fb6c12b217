"""Records that conditions choose of an order: batches of them, or one by one.

What the conditions need is decoded on the native side's threads, beside the records; the rest of
the records is decoded of those that are chosen. No record becomes a Python object on the way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs.dataset.native.batches import begin_batches, begin_pieces, keys_of, parsed_one
from tfrecs.dataset.plan.native_form import Choice, FilteredBatches
from tfrecs.dataset.plan.order import ENDLESS, RecordOrder
from tfrecs.dataset.plan.order_steps import ShardRecords, SkipRecords, TakeRecords
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import StateError
from tfrecs.expressions import Expression, Table
from tfrecs.records.reader import Records

# What is read at once: records.
AT_ONCE = 4096

# Where fewer than one record in this many is chosen, the chosen ones are copied, and the others
# released.
_SPARSE = 4


@dataclass
class Piece:
    """Some records in order, and which of them are chosen.

    Attributes:
        records: The chosen ones, and perhaps others.
        chosen: Those that are left of the chosen ones: where they are among these.
        places: Where they are in the order.
        end: The place in the order after all that were read.
        measures: Of each of these what was to be worked out beside it, if anything was.
    """

    records: Records
    chosen: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    end: int
    measures: npt.NDArray[Any] | None = None


class Reader:
    """Reads the records of an order from a place on, and chooses."""

    def __init__(
        self, choice: Choice, run: Run, at: int, measure: Expression | None = None
    ) -> None:
        """Begin at a place; `measure` is worked out beside the choice."""
        self._order = choice.order
        self._conditions = choice.conditions
        self._measure = measure
        self._columns = choice.columns(measure)
        self._at = at
        self._barren = 0
        self._most_barren = self._passes(2)
        output = _core.Output.columns_and_records(self._columns.native)
        self._native = begin_pieces(self._order, run, at, AT_ONCE, output)
        self._native.count_in(run.meters.reading(self._order.files))

    def _passes(self, count: int) -> float:
        """Return how many records `count` of endless passes have, if all see each record."""
        shortened = (ShardRecords, TakeRecords, SkipRecords)
        steps = self._order.steps
        if self._order.length() != ENDLESS or any(isinstance(one, shortened) for one in steps):
            return ENDLESS
        return count * len(self._order.files.records)

    def read(self) -> Piece | None:
        """Return the next piece in which records are chosen; None at the end."""
        while self._barren < self._most_barren:
            found = next(self._native, None)
            if found is None:
                return None
            columns, records = found
            piece = self._chosen(self._columns.table(columns, records), records)
            self._at += len(records)
            self._barren += len(records)
            if len(piece.chosen):
                self._barren = 0
                return piece
        return None  # nothing would ever come

    def _chosen(self, table: Table, records: Records) -> Piece:
        masks = [condition.mask(table) for condition in self._conditions]
        if masks:
            chosen = places_of(np.logical_and.reduce(masks))
        else:
            chosen = np.arange(len(records), dtype=np.int64)
        measures = None
        if self._measure is not None:
            array, valid = self._measure.evaluate(table)
            measures = (array if valid is None else np.where(valid, array, 0))[chosen]
        places, end = self._at + chosen, self._at + len(records)
        if len(chosen) * _SPARSE < len(records):
            records = _core.pick_records([(records, chosen)])
            chosen = np.arange(len(records), dtype=np.int64)
        return Piece(records, chosen, places, end, measures)

    def close(self) -> None:
        """Stop the threads."""
        self._native.close()


class _Chosen(Stage):
    """What is chosen and not given yet. A state is the place after the last record given."""

    def __init__(self, choice: Choice, run: Run, saved: Saved | None) -> None:
        self._order = choice.order
        self._spec = choice.order.files.spec
        self._pieces: deque[Piece] = deque()
        self._at = 0
        if saved is not None:
            self._at = check_shards(saved.only(["at", "shards"]), self._order).integer("at")
        self._reader = Reader(choice, run, self._at)

    def _take(self, count: int) -> Records:
        """Return the next `count` records, or fewer at the end."""
        self._read(count)
        taken: list[tuple[Records, npt.NDArray[np.int64]]] = []
        while count > 0 and self._pieces:
            piece = self._pieces[0]
            some, piece.chosen = piece.chosen[:count], piece.chosen[count:]
            taken.append((piece.records, some))
            count -= len(some)
            self._at = int(piece.places[len(some) - 1]) + 1
            piece.places = piece.places[len(some) :]
            if not len(piece.chosen):
                self._pieces.popleft()
        return _core.pick_records(taken)

    def _read(self, count: int) -> None:
        """Read on until `count` records are chosen; an interrupt loses none."""
        count -= sum(len(piece.chosen) for piece in self._pieces)
        while count > 0:
            piece = self._reader.read()
            if piece is None:
                break
            self._pieces.append(piece)
            count -= len(piece.chosen)

    def state(self) -> State:
        """Return how many records of the order there were up to the last one given."""
        return {"at": self._at, "shards": shards_of(self._order)}

    def close(self) -> None:
        """Stop the threads."""
        self._reader.close()


class ChosenBatches(_Chosen):
    """Batches of `size` chosen records."""

    def __init__(
        self, choice: Choice, size: int, drop_remainder: bool, run: Run, saved: Saved | None
    ) -> None:
        """Begin at the first record, or where a state says."""
        super().__init__(choice, run, saved)
        self._size = size
        self._drop_remainder = drop_remainder

    def __next__(self) -> Any:
        """Return the next batch."""
        records = self._next_records()
        made = self._spec.parsed(records)
        return (keys_of(records), made) if self._order.keyed else made

    def _next_records(self) -> Records:
        records = self._take(self._size)
        if not len(records) or (self._drop_remainder and len(records) < self._size):
            raise StopIteration
        return records

    def skip(self, n: int) -> None:
        """Leave out `n` batches: they are chosen, and not parsed."""
        for _ in range(n):
            if not len(self._take(self._size)):
                break


class ChosenElements(_Chosen):
    """Chosen records one by one."""

    def __init__(self, choice: Choice, run: Run, saved: Saved | None) -> None:
        """Begin at the first record, or where a state says."""
        super().__init__(choice, run, saved)
        self._ready: Iterator[tuple[int, int, bytes, bytes | None]] = iter(())
        self._records = Records([])
        self._given = self._at

    def __next__(self) -> Any:
        """Return the next record, or what is parsed of it."""
        self._given, place, record, key = self._next_record()
        made = parsed_one(self._spec, place, record, self._records)
        return made if key is None else (key, made)

    def _next_record(self) -> tuple[int, int, bytes, bytes | None]:
        """Return where the order is after a record, its place among some, the record, its key."""
        for ready in self._ready:
            return ready
        piece = self._reader.read()
        if piece is None:
            raise StopIteration
        self._records = some = piece.records[piece.chosen.tolist()]
        keys = keys_of(some).tolist() if self._order.keyed else [None] * len(some)
        after = (piece.places + 1).tolist()
        self._ready = zip(after, range(len(some)), some, keys, strict=True)
        return next(self._ready)

    def skip(self, n: int) -> None:
        """Leave out `n` records without parsing them."""
        for _ in range(n):
            try:
                self._given = self._next_record()[0]
            except StopIteration:
                break

    def state(self) -> State:
        """Return how many records of the order there were up to the last one given."""
        return {"at": self._given, "shards": shards_of(self._order)}


class ChosenRows(Stage):
    """Batches of records in order, of which those that are not chosen are left out."""

    def __init__(self, form: FilteredBatches, run: Run, saved: Saved | None) -> None:
        """Begin at the first batch, or where a state says."""
        choice, size = form.choice, form.size
        self._order, saved = choice.order.at_shard(saved, size)
        self._files, self._conditions = self._order.files, choice.conditions
        self._columns = choice.columns()
        self._at = 0 if saved is None else saved.integer("at")
        output = _core.Output.columns_and_records(self._columns.native)
        self._native = begin_batches(self._order, run, size, form.drop_remainder, self._at, output)

    def __next__(self) -> Any:
        """Return what is chosen of the next batch in which anything is."""
        for columns, records in self._native:
            self._at += 1
            table = self._columns.table(columns, records)
            masks = [condition.mask(table) for condition in self._conditions]
            chosen = places_of(np.logical_and.reduce(masks))
            if len(chosen):
                some = _core.pick_records([(records, chosen)])
                made = self._files.spec.parsed(some)
                return (keys_of(some), made) if self._order.keyed else made
        raise StopIteration

    def state(self) -> State:
        """Return how many batches there were."""
        return self._order.state(self._at)

    def close(self) -> None:
        """Stop the threads."""
        self._native.close()


def places_of(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return where a mask is true."""
    return np.flatnonzero(mask).astype(np.int64, copy=False)


def shards_of(order: RecordOrder) -> list[list[int]]:
    """Return which shards the order is of: of each there is another number of records to give."""
    return [[step.num, step.index] for step in order.steps if isinstance(step, ShardRecords)]


def check_shards(saved: Saved, order: RecordOrder) -> Saved:
    """Return a state of these shards.

    Raises:
        StateError: It is of others.
    """
    if not saved.is_same("shards", shards_of(order)):
        raise StateError(
            "the state is of another shard, or of another number of them: after a filter each "
            "shard is at a place of its own"
        )
    return saved
