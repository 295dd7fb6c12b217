"""Elements side by side: arrays with one dimension more, in tuples and mappings too."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfrecs.arrays import BytesArray, RaggedTensor, SparseTensor
from tfrecs.errors import SpecError
from tfrecs.records import Records


def collate(elements: Sequence[Any]) -> Any:
    """Return one batch of `elements`, which are alike.

    Bytes become Records, in tuples and mappings a BytesArray as arrays of byte strings do; numbers
    and arrays of one shape become an array with one dimension more; tuples, lists and mappings are
    taken apart.

    Raises:
        SpecError: They are not alike, or have different shapes; padded_batch() makes them equal.

    Example:
        >>> collate([{"a": 1, "b": b"x"}, {"a": 2, "b": b"yz"}])
        {'a': array([1, 2]), 'b': BytesArray(shape=(2,), nbytes=3, [b'x', b'yz'])}
    """
    if isinstance(elements[0], bytes):
        return Records(elements)
    return joined(elements, _side_by_side)


Join: TypeAlias = Callable[[Sequence[Any], str | None], Any]
"""What makes one array of those of all elements; the name is that of the value in a mapping."""


def joined(elements: Sequence[Any], join: Join, name: str | None = None) -> Any:
    """Return elements of tuples, lists and mappings as one of those, each value made by `join`."""
    first = elements[0]
    if isinstance(first, Mapping):
        return {key: joined([one[key] for one in elements], join, key) for key in first}
    if isinstance(first, tuple | list):
        columns = [joined(column, join, name) for column in zip(*elements, strict=True)]
        if hasattr(first, "_fields"):  # a named tuple
            return type(first)(*columns)
        return tuple(columns) if isinstance(first, tuple) else columns
    return join(elements, name)


def _side_by_side(values: Sequence[Any], name: str | None) -> Any:
    first = values[0]
    if isinstance(first, SparseTensor):
        return _of_sparse(values, name)
    if isinstance(first, RaggedTensor):
        raise SpecError(
            f"{name or 'an element'} is a RaggedTensor: use padded_batch(), or batch() before what "
            "makes elements one by one"
        )
    if all(isinstance(value, bytes | str) for value in values):
        return BytesArray.from_values(values)
    if all(isinstance(value, np.generic) for value in values):
        return np.array(values)
    arrays = [arrays_of(value) for value in values]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        some = ", ".join(map(str, sorted(shapes)[:3]))
        raise SpecError(f"{name or 'elements'} of different shapes ({some}): use padded_batch()")
    if isinstance(arrays[0], BytesArray):
        flat = [value for array in arrays for value in array.ravel().tolist()]
        return BytesArray.from_values(flat).reshape(len(arrays), *arrays[0].shape)
    return np.stack(arrays)


def _of_sparse(values: Sequence[SparseTensor], name: str | None) -> SparseTensor:
    """Return sparse tensors as one: as long as the longest, as TensorFlow has it."""
    ranks = {len(value.dense_shape) for value in values}
    if len(ranks) > 1:
        raise SpecError(f"{name or 'elements'} have {sorted(ranks)} dimensions")
    rows = [np.full((len(value.values), 1), row) for row, value in enumerate(values)]
    indices = [np.hstack(pair) for pair in zip(rows, (one.indices for one in values), strict=True)]
    longest = np.max([value.dense_shape for value in values], axis=0)
    flat = [value.values for value in values]
    joined = (
        BytesArray.from_values([one for each in flat for one in each.tolist()])
        if isinstance(flat[0], BytesArray)
        else np.concatenate(flat)
    )
    return SparseTensor(np.concatenate(indices), joined, [len(values), *longest.tolist()])


def arrays_of(value: Any) -> Any:
    """Return a value as an array: BytesArray of what is text or bytes, else of NumPy."""
    if isinstance(value, bytes | str):
        return BytesArray.from_values([value]).reshape(())
    return value if isinstance(value, BytesArray) else np.asarray(value)
