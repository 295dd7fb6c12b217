"""`tf.TensorShape`, a tuple of dimensions with TensorFlow's methods, and `tf.TensorSpec`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Self


class TensorShape(tuple[int | None, ...]):
    """The shape of a value: a tuple that is also equal to a list of the same dimensions."""

    __slots__ = ()

    def __new__(cls, dims: Iterable[int | None] | int) -> Self:
        """Make one of dimensions, None if one is not known."""
        return super().__new__(cls, [dims] if isinstance(dims, int) else dims)

    def as_list(self) -> list[int | None]:
        """Return the dimensions."""
        return list(self)

    @property
    def rank(self) -> int:
        """How many dimensions there are."""
        return len(self)

    ndims = rank

    def num_elements(self) -> int | None:
        """Return how many elements there are; None if that is not known."""
        known = [dim for dim in self if dim is not None]
        return math.prod(known) if len(known) == len(self) else None

    def is_fully_defined(self) -> bool:
        """Whether all dimensions are known."""
        return None not in self

    def __getitem__(self, index: Any) -> Any:
        """Return a dimension, or the shape of some."""
        found = super().__getitem__(index)
        return TensorShape(found) if isinstance(index, slice) else found

    def __eq__(self, other: object) -> bool:
        """Whether the other one has the same dimensions."""
        return super().__eq__(tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        """Whether it has others."""
        return not self == other

    def __hash__(self) -> int:
        """Return that of the tuple."""
        return super().__hash__()

    def __repr__(self) -> str:
        """Return what TensorFlow shows."""
        return f"TensorShape({list(self)})"

    def __str__(self) -> str:
        """Return the tuple's text."""
        return tuple.__repr__(self)


class TensorSpec(NamedTuple):
    """As `tf.TensorSpec`: which shape and type a value has, for `Dataset.from_generator`."""

    shape: Any = None
    dtype: Any = "float32"
    name: str | None = None
