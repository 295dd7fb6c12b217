"""Arguments as functions had them in TensorFlow 1: by other keywords, and in another order."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

R = TypeVar("R")


def renamed(**old: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Have a function take keywords by their old names too: `renamed(keep_dims="keepdims")`.

    An old keyword that is None is as one that is not given.

    Raises:
        ValueError: When called: an argument is given by its old name and by its new one.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            given = {name: kwargs.pop(name) for name in kwargs.keys() & old.keys()}
            for name, value in given.items():
                if value is not None:
                    _check_once(function, name, old[name], args, kwargs)
                    kwargs[old[name]] = value
            return function(*args, **kwargs)

        return call

    return decorate


def ordered(function: Callable[..., R], names: str) -> Callable[..., R]:
    """Return a function whose positional arguments are in the order of `names`.

    What it takes besides, it takes by keyword.

    Example:
        >>> from tfrecs import tf
        >>> size = ordered(tf.size, "input name out_type")
        >>> size([1, 2], "count", tf.int64).dtype
        tf.int64
    """
    order = names.split()
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        if len(args) > len(order):
            raise TypeError(f"{_name(function)}() takes {len(order)} arguments, not {len(args)}")
        given = dict(zip(order, args, strict=False))
        twice = given.keys() & kwargs.keys()
        if twice:
            raise TypeError(f"{_name(function)}() got several values for {', '.join(twice)}")
        return function(**given, **kwargs)

    call.__signature__ = inspect.Signature([inspect.Parameter(one, kind) for one in order])  # type: ignore[attr-defined]
    return call


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "function")


def _check_once(
    function: Callable[..., Any], old: str, new: str, args: Any, kwargs: dict[str, Any]
) -> None:
    given = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    if given.get(new) is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
