"""Iterators that threads share."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from tfrecs import _core

T = TypeVar("T")


class SharedIterator(_core.Exclusive, Generator[T, None, None]):
    """What a generator yields, each element to exactly one thread.

    A generator by itself raises ValueError in a thread that asks while another one does.

    Example:
        >>> from tfrecs._internal.shared_iterators import SharedIterator
        >>> list(SharedIterator(n * n for n in range(3)))
        [0, 1, 4]
    """

    def __init__(self, generator: Generator[T, None, None]) -> None:
        """Take the elements of `generator`, which nobody else uses."""
        self._generator = generator
        self._take_from(generator)

    def send(self, value: None) -> T:
        """Return the next element."""
        with self._turn:
            return self._generator.send(value)

    def throw(self, *error: Any) -> T:
        """Raise an error where the generator stands."""
        with self._turn:
            return self._generator.throw(*error)

    def close(self) -> None:
        """End the generator; nothing comes any more.

        Raises:
            ValueError: Another thread waits for an element.
        """
        self._generator.close()
