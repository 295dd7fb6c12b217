"""`tf.TensorShape`, a tuple of dimensions with TensorFlow's methods, and `tf.TensorSpec`."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


class TensorShape(tuple[int | None, ...]):
    """The shape of a value: a tuple that is also equal to a list of the same dimensions."""

    __slots__ = ()

    def __new__(cls, dims: Any) -> TensorShape:  # noqa: PYI034
        """Make one of dimensions, None if one is not known; None if not even their number is.

        Raises:
            TypeError: A dimension is no integer.
            ValueError: It is below 0.
        """
        if dims is None:
            return super().__new__(UnknownShape)
        if isinstance(dims, TensorShape):
            return dims
        is_list = isinstance(dims, list | tuple) or (hasattr(dims, "__iter__") and np.ndim(dims))
        given = dims if is_list else [dims]
        return super().__new__(cls, map(_dimension, given))

    def as_list(self) -> list[int | None]:
        """Return the dimensions."""
        return list(self)

    @property
    def rank(self) -> int | None:
        """How many dimensions there are; None if that is not known."""
        return len(self)

    @property
    def ndims(self) -> int | None:
        """As rank."""
        return self.rank

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

    def concatenate(self, other: Any) -> TensorShape:
        """Return the dimensions of this one and then of another."""
        after = TensorShape(other)
        known = self.rank is not None and after.rank is not None
        return TensorShape([*self, *after] if known else None)

    def __add__(self, other: Any) -> TensorShape:
        """Return the dimensions of this one and then of another, as concatenate()."""
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        """Return the dimensions of another one and then of this."""
        return TensorShape(other).concatenate(self)

    # NumPy leaves `array + shape` to __radd__.
    __array_ufunc__ = None

    @property
    def dims(self) -> list[int | None] | None:
        """The dimensions; None if their number is not known."""
        return None if self.rank is None else list(self)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether there are values that have both shapes."""
        that = TensorShape(other)
        if self.rank is None or that.rank is None:
            return True
        return self.rank == that.rank and all(
            None in pair or pair[0] == pair[1] for pair in zip(self, that, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Refuse a shape that no value of this one has.

        Raises:
            ValueError: It is such a shape.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        """Return what is known of a value that has both shapes.

        Raises:
            ValueError: There is none.
        """
        that = TensorShape(other)
        if not self.is_compatible_with(that):
            raise ValueError(f"Shapes {self} and {that} are not compatible")
        if self.rank is None or that.rank is None:
            return that if self.rank is None else self
        pairs = zip(self, that, strict=True)
        return TensorShape([b if a is None else a for a, b in pairs])

    def with_rank(self, rank: int) -> TensorShape:
        """Return this shape, which has that many dimensions.

        Raises:
            ValueError: It has not.
        """
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self if self.rank is not None else TensorShape([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return this shape, which has that many dimensions or more.

        Raises:
            ValueError: It has fewer.
        """
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return this shape, which has that many dimensions or fewer.

        Raises:
            ValueError: It has more.
        """
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Refuse another number of dimensions.

        Raises:
            ValueError: It is another one.
        """
        self.with_rank(rank)

    def assert_is_fully_defined(self) -> None:
        """Refuse dimensions that are not known.

        Raises:
            ValueError: There is one.
        """
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

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


def _dimension(given: Any) -> int | None:
    if given is None:
        return None
    try:
        dim = operator.index(given)
    except TypeError:
        raise TypeError(f"Dimension value must be integer or None, got {given!r}") from None
    if dim < 0:
        raise ValueError(f"Dimension {dim} must be >= 0")
    return dim


class UnknownShape(TensorShape):
    """What `tf.TensorShape(None)` is: it is unknown how many dimensions there are."""

    __slots__ = ()

    @property
    def rank(self) -> None:
        """None."""

    def as_list(self) -> list[int | None]:
        """Refuse.

        Raises:
            ValueError: Always.
        """
        raise ValueError("as_list() is not defined on an unknown TensorShape.")

    def num_elements(self) -> None:
        """Return None."""

    def is_fully_defined(self) -> bool:
        """Return False."""
        return False

    def __len__(self) -> int:
        """Refuse: there is no number of dimensions."""
        raise ValueError("Cannot take the length of shape with unknown rank.")

    def __iter__(self) -> Iterator[int | None]:
        """Refuse: there is no number of dimensions."""
        raise ValueError("Cannot iterate over a shape with unknown rank.")

    def __bool__(self) -> bool:
        """Return False."""
        return False

    def __getitem__(self, index: Any) -> Any:
        """Return a dimension that is not known, or a shape of some."""
        return TensorShape(None) if isinstance(index, slice) else None

    def __eq__(self, other: object) -> bool:
        """Whether the other one is not known either."""
        return other is None or isinstance(other, UnknownShape)

    def __hash__(self) -> int:
        """Return the same for all."""
        return hash(UnknownShape)

    def __repr__(self) -> str:
        """Return what TensorFlow shows."""
        return "TensorShape(None)"

    def __str__(self) -> str:
        """Return what TensorFlow prints."""
        return "<unknown>"


class TensorSpec(NamedTuple):
    """As `tf.TensorSpec`: which shape and type a value has, for `Dataset.from_generator`."""

    shape: Any = None
    dtype: Any = "float32"
    name: str | None = None


def compatible(wanted: TensorShape | None, have: TensorShape) -> bool:
    """Whether a shape is what another one, which may not be known in all, leaves open."""
    if wanted is None or isinstance(wanted, UnknownShape):
        return True
    return len(wanted) == len(have) and all(
        one in (None, -1, other) for one, other in zip(wanted, have, strict=True)
    )
