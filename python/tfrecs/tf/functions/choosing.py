"""`one_hot` and `where`: values chosen by indices, and by truth values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfrecs.errors import SpecError
from tfrecs.tf.graph import static_shapes as static
from tfrecs.tf.graph.deferred import deferrable
from tfrecs.tf.tensor.arithmetic import operands
from tfrecs.tf.tensor.dtypes import as_dtype
from tfrecs.tf.tensor.values import Tensor, tensor


@deferrable(rule=static.one_hot)
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """Return for each index `depth` values, all `off_value` but the one at that place.

    They are of `dtype`, else of the type of the two values, which are 1 and 0, else float32.

    Raises:
        InvalidArgumentError: The indices are no integers, or one of the values is an array.
        TypeError: The values are not of one type, or not of `dtype`.
    """
    given = np.asarray(tensor(indices))
    if given.dtype not in _INDICES:
        raise SpecError(f"indices must be {_named(_INDICES)}, not {given.dtype}")
    count = int(depth)
    if count < 0:
        raise SpecError(f"depth must not be negative, and is {count}")
    on, off = _on_off(on_value, off_value, dtype)
    made = np.where(given[..., None] == np.arange(count), on, off).astype(on.dtype)
    if axis in (-1, None):
        return Tensor(made)
    if not 0 <= axis <= given.ndim:
        raise SpecError(f"axis must be -1 or from 0 to {given.ndim}, not {axis}")
    return Tensor(np.moveaxis(made, -1, axis))


_INDICES = tuple(map(np.dtype, (np.uint8, np.int8, np.int32, np.int64)))


def _named(dtypes: Sequence[np.dtype[Any]]) -> str:
    return ", ".join(dtype.name for dtype in dtypes)


def _on_off(on_value: Any, off_value: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the two values of one_hot, of one type."""
    wanted = None if dtype is None else as_dtype(dtype)
    given = [_typed(one, wanted) for one in (on_value, off_value) if one is not None]
    kinds = {one.dtype.name for one in given} | ({wanted.name} if wanted else set())
    if len(kinds) > 1:
        raise TypeError(f"on_value and off_value are of dtypes {', '.join(sorted(kinds))}")
    (kind,) = kinds or {"float32"}
    on, off = (
        np.asarray(tensor(default, kind) if one is None else _typed(one, wanted))
        for one, default in ((on_value, 1), (off_value, 0))
    )
    if on.ndim or off.ndim:
        raise SpecError("on_value and off_value must be single values")
    return on, off


def _typed(value: Any, dtype: Any) -> Tensor:
    return value if isinstance(value, Tensor) else tensor(value, dtype)


@deferrable(rule=static.where)
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return values of `x` where the condition is true, else of `y`; without them, the places.

    Raises:
        InvalidArgumentError: The shapes do not go together, or `x` and `y` are of two types.
        ValueError: Only one of `x` and `y` is given.
    """
    if x is None and y is None:
        return _places(condition)
    chosen, left, right = _to_choose_from(condition, x, y)
    try:
        return Tensor(np.where(chosen, left, right))
    except ValueError as error:
        raise SpecError(f"where: {error}") from error


def where_rows(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return values as where(), and rows where the condition is a vector: `tf.compat.v1.where`.

    Raises:
        InvalidArgumentError: `x` and `y` are not of one shape and type, or the condition is not of
            that shape, nor single, nor a vector with a value for each row.
    """
    return _where_rows(condition, x, y)


@deferrable(rule=static.where_rows)
def _where_rows(condition: Any, x: Any, y: Any) -> Any:
    if x is None and y is None:
        return _places(condition)
    chosen, left, right = _to_choose_from(condition, x, y)
    rows = chosen.ndim == 1 and chosen.shape == left.shape[:1]
    if left.shape != right.shape or not (rows or chosen.shape in ((), left.shape)):
        raise SpecError(
            f"where of x and y of shapes {left.shape} and {right.shape} by a condition of shape "
            f"{chosen.shape}: x and y must have one shape, and the condition that one, or be a "
            "vector with a value for each row"
        )
    if rows:
        chosen = chosen.reshape(-1, *[1] * (left.ndim - 1))
    return Tensor(np.where(chosen, left, right))


def _places(condition: Any) -> Tensor:
    given = np.asarray(tensor(condition))
    if not given.ndim:
        raise SpecError("where has no places to return of a single value")
    return Tensor(np.argwhere(given))


def _to_choose_from(condition: Any, x: Any, y: Any) -> list[Any]:
    if x is None or y is None:
        raise ValueError("x and y must both be given, or none of them")
    return [truths(condition), *operands("where", x, y)]


def truths(value: Any) -> Any:
    """Return truth values as an array.

    Raises:
        InvalidArgumentError: They are of another type.
        TypeError: They are Python's values of another type.
    """
    made = tensor(value, None if isinstance(value, Tensor) else "bool")
    if made.dtype != "bool":
        raise SpecError(f"a truth value is needed, and this is {made.dtype.name}")
    return np.asarray(made)
