"""Stack the values of one column: arrays gain a leading dimension, lists become ragged rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfrecs._internal.wording import with_article
from tfrecs.errors import SpecError
from tfrecs.records.reader import Records
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor

_PLAIN = {bool, int, float}


def stacked(values: Sequence[Any], name: str | None = None) -> Any:
    """Return the values of one column, one for each row.

    Lists become a RaggedTensor, whether or not they are equally long, so that the type of a column
    does not depend on its data; None among them is a missing row.

    Raises:
        SpecError: The values have different shapes or types; the text says which column.

    Example:
        >>> stacked([1, 2])
        array([1, 2])
        >>> stacked([[1, 2], [], None]).tolist()
        [[1, 2], [], None]
    """
    first = next((value for value in values if value is not None), None)
    if isinstance(first, list):
        return ragged_rows(values, name)
    if isinstance(first, SparseTensor):
        return _sparse(values, name)
    if isinstance(first, RaggedTensor):
        return _nested(values, name)
    if all(isinstance(value, bytes | str) for value in values):
        return BytesArray.from_values(values)
    return _numbers(values, name)


def ragged_rows(rows: Sequence[Any], name: str | None = None) -> RaggedTensor:
    """Return lists, or lists of lists, as the rows of a RaggedTensor; None is a missing row.

    Raises:
        SpecError: Not all are lists, or they hold values of different types.
    """
    flat = [value for row in rows if row is not None for value in row]
    lengths = [None if row is None else len(row) for row in rows]
    return RaggedTensor.from_row_lengths(_values_of_lists(flat, name), lengths)


def _values_of_lists(flat: Sequence[Any], name: str | None) -> Any:
    lists = [isinstance(value, list | tuple) for value in flat]
    if any(lists):
        if not all(lists):
            raise SpecError(f"{_of(name)} a list holds both lists and single values")
        return ragged_rows(flat, name)
    if not flat:
        return np.empty(0)
    for value in flat:
        if value is None or isinstance(value, Mapping | SparseTensor | RaggedTensor):
            raise SpecError(f"{_of(name)} a list that holds {with_article(type(value).__name__)}")
    return stacked(flat, name)


def array_of(value: Any) -> Any:
    """Return a value as an array: byte strings and text as a BytesArray, others as NumPy's."""
    if isinstance(value, bytes | str):
        return BytesArray.from_values([value]).reshape(())
    if isinstance(value, Records):  # NumPy would strip zeros off the end of each
        return BytesArray.from_values(value)
    return value if isinstance(value, BytesArray) else np.asarray(value)


def _numbers(values: Sequence[Any], name: str | None) -> Any:
    types = set(map(type, values))
    if types <= _PLAIN or all(issubclass(one, np.generic) for one in types):
        made = np.array(values)
    else:
        arrays = [array_of(value) for value in values]
        shapes = {array.shape for array in arrays}
        if len(shapes) > 1:
            some = ", ".join(map(str, sorted(shapes)[:3]))
            raise SpecError(f"{_of(name)} arrays of different shapes ({some}): use padded_batch()")
        if any(isinstance(array, BytesArray) for array in arrays):
            return _byte_strings(arrays, name)
        made = np.stack(arrays)
    _check_exact(values, made, name)
    return made


def _byte_strings(arrays: Sequence[Any], name: str | None) -> BytesArray:
    flat = [value for array in arrays for value in array.ravel().tolist()]
    if not all(isinstance(value, bytes | str) for value in flat):
        raise SpecError(f"{_of(name)} byte strings and numbers")
    return BytesArray.from_values(flat).reshape(len(arrays), *arrays[0].shape)


def _check_exact(values: Sequence[Any], made: Any, name: str | None) -> None:
    """Refuse integers that the common type of the column does not hold exactly.

    NumPy has float64 for uint64 beside int64, and for integers beside floats: 2**53 + 1 would lose
    its last bit without a word.
    """
    if made.dtype.kind == "O" and all(isinstance(value, int | np.integer) for value in values):
        raise SpecError(f"{_of(name)} {max(values, key=abs)}, which no integer type holds")
    if made.dtype.kind not in "fc":
        return
    kinds = {getattr(value, "dtype", type(value)) for value in values}
    if len(kinds) == 1 and int not in kinds:
        return
    for value in values:
        check_exact(value, made.dtype, name)


def check_exact(value: Any, dtype: Any, name: str | None) -> None:
    """Refuse to turn integers into floats that differ from them.

    Raises:
        SpecError: One would.
    """
    given = np.asarray(value)
    if dtype.kind not in "fc" or given.dtype.kind not in "iuO":
        return
    integers = given.ravel().tolist()
    made = given.astype(dtype).real.ravel().tolist()
    # Python compares integers with floats exactly.
    lost = [one for one, other in zip(integers, made, strict=True) if one != other]
    if lost:
        raise SpecError(f"{_of(name)} numbers of different types, and {dtype} rounds {lost[0]}")


def _sparse(values: Sequence[SparseTensor], name: str | None) -> SparseTensor:
    """Return sparse tensors as one: as long as the longest, as TensorFlow has it."""
    ranks = {len(value.dense_shape) for value in values}
    if len(ranks) > 1:
        raise SpecError(f"{_of(name)} sparse tensors of {sorted(ranks)} dimensions")
    rows = [np.full((len(value.values), 1), row) for row, value in enumerate(values)]
    indices = [np.hstack(pair) for pair in zip(rows, (one.indices for one in values), strict=True)]
    longest = np.max([value.dense_shape for value in values], axis=0)
    flat = _joined([value.values for value in values], name)
    return SparseTensor(np.concatenate(indices), flat, [len(values), *longest.tolist()])


def _nested(values: Sequence[RaggedTensor], name: str | None) -> RaggedTensor:
    """Return ragged tensors as the rows of one with a level more."""
    ranks = {value.ragged_rank for value in values}
    if len(ranks) > 1:
        raise SpecError(f"{_of(name)} ragged tensors of {sorted(ranks)} ragged dimensions")
    return RaggedTensor(_chained(values, name), _splits([len(value) for value in values]))


def _chained(parts: Sequence[RaggedTensor], name: str | None) -> RaggedTensor:
    """Return the rows of ragged tensors, one after the other."""
    inner: list[Any] = [
        part.values[int(part.row_splits[0]) : int(part.row_splits[-1])] for part in parts
    ]
    values = _chained(inner, name) if isinstance(inner[0], RaggedTensor) else _joined(inner, name)
    lengths = np.concatenate([part.row_lengths() for part in parts])
    absent = [
        np.zeros(len(part), np.bool_) if part.missing is None else part.missing for part in parts
    ]
    missing = np.concatenate(absent)
    return RaggedTensor(values, _splits(lengths), missing if missing.any() else None)


def _splits(lengths: Any) -> Any:
    splits = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=splits[1:])
    return splits


def _joined(parts: Sequence[Any], name: str | None) -> Any:
    """Return arrays, one after the other; what is empty says nothing about the type."""
    typed = [part for part in parts if len(part)] or list(parts[:1])
    kinds = {"bytes" if isinstance(one, BytesArray) else str(one.dtype) for one in typed}
    if len(kinds) > 1:
        raise SpecError(f"{_of(name)} values of {' and '.join(sorted(kinds))}")
    if isinstance(typed[0], BytesArray):
        flat = [value for one in typed for value in one.ravel().tolist()]
        return BytesArray.from_values(flat).reshape(-1, *typed[0].shape[1:])
    return np.concatenate(typed)


def _of(name: str | None) -> str:
    return "these elements have" if name is None else f"{name!r} has"
