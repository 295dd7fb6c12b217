"""`tfrecs convert`: from other formats to sharded TFRecords."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from tfrecs._internal.checks import checked_compression
from tfrecs._internal.optional import load
from tfrecs._internal.wording import counted, plural
from tfrecs.cli.app import FAILED, command
from tfrecs.cli.terminal import complain, console, say
from tfrecs.errors import ExistingFileError, ParseError, SpecError
from tfrecs.formats.csv import convert_csv
from tfrecs.formats.shards import Conversion
from tfrecs.formats.shards import Progress as Callback

_Number = TypeVar("_Number", int, float)

_CSV_SUFFIXES = (".csv", ".tsv", ".tab", ".txt")
_MOST_SKIPPED = 20  # lines of a report that a person reads


@command
def convert(
    src: Annotated[Path, typer.Argument(help="A CSV file, or a folder of images.", metavar="SRC")],
    dst: Annotated[Path, typer.Argument(help="The folder for the shards.", metavar="DST")],
    split: Annotated[
        str | None,
        typer.Option(help="Fractions, such as train=0.9,test=0.1.", metavar="NAME=FRACTION,..."),
    ] = None,
    shards: Annotated[
        str | None,
        typer.Option(
            help="Shards of each split: 10, or train=9,test=1. [default: one per 128 MiB]",
            metavar="NUMBER",
        ),
    ] = None,
    compression: Annotated[
        str, typer.Option(help="Compression of the shards.", metavar="none|gzip|zlib")
    ] = "none",
    seed: Annotated[
        int, typer.Option(help="Another seed is another split and order.", metavar="NUMBER")
    ] = 0,
    on_error: Annotated[
        Literal["fail", "skip"],
        typer.Option(help="What an input that cannot be read does; skip reports it."),
    ] = "fail",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace shards of the same splits.")
    ] = False,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            help="CSV: type of a column (int64, float32, string); repeatable.",
            metavar="COLUMN=TYPE",
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            help="CSV: cells that mean no value, besides empty ones; repeatable.", metavar="TEXT"
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(help="CSV: what separates cells. [default: by the name]", metavar="CHAR"),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="CSV: the text encoding. [default: utf-8]", metavar="NAME")
    ] = None,
) -> None:
    """Convert a CSV file or a folder of images.

    The result is a set of sharded TFRecord files.

    \b
    A CSV file: its first row names the columns. Each column becomes a feature:
    int64 if all cells are integers, float32 if all are numbers, otherwise a
    string; the report counts the values that float32 changes. An integer that
    float32 cannot hold keeps a column of decimals a string. Empty cells are
    missing features, and so is NaN beside integers.

    \b
    Images: a folder with a sub-folder for each class, PNG, JPEG, GIF, BMP or
    WebP. Each image becomes an example with image/encoded, image/format,
    image/height, image/width, image/channels, image/class/label,
    image/class/text and image/filename.

    The shards are DST/NAME-00000-of-00010.tfrecord and so on; NAME is that of the split, or of SRC
    without one. All shards of a split appear when they are complete, or none.

    \b
    Examples:
      tfrecs convert people.csv out/
      tfrecs convert people.csv out/ --type zip=string --missing NA
      tfrecs convert photos/ out/ --split train=0.9,test=0.1 --shards 8 \\
          --compression gzip --on-error skip
    """  # noqa: D301 - \b, the character, keeps the lines as they are
    options = {
        "split": _fractions(split),
        "num_shards": _shards(shards),
        "compression_type": _compression(compression),
        "seed": seed,
        "on_error": on_error,
        "overwrite": overwrite,
    }
    csv_options = {
        "types": dict(_pair(text, "--type") for text in types or []),
        "missing": missing or [],
        "delimiter": delimiter,
        "encoding": encoding or "utf-8-sig",
    }
    if not src.is_dir():
        report = _converted(_csv_converter(src), src, dst, **options, **csv_options)
    elif types or missing or delimiter or encoding:
        raise typer.BadParameter("--type, --missing, --delimiter and --encoding are for CSV files")
    else:
        report = _converted(_image_converter(), src, dst, **options)
    _show(report, dst)


def _csv_converter(src: Path) -> Callable[..., Conversion]:
    if src.exists() and src.suffix.lower() not in _CSV_SUFFIXES:
        raise typer.BadParameter(
            f"{src} is neither a folder nor a CSV file by its name ({', '.join(_CSV_SUFFIXES)})"
        )
    return convert_csv


def _image_converter() -> Callable[..., Conversion]:
    # Converting CSV files does without the library that this needs.
    try:
        return load("tfrecs.formats.images").convert_images  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        complain(str(error))
        raise typer.Exit(FAILED) from error


def _converted(
    convert_from: Callable[..., Conversion], src: Path, dst: Path, **options: Any
) -> Conversion:
    try:
        with _progress() as progress:
            return convert_from(src, dst, progress=progress, **options)
    except (ExistingFileError, ParseError) as error:
        complain(str(error))
        if isinstance(error, ExistingFileError):
            complain("nothing was written; --overwrite replaces the shards that are there")
        elif options["on_error"] == "fail":
            complain("nothing was written; --on-error skip leaves bad inputs out and lists them")
        raise typer.Exit(FAILED) from error


@contextmanager
def _progress() -> Iterator[Callback | None]:
    """Show a progress bar on a terminal, and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = [
        TextColumn("converting"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(report: Conversion, dst: Path) -> None:
    for skipped in report.skipped[:_MOST_SKIPPED]:
        say(("skipped ", "yellow"), f"{skipped.path}: {skipped.reason}", stderr=True)
    if (more := len(report.skipped) - _MOST_SKIPPED) > 0:
        say(("skipped ", "yellow"), f"{more} more", stderr=True)
    width = max(map(len, report.splits))
    for name, split in report.splits.items():
        size = sum(Path(path).stat().st_size for path in split.paths)
        files = counted(len(split.paths), "file")
        examples = f"{split.written:>10} {plural(split.written, 'example'):<8}"
        say(f"{name:<{width}}  {examples}  {files:>10}  {size:>14,} {plural(size, 'byte')}")
    for name, column in report.columns.items():
        for line in column.lines(name):
            say(line, stderr=True)
    note = f", {len(report.skipped)} skipped" if report.skipped else ""
    say(f"{counted(report.written, 'example')} written to {dst}{note}")


def _fractions(text: str | None) -> dict[str, float] | None:
    return None if text is None else _numbers(text, float, "--split")


def _compression(text: str) -> str:
    """Return TensorFlow's name of a compression, by any spelling that Python takes."""
    try:
        if (found := checked_compression(text)) != "auto":
            return found
    except SpecError:
        pass
    raise typer.BadParameter(f"--compression is none, gzip or zlib, not {text!r}")


def _shards(text: str | None) -> int | dict[str, int] | None:
    if text is None:
        return None
    return _numbers(text, int, "--shards") if "=" in text else _number(text, int, "--shards")


def _numbers(text: str, number: type[_Number], option: str) -> dict[str, _Number]:
    pairs = [_pair(part, option) for part in text.split(",")]
    if len({name for name, _ in pairs}) < len(pairs):
        raise typer.BadParameter(f"{option} {text}: names something twice")
    return {name: _number(value, number, option) for name, value in pairs}


def _pair(text: str, option: str) -> tuple[str, str]:
    name, separator, value = text.rpartition("=")
    if not separator or not name:
        raise typer.BadParameter(f"{option} {text}: expected NAME=VALUE")
    return name.strip(), value.strip()


def _number(text: str, number: type[_Number], option: str) -> _Number:
    try:
        return number(text)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {text!r} is no number") from error
