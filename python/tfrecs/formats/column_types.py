"""The type of a column of text, and its values.

The rule: no value changes without a word.

    cells (beside empty ones)              type      what the report says
    integers of int64, NaN                 int64     how many NaNs became missing features
    decimals, integers, NaN, infinities    float32   how many values float32 changes, how much
    the same, with an integer that         string    which integer, and how to get float32
      float32 cannot hold (16777217)
    anything else (007, +49, 1e39, text)   string
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

import numpy as np

Kind: TypeAlias = Literal["int64", "float32", "string"]

# Only how a program writes the number itself: 007 and +49 are codes, and would lose by it.
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_FLOAT = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NAN = re.compile(r"-?nan", re.IGNORECASE)
_INFINITE = re.compile(r"-?(?:inf|infinity)", re.IGNORECASE)
_INT64 = range(-(2**63), 2**63)
_INT64_LENGTH = len(str(-(2**63)))
_FLOAT32_MAX = float(np.finfo(np.float32).max)
# Up to here float32 holds every integer.
_CONTIGUOUS = 2**24


@dataclass
class ColumnReport:
    """What became of a column of text.

    Attributes:
        type: "int64", "float32" or "string".
        nans: How many NaN cells became missing features, in a column of integers.
        changed: How many values float32 holds as another number. 0.1 is none of them: it is the
            shortest decimal of its float32, so it prints as 0.1 again.
        largest_change: The largest of these changes, relative to the value.
        too_large: The first integer that float32 cannot hold, which kept numbers a string.
    """

    type: Kind
    nans: int = 0
    changed: int = 0
    largest_change: float = 0.0
    too_large: int | None = None

    def lines(self, name: str) -> list[str]:
        """Return what a person should know about the column, a line each."""
        found = []
        if self.nans:
            cells = "1 NaN cell is a missing feature"
            if self.nans > 1:
                cells = f"{self.nans:,} NaN cells are missing features"
            found.append(f"column {name!r}: {cells}")
        if self.changed:
            values = "1 value changes" if self.changed == 1 else f"{self.changed:,} values change"
            found.append(
                f"column {name!r}: {values} in float32, by at most {self.largest_change:.1e} of it"
            )
        if self.too_large is not None:
            found.append(
                f"column {name!r}: stays text, because float32 cannot hold {self.too_large}; "
                f"--type {shlex.quote(f'{name}=float32')} rounds it"
            )
        return found


class TypeFinder:
    """Finds the type of a column, cell by cell.

    Example:
        >>> finder = TypeFinder(frozenset(["NA"]))
        >>> for cell in ["1", "", "NA", "nan"]:
        ...     finder.add(cell)
        >>> finder.report()
        ColumnReport(type='int64', nans=0, changed=0, largest_change=0.0, too_large=None)
    """

    def __init__(self, missing: frozenset[str]) -> None:
        """Begin without a cell; `missing` are the cells that stand for no value."""
        self._missing = missing
        self._has_integer = self._has_float = self._has_nan = False
        self._too_large: int | None = None
        self.is_text = False

    def add(self, cell: str) -> None:
        """Take a cell into account."""
        text = cell.strip()
        if not text or cell in self._missing or text in self._missing:
            return
        if _INTEGER.fullmatch(text):
            self._add_integer(text)
        elif _NAN.fullmatch(text):
            self._has_nan = True
        elif _is_float(text):
            self._has_float = True
        else:
            self.is_text = True

    def _add_integer(self, text: str) -> None:
        self._has_integer = True
        # Python does not read integers of thousands of digits.
        if len(text) > _INT64_LENGTH or (number := int(text)) not in _INT64:
            self.is_text = True
        elif self._too_large is None and abs(number) > _CONTIGUOUS and not _is_float32(number):
            self._too_large = number

    def report(self) -> ColumnReport:
        """Return the type, and why it is none of the numbers."""
        if self.is_text or not (self._has_integer or self._has_float or self._has_nan):
            return ColumnReport("string")
        if not self._has_float and self._has_integer:
            return ColumnReport("int64")
        if self._too_large is not None:
            return ColumnReport("string", too_large=self._too_large)
        return ColumnReport("float32")


class Column:
    """Turns the cells of a column into values of its type, and counts what changes by that."""

    def __init__(self, name: str, report: ColumnReport, missing: Iterable[str]) -> None:
        """Keep the type."""
        self.name = name
        self.report = report
        self._missing = frozenset(missing)

    @property
    def is_number(self) -> bool:
        """Whether cells can change."""
        return self.report.type != "string"

    def value(self, cell: str) -> int | float | str | None:
        """Return the value of a cell; None is a missing feature.

        Raises:
            ValueError: It is no number of the column's type.
        """
        if not cell or cell in self._missing:
            return None
        if self.report.type == "string":
            return cell
        text = cell.strip()
        if not text or text in self._missing:
            return None
        try:
            if self.report.type == "float32":
                return _float(text)
            return None if _NAN.fullmatch(text) else int(text)
        except ValueError as error:
            raise ValueError(f"{text[:40]!r} is not {_ARTICLES[self.report.type]}") from error

    def note(self, cell: str, value: float | str | None) -> None:
        """Count a cell that was written."""
        if value is None:
            self.report.nans += _NAN.fullmatch(cell.strip()) is not None and not self._is_word(cell)
        elif isinstance(value, float) and (change := _change(cell.strip(), value)):
            self.report.changed += 1
            self.report.largest_change = max(self.report.largest_change, change)

    def _is_word(self, cell: str) -> bool:
        return cell in self._missing or cell.strip() in self._missing


_ARTICLES = {"int64": "an int64", "float32": "a float32"}


def _is_float(text: str) -> bool:
    if _INFINITE.fullmatch(text):
        return True
    return _FLOAT.fullmatch(text) is not None and _is_in_range(float(text))


def _is_in_range(value: float) -> bool:
    """Whether float32 has a finite number for it; what rounds to the largest one is in range."""
    if abs(value) <= _FLOAT32_MAX:
        return True
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.float32(value)))


def _float(text: str) -> float:
    """Return the number that a cell stands for.

    Raises:
        ValueError: It is none, or a finite one that float64 has only as an infinity.
    """
    value = float(text)
    if abs(value) == float("inf") and not _INFINITE.fullmatch(text.removeprefix("+")):
        raise ValueError(f"{text} is beyond float64")
    return value


def _is_float32(number: int) -> bool:
    return int(np.float32(number)) == number


def _change(text: str, value: float) -> float:
    """Return by how much float32 changes a number, relative to it; 0.0 if it does not.

    A number is unchanged if it is what float32 holds, or the shortest decimal that stands for that.
    """
    if not np.isfinite(value):
        return 0.0
    if value == 0.0:
        return float(_NONZERO.match(text) is not None)
    with np.errstate(over="ignore", under="ignore"):
        narrow = np.float32(value)
    if len(text) <= _SAFE_LENGTH and value == float(str(narrow)):
        return 0.0
    exact = Decimal(text)
    if exact in (Decimal(float(narrow)), Decimal(str(narrow))):
        return 0.0
    return float(abs((Decimal(float(narrow)) - exact) / exact))


# A number whose float64 is 0.0, because it is too small for it.
_NONZERO = re.compile(r"[-+0.]*[1-9]")
# Different decimals of 15 digits have different float64s, which are quick to compare.
_SAFE_LENGTH = 15
