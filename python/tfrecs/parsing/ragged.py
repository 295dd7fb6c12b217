"""RaggedFeature, put together from its columns: of Examples, and of feature lists."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfrecs._internal.wording import counted
from tfrecs.features import Partition, UniformRowLength
from tfrecs.parsing.partition_errors import MisfitError
from tfrecs.parsing.partitions import Nested
from tfrecs.parsing.plan import Divided
from tfrecs.tensors import IntArray, RaggedTensor, Values


def divided(
    part: Divided,
    column: Callable[[int], RaggedTensor],
    *,
    is_single: bool,
    max_rows: Callable[[], int],
) -> RaggedTensor | Values:
    """Return the values of a RaggedFeature under their levels of rows.

    Args:
        part: Which columns they are in.
        column: Gives a column: a row for each record, in feature lists rows of steps.
        is_single: Leave out the level of the batch.
        max_rows: How many rows may be made of row numbers.

    Raises:
        MisfitError: A partition does not fit the values of a record.
    """
    rows, steps = _without_records(column(part.values))
    nested = Nested(rows.values, [], _splits(rows), max_rows)  # type: ignore[arg-type]
    for partition, place in reversed(part.partitions):
        numbers = None if place is None else column(place)
        try:
            _divide(nested, partition, numbers, steps, part.splits_dtype)
        except MisfitError as misfit:
            raise _in_record(misfit, steps) from None
    levels = [*([] if steps is None else [steps]), nested.tops, *nested.levels]
    levels = levels[1:] if is_single else levels
    if not levels:
        return nested.values
    narrow = [_narrowed(splits, part.splits_dtype) for splits in levels]
    return RaggedTensor.from_nested_row_splits(nested.values, narrow)


def _divide(
    nested: Nested,
    partition: Partition,
    column: RaggedTensor | None,
    steps: IntArray | None,
    dtype: np.dtype[Any],
) -> None:
    if isinstance(partition, UniformRowLength):
        nested.divide_evenly(partition)
    elif column is not None:
        rows, own_steps = _without_records(column)
        if steps is not None and own_steps is not None:
            _require_alignment(steps, own_steps)
        numbers: Any = rows.values
        _require_range(numbers, _splits(rows), dtype)
        nested.divide(partition, numbers, _splits(rows))


def _without_records(rows: RaggedTensor) -> tuple[RaggedTensor, IntArray | None]:
    """Return the rows of all steps, and the records' steps; of Examples, the rows and None."""
    if isinstance(rows.values, RaggedTensor):
        return rows.values, _splits(rows)
    return rows, None


def _splits(rows: RaggedTensor) -> IntArray:
    return rows.row_splits  # type: ignore[return-value]  # native columns have int64


def _require_alignment(steps: IntArray, own_steps: IntArray) -> None:
    """Refuse partitions of more or fewer steps than there are steps of values."""
    counts, own_counts = np.diff(steps), np.diff(own_steps)
    if (counts != own_counts).any():
        record = int(np.argmax(counts != own_counts))
        reason = "values and partitions are not aligned"
        raise NotAlignedError(
            record, f"{reason}: {counts[record]} and {counted(own_counts[record], 'step')}"
        )


class NotAlignedError(MisfitError):
    """The values and a partition of a record, the one in place `row`, differ in steps."""


def _require_range(numbers: IntArray, splits: IntArray, dtype: np.dtype[Any]) -> None:
    """Refuse what does not fit the type of the row splits."""
    if dtype == numbers.dtype:
        return
    limits = np.iinfo(dtype)
    if numbers.min(initial=0) >= limits.min and numbers.max(initial=0) <= limits.max:
        return
    outside = (numbers < limits.min) | (numbers > limits.max)
    place = int(np.argmax(outside))
    row = int(np.searchsorted(splits, place, side="right")) - 1
    reason = f"{numbers[place]} in a partition does not fit {dtype}"
    raise MisfitError(row, f'{reason}: ask for row_splits_dtype="int64"')


def _in_record(misfit: MisfitError, steps: IntArray | None) -> MisfitError:
    """Turn the place of a step into that of its record."""
    if steps is None or isinstance(misfit, NotAlignedError):
        return misfit
    record = int(np.searchsorted(steps, misfit.row, side="right")) - 1
    step = misfit.row - int(steps[record])
    return MisfitError(record, f"step {step}: {misfit.reason}")


def _narrowed(splits: IntArray, dtype: np.dtype[Any]) -> IntArray:
    if splits[-1] > np.iinfo(dtype).max:
        record = int(np.argmax(splits > np.iinfo(dtype).max)) - 1
        reason = f"with this record there are more values than {dtype} counts"
        raise MisfitError(record, f'{reason}: ask for row_splits_dtype="int64", or a smaller batch')
    return splits.astype(dtype, copy=False)
