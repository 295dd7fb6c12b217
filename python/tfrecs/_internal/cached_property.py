"""What is worked out when it is first asked for, and kept."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - a decorator, as property
    """functools.cached_property without the lock that it has before Python 3.12.

    One lock for all objects, held while the files are opened, would be held for ever in a process
    that is forked meanwhile. Two threads may work it out twice here.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        """Ask `function` once for each object."""
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Keep what it returns under this name."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "cached_property[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> "cached_property[T] | T":
        """Return what was worked out; the next time Python finds that by itself."""
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self._name, self._function(instance))
        return value
