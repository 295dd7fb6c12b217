"""Arithmetic and comparison, for values that are there and for those that are not yet."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable
from typing import Any


class Operators:
    """What has Python's operators: each becomes one call of `_apply`."""

    __slots__ = ()

    # NumPy leaves it to us what `array + value` is.
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def _apply(self, function: Callable[..., Any], *values: Any) -> Any:
        """Return what `function` makes of the values, of which this is one."""

    def __add__(self, other: Any) -> Any:
        """Return the sum; of strings, the one after the other."""
        return self._apply(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        """As __add__."""
        return self._apply(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        """Return the difference."""
        return self._apply(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        """As __sub__."""
        return self._apply(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        """Return the product."""
        return self._apply(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        """As __mul__."""
        return self._apply(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        """Return the quotient."""
        return self._apply(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        """As __truediv__."""
        return self._apply(operator.truediv, other, self)

    def __floordiv__(self, other: Any) -> Any:
        """Return the quotient, rounded down."""
        return self._apply(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        """As __floordiv__."""
        return self._apply(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        """Return the remainder."""
        return self._apply(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        """As __mod__."""
        return self._apply(operator.mod, other, self)

    def __pow__(self, other: Any) -> Any:
        """Return the power."""
        return self._apply(operator.pow, self, other)

    def __rpow__(self, other: Any) -> Any:
        """As __pow__."""
        return self._apply(operator.pow, other, self)

    def __matmul__(self, other: Any) -> Any:
        """Return the product of matrices."""
        return self._apply(operator.matmul, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        """As __matmul__."""
        return self._apply(operator.matmul, other, self)

    def __and__(self, other: Any) -> Any:
        """Return what both are."""
        return self._apply(operator.and_, self, other)

    def __or__(self, other: Any) -> Any:
        """Return what one of them is."""
        return self._apply(operator.or_, self, other)

    def __rand__(self, other: Any) -> Any:
        """As __and__."""
        return self._apply(operator.and_, other, self)

    def __ror__(self, other: Any) -> Any:
        """As __or__."""
        return self._apply(operator.or_, other, self)

    def __xor__(self, other: Any) -> Any:
        """Return what just one of them is."""
        return self._apply(operator.xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        """As __xor__."""
        return self._apply(operator.xor, other, self)

    def __neg__(self) -> Any:
        """Return the number with the other sign."""
        return self._apply(operator.neg, self)

    def __invert__(self) -> Any:
        """Return what it is not."""
        return self._apply(operator.invert, self)

    def __abs__(self) -> Any:
        """Return the number without its sign."""
        return self._apply(operator.abs, self)

    def __lt__(self, other: Any) -> Any:
        """Whether it is less, element by element."""
        return self._apply(operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        """Whether it is not more, element by element."""
        return self._apply(operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        """Whether it is more, element by element."""
        return self._apply(operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        """Whether it is not less, element by element."""
        return self._apply(operator.ge, self, other)

    def __eq__(self, other: object) -> Any:
        """Whether it is equal, element by element."""
        return self._apply(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        """Whether it is not equal, element by element."""
        return self._apply(operator.ne, self, other)

    def __getitem__(self, index: Any) -> Any:
        """Return an element, or some."""
        return self._apply(operator.getitem, self, index)
