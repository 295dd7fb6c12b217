"""From a CSV file to sharded TFRecords: an Example a row, a feature a column.

The file is read twice, a row at a time: once to find the types of its columns, once to convert it.
"""

import csv
import os
import random
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias

import numpy as np

from tfrecs.convert.shards import (
    Conversion,
    OnError,
    Outcome,
    Output,
    Progress,
    allot,
    default_split,
    file_errors,
    write_shards,
)
from tfrecs.dtypes import kind_of
from tfrecs.errors import Error, ParseError, SpecError
from tfrecs.examples import encode_example

Kind: TypeAlias = Literal["int64", "float32", "string"]
Line: TypeAlias = tuple[int, list[str] | ParseError]
"""A row: the number of its first line, and its cells or what is wrong with it."""

# Only how a program writes the number itself: 007 and +49 are codes, and would lose by it.
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_FLOAT = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"-?(?:nan|inf|infinity)", re.IGNORECASE)
_INT64 = range(-(2**63), 2**63)
_FLOAT32_MAX = float(np.finfo(np.float32).max)

_SURROGATE = re.compile("[\ud800-\udfff]")  # what surrogateescape makes of bytes it cannot decode


def convert_csv(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    split: Mapping[str, float] | None = None,
    num_shards: int | Mapping[str, int] | None = None,
    compression_type: str = "",
    seed: int = 0,
    on_error: OnError = "fail",
    overwrite: bool = False,
    progress: Progress | None = None,
    types: Mapping[str, Any] | None = None,
    missing: Collection[str] = (),
    delimiter: str | None = None,
    encoding: str = "utf-8-sig",
) -> Conversion:
    r"""Convert a CSV file to TFRecords: each row to an Example, each column to a feature.

    A column is int64 if all its cells are integers, otherwise float32 if all are numbers, otherwise
    a string (UTF-8). What a number would lose keeps the column a string: leading zeros and plus
    signs (07030, +49), integers beyond int64, numbers beyond float32. An empty cell is a missing
    feature, and so is one of blanks in a column of numbers. Rows keep their order within a split;
    a split's shards take them in turn.

    Args:
        src: The file. Its first row names the columns. It is read twice, so it cannot be a pipe.
        dst: The folder for the shards, `train-00000-of-00010.tfrecord` and so on.
        split: The fraction of the rows for each split, such as `{"train": 0.9, "test": 0.1}`. None
            is one split with the name of the file.
        num_shards: How many shards each split has, or a number by split; None is one for every 128
            MiB.
        compression_type: "", "GZIP" or "ZLIB".
        seed: Chooses which rows go to which split.
        on_error: What a row with too few or too many cells, with bytes that are not in the
            encoding, or with a cell that is not of its given type does: "fail" raises, "skip"
            leaves the row out and reports it.
        overwrite: Whether to replace shards of the same splits.
        progress: Called now and then with the rows done and all rows.
        types: The types of some columns, "int64", "float32" or "string", instead of finding out.
        missing: Cells that mean a missing value, such as `["NA"]`, besides empty ones.
        delimiter: What separates cells; None is a tab for .tsv and .tab, and a comma otherwise.
        encoding: The text encoding; the default is UTF-8 with or without a byte order mark.

    Returns:
        What was written, and what was skipped.

    Raises:
        ParseError: A row is bad (the text names its line), or the header is.
        SpecError: An option makes no sense.
        FileError: A file cannot be read or written, or shards are there already.

    Example:
        >>> import pathlib, tfrecs
        >>> from tfrecs.convert import convert_csv
        >>> _ = pathlib.Path("people.csv").write_text("name,born,zip\nAda,1815,01234\nAlan,,0\n")
        >>> report = convert_csv("people.csv", "out")
        >>> report.paths
        ['out/people-00000-of-00001.tfrecord']
        >>> [tfrecs.decode_example(record) for record in tfrecs.RecordReader(report.paths[0])]
        [{'name': [b'Ada'], 'born': [1815], 'zip': [b'01234']}, {'name': [b'Alan'], 'zip': [b'0']}]
    """
    splits = split or default_split(src)
    output = Output(dst, splits, num_shards, compression_type, on_error, overwrite, progress)
    table = _Table(os.fspath(src), delimiter or _delimiter(src), encoding, frozenset(missing))
    columns, rows = table.survey(_kinds(types or {}))
    choices = allot([rows], splits, random.Random(seed))
    # Rows that are added meanwhile do not count.
    outcomes = zip(choices, table.outcomes(columns), strict=False)
    return write_shards(
        ((choice, table.path, outcome) for choice, outcome in outcomes),
        output,
        total=rows,
        input_bytes=Path(src).stat().st_size,
    )


def _delimiter(path: str | os.PathLike[str]) -> str:
    return "\t" if Path(path).suffix.lower() in {".tsv", ".tab"} else ","


def _kinds(types: Mapping[str, Any]) -> dict[str, Kind]:
    names: dict[str, Kind] = {"int64": "int64", "float32": "float32", "bytes": "string"}
    return {name: names[kind_of(dtype, name)] for name, dtype in types.items()}


