"""What comes of records in an order: batches, or one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from tfrecs import _core
from tfrecs.dataset.plan.order import RecordOrder
from tfrecs.dataset.plan.order_steps import SkipRecords, StripeRecords
from tfrecs.dataset.plan.spec import RECORDS_UP_TO_ERRORS, Spec
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import ParseError
from tfrecs.records.reader import Records
from tfrecs.tensors import BytesArray
from tfrecs.tensors.native import view

# What is read at once where records are wanted one by one: records, or bytes.
AHEAD = 256
AHEAD_BYTES = 1 << 20


def keys_of(records: Records, numbered: bool = True) -> BytesArray:
    """Return the keys of records: the file of each, and its number there."""
    keys, ends = records._keys(numbered)  # noqa: SLF001 - not for users
    return BytesArray(view(keys, np.uint8), view(ends, np.int64))


def striped(order: RecordOrder, run: Run, block: int) -> RecordOrder:
    """Return what a run wants of an order, of which `block` records make an element."""
    return order if run.stripe is None else order.then(StripeRecords(block, *run.stripe))


def begin_batches(
    order: RecordOrder,
    run: Run,
    size: int,
    drop_remainder: bool,
    first: int,
    output: _core.Output,
) -> Any:
    """Begin to read batches of `size` records, with batch number `first`."""
    if first == 0 and not order.steps:
        return order.files.scan(size, drop_remainder, output)
    return order.files.gather(order.native, run.epoch, size, drop_remainder, first, output)


def begin_pieces(order: RecordOrder, run: Run, at: int, most: int, output: _core.Output) -> Any:
    """Begin to read records from place `at` on, `most` or AHEAD_BYTES of them at a time."""
    if at == 0 and not order.steps:
        return order.files.scan(most, False, output, AHEAD_BYTES)
    size = order.files.about(AHEAD_BYTES, most)
    rest = order.then(SkipRecords(at)) if at else order
    return order.files.gather(rest.native, run.epoch, size, False, 0, output)


def parsed_one(spec: Spec, place: int, record: bytes, records: Records) -> Any:
    """Return what is made of a record, the one at this place of `records`.

    Raises:
        ParseError: It does not have what was asked for; the text says which record of which file.
    """
    try:
        return spec.one(record)
    except ParseError as error:
        raise records.parse_error(place, error.reason, error.feature) from error


class Batches(Stage):
    """Batches of an order, read and parsed on the native side's threads."""

    def __init__(
        self, order: RecordOrder, size: int, drop_remainder: bool, run: Run, saved: Saved | None
    ) -> None:
        """Begin at the first batch, or where a state says."""
        self._order, saved = order.at_shard(saved, size)
        self._files = order.files
        self._at = 0 if saved is None else saved.integer("at")
        self._native = self._started(run, size, drop_remainder)
        self._has_failed = False
        self._native.count_in(run.meters.reading(self._files))

    def _started(self, run: Run, size: int, drop_remainder: bool) -> Any:
        order = striped(self._order, run, size)
        return begin_batches(order, run, size, drop_remainder, self._at, self._files.spec.output)

    def __next__(self) -> Any:
        """Return the next batch; after a ParseError, the one after the batch that failed."""
        if self._has_failed:
            self._at, self._has_failed = self._at + 1, False
        try:
            batch = next(self._native)
        except ParseError:
            self._has_failed = True
            raise
        self._at += 1
        try:
            made = self._files.spec.batch(batch)
        except BaseException:
            self.close()
            raise
        if not self._order.keyed:
            return made
        # Beside what is parsed stand the places of the records.
        return keys_of(batch[-1] if isinstance(batch, tuple) else batch), made

    def state(self) -> State:
        """Return how many batches there were."""
        return self._order.state(self._at)

    def close(self) -> None:
        """Stop the threads."""
        self._native.close()


class Elements(Stage):
    """Records of an order one by one, parsed if the files say so."""

    def __init__(self, order: RecordOrder, run: Run, saved: Saved | None) -> None:
        """Begin at the first record, or where a state says."""
        self._order, saved = order.at_shard(saved, 1)
        self._files = order.files
        self._begin(run, 0 if saved is None else saved.integer("at"))

    def _begin(self, run: Run, at: int) -> None:
        self._run, self._at = run, at
        self._native = self._batches()
        self._native.count_in(run.meters.reading(self._files))
        self._ready: Iterator[tuple[int, bytes]] = iter(())
        self._keys: Iterator[bytes] = iter(())
        self._records = Records([])

    def _batches(self) -> Any:
        order = striped(self._order, self._run, 1)
        return begin_pieces(order, self._run, self._at, AHEAD, RECORDS_UP_TO_ERRORS)

    def __next__(self) -> Any:
        """Return the next record, or what is parsed of it."""
        numbered = next(self._ready, None)
        if numbered is None:
            numbered = self._read()
        self._at += 1
        made = parsed_one(self._files.spec, *numbered, self._records)
        return (next(self._keys), made) if self._order.keyed else made

    def _read(self) -> tuple[int, bytes]:
        """Return the first of some more records, and its place among them."""
        self._records = records = next(self._native)
        self._ready = enumerate(records)
        if self._order.keyed:
            self._keys = iter(keys_of(records).tolist())
        return next(self._ready)

    def skip(self, n: int) -> None:
        """Continue after the next `n` records without reading those that are not read yet."""
        passed = sum(1 for _ in islice(self._ready, n))
        deque(islice(self._keys, passed), 0)
        if passed < n:
            self.close()
            self._begin(self._run, self._at + n)
        else:
            self._at += n

    def state(self) -> State:
        """Return how many records there were."""
        return self._order.state(self._at)

    def close(self) -> None:
        """Stop the threads."""
        self._native.close()
