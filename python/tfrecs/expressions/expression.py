"""Expressions over columns: what col(), operators and methods make."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs._internal.checks import encoded_text
from tfrecs.errors import SpecError
from tfrecs.expressions import text
from tfrecs.expressions.tables import Key, Table, Value
from tfrecs.expressions.text import Mask
from tfrecs.tensors import BytesArray
from tfrecs.tensors.dtypes import dtype_name

# How many values of an is_in() are shown.
_SHOWN = 8


def col(name: str, dtype: npt.DTypeLike | None = None) -> Expression:
    """Return the column of a feature, for `Dataset.filter`: its value in each record.

    What is made of it with operators and methods is worked out for many records at once, before
    anything else of them is parsed:

    - `==`, `!=`, `<`, `<=`, `>`, `>=` with numbers, bytes, str (as UTF-8) and other columns;
    - `+`, `-`, `*`, `/`, `//`, `%`, as NumPy does them for arrays of the column's type;
    - `&`, `|` and `~` of conditions (`and`, `or` and `not` are an error);
    - `.is_in([...])`, `.is_null()` and `.length()`.

    Where a value is missing, a comparison is neither true nor false, as in SQL and Polars: such a
    record is not kept. The default value of a feature stands for a missing one, and a feature that
    is required raises ParseError.

    Args:
        name: The feature's name in the records.
        dtype: Its type, where it is not among the features of the dataset, or where a missing value
            of a required one is to be taken for missing: "int64", "float32" or "string".

    Raises:
        SpecError: It makes no sense; by `filter`, if that depends on the features.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("people.tfrecord") as out:
        ...     for name, age in [("ada", 36), ("grace", 85), ("alan", 41)]:
        ...         out.write(tfrecs.encode_example({"name": name, "age": age}))
        >>> ds = tfrecs.Dataset("people.tfrecord", {"name": tfrecs.FixedLenFeature([], "string")})
        >>> old = (tfrecs.col("age", "int64") > 40) & (tfrecs.col("name").length() < 5)
        >>> [batch["name"].tolist() for batch in ds.filter(old).batch(2)]
        [[b'alan']]
        >>> old
        ((col('age', 'int64') > 40) & (col('name').length() < 5))
    """
    if not isinstance(name, str):
        raise SpecError(f"col() takes the name of a feature, not {name!r}")
    return _Column(name, None if dtype is None else dtype_name(dtype, name))


class Expression(ABC):
    """Something that is worked out for each row; see col()."""

    __hash__ = object.__hash__

    @abstractmethod
    def evaluate(self, table: Table) -> Value:
        """Work it out."""

    @abstractmethod
    def columns(self) -> Iterator[Key]:
        """Yield the columns that it needs."""

    def mask(self, table: Table) -> Mask:
        """Return for which rows it is true.

        Raises:
            SpecError: It is no condition.
            ParseError: A row does not have what it needs.
        """
        array, valid = self.truth(table)
        mask: Mask = array if valid is None else array & valid
        return mask

    def truth(self, table: Table) -> Value:
        """Work it out, as a condition."""
        array, valid = self.evaluate(table)
        if getattr(array, "dtype", None) != np.bool_:
            raise SpecError(f"{self!r} is no condition: compare it with something")
        return Value(array, valid)

    def is_in(self, values: Iterable[Any]) -> Expression:
        """Return whether the value is one of `values`."""
        return _IsIn(self, tuple(_constant(value).value for value in values))

    def is_null(self) -> Expression:
        """Return whether the record has no value for the feature, whatever its default is."""
        return _IsNull(self._as_column("is_null()"))

    def length(self) -> Expression:
        """Return how many values the list has; of a feature of single strings, how many bytes."""
        return _Length(self._as_column("length()"))

    def _as_column(self, what: str) -> _Column:
        if not isinstance(self, _Column):
            raise SpecError(f"{what} is for a column, not for {self!r}")
        return self

    def __bool__(self) -> bool:
        """Refuse to be asked: it is true for some rows, and not for others."""
        raise SpecError(f"{self!r} is not true or false at once: use &, | and ~ for and, or, not")

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        """Compare."""
        return _Binary(self, "==", _expression(other))

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        """Compare."""
        return _Binary(self, "!=", _expression(other))

    def __lt__(self, other: Any) -> Expression:
        """Compare."""
        return _Binary(self, "<", _expression(other))

    def __le__(self, other: Any) -> Expression:
        """Compare."""
        return _Binary(self, "<=", _expression(other))

    def __gt__(self, other: Any) -> Expression:
        """Compare."""
        return _Binary(self, ">", _expression(other))

    def __ge__(self, other: Any) -> Expression:
        """Compare."""
        return _Binary(self, ">=", _expression(other))

    def __add__(self, other: Any) -> Expression:
        """Add."""
        return _Binary(self, "+", _expression(other))

    def __radd__(self, other: Any) -> Expression:
        """Add."""
        return _Binary(_expression(other), "+", self)

    def __sub__(self, other: Any) -> Expression:
        """Subtract."""
        return _Binary(self, "-", _expression(other))

    def __rsub__(self, other: Any) -> Expression:
        """Subtract."""
        return _Binary(_expression(other), "-", self)

    def __mul__(self, other: Any) -> Expression:
        """Multiply."""
        return _Binary(self, "*", _expression(other))

    def __rmul__(self, other: Any) -> Expression:
        """Multiply."""
        return _Binary(_expression(other), "*", self)

    def __truediv__(self, other: Any) -> Expression:
        """Divide."""
        return _Binary(self, "/", _expression(other))

    def __floordiv__(self, other: Any) -> Expression:
        """Divide, and round down; of integers there is no value for a divisor of 0."""
        return _Binary(self, "//", _expression(other))

    def __mod__(self, other: Any) -> Expression:
        """Return the remainder; of integers there is none for a divisor of 0."""
        return _Binary(self, "%", _expression(other))

    def __and__(self, other: Any) -> Expression:
        """Return whether both are true."""
        return _Both(self, "&", _expression(other))

    def __or__(self, other: Any) -> Expression:
        """Return whether one of them is true."""
        return _Both(self, "|", _expression(other))

    def __invert__(self) -> Expression:
        """Return whether it is false."""
        return _Not(self)


@dataclass(frozen=True, eq=False, repr=False)
class _Column(Expression):
    name: str
    dtype: str | None

    def evaluate(self, table: Table) -> Value:
        return table.one((self.name, self.dtype))

    def columns(self) -> Iterator[Key]:
        yield self.name, self.dtype

    def __repr__(self) -> str:
        dtype = "" if self.dtype is None else f", {self.dtype!r}"
        return f"col({self.name!r}{dtype})"


@dataclass(frozen=True, eq=False, repr=False)
class _Constant(Expression):
    value: Any

    def evaluate(self, table: Table) -> Value:
        del table
        return Value(self.value)

    def columns(self) -> Iterator[Key]:
        yield from ()

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, eq=False, repr=False)
class _Binary(Expression):
    left: Expression
    symbol: str
    right: Expression

    def evaluate(self, table: Table) -> Value:
        (left, one), (right, other) = self.left.evaluate(table), self.right.evaluate(table)
        valid = _all_of(one, other)
        are_bytes = [isinstance(side, bytes | BytesArray) for side in (left, right)]
        if all(are_bytes):
            if self.symbol not in text.COMPARISONS:
                raise SpecError(f"{self!r}: there is no {self.symbol} of byte strings")
            return Value(text.compared(self.symbol, left, right), valid)
        if any(are_bytes):
            raise SpecError(f"{self!r}: byte strings and numbers are not compared")
        try:
            with np.errstate(all="ignore"):
                array = _OPERATORS[self.symbol](left, right)
        except (OverflowError, TypeError) as error:
            raise SpecError(f"{self!r}: {error}") from error
        if self.symbol in ("//", "%") and array.dtype.kind in "iu":
            valid = _all_of(valid, np.broadcast_to(np.asarray(right) != 0, array.shape))
        return Value(array, valid)

    def columns(self) -> Iterator[Key]:
        yield from self.left.columns()
        yield from self.right.columns()

    def __repr__(self) -> str:
        return f"({self.left!r} {self.symbol} {self.right!r})"


class _Both(_Binary):
    """`&` and `|`, where what is not known may not matter."""

    def evaluate(self, table: Table) -> Value:
        one, other = self.left.truth(table), self.right.truth(table)
        if one.valid is None and other.valid is None:
            return Value(_OPERATORS[self.symbol](one.array, other.array))
        (true, false), (true_too, false_too) = _sides(one), _sides(other)
        if self.symbol == "&":
            true, false = true & true_too, false | false_too
        else:
            true, false = true | true_too, false & false_too
        return Value(true, true | false)


@dataclass(frozen=True, eq=False, repr=False)
class _Not(Expression):
    of: Expression

    def evaluate(self, table: Table) -> Value:
        array, valid = self.of.truth(table)
        return Value(~array, valid)

    def columns(self) -> Iterator[Key]:
        yield from self.of.columns()

    def __repr__(self) -> str:
        return f"~{self.of!r}"


@dataclass(frozen=True, eq=False, repr=False)
class _IsIn(Expression):
    of: Expression
    values: tuple[Any, ...]

    def evaluate(self, table: Table) -> Value:
        array, valid = self.of.evaluate(table)
        are_bytes = isinstance(array, BytesArray)
        if any(isinstance(value, bytes) != are_bytes for value in self.values):
            raise SpecError(f"{self!r}: byte strings and numbers are not compared")
        if are_bytes:
            return Value(text.is_in(array, frozenset(self.values)), valid)
        return Value(np.isin(array, _of_type(self.values, array.dtype)), valid)

    def columns(self) -> Iterator[Key]:
        yield from self.of.columns()

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.values[:_SHOWN]))
        if len(self.values) > _SHOWN:
            digest = hashlib.sha256(repr(self.values).encode()).hexdigest()[:8]
            shown += f", … {len(self.values)} values, {digest}"
        return f"{self.of!r}.is_in([{shown}])"


@dataclass(frozen=True, eq=False, repr=False)
class _IsNull(Expression):
    of: _Column

    def evaluate(self, table: Table) -> Value:
        return Value(table.counts((self.of.name, self.of.dtype)) == 0)

    def columns(self) -> Iterator[Key]:
        yield from self.of.columns()

    def __repr__(self) -> str:
        return f"{self.of!r}.is_null()"


@dataclass(frozen=True, eq=False, repr=False)
class _Length(Expression):
    of: _Column

    def evaluate(self, table: Table) -> Value:
        return table.length((self.of.name, self.of.dtype))

    def columns(self) -> Iterator[Key]:
        yield from self.of.columns()

    def __repr__(self) -> str:
        return f"{self.of!r}.length()"


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **text.COMPARISONS,
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "&": np.logical_and,
    "|": np.logical_or,
}


def _expression(given: Any) -> Expression:
    return given if isinstance(given, Expression) else _constant(given)


def _constant(given: Any) -> _Constant:
    if isinstance(given, np.generic):
        given = given.item()
    if isinstance(given, str):
        given = encoded_text("a value to compare with", given)
    if not isinstance(given, bool | int | float | bytes):
        hint = "; is_null() says whether there is a value" if given is None else ""
        raise SpecError(f"a column is compared with numbers, bytes and str, not {given!r}{hint}")
    return _Constant(given)


def _all_of(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _sides(condition: Value) -> tuple[Mask, Mask]:
    """Return where a condition is true, and where it is false."""
    array, valid = condition
    return (array, ~array) if valid is None else (array & valid, ~array & valid)


def _of_type(values: tuple[Any, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the values that an array of this type can have."""
    if dtype.kind not in "iu":
        return np.asarray(values).astype(dtype)
    limits = np.iinfo(dtype)
    whole = [value for value in values if value == value // 1]
    return np.asarray([int(one) for one in whole if limits.min <= one <= limits.max], dtype)
