"""Values of different lengths side by side: padding of parsed columns, and of elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tfrecs.dataset.collate.fill import ABSENT, Fill, fitted, has_dimensions
from tfrecs.dataset.collate.nest import Nest
from tfrecs.dataset.collate.stack import array_of, check_exact, ragged_rows
from tfrecs.errors import SpecError
from tfrecs.features import Features
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor

Shape: TypeAlias = Sequence[int | None]


@dataclass(frozen=True)
class Padding:
    """How values are made equally long.

    Attributes:
        shapes: The shape of each value by its name, or of all; None is as long as the longest of
            the batch.
        values: What is put after short ones, by name or for all.
        length: How long what has no length of its own becomes, if not as the longest.
        fixed: What has a shape of its own, whatever that length is.
    """

    shapes: Mapping[str, Shape] | Shape | None = None
    values: Mapping[str, Any] | Any = None
    length: int | None = None
    fixed: frozenset[str] = frozenset()

    def shape_of(self, name: str | None) -> Shape | None:
        """Return the shape that is asked for."""
        if isinstance(self.shapes, Mapping):
            return None if name is None else self.shapes.get(name)
        return self.shapes

    def wanted(self, name: str | None, longest: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of rows of which none is longer than `longest`.

        Raises:
            SpecError: It is asked for in another way.
        """
        shape = self.shape_of(name)
        if self.length is not None and longest and name not in self.fixed:
            given = [self.length, *longest[1:]] if shape is None else shape
            shape = [self.length if dim is None or dim < 0 else dim for dim in given]
        return _wanted(longest, name, shape)

    def value_of(self, name: str | None) -> Any:
        """Return what is put after short ones."""
        if isinstance(self.values, Mapping):
            return None if name is None else self.values.get(name)
        return self.values

    def fill_of(self, name: str | None, array: Any) -> Any:
        """Return what is put after short arrays like this one: a value of their type.

        Raises:
            SpecError: What is asked for is none.
        """
        value = self.value_of(name)
        if value is None:
            return b"" if isinstance(array, BytesArray) else np.zeros((), array.dtype)[()]
        if has_dimensions(value):
            raise SpecError(f"{name or 'the elements'}: padding {value!r} is not a single value")
        return fitted(value, array, name, "padding")

    def check(self, names: Iterable[str]) -> None:
        """Refuse names that nothing has.

        Raises:
            SpecError: There is one.
        """
        asked = [
            name for one in (self.shapes, self.values) if isinstance(one, Mapping) for name in one
        ]
        unknown = set(asked) - set(names)
        if unknown:
            raise SpecError(f"padding for {sorted(unknown)}, and the elements have {sorted(names)}")

    def describe(self) -> str:
        """Return the arguments."""
        given = {"padded_shapes": self.shapes, "padding_values": self.values}
        return "".join(
            f", {name}={dict(one) if isinstance(one, Mapping) else one!r}"
            for name, one in given.items()
            if one is not None
        )


class PaddedColumns:
    """Pads the columns of batches that were parsed."""

    def __init__(self, padding: Padding, features: Features) -> None:
        padding.check(features)
        self._padding = padding
        self._features = features

    def __call__(self, batch: Any) -> Any:
        """Return a batch whose columns are padded."""
        if isinstance(batch, tuple):  # of keys and what they are of
            return batch[0], self._columns(batch[1])
        return self._columns(batch)

    def _columns(self, batch: Any) -> dict[str, Any]:
        lengths = batch.lengths()
        return {name: self._column(batch, name, lengths.get(name)) for name in batch}

    def _column(self, batch: Any, name: str, lengths: Any) -> Any:
        """Return a column whose rows are as long as asked for, or as the longest."""
        column = batch[name]
        if lengths is not None:
            default = getattr(self._features[name], "default_value", None)
            fill = self._padding.fill_of(name, column)
            if fill != (type(fill)() if default is None else default):
                column = _refilled(column, lengths, fill)
        elif isinstance(column, SparseTensor | RaggedTensor):
            column = _dense(column, name, self._padding)
        shape = self._padding.wanted(name, column.shape[1:])
        same = shape == column.shape[1:]
        return column if same else _side_by_side(column, name, self._padding)


def _refilled(column: Any, lengths: Any, fill: Any) -> Any:
    """Return padded rows with other padding."""
    after = np.arange(column.shape[1]) >= lengths[:, None]
    if not after.any():
        return column
    if isinstance(column, BytesArray):
        objects = np.asarray(column).copy()
        objects[after] = fill
        return _bytes_array(objects)
    other = column.copy()
    other[after] = fill
    return other


def _bytes_array(objects: Any) -> BytesArray:
    return BytesArray.from_values(objects.ravel().tolist()).reshape(objects.shape)


