"""RaggedFeature: values divided into rows by the numbers in other features.

The numbers of a partition are counted within a record (within a step, in feature lists). All
records are divided at once: their numbers are shifted by where the record's values begin.

Partitions that do not fit the values are refused with `validate`. Without it the result is
TensorFlow's, whatever that makes of them, as far as it is one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tfrecs.arrays import IntArray, RaggedTensor, Values
from tfrecs.features import (
    Partition,
    RowLengths,
    RowLimits,
    RowSplits,
    RowStarts,
    ValueRowIds,
)
from tfrecs.parsing.misfits import misfit


class MisfitError(Exception):
    """A partition does not fit the values of a record (of a step), the one in place `row`."""

    def __init__(self, row: int, reason: str) -> None:
        """Keep the place and the reason."""
        super().__init__(reason)
        self.row = row
        self.reason = reason


@dataclass
class Nested:
    """Values under levels of rows, of all records one behind the other.

    Attributes:
        values: The innermost values.
        levels: The row splits of each level within the records, outermost first.
        tops: Where the outermost elements of each record (of each step) end, with a leading 0.
        is_single: Whether it is one record whose result has no level for the batch.
        max_rows: How many rows may be made of row numbers.
    """

    values: Values
    levels: list[IntArray]
    tops: IntArray
    is_single: bool
    max_rows: Callable[[], int]

    @property
    def count(self) -> int:
        """How many outermost elements there are."""
        return len(self.levels[0]) - 1 if self.levels else len(self.values)

    def divide(self, partition: Partition, numbers: RaggedTensor, *, validate: bool) -> None:
        """Put another level of rows on top: those that `numbers` of each record say.

        Raises:
            MisfitError: There is no such division; with `validate`, also if a record's is wrong.
        """
        if validate:
            found = misfit(partition, _flat(numbers), _splits(numbers), np.diff(self.tops))
            if found is not None:
                raise MisfitError(*found)
        level, tops = _DIVIDE[type(partition)](self, numbers)
        self.levels.insert(0, level)
        self.tops = tops

    def divide_evenly(self, length: int, *, validate: bool) -> None:
        """Make rows of one length: values get another dimension, rows another level on top.

        Raises:
            MisfitError: There is no such division; with `validate`, also if a record's is wrong.
        """
        rest = np.diff(self.tops) % length
        if rest.any() and (validate or (not self.levels and self.count % length)):
            row = int(np.argmax(rest > 0))
            sizes = int(self.tops[row + 1] - self.tops[row])
            reason = (
                f"its {sizes} values cannot be divided into rows of {length} (UniformRowLength)"
            )
            raise MisfitError(row, reason)
        if self.levels:
            self.levels.insert(0, np.arange(self.count // length + 1, dtype=np.int64) * length)
        else:
            inner = self.values.shape[1:]
            self.values = self.values.reshape((len(self.values) // length, length, *inner))
        self.tops = self.tops // length


def _flat(numbers: RaggedTensor) -> IntArray:
    return numbers.values  # type: ignore[return-value]


def _splits(numbers: RaggedTensor) -> IntArray:
    return numbers.row_splits  # type: ignore[return-value]


def _shifted(nested: Nested, numbers: IntArray, splits: IntArray) -> IntArray:
    """Count from the first record's values instead of from those of the own record."""
    return numbers + np.repeat(nested.tops[:-1], np.diff(splits))


def _by_limits(nested: Nested, numbers: RaggedTensor) -> tuple[IntArray, IntArray]:
    limits = _shifted(nested, _flat(numbers), _splits(numbers))
    return np.concatenate([[0], limits]), _splits(numbers)


def _by_starts(nested: Nested, numbers: RaggedTensor) -> tuple[IntArray, IntArray]:
    starts = _shifted(nested, _flat(numbers), _splits(numbers))
    return np.append(starts, nested.count), _splits(numbers)


def _by_splits(nested: Nested, numbers: RaggedTensor) -> tuple[IntArray, IntArray]:
    """Row splits are a 0, which is not looked at, and limits."""
    flat, splits = _flat(numbers), _splits(numbers)
    if nested.is_single:  # ... but of one record it is, as there are no other records before it
        level = flat if len(flat) else np.zeros(1, np.int64)
        return level, np.array([0, len(level) - 1])
    is_limit = np.ones(len(flat), np.bool_)
    is_limit[splits[:-1][splits[1:] > splits[:-1]]] = False
    tops = _cumulated(np.maximum(np.diff(splits) - 1, 0))
    limits = _shifted(nested, flat[is_limit], tops)
    return np.concatenate([[0], limits]), tops


def _by_lengths(nested: Nested, numbers: RaggedTensor) -> tuple[IntArray, IntArray]:
    del nested
    return _cumulated(_flat(numbers)), _splits(numbers)


def _by_row_ids(nested: Nested, numbers: RaggedTensor) -> tuple[IntArray, IntArray]:
    """The rows of a record are as many as its highest number says."""
    flat, splits = _flat(numbers), _splits(numbers)
    lengths = np.diff(splits)
    if len(flat) != nested.count:
        sizes = np.diff(nested.tops)
        row = int(np.argmax(lengths != sizes)) if len(lengths) == len(sizes) else 0
        reason = f"{lengths[row]} row numbers (ValueRowIds) for {sizes[row]} values"
        raise MisfitError(row, f"{reason}: there is one for each")
    rows = np.zeros(len(lengths), np.int64)
    if len(flat):
        if flat.min() < 0:
            row = int(np.searchsorted(splits, np.argmax(flat < 0), side="right")) - 1
            raise MisfitError(row, f"row number {flat[flat < 0][0]} (ValueRowIds) is negative")
        rows[lengths > 0] = np.maximum.reduceat(flat, splits[:-1][lengths > 0])
        _require_few_rows(rows, nested.max_rows)
        rows[lengths > 0] += 1
    tops = _cumulated(rows)
    ids = flat + np.repeat(tops[:-1], lengths)
    total = int(ids[-1]) + 1 if len(ids) else 0
    return _cumulated(np.bincount(ids, minlength=total)[:total]), tops


def _require_few_rows(rows: IntArray, max_rows: Callable[[], int]) -> None:
    """Refuse row numbers that would make far more rows than the input justifies."""
    if rows.max() < len(rows) and rows.sum() < len(rows):
        return
    limit = max_rows()
    too_many = (rows >= limit) | (np.cumsum(np.minimum(rows, limit)) >= limit)
    if too_many.any():
        row = int(np.argmax(too_many))
        reason = (
            f"row number {rows[row]} (ValueRowIds) makes more empty rows than input of this size "
            f"justifies (at most {limit} rows)"
        )
        raise MisfitError(row, reason)


def _cumulated(lengths: npt.NDArray[np.integer]) -> IntArray:
    splits = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=splits[1:])
    return splits


_DIVIDE: dict[type, Callable[[Nested, RaggedTensor], tuple[IntArray, IntArray]]] = {
    RowSplits: _by_splits,
    RowLengths: _by_lengths,
    RowStarts: _by_starts,
    RowLimits: _by_limits,
    ValueRowIds: _by_row_ids,
}
