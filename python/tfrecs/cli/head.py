"""`tfrecs head`: the first records."""

from collections.abc import Iterable, Sized
from itertools import islice
from typing import Annotated, NamedTuple

import typer
from rich.text import Text

from tfrecs._internal.checks import UNREACHED
from tfrecs._internal.wording import plural
from tfrecs.cli.app import Paths, command, files
from tfrecs.cli.preview import (
    Shown,
    as_json,
    interpret,
    kind,
    raw_text,
    steps_text,
    value_text,
    values_text,
)
from tfrecs.cli.terminal import console, printable, say, say_json
from tfrecs.records.reader import RecordReader


@command
def head(
    paths: Paths,
    records: Annotated[
        int,
        typer.Option(
            "-n", "--records", min=0, metavar="NUMBER", help="How many records of each file."
        ),
    ] = 5,
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each record, with all values.")
    ] = False,
    verify: Annotated[
        bool,
        typer.Option("--verify/--no-verify", help="Whether to check the checksums of the data."),
    ] = True,
) -> None:
    """Show the first records of files.

    Each feature has a line: its name, kind, number of values, and the values, shortened to the
    line. With --json nothing is shortened; bytes that are not UTF-8 are then {"base64": ...}, and
    floats that JSON lacks are "NaN", "Infinity" and "-Infinity".

    \b
    Examples:
      tfrecs head train.tfrecord
      tfrecs head -n 1 out/
      tfrecs head --json train.tfrecord | jq '.features["image/class/label"]'
    """  # noqa: D301 - \b, the character, keeps the lines as they are
    for path in files(paths).files:
        with RecordReader(path, verify=verify) as reader:
            if not json:
                say((path, "bold"))
            for number, record in enumerate(islice(reader, min(records, UNREACHED))):
                if json:
                    say_json({"path": path, "record": number, **as_json(record)})
                else:
                    _show(number, record)


class _Row(NamedTuple):
    name: str
    kind: str
    size: str
    values: str


def _show(number: int, record: bytes) -> None:
    shown = interpret(record)
    what = "not an Example" if shown.type == "bytes" else shown.type
    size = f"{len(record):,} {plural(len(record), 'byte')}"
    say(f"record {number}: {what}, {size}")
    if shown.type == "bytes":
        _print_cut(Text(f"  {raw_text(record)}"))
    rows = [
        _Row(name, kind(values), f"{len(values):,}", values_text(values))
        for name, values in sorted(shown.features.items())
    ]
    lists = [
        _Row(
            name,
            _list_kind(steps),
            _count(steps),
            steps_text(steps),
        )
        for name, steps in sorted(shown.feature_lists.items())
    ]
    _print_rows(rows + lists + _other_rows(shown))
    say()


def _other_rows(shown: Shown) -> list[_Row]:
    """Return the lines of an Event or a TensorProto."""
    rows = [
        _Row(tag, "-", "", value)
        if isinstance(value, str)
        else _Row(tag, "scalar", "", value_text(value))
        for tag, value in shown.summaries.items()
    ]
    if shown.step is not None:
        rows.insert(0, _Row("step", "int64", "", str(shown.step)))
    if shown.tensor is not None:
        described, values = shown.tensor
        rows.append(_Row(described, "", f"{len(values):,}", values_text(values)))
    return rows


def _count(steps: Sized) -> str:
    return f"{len(steps):,} {plural(len(steps), 'step')}"


def _list_kind(steps: Iterable[list[int] | list[float] | list[bytes]]) -> str:
    return next((kind(values) for values in steps if values), "-")


def _print_rows(rows: list[_Row]) -> None:
    """Print a row a line: what is too long for the line is cut at its end, so of the values."""
    names = [Text(printable(row.name), "cyan") for row in rows]
    widest = max((name.cell_len for name in names), default=0)
    kind_width = max((len(row.kind) for row in rows), default=0)
    size_width = max((len(row.size) for row in rows), default=0)
    for name, row in zip(names, rows, strict=True):
        name.truncate(min(widest, console().width // 2), overflow="ellipsis", pad=True)
        sizes = f"  {row.kind:{kind_width}}  {row.size:>{size_width}}"
        _print_cut(Text.assemble("  ", name, (sizes, "dim"), "  ", row.values))


def _print_cut(line: Text) -> None:
    out = console()
    line.rstrip()
    line.truncate(out.width, overflow="ellipsis")
    out.print(line, soft_wrap=True)
