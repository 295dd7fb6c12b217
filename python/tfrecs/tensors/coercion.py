"""Arrays of whatever callers hand in, or an error that names the argument."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs.errors import SpecError

IntArray: TypeAlias = npt.NDArray[np.int64]

_SHOWN = 60  # characters of an argument in the text of an error


def array_of(given: Any, what: str, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Return `given` as an array.

    Raises:
        SpecError: It is no array, such as ragged nested lists; the text says of `what`.

    Example:
        >>> array_of([[1, 2], [3, 4]], "values").shape
        (2, 2)
    """
    try:
        return np.asarray(given, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise SpecError(f"{what} must be an array, not {shown(given)}: {error}") from None


def integers_of(numbers: Any, what: str) -> npt.NDArray[Any]:
    """Return indices, splits or a shape as an array of integers: int32 stays, others are int64.

    Raises:
        SpecError: They are other numbers; the text says of `what`.

    Example:
        >>> integers_of([0, 2, 3], "row_splits").dtype
        dtype('int64')
    """
    array = array_of(numbers, what)
    if array.size and array.dtype.kind not in "iu":
        raise SpecError(f"{what} must be integers, not {array.dtype}: {shown(numbers)}")
    is_narrow = array.dtype == np.int32
    return array if is_narrow else array.astype(np.int64, copy=False)


def shape_of(given: Any, what: str) -> tuple[int, ...]:
    """Return the lengths of an array's axes.

    Raises:
        SpecError: They are no sequence of integers, or one is negative.

    Example:
        >>> shape_of([2, 3], "shape")
        (2, 3)
    """
    try:
        dims = tuple(dim.__index__() for dim in given)
    except (TypeError, AttributeError):
        raise SpecError(f"{what} must be a sequence of integers, not {shown(given)}") from None
    if min(dims, default=0) < 0:
        raise SpecError(f"{what} must not have negative lengths: {shown(given)}")
    return dims


def shown(given: Any) -> str:
    """Return an argument as an error shows it: not all of a large one."""
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
