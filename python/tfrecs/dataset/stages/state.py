"""States of iterators: what they hold, and how to read one that somebody else may have written."""

from collections.abc import Iterable
from typing import Any, Self

from tfrecs.errors import StateError

State = dict[str, Any]

MOST = 2**63 - 1


class Saved:
    """A state, or a part of one. Whatever is not as expected raises StateError."""

    def __init__(self, value: object, where: str = "the state") -> None:
        """Read `value`, which errors call `where`.

        Raises:
            StateError: It is no mapping.
        """
        if not isinstance(value, dict):
            raise StateError(f"{where} is no mapping, but {type(value).__name__}")
        self._value = value
        self._where = where

    @property
    def value(self) -> State:
        """The state itself."""
        return self._value

    def integer(self, name: str, least: int = 0, most: int = MOST) -> int:
        """Return the integer `name`, which lies between `least` and `most`."""
        return self._checked(self._get(name), name, least, most)

    def optional_integer(self, name: str, least: int = 0, most: int = MOST) -> int | None:
        """Return the integer `name`, or None if it is null."""
        value = self._get(name)
        return None if value is None else self._checked(value, name, least, most)

    def integers(self, name: str, most: int, each: int = MOST) -> list[int]:
        """Return the list `name`, of at most `most` integers from 0 to `each`."""
        value = self._get(name)
        if not isinstance(value, list) or len(value) > most:
            raise self._error(f"{name!r} is no list of at most {most} integers")
        return [self._checked(one, name, 0, each) for one in value]

    def string(self, name: str) -> str:
        """Return the text `name`."""
        value = self._get(name)
        if not isinstance(value, str):
            raise self._error(f"{name!r} is no text")
        return value

    def is_same(self, name: str, value: object) -> bool:
        """Return whether `name` is just this."""
        return bool(self._get(name) == value)

    def strings(self, name: str) -> list[str]:
        """Return the list `name` of texts."""
        value = self._get(name)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._error(f"{name!r} is no list of texts")
        return value

    def child(self, name: str) -> Self:
        """Return the part `name`."""
        return type(self)(self._get(name), f"{name!r} in {self._where}")

    def optional_child(self, name: str) -> Self | None:
        """Return the part `name`, or None if it is null."""
        return None if self._get(name) is None else self.child(name)

    def children(self, name: str, least: int, most: int) -> list[Self]:
        """Return the parts in the list `name`, from `least` to `most` of them."""
        value = self._get(name)
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise self._error(f"{name!r} is no list of {least} to {most} states")
        return [type(self)(one, f"{name!r} in {self._where}") for one in value]

    def only(self, names: Iterable[str]) -> Self:
        """Return the same, which has these names and no others."""
        odd = set(self._value) ^ set(names)
        if odd:
            raise self._error(f"it has, or lacks, {sorted(map(str, odd))}")
        return self

    def _get(self, name: str) -> Any:
        if name not in self._value:
            raise self._error(f"{name!r} is missing")
        return self._value[name]

    def _checked(self, value: object, name: str, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._error(f"{name!r} is no integer from {least} to {most}")
        return value

    def _error(self, what: str) -> StateError:
        return StateError(f"{self._where} is not one of this dataset: {what}")
