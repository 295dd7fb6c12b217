"""Byte strings of a column compared with one of the caller's, all at once."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs.tensors import BytesArray

Mask: TypeAlias = npt.NDArray[np.bool_]
Values: TypeAlias = npt.NDArray[Any] | BytesArray

# How many bytes of each value are looked at together.
_PIECE = 32

# A value is looked up in a set where there are more than that many to be equal to.
_FEW = 8


_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARISONS: dict[str, Any] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def compared(symbol: str, left: Any, right: Any) -> Mask:
    """Return what `left symbol right` is for each row; one of them may be a constant."""
    if isinstance(left, bytes):
        return compared(_FLIPPED.get(symbol, symbol), right, left)
    if not isinstance(right, bytes):
        return np.asarray(COMPARISONS[symbol](left.__array__(), right.__array__()), np.bool_)
    if symbol == "==":
        return equal(left, right)
    if symbol == "!=":
        return ~equal(left, right)
    signs = _signs(left, right)
    return np.asarray(COMPARISONS[symbol](signs, 0), np.bool_)


def equal(values: BytesArray, constant: bytes) -> Mask:
    """Return which values are `constant`."""
    offsets = values.offsets
    rows = np.flatnonzero(np.diff(offsets) == len(constant))
    wanted = np.frombuffer(constant, np.uint8)
    for start in range(0, len(constant), _PIECE):
        piece = wanted[start : start + _PIECE]
        places = offsets[rows, None] + np.arange(start, start + len(piece))
        rows = rows[(values.data[places] == piece).all(axis=1)]
    mask = np.zeros(len(values), np.bool_)
    mask[rows] = True
    return mask


def is_in(values: BytesArray, constants: frozenset[bytes]) -> Mask:
    """Return which values are among `constants`."""
    if len(constants) > _FEW:
        found = [value in constants for value in values.to_records().tolist()]
        return np.asarray(found, np.bool_)
    mask = np.zeros(len(values), np.bool_)
    for constant in constants:
        mask |= equal(values, constant)
    return mask


def _signs(values: BytesArray, constant: bytes) -> npt.NDArray[np.int64]:
    """Return -1 for the values before `constant` in the order of bytes, 1 for those after it."""
    offsets, lengths = values.offsets, np.diff(values.offsets)
    # Those that begin with all of it are it, or lie after it.
    signs = (lengths > len(constant)).astype(np.int64)
    rows = np.arange(len(values))
    wanted = np.frombuffer(constant, np.uint8).astype(np.int16)
    data = values.data if len(values.data) else np.zeros(1, np.uint8)
    for start in range(0, len(constant), _PIECE):
        piece = wanted[start : start + _PIECE]
        steps = np.arange(start, start + len(piece))
        places = np.minimum(offsets[rows, None] + steps, len(data) - 1)
        # What has ended lies before what continues.
        here = np.where(steps < lengths[rows, None], data[places].astype(np.int16), -1)
        differs = here != piece
        first = differs.argmax(axis=1)
        decided = differs[np.arange(len(rows)), first]
        difference = here[np.arange(len(rows)), first] - piece[first]
        signs[rows[decided]] = np.sign(difference[decided])
        rows = rows[~decided]
    return signs
