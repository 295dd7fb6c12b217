"""`tf.TensorShape`, a tuple of dimensions with TensorFlow's methods, and `tf.TensorSpec`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class TensorShape(tuple[int | None, ...]):
    """The shape of a value: a tuple that is also equal to a list of the same dimensions."""

    __slots__ = ()

    def __new__(cls, dims: Iterable[int | None] | int | None) -> TensorShape:  # noqa: PYI034
        """Make one of dimensions, None if one is not known; None if not even their number is."""
        if dims is None:
            return super().__new__(UnknownShape)
        if isinstance(dims, UnknownShape):
            return dims
        return super().__new__(cls, [dims] if isinstance(dims, int) else dims)

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


class UnknownShape(TensorShape):
    """What `tf.TensorShape(None)` is: nobody knows how many dimensions there are."""

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
        return isinstance(other, UnknownShape)

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
