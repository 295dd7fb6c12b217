"""Whether the partitions of a RaggedFeature fit the values, record by record.

TensorFlow looks at the batch as a whole, and only if asked to: values then get lost, or land in
another record. Here every record is looked at, always.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs._internal.wording import plural
from tfrecs.features import Partition, RowLengths, RowLimits, RowSplits, RowStarts
from tfrecs.tensors import IntArray

BoolArray: TypeAlias = npt.NDArray[np.bool_]


class MisfitError(Exception):
    """A partition does not fit the values of a record (of a step), the one in place `row`."""

    def __init__(self, row: int, reason: str) -> None:
        """Keep the place and the reason."""
        super().__init__(reason)
        self.row = row
        self.reason = reason


def require_fit(partition: Partition, numbers: IntArray, splits: IntArray, sizes: IntArray) -> None:
    """Refuse numbers that do not divide the values of their record.

    Args:
        partition: What the numbers mean.
        numbers: Those of all records.
        splits: Where the numbers of each record end, with a leading 0.
        sizes: How many values (or rows of them) each record has.

    Raises:
        MisfitError: The first record whose numbers do not.
    """
    bad = _bad_rows(partition, numbers, splits, sizes)
    if bad.any():
        row = int(np.argmax(bad))
        own = numbers[splits[row] : splits[row + 1]]
        shown = np.array2string(own, threshold=8, edgeitems=3, separator=", ")
        kind, key = type(partition).__name__, getattr(partition, "key", "")
        text = f"{kind} {shown} of {key!r} do not form a valid RaggedTensor over"
        raise MisfitError(row, f"{text} {sizes[row]} {plural(sizes[row], 'value')}")


def _bad_rows(
    partition: Partition, numbers: IntArray, splits: IntArray, sizes: IntArray
) -> BoolArray:
    if isinstance(partition, RowLengths):
        return _bad_lengths(numbers, splits, sizes)
    lengths = np.diff(splits)
    is_there = lengths > 0
    firsts, lasts = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    firsts[is_there] = numbers[splits[:-1][is_there]]
    lasts[is_there] = numbers[splits[1:][is_there] - 1]
    bad: BoolArray = _descends(numbers, splits) | (firsts < 0)
    if isinstance(partition, RowSplits):
        bad |= (firsts != 0) | (lasts != sizes)
    elif isinstance(partition, RowLimits):
        bad |= lasts != sizes
    elif isinstance(partition, RowStarts):
        bad |= (firsts != 0) | (lasts > sizes) | (~is_there & (sizes > 0))
    else:
        bad |= lengths != sizes
    return bad


def _bad_lengths(numbers: IntArray, splits: IntArray, sizes: IntArray) -> BoolArray:
    if numbers.min(initial=0) >= 0 and numbers.max(initial=0) <= sizes.max(initial=0):
        differ: BoolArray = _sums(numbers, splits) != sizes
        return differ  # as nearly always
    row_of = np.repeat(np.arange(len(sizes)), np.diff(splits))
    outside = (numbers < 0) | (numbers > sizes[row_of])
    bad = _marked(row_of[outside], len(sizes))
    bad |= _sums(np.where(outside, 0, numbers), splits) != sizes
    return bad


def _sums(numbers: IntArray, splits: IntArray) -> IntArray:
    """Return the sum of each row's numbers."""
    sums = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(numbers, out=sums[1:])
    return sums[splits[1:]] - sums[splits[:-1]]


def _descends(numbers: IntArray, splits: IntArray) -> BoolArray:
    """Which rows have a number that is less than the one before it."""
    row_of = np.repeat(np.arange(len(splits) - 1), np.diff(splits))
    down = (numbers[1:] < numbers[:-1]) & (row_of[1:] == row_of[:-1])
    return _marked(row_of[1:][down], len(splits) - 1)


def _marked(rows: npt.NDArray[Any], count: int) -> BoolArray:
    marks = np.zeros(count, np.bool_)
    marks[rows] = True
    return marks
