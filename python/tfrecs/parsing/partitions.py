"""RaggedFeature: values divided into rows by the numbers in other features.

The numbers of a partition are counted within a record (within a step, in feature lists). All
records are divided at once: their numbers are shifted by where the record's values begin.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tfrecs._internal.wording import plural
from tfrecs.features import (
    Partition,
    RowLengths,
    RowLimits,
    RowSplits,
    RowStarts,
    UniformRowLength,
    ValueRowIds,
)
from tfrecs.parsing.partition_errors import MisfitError, require_fit
from tfrecs.tensors import IntArray, Values


@dataclass
class Nested:
    """Values under levels of rows, of all records one after the other.

    Attributes:
        values: The innermost values.
        levels: The row splits of each level within the records, outermost first.
        tops: Where the outermost elements of each record (of each step) end, with a leading 0.
        max_rows: How many rows may be made of row numbers.
    """

    values: Values
    levels: list[IntArray]
    tops: IntArray
    max_rows: Callable[[], int]

    def divide(self, partition: Partition, numbers: IntArray, splits: IntArray) -> None:
        """Put another level of rows on top.

        Args:
            partition: What the numbers mean.
            numbers: Those of all records.
            splits: Where the numbers of each record end, with a leading 0.

        Raises:
            MisfitError: A record's numbers do not fit its values.
        """
        require_fit(partition, numbers, splits, self.tops[1:] - self.tops[:-1])
        level, tops = _DIVIDE[type(partition)](self, numbers, splits)
        self.levels.insert(0, level)
        self.tops = tops

    def divide_evenly(self, partition: UniformRowLength) -> None:
        """Make rows of one length: values get another dimension, rows another level on top.

        Raises:
            MisfitError: A record's values cannot be so divided.
        """
        length, sizes = int(partition.length), np.diff(self.tops)
        if (sizes % length).any():
            row = int(np.argmax(sizes % length > 0))
            values = f"its {sizes[row]} {plural(sizes[row], 'value')}"
            reason = f"{values} cannot be divided into rows of {length} (UniformRowLength)"
            raise MisfitError(row, reason)
        if self.levels:
            count = int(self.tops[-1])
            self.levels.insert(0, np.arange(0, count + 1, length, dtype=np.int64))
        else:
            shape = (len(self.values) // length, length, *self.values.shape[1:])
            self.values = self.values.reshape(shape)
        self.tops = self.tops // length


_Level: TypeAlias = tuple[IntArray, IntArray]  # a level of rows, and where each record's rows end


def _by_limits(nested: Nested, limits: IntArray, splits: IntArray) -> _Level:
    shifted = limits + np.repeat(nested.tops[:-1], np.diff(splits))
    return np.concatenate([[0], shifted]), splits


def _by_splits(nested: Nested, numbers: IntArray, splits: IntArray) -> _Level:
    """Row splits are a 0 and limits."""
    is_limit = np.ones(len(numbers), np.bool_)
    is_limit[splits[:-1][splits[1:] > splits[:-1]]] = False
    tops = _cumulated(np.maximum(np.diff(splits) - 1, 0))
    return _by_limits(nested, numbers[is_limit], tops)


def _by_starts(nested: Nested, starts: IntArray, splits: IntArray) -> _Level:
    shifted = starts + np.repeat(nested.tops[:-1], np.diff(splits))
    return np.append(shifted, nested.tops[-1]), splits


def _by_lengths(nested: Nested, lengths: IntArray, splits: IntArray) -> _Level:
    del nested
    return _cumulated(lengths), splits


def _by_row_ids(nested: Nested, ids: IntArray, splits: IntArray) -> _Level:
    """The rows of a record are as many as its last number says."""
    is_there = splits[1:] > splits[:-1]
    highest = np.full(len(is_there), -1, np.int64)
    highest[is_there] = ids[splits[1:][is_there] - 1]
    _require_few_rows(highest, nested.max_rows)
    tops = _cumulated(highest + 1)
    shifted = ids + np.repeat(tops[:-1], np.diff(splits))
    return _cumulated(np.bincount(shifted, minlength=int(tops[-1]))), tops


def _require_few_rows(highest: IntArray, max_rows: Callable[[], int]) -> None:
    """Refuse row numbers that would make far more rows than the input justifies."""
    if highest.max(initial=0) <= len(highest):
        return
    limit = max_rows()
    too_many = np.cumsum(np.minimum(highest, limit) + 1) > limit
    if too_many.any():
        row = int(np.argmax(too_many))
        raise MisfitError(
            row,
            f"row number {highest[row]} (ValueRowIds) makes more empty rows than input of this "
            f"size justifies (at most {limit} rows)",
        )


def _cumulated(lengths: IntArray) -> IntArray:
    splits = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=splits[1:])
    return splits


_DIVIDE: dict[type, Callable[[Nested, IntArray, IntArray], _Level]] = {
    RowSplits: _by_splits,
    RowLengths: _by_lengths,
    RowStarts: _by_starts,
    RowLimits: _by_limits,
    ValueRowIds: _by_row_ids,
}