def padded(
    elements: Sequence[Any],
    padding: Padding,
    fill: Fill | None = None,
    numbers: Sequence[int] | None = None,
) -> Any:
    """Return one batch of `elements`, whose values padding makes equally long.

    Args:
        elements: At least one.
        padding: How to make values equally long.
        fill: What to put where an element lacks a key, or has None.
        numbers: The place of each in the pass, for errors.

    Raises:
        SpecError: They are of different kinds, have different keys or numbers of dimensions, or
            are longer than asked for.

    Example:
        >>> padded([{"a": [1, 2]}, {"a": [3]}], Padding(values=-1))
        {'a': array([[ 1,  2],
               [ 3, -1]])}
    """
    join = partial(_side_by_side, padding=padding, fill=fill)
    batch = Nest(join, fill, numbers).joined(elements)
    if isinstance(batch, Mapping):
        padding.check(batch)
    return batch


def _dense(value: Any, name: str | None, padding: Padding) -> Any:
    if isinstance(value, list):
        value = _of_list(value, name)
    if not isinstance(value, SparseTensor | RaggedTensor):
        return _of_bytes(array_of(value))
    values = value.values if isinstance(value, SparseTensor) else value.flat_values
    dense = value.to_dense(padding.fill_of(name, values))
    return _bytes_array(dense) if isinstance(values, BytesArray) else dense


def _of_list(value: list[Any], name: str | None) -> Any:
    """Return a list as an array; one of lists of different lengths as a RaggedTensor."""
    return ragged_rows([value], name)[0]


def _of_bytes(array: Any) -> Any:
    """Return byte strings in an array of objects as a BytesArray; other arrays as they are."""
    if isinstance(array, BytesArray) or array.dtype != object:
        return array
    return _bytes_array(array) if all(isinstance(one, bytes) for one in array.flat) else array


def _side_by_side(
    values: Sequence[Any], name: str | None, padding: Padding, fill: Fill | None = None
) -> Any:
    there = {number: value for number, value in enumerate(values) if value is not ABSENT}
    if not there:
        assert fill is not None
        return _side_by_side([fill.value(name)] * len(values), name, padding)
    arrays = _dense_rows(there, name, padding)
    like = _type_of(list(arrays.values()), name)
    whole = None  # a single value, which fills absent rows from end to end
    if len(there) < len(values):
        assert fill is not None
        whole = fill.value(name)
        if has_dimensions(whole):
            row = fitted(_dense(whole, name, padding), like, name, "fill")
            arrays |= {number: row for number in range(len(values)) if number not in there}
        else:
            whole = fitted(whole, like, name, "fill")
    shape = _shape(list(arrays.values()), name, padding)
    dtype = np.dtype(object) if isinstance(like, BytesArray) else like.dtype
    made = np.full((len(values), *shape), padding.fill_of(name, like), dtype)
    for number in range(len(values)):
        if number in arrays:
            place: Any = (number, *map(slice, arrays[number].shape))
            made[place] = np.asarray(arrays[number])[()]
        else:
            made[number] = whole
    return _bytes_array(made) if isinstance(like, BytesArray) else made


def _dense_rows(there: Mapping[int, Any], name: str | None, padding: Padding) -> dict[int, Any]:
    """Return values as arrays; an empty list has as many dimensions as the others."""
    for number, value in there.items():
        if value is None:
            raise SpecError(f"{name or 'the elements'}: element {number} of the batch is None")
    arrays = {number: _dense(value, name, padding) for number, value in there.items()}
    rank = max(array.ndim for array in arrays.values())
    return {
        number: array.reshape((0,) * rank) if _is_empty_list(there[number]) else array
        for number, array in arrays.items()
    }


def _is_empty_list(value: Any) -> bool:
    return isinstance(value, list) and not value


def _type_of(arrays: Sequence[Any], name: str | None) -> Any:
    """Return an empty array of the type that holds all values exactly."""
    # What is empty says nothing about the type: NumPy takes [] for floats.
    typed = [array for array in arrays if array.size] or arrays
    if isinstance(typed[0], BytesArray):
        return typed[0][:0] if typed[0].ndim else typed[0]
    dtype = np.result_type(*[array.dtype for array in typed])
    for array in typed:
        check_exact(array, dtype, name)
    return np.empty(0, dtype)


def _shape(arrays: Sequence[Any], name: str | None, padding: Padding) -> tuple[int, ...]:
    """Return the shape of all rows."""
    ranks = {array.ndim for array in arrays}
    if len(ranks) > 1:
        what = name or "the elements"
        raise SpecError(f"{what}: values of {sorted(ranks)} dimensions make no batch")
    lengths = zip(*[array.shape for array in arrays], strict=True)
    return padding.wanted(name, tuple(map(max, lengths)))


def _wanted(longest: tuple[int, ...], name: str | None, wanted: Shape | None) -> tuple[int, ...]:
    """Return the shape of rows of which none is longer than `longest`."""
    if wanted is None:
        return longest
    what = f"{name or 'the elements'}: padded_shapes says {list(wanted)}, and"
    if len(wanted) != len(longest):
        raise SpecError(f"{what} the values have {len(longest)} dimensions")
    fixed = [
        length if most is None or most < 0 else most
        for most, length in zip(wanted, longest, strict=True)
    ]
    if any(length > most for most, length in zip(fixed, longest, strict=True)):
        raise SpecError(f"{what} a value has {list(longest)}")
    return tuple(fixed)
