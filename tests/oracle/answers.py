"""What parse functions return, as flat lists of arrays that compare fast and to the bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from reference import Column, Columns, Dense, Ragged, SequenceColumns, Sparse, array

# What a result is, and its arrays: of Sparse the indices, values and shape, of Ragged the row
# splits of each level and the values. Of sequence examples, names begin with the part's.
Pieces: TypeAlias = tuple[str, list[np.ndarray[Any, Any]]]
Answer: TypeAlias = dict[str, Pieces]

PARTS = ("context", "lists", "lengths")


def answer_of(result: Any, arrays: Callable[[Any], Any] = lambda value: value) -> Answer:
    """A library's result; `arrays` makes arrays of its tensors."""
    if isinstance(result, Mapping):
        return {name: _pieces(arrays(value)) for name, value in result.items()}
    parts = zip(PARTS, result, strict=False)
    return {
        f"{part}/{name}": _pieces(arrays(value))
        for part, values in parts
        for name, value in values.items()
    }


def _pieces(value: Any) -> Pieces:
    if hasattr(value, "nested_row_splits"):
        return "ragged", [*map(np.asarray, value.nested_row_splits), np.asarray(value.flat_values)]
    if hasattr(value, "dense_shape"):
        return "sparse", [np.asarray(p) for p in (value.indices, value.values, value.dense_shape)]
    return "dense", [np.asarray(value)]


def columns_of(columns: Columns | SequenceColumns) -> Answer:
    """The reference's result."""
    if isinstance(columns, SequenceColumns):
        parts = zip(PARTS, columns, strict=True)
        return {f"{p}/{name}": _column(c) for p, part in parts for name, c in part.items()}
    return {name: _column(found) for name, found in columns.items()}


def _column(found: Column) -> Pieces:
    match found:
        case Dense():
            return "dense", [_values(found)]
        case Sparse(dtype, indices, values, shape):
            places = np.array(indices, np.int64).reshape(len(values), len(shape))
            return "sparse", [places, array(dtype, values), np.array(shape, np.int64)]
        case Ragged(splits, dtype, flat):
            return "ragged", [*(np.array(level, dtype) for level in splits), _values(flat)]


def _values(found: Dense) -> np.ndarray[Any, Any]:
    return array(found.dtype, found.values).reshape(found.shape)


def difference(ours: Answer, theirs: Answer, unsorted: frozenset[str] = frozenset()) -> str | None:
    """Where the two differ, or None.

    Of the sparse ones in `unsorted`, values at one and the same position may be in any order.
    """
    if ours.keys() != theirs.keys():
        return f"names {sorted(ours)}, not {sorted(theirs)}"
    for name, pieces in ours.items():
        text = _difference(pieces, theirs[name], in_any_order=name in unsorted)
        if text:
            return f"{name}: {text}"
    return None


def _difference(ours: Pieces, theirs: Pieces, *, in_any_order: bool) -> str | None:
    (kind, our_pieces), (their_kind, their_pieces) = ours, theirs
    if kind != their_kind or len(our_pieces) != len(their_pieces):
        return f"{kind} of {len(our_pieces)} arrays, not {their_kind} of {len(their_pieces)}"
    for number, (a, b) in enumerate(zip(our_pieces, their_pieces, strict=True)):
        if _same(a, b):
            continue
        if in_any_order and number == 1 and _settled(our_pieces) == _settled(their_pieces):
            continue
        return f"array {number}: {_shown(a)}, not {_shown(b)}"
    return None


def _same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype == object:
        return bool(a.ravel().tolist() == b.ravel().tolist())
    return a.tobytes() == b.tobytes()


def _settled(pieces: list[np.ndarray[Any, Any]]) -> list[Any]:
    """The values, sorted within each position."""
    indices, values = pieces[0].tolist(), pieces[1]
    bits = values.view(np.uint32) if values.dtype == np.float32 else values
    flat = bits.tolist()
    starts = [i for i, (a, b) in enumerate(pairwise([None, *indices])) if a != b]
    ends = [*starts[1:], len(flat)]
    return [sorted(flat[start:end]) for start, end in zip(starts, ends, strict=False)]


def _shown(found: np.ndarray[Any, Any]) -> str:
    if found.dtype == np.float32:
        found = found.view(np.uint32)
    return f"{found.dtype} {found.shape} {np.array2string(found, threshold=40)}"