@dataclass(frozen=True)
class _Table:
    """A CSV file, and how to read it."""

    path: str
    delimiter: str
    encoding: str
    missing: frozenset[str]

    def survey(self, given: Mapping[str, Kind]) -> tuple[dict[str, Kind], int]:
        """Read the whole file: return the type of each column, and the number of rows."""
        with self._reading() as (header, rows):
            if unknown := [name for name in given if name not in header]:
                raise SpecError(f"types names {unknown}, but the columns are {header}")
            found: list[Kind | None] = [given.get(name) for name in header]
            unsure = [i for i, name in enumerate(header) if name not in given]
            count = 0
            for _, cells in rows:
                count += 1
                if isinstance(cells, Error):
                    continue
                for i in unsure:
                    found[i] = _wider(found[i], self._kind(cells[i]))
                if count % 1024 == 1:
                    unsure = [i for i in unsure if found[i] != "string"]
        # Nothing is known of a column without a value, and nothing is written of it either.
        return {name: kind or "string" for name, kind in zip(header, found, strict=True)}, count

    def outcomes(self, columns: Mapping[str, Kind]) -> Iterator[Outcome]:
        """Read the file again: yield an Example for each row, or what is wrong with it."""
        with self._reading() as (_, rows):
            for record, (line, cells) in enumerate(rows):
                yield (
                    cells
                    if isinstance(cells, Error)
                    else self._encoded(record, line, zip(columns.items(), cells, strict=True))
                )

    def _encoded(
        self, record: int, line: int, cells: Iterable[tuple[tuple[str, Kind], str]]
    ) -> Outcome:
        name = None
        try:
            features = {}
            for (name, kind), cell in cells:
                features[name] = self._value(kind, cell)
            return encode_example(features)
        except (Error, ValueError) as error:
            feature = getattr(error, "feature", name)
            reason = getattr(error, "reason", str(error))
            return self._error(line, f"column {feature!r}: {reason}", record, feature)

    def _kind(self, cell: str) -> Kind | None:
        """Return the narrowest type that keeps `cell` whole; None if there is no value."""
        text = cell.strip()
        if not text or cell in self.missing or text in self.missing:
            return None
        if _INTEGER.fullmatch(text):
            return "int64" if int(text) in _INT64 else "string"
        if _NOT_FINITE.fullmatch(text):
            return "float32"
        if _FLOAT.fullmatch(text) and abs(float(text)) <= _FLOAT32_MAX:
            return "float32"
        return "string"

    def _value(self, kind: Kind, cell: str) -> int | float | str | None:
        if not cell or cell in self.missing:
            return None
        if kind == "string":
            return cell
        text = cell.strip()
        if not text or text in self.missing:
            return None
        try:
            return int(text) if kind == "int64" else float(text)
        except ValueError as error:
            raise ValueError(f"{text[:40]!r} is no {kind}") from error

    @contextmanager
    def _reading(self) -> Iterator[tuple[list[str], Iterator[Line]]]:
        """Open the file: the names of its columns, and an iterator over its rows."""
        with file_errors(), self._open() as file, _cells_of_any_size():
            lines = self._lines(file)
            header = self._header(next(lines, None))
            yield header, (self._checked(line, cells, header) for line, cells in lines)

    def _open(self) -> TextIO:
        file = Path(self.path)
        if file.exists() and not file.is_file() and not file.is_dir():
            raise SpecError(f"{self.path}: is no regular file, and it has to be read twice")
        try:
            # Bytes that are no text come through as surrogates, so that only their row is bad.
            return file.open(encoding=self.encoding, errors="surrogateescape", newline="")
        except LookupError as error:
            raise SpecError(f"there is no encoding {self.encoding!r}") from error

    def _lines(self, file: TextIO) -> Iterator[Line]:
        """Yield every row that is not blank."""
        rows = csv.reader(file, delimiter=self.delimiter, strict=True)
        while True:
            line = rows.line_num + 1
            try:
                if cells := next(rows):
                    yield line, cells
            except StopIteration:
                return
            except csv.Error as error:
                yield line, self._error(line, _explained(error))
            except UnicodeDecodeError as error:
                raise self._error(line, f"is not {self.encoding} text: {error.reason}") from error

    def _header(self, line: Line | None) -> list[str]:
        if line is None:
            raise ParseError(
                f"{self.path}: is empty; its first row must name the columns",
                path=self.path,
                reason="is empty; its first row must name the columns",
            )
        number, cells = line
        if isinstance(cells, Error):
            raise cells
        if any(map(_SURROGATE.search, cells)):
            raise self._error(number, f"is not {self.encoding} text: name its encoding")
        names = [name.strip() or f"column_{i}" for i, name in enumerate(cells, 1)]
        if twice := [name for i, name in enumerate(names) if name in names[:i]]:
            raise self._error(number, f"two columns are named {twice[0]!r}")
        return names

    def _checked(self, line: int, cells: list[str] | ParseError, header: list[str]) -> Line:
        if isinstance(cells, Error):
            return line, cells
        if len(cells) != len(header):
            columns = f"{len(header)} column{'s' * (len(header) != 1)}"
            return line, self._error(
                line, f"has {len(cells)} cell{'s' * (len(cells) != 1)}, but there are {columns}"
            )
        if _SURROGATE.search("".join(cells)):
            return line, self._error(line, f"is not {self.encoding} text")
        return line, cells

    def _error(
        self, line: int, reason: str, record: int | None = None, feature: str | None = None
    ) -> ParseError:
        reason = f"line {line}: {reason}"
        text = f"{self.path}: {reason}"
        return ParseError(text, path=self.path, record=record, feature=feature, reason=reason)


def _wider(one: Kind | None, other: Kind | None) -> Kind | None:
    """Return the type that holds values of both."""
    if one is None or other is None or one == other:
        return one or other
    return "string" if "string" in (one, other) else "float32"


def _explained(error: csv.Error) -> str:
    if "unexpected end of data" in str(error):
        return "opens a quote that is never closed"
    return str(error)


@contextmanager
def _cells_of_any_size() -> Iterator[None]:
    """Lift the limit of 128 KiB that the csv module has for a cell."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
