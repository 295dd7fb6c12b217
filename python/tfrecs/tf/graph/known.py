"""What a graph knows of a value before it is computed: its type, its shape, and integers in it."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tfrecs.tf.tensor.dtypes import DType, as_dtype
from tfrecs.tf.tensor.shapes import TensorShape
from tfrecs.tf.tensor.values import SparseTensor, Tensor, tensor

# An integer, or a list of integers; None stands for one that is not known, or for all of them.
Integers: TypeAlias = int | list[int | None] | None

UNKNOWN = TensorShape(None)


class Known(NamedTuple):
    """What is known of a value.

    Attributes:
        dtype: Its type; None if it is not known.
        shape: As much of its shape as is known.
        integers: The integers that it holds, if it is a scalar or a vector of such.
    """

    dtype: DType | None = None
    shape: TensorShape = UNKNOWN
    integers: Integers = None


NOTHING = Known()


def known(value: Any) -> Known:
    """Return what is known of a value: a deferred one, one that is there, or a list of such."""
    if _is_deferred(value):
        shape = UNKNOWN if value.known_shape is None else value.known_shape
        return Known(value.known_dtype, shape, value.known_integers)
    if isinstance(value, Tensor):
        return Known(value.dtype, value.shape, _integers(value))
    if isinstance(value, SparseTensor):
        return Known(value.dtype, value.shape)
    if isinstance(value, list | tuple) and _has_deferred(value):
        return packed([known(one) for one in value])
    return known(tensor(value))


def shape_of(value: Any) -> TensorShape:
    """Return the shape that integers describe, of which -1 and None are unknown dimensions."""
    given = known(value)
    if isinstance(given.integers, list):
        return TensorShape([None if dim in (None, -1) else dim for dim in given.integers])
    length = given.shape[0] if given.shape.rank == 1 else None
    return UNKNOWN if length is None else TensorShape([None] * length)


def packed(parts: list[Known]) -> Known:
    """Return what is known of values that become one, along a new first axis."""
    typed = [part.dtype for part in parts if part.dtype is not None]
    inner = merged([part.shape for part in parts])
    shape = UNKNOWN if inner.rank is None else TensorShape([len(parts), *inner])
    numbers = [part.integers for part in parts]
    is_vector = inner.rank == 0 and any(one is not None for one in numbers)
    integers: Any = numbers if is_vector else None
    return Known(typed[0] if typed else None, shape, integers)


def merged(shapes: list[TensorShape]) -> TensorShape:
    """Return what is known of values which all have one shape.

    Raises:
        ValueError: They cannot.
    """
    made = UNKNOWN
    for shape in shapes:
        made = made.merge_with(shape)
    return made


def _is_deferred(value: Any) -> bool:
    return hasattr(type(value), "known_shape")


def _has_deferred(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_deferred, value))
    return _is_deferred(value)


def _integers(value: Tensor) -> Integers:
    array = np.asarray(value)
    is_small = array.ndim < 2 and array.dtype.kind in "iu"  # noqa: PLR2004 - scalars and vectors
    made: Integers = array.tolist() if is_small else None
    return made


def of(dtype: Any = None, shape: Any = None, integers: Integers = None) -> Known:
    """Return what is known, of names of types and lists of dimensions."""
    kind = None if dtype is None else as_dtype(dtype)
    return Known(kind, TensorShape(shape), integers)
