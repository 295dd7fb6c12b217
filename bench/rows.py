"""What several peers need: features by their kinds, and columns made of rows."""

from itertools import chain
from typing import Any, NamedTuple

from workloads import Spec


class Fixed(NamedTuple):
    """A feature of a shape."""

    shape: list[int]
    dtype: str


class Var(NamedTuple):
    """A feature of any length."""

    dtype: str


class Kinds:
    """Feature classes that only say what they are."""

    FixedLenFeature = Fixed
    VarLenFeature = Var


def as_columns(rows: list[dict[str, list[Any]]], spec: Spec) -> dict[str, Any]:
    """Return rows of lists as the columns that parse_example gives, in Python's own types.

    A feature of shape [] is a list of values, one of shape [n] a list of lists, and one of any
    length the three parts of a SparseTensor.
    """
    return {name: column([row[name] for row in rows], spec[name]) for name in spec}


def column(values: list[list[Any]], feature: Fixed | Var) -> list[Any]:
    """Return the values of a feature in all rows as one column."""
    if isinstance(feature, Fixed):
        return values if feature.shape else [value for (value,) in values]
    places = [[row, place] for row, each in enumerate(values) for place in range(len(each))]
    longest = max(map(len, values), default=0)
    return [places, list(chain.from_iterable(values)), [len(values), longest]]
