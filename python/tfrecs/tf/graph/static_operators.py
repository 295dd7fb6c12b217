"""What graphs know of the results of Python's operators, and of functions like them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, TypeAlias

from tfrecs.tf.graph.known import UNKNOWN, Integers, Known, known, of
from tfrecs.tf.tensor.shapes import TensorShape

Dims: TypeAlias = list[int | None]


def operated(function: Callable[..., Any], *values: Any) -> Known:
    """Infer an operator of Python."""
    if function is operator.getitem:
        return item(*values)
    if len(values) == 1:
        return known(*values)._replace(integers=None)
    rule: Callable[..., Known] = _RULES.get(function, broadcast)
    return rule(*values)


def broadcast(x: Any, y: Any, *others: Any) -> Known:
    """Infer a function of two values of one type."""
    tensors = [one for one in (x, y) if hasattr(type(one), "known_shape") or hasattr(one, "dtype")]
    dtype = known(tensors[0]).dtype if tensors else known(x).dtype
    return Known(dtype, broadcast_shape(known(x).shape, known(y).shape))


def divided(x: Any, y: Any, *others: Any) -> Known:
    """Infer a quotient, which is a float."""
    made = broadcast(x, y)
    if made.dtype is None or not made.dtype.is_integer:
        return made
    return of("float32" if made.dtype.size < 4 else "float64", made.shape)  # noqa: PLR2004 - bytes


def compared(x: Any, y: Any, *others: Any) -> Known:
    """Infer a comparison of two values."""
    return of("bool", broadcast_shape(known(x).shape, known(y).shape))


def broadcast_shape(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return the shape of what is computed of values of two shapes.

    Raises:
        ValueError: They do not go together.
    """
    if one.rank is None or other.rank is None:
        return UNKNOWN
    pairs = list(zip_longest(reversed(one), reversed(other), fillvalue=1))
    return TensorShape([_broadcast_dim(*pair) for pair in reversed(pairs)])


def _broadcast_dim(one: int | None, other: int | None) -> int | None:
    if one in (1, other):
        return other
    if other == 1:
        return one
    if None in (one, other):
        return other if one is None else one
    raise ValueError(f"Dimensions must be equal, but are {one} and {other}")


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, **others: Any
) -> Known:
    """Infer a product of matrices."""
    left, right = known(a).shape, known(b).shape
    if left.rank is None or right.rank is None:
        return Known(known(a).dtype)
    (*outer, n, k), (*batch, o, m) = left.with_rank_at_least(2), right.with_rank_at_least(2)
    n, k = (k, n) if transpose_a else (n, k)
    o, m = (m, o) if transpose_b else (o, m)
    if None not in (k, o) and k != o:
        raise ValueError(f"Dimensions must be equal, but are {k} and {o} for matmul")
    shape = broadcast_shape(TensorShape(outer), TensorShape(batch))
    return Known(known(a).dtype, shape.concatenate([n, m]))


_RULES: dict[Callable[..., Any], Callable[..., Known]] = {
    operator.matmul: matmul,
    operator.truediv: divided,
    **dict.fromkeys(
        (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge), compared
    ),
}


def item(x: Any, index: Any) -> Known:
    """Infer `x[index]`.

    Raises:
        ValueError: There are not as many dimensions.
    """
    given = known(x)
    parts = list(index) if isinstance(index, tuple) else [index]
    if given.shape.rank is None or any(isinstance(one, str) for one in parts):
        return Known(given.dtype)
    taken = sum(one is not None and one is not Ellipsis for one in parts)
    if taken > given.shape.rank:
        raise ValueError(f"Index out of range using input dim {taken - 1}: {given.shape}")
    if not any(one is Ellipsis for one in parts):
        parts.append(Ellipsis)
    at = next(n for n, one in enumerate(parts) if one is Ellipsis)
    parts[at : at + 1] = [slice(None)] * (given.shape.rank - taken)
    return of(given.dtype, _indexed(list(given.shape), parts), _chosen(given.integers, index))


def _indexed(dims: Dims, parts: list[Any]) -> Dims:
    made: Dims = []
    for part in parts:
        if part is None:
            made.append(1)
            continue
        dim = dims.pop(0)
        if isinstance(part, slice):
            made.append(_sliced_dim(dim, part))
    return made


def _sliced_dim(dim: int | None, part: slice) -> int | None:
    bounds = [part.start, part.stop, part.step]
    numbers = [None if one is None else known(one).integers for one in bounds]
    if any(got is None and one is not None for got, one in zip(numbers, bounds, strict=True)):
        return None
    return None if dim is None else len(range(*slice(*numbers).indices(dim)))


def _chosen(integers: Integers, index: Any) -> Integers:
    """Return which integers an index takes, where it is one number or slice of numbers."""
    if not isinstance(integers, list):
        return None
    bounds = [index.start, index.stop, index.step] if isinstance(index, slice) else [index]
    if not all(one is None or type(one) is int for one in bounds) or index is None:
        return None
    try:
        chosen: Integers = integers[index]
    except IndexError as error:
        raise ValueError(f"slice index {index} of dimension 0 out of bounds") from error
    return chosen
