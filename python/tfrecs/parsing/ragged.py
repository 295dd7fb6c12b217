"""RaggedFeature, put together from its columns: of Examples, and of feature lists."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfrecs.arrays import IntArray, RaggedTensor, Values
from tfrecs.features import Partition, RowLengths, UniformRowLength, ValueRowIds
from tfrecs.parsing.partitions import MisfitError, Nested
from tfrecs.parsing.plan import Divided


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
    values, steps = _without_records(column(part.values))
    alone = is_single and steps is None
    nested = Nested(values.values, [], _splits(values), alone, max_rows)  # type: ignore[arg-type]
    for partition, place in reversed(part.partitions):
        try:
            _divide(nested, partition, None if place is None else column(place), steps, part)
        except MisfitError as misfit:
            raise _in_record(misfit, steps) from None
    levels = nested.levels if alone else [nested.tops, *nested.levels]
    if steps is not None and not is_single:
        levels = [steps, *levels]
    if not levels:
        return nested.values
    narrow = [_narrowed(splits, part.splits_dtype) for splits in levels]
    return RaggedTensor.from_nested_row_splits(nested.values, narrow)


def _divide(
    nested: Nested,
    partition: Partition,
    column: RaggedTensor | None,
    steps: IntArray | None,
    part: Divided,
) -> None:
    if isinstance(partition, UniformRowLength):
        nested.divide_evenly(int(partition.length), validate=part.validate)
    elif column is not None:
        numbers, own_steps = _without_records(column)
        if steps is not None and own_steps is not None:
            _require_alignment(nested, partition, numbers, (steps, own_steps), part)
        _require_range(numbers, part)
        nested.divide(partition, numbers, validate=part.validate)


def _without_records(rows: RaggedTensor) -> tuple[RaggedTensor, IntArray | None]:
    """Return the rows of all steps, and the records' steps; of Examples, the rows and None."""
    if isinstance(rows.values, RaggedTensor):
        return rows.values, _splits(rows)
    return rows, None


def _splits(rows: RaggedTensor) -> IntArray:
    return rows.row_splits  # type: ignore[return-value]  # native columns have int64


def _require_alignment(
    nested: Nested,
    partition: Partition,
    numbers: RaggedTensor,
    steps: tuple[IntArray, IntArray],
    part: Divided,
) -> None:
    """Refuse partitions of more or fewer steps than there are steps of values.

    Without `validate` only, as in TensorFlow, where the numbers count from where a step begins.
    """
    differ = np.diff(steps[0]) != np.diff(steps[1])
    must_agree = part.validate or not isinstance(partition, RowLengths | ValueRowIds)
    same_number = len(numbers) == len(nested.tops) - 1
    if must_agree and not (same_number and not (part.validate and differ.any())):
        record = int(np.argmax(differ))
        counts = [int(np.diff(splits)[record]) for splits in steps]
        reason = f"values and partitions are not aligned: {counts[0]} and {counts[1]} steps"
        raise MisfitError(int(steps[0][record]), reason)


def _require_range(numbers: RaggedTensor, part: Divided) -> None:
    """Refuse what does not fit the type of the row splits."""
    limits = np.iinfo(part.splits_dtype)
    if limits.bits == np.iinfo(np.int64).bits:
        return
    flat: Any = numbers.values
    outside = (flat < limits.min) | (flat > limits.max)
    if outside.any():
        place = int(np.argmax(outside))
        row = int(np.searchsorted(numbers.row_splits, place, side="right")) - 1
        reason = f"{flat[place]} in a partition does not fit {part.splits_dtype}"
        raise MisfitError(row, f'{reason}: ask for row_splits_dtype="int64"')


def _in_record(misfit: MisfitError, steps: IntArray | None) -> MisfitError:
    """Turn the place of a step into that of its record."""
    if steps is None:
        return misfit
    record = int(np.searchsorted(steps, misfit.row, side="right")) - 1
    step = misfit.row - int(steps[record])
    return MisfitError(record, f"step {step}: {misfit.reason}")


def _narrowed(splits: IntArray, dtype: np.dtype[np.signedinteger]) -> IntArray:
    limits = np.iinfo(dtype)
    if splits.max() > limits.max or splits.min() < limits.min:
        reason = f"there are more values than {dtype} counts"
        raise MisfitError(0, f'{reason}: ask for row_splits_dtype="int64", or parse fewer records')
    return splits.astype(dtype, copy=False)
