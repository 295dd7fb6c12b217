"""From a CSV file to sharded TFRecords: an Example a row, a feature a column.

The file is read twice, a row at a time: once to find the types of its columns, once to convert it.
"""

import csv
import os
import random
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from tfrecs._internal.checks import checked_codec, checked_name
from tfrecs._internal.wording import counted
from tfrecs.errors import Error, ParseError, SpecError
from tfrecs.examples.rows import encode_example
from tfrecs.formats.column_types import Column, ColumnReport, Kind, TypeFinder
from tfrecs.formats.shards import (
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
from tfrecs.tensors.dtypes import kind_of

Line: TypeAlias = tuple[int, list[str] | ParseError]
"""A row: the number of its first line, and its cells or what is wrong with it."""

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

    A column is int64 if all its cells are integers (or NaN: a missing feature), otherwise float32
    if all are numbers, otherwise a string (UTF-8). What a number would lose keeps the column a
    string: leading zeros and plus signs (07030, +49), integers beyond int64, numbers beyond
    float32, and beside decimals, integers that float32 cannot hold (16777217). `columns` of the
    result counts the values that float32 changes. An empty cell is a missing feature, and so is
    one of blanks in a column of numbers. Rows keep their order within a split; a split's shards
    take them in turn.

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
        >>> from tfrecs import convert_csv
        >>> _ = pathlib.Path("people.csv").write_text("name,born,zip\nAda,1815,01234\nAlan,,0\n")
        >>> report = convert_csv("people.csv", "out")
        >>> report.paths
        ['out/people-00000-of-00001.tfrecord']
        >>> [tfrecs.decode_example(record) for record in tfrecs.RecordReader(report.paths[0])]
        [{'name': [b'Ada'], 'born': [1815], 'zip': [b'01234']}, {'name': [b'Alan'], 'zip': [b'0']}]
    """
    src, dst = checked_name(src), checked_name(dst)
    splits = split or default_split(src)
    output = Output(dst, splits, num_shards, compression_type, on_error, overwrite, progress)
    separator = _checked_delimiter(delimiter or _delimiter(src))
    table = _Table(os.fspath(src), separator, encoding, frozenset(missing))
    columns, rows = table.survey(_kinds(types or {}))
    choices = allot([rows], splits, random.Random(seed))
    # Rows that are added meanwhile do not count.
    outcomes = zip(choices, table.outcomes(columns), strict=False)
    written = write_shards(
        ((choice, table.path, outcome) for choice, outcome in outcomes),
        output,
        total=rows,
        input_bytes=Path(src).stat().st_size,
    )
    return replace(written, columns={column.name: column.report for column in columns})


def _delimiter(path: str | os.PathLike[str]) -> str:
    return "\t" if Path(path).suffix.lower() in {".tsv", ".tab"} else ","


def _checked_delimiter(given: Any) -> str:
    try:
        csv.reader([], delimiter=given)
    except (TypeError, ValueError):
        raise SpecError(f"delimiter must be one character, not {given!r}") from None
    return str(given)


def _kinds(types: Mapping[str, Any]) -> dict[str, Kind]:
    if not isinstance(types, Mapping):
        raise SpecError(f"types must map columns to types, not {type(types).__name__}")
    names: dict[str, Kind] = {"int64": "int64", "float32": "float32", "bytes": "string"}
    return {name: names[kind_of(dtype, name)] for name, dtype in types.items()}


@dataclass(frozen=True)
class _Table:
    """A CSV file, and how to read it."""

    path: str
    delimiter: str
    encoding: str
    missing: frozenset[str]

    def survey(self, given: Mapping[str, Kind]) -> tuple[list[Column], int]:
        """Read the whole file: return its columns, and the number of rows."""
        with self._reading() as (header, rows):
            if unknown := [name for name in given if name not in header]:
                raise SpecError(f"types names {unknown}, but the columns are {header}")
            found = {name: TypeFinder(self.missing) for name in header if name not in given}
            count = self._find(found, header, rows)
        reports = {name: ColumnReport(kind) for name, kind in given.items()}
        reports.update((name, finder.report()) for name, finder in found.items())
        return [Column(name, reports[name], self.missing) for name in header], count

    @staticmethod
    def _find(found: Mapping[str, TypeFinder], header: list[str], rows: Iterator[Line]) -> int:
        """Show all cells to those who look for their types, and return the number of rows."""
        unsure = [(i, found[name]) for i, name in enumerate(header) if name in found]
        count = 0
        for _, cells in rows:
            count += 1
            if isinstance(cells, Error):
                continue
            for i, finder in unsure:
                finder.add(cells[i])
            if count % 1024 == 1:
                unsure = [(i, finder) for i, finder in unsure if not finder.is_text]
        return count

    def outcomes(self, columns: Sequence[Column]) -> Iterator[Outcome]:
        """Read the file again: yield an Example for each row, or what is wrong with it."""
        numbers = [(i, column) for i, column in enumerate(columns) if column.is_number]
        with self._reading() as (_, rows):
            for record, (line, cells) in enumerate(rows):
                if isinstance(cells, Error):
                    yield cells
                    continue
                outcome = self._encoded(record, line, columns, cells)
                if isinstance(outcome, bytes):
                    for i, column in numbers:
                        column.note(cells[i], column.value(cells[i]))
                yield outcome

    def _encoded(
        self, record: int, line: int, columns: Sequence[Column], cells: list[str]
    ) -> Outcome:
        name = None
        try:
            features = {}
            for column, cell in zip(columns, cells, strict=True):
                name = column.name
                features[name] = column.value(cell)
            return encode_example(features)
        except (Error, ValueError) as error:
            feature = getattr(error, "feature", name)
            reason = getattr(error, "reason", str(error))
            return self._error(line, f"column {feature!r}: {reason}", record, feature)

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
        # Bytes that are no text come through as surrogates, so that only their row is bad.
        errors = "surrogateescape"
        checked_codec(self.encoding, errors)
        return file.open(encoding=self.encoding, errors=errors, newline="")

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
            columns = counted(len(header), "column")
            return line, self._error(
                line, f"has {counted(len(cells), 'cell')}, but there are {columns}"
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
