"""A column taken apart, in the form that the native side takes."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs.tensors.bytes_array import BytesArray, Values
from tfrecs.tensors.coercion import IntArray

# A column as the native side takes it: name, values (or an Arrow array, and nothing else), offsets
# of byte strings, shape of an element, row splits of each level, missing rows.
Pieces: TypeAlias = tuple[str, Any, IntArray | None, list[int], list[IntArray], Any]


def pieces_of_rows(
    name: str,
    values: Values,
    nested_row_splits: Sequence[npt.NDArray[np.signedinteger[Any]]],
    missing: npt.NDArray[np.bool_] | None,
) -> Pieces:
    """Return a column of rows of different lengths; with no splits, of a value a row."""
    splits = [np.ascontiguousarray(splits, np.int64) for splits in nested_row_splits]
    absent = None if missing is None else np.ascontiguousarray(missing, np.uint8)
    shape = [int(size) for size in values.shape[1:]]
    if isinstance(values, BytesArray):
        return name, values.data, np.ascontiguousarray(values.offsets), shape, splits, absent
    return name, np.ascontiguousarray(values), None, shape, splits, absent
