"""Keywords that functions had in TensorFlow 1, beside those that they have now."""

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


def _check_once(
    function: Callable[..., Any], old: str, new: str, args: Any, kwargs: dict[str, Any]
) -> None:
    given = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    if given.get(new) is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
