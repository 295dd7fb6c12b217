"""`tfrecs index`: an index beside each file."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tfrecs import _core
from tfrecs._internal.wording import plural
from tfrecs.cli.app import Paths, command, files
from tfrecs.cli.terminal import say, say_json
from tfrecs.records.index_files import write_indices


@command
def index(
    paths: Paths,
    format: Annotated[  # noqa: A002 - the option's name
        Literal["binary", "text"],
        typer.Option(help="What to write: text is for DALI and vahidk's reader."),
    ] = "binary",
    output_dir: Annotated[
        Path | None,
        typer.Option(help="Where to write NAME.tfrindex or NAME.idx, if not beside the files."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write down where each record of a file begins, so that any can be read at once.

    tfrecs.open() makes what it needs by itself. This is for folders that others read and cannot
    write to, and for other programs. Beside a file the index is hidden: .NAME.tfrindex

    \b
    Examples:
      tfrecs index train.tfrecord
      tfrecs index out/ 'more/*.tfrecord.gz'
      tfrecs index --format text --output-dir idx/ 'train-*.tfrecord'
    """  # noqa: D301 - \b, the character, keeps the lines as they are
    found = files(paths)
    names = found.files
    places = None if output_dir is None else _places(names, output_dir, format)
    written: list[dict[str, Any]] = []
    for place, file in write_indices(names, places, format, "auto", None):
        written.append(_line(place, file))
        if not json:
            say(_text(written[-1]))
    if json:
        say_json({"files": written, "skipped": found.skipped})


def _places(names: list[str], folder: Path, format: str) -> list[str]:  # noqa: A002 - as above
    folder.mkdir(parents=True, exist_ok=True)
    suffix = ".idx" if format == "text" else ".tfrindex"
    return [os.fspath(folder / f"{Path(name).name}{suffix}") for name in names]


def _text(line: dict[str, Any]) -> str:
    records, size = line["records"], line["bytes"]
    counts = f"{records:>10} {plural(records, 'record'):<7}  {size:>9} {plural(size, 'byte'):<5}"
    return f"{counts}  {line['index']}"


def _line(place: str, file: _core.IndexedFile) -> dict[str, Any]:
    size = Path(place).stat().st_size
    return {"path": os.fspath(file.path), "index": place, "records": len(file), "bytes": size}
