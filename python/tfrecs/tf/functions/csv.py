"""`tf.io.decode_csv`: lines of CSV to columns, with TensorFlow's rules for quotes and numbers.

TensorFlow is stricter than Python's `csv`: a quoted field ends at the quote that is followed by the
delimiter or by the end of the record, and an unquoted field holds neither a quote nor a newline.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from tfrecs._internal.checks import checked_text, encoded_text
from tfrecs._internal.wording import counted
from tfrecs.errors import SpecError
from tfrecs.tf.graph.deferred import deferrable, parts
from tfrecs.tf.graph.known import Known, known
from tfrecs.tf.tensor.values import Tensor, tensor

_TYPES = ("float32", "float64", "int32", "int64", "string")

# What follows the opening quote: anything, in which quotes are doubled, up to the closing one.
_QUOTED = re.compile(rb'([^"]*(?:""[^"]*)*)"', re.DOTALL)
_HEXADECIMAL = re.compile(r"\s*[+-]?0x", re.IGNORECASE)


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    """Return the columns of lines of CSV, each in the shape of the lines: `tf.io.decode_csv`.

    Raises:
        InvalidArgumentError: A line has a wrong number of fields, a misplaced quote, a field that
            is not a number, or an empty field without a default; or an argument is invalid.

    Example:
        >>> from tfrecs import tf
        >>> name, age = tf.io.decode_csv(["ada,36", "grace,"], [[""], [-1]])
        >>> age.numpy()
        array([36, -1], dtype=int32)
    """
    layout = _Layout(
        _delimiter(field_delim),
        use_quote_delim,
        na_value,
        _columns_of(select_cols, len(record_defaults)),
    )
    each = [known(default) for default in record_defaults]
    rows = known(records).shape
    columns = [Known(one.dtype, rows) for one in each]
    made = _columns(records, record_defaults, layout)
    return parts(made, len(record_defaults), columns)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Layout:
    """How fields are written, and which columns are selected (None: all)."""

    delimiter: bytes
    quotes: bool
    na_value: str
    selected: list[int] | None


def _delimiter(given: str) -> bytes:
    delimiter = encoded_text("field_delim", checked_text("field_delim", given))
    if len(delimiter) != 1:
        raise SpecError(f"field_delim must be a single byte, not {given!r}")
    return delimiter


def _columns_of(select_cols: Sequence[int] | None, count: int) -> list[int] | None:
    if select_cols is None:
        return None
    columns = [int(column) for column in select_cols]
    if not columns or columns[0] < 0 or any(b <= a for a, b in pairwise(columns)):
        raise SpecError(f"select_cols must be increasing column numbers from 0, not {columns}")
    if len(columns) != count:
        raise SpecError(
            f"select_cols has {counted(len(columns), 'column')}, record_defaults {count}"
        )
    return columns


@deferrable
def _columns(records: Any, record_defaults: Sequence[Any], layout: _Layout) -> list[Tensor]:
    lines = np.asarray(tensor(records, "string"))
    defaults = [_default(one, number) for number, one in enumerate(record_defaults)]
    rows = [_row(line, number, defaults, layout) for number, line in enumerate(lines.reshape(-1))]
    columns = [np.empty(len(rows), one.dtype.dtype) for one in defaults]
    for number, column in enumerate(columns):
        column[:] = [row[number] for row in rows]
    return [Tensor(column.reshape(lines.shape)) for column in columns]


def _default(given: Any, number: int) -> Tensor:
    default = tensor(given)
    if default.dtype.name not in _TYPES:
        kinds = ", ".join(_TYPES)
        raise SpecError(f"record_defaults[{number}] must be {kinds}, not {default.dtype.name}")
    if default.ndim > 1 or np.asarray(default).size > 1:
        raise SpecError(
            f"record_defaults[{number}] must hold at most one value, and has shape {default.shape}"
        )
    return default


def _row(line: bytes, number: int, defaults: list[Tensor], layout: _Layout) -> list[Any]:
    try:
        return _values(list(_selected(line, layout)), defaults, layout)
    except SpecError as error:
        raise SpecError(f"record {number}: {error}") from None


def _values(fields: list[bytes], defaults: list[Tensor], layout: _Layout) -> list[Any]:
    if len(fields) != len(defaults):
        raise SpecError(f"expected {len(defaults)} fields, found {len(fields)}")
    return [_value(*one, layout.na_value) for one in zip(fields, defaults, strict=True)]


def _selected(line: bytes, layout: _Layout) -> Iterator[bytes]:
    """Yield the selected fields; what follows the last of them is not looked at, as there."""
    if layout.selected is None:
        yield from _fields(line, layout)
        return
    missing = set(layout.selected)
    for number, field in enumerate(_fields(line, layout)):
        if number in missing:
            missing.remove(number)
            yield field
        if not missing:
            return


def _fields(line: bytes, layout: _Layout) -> Iterator[bytes]:
    at = 0
    while at < len(line):
        if line[at] in b"\r\n":  # skipped at the start of a field
            at += 1
            continue
        is_quoted = layout.quotes and line[at] == ord('"')
        field, end = (_quoted if is_quoted else _unquoted)(line, at, layout)
        yield field
        at = end + 1
    if line.endswith(layout.delimiter):
        yield b""


def _unquoted(line: bytes, start: int, layout: _Layout) -> tuple[bytes, int]:
    end = line.find(layout.delimiter, start)
    field = line[start : len(line) if end == -1 else end]
    if b"\n" in field or b"\r" in field or (layout.quotes and b'"' in field):
        raise SpecError(f"unquoted field {field!r} has a quote or a newline in it")
    return field, start + len(field)


def _quoted(line: bytes, start: int, layout: _Layout) -> tuple[bytes, int]:
    found = _QUOTED.match(line, start + 1)
    if found is None or line[found.end() : found.end() + 1] not in (b"", layout.delimiter):
        raise SpecError(
            f"quoted field {line[start:]!r} does not end with a quote before the delimiter; "
            "quotes inside are doubled"
        )
    return found[1].replace(b'""', b'"'), found.end()


def _value(field: bytes, default: Tensor, na_value: str) -> Any:
    if field in (b"", encoded_text("na_value", na_value)):
        if default.shape.num_elements() == 0:
            raise SpecError("a field without a default is missing")
        return np.asarray(default).reshape(-1)[0]
    if default.dtype.name == "string":
        return field
    try:
        return _number(field.decode("ascii"), default.dtype.dtype)
    except (ValueError, OverflowError):
        raise SpecError(f"{field!r} is not a valid {default.dtype.name}") from None


def _number(text: str, dtype: np.dtype[Any]) -> Any:
    if "_" in text:
        raise ValueError(text)  # Python's own notation
    if dtype.kind == "f" and _HEXADECIMAL.match(text):
        return dtype.type(float.fromhex(text))
    if dtype == np.float32:
        return np.float32(_rounded_once(text))
    return np.asarray(text).astype(dtype)[()]


# The bits of a double that a float32 drops, and what they are in the middle between two float32.
_DROPPED, _MIDDLE = np.uint64(0x1FFFFFFF), np.uint64(0x10000000)


def _rounded_once(text: str) -> float:
    """Return a double that rounds to the float32 nearest to a text.

    A double in the middle between two float32 may itself have been rounded to it: it is then moved
    towards the text by one step.
    """
    near = float(text)
    if np.float64(near).view(np.uint64) & _DROPPED != _MIDDLE:
        return near
    exact = Decimal(text)
    return math.nextafter(near, math.inf if exact > near else -math.inf if exact < near else near)
