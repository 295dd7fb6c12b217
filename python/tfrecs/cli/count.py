"""`tfrecs count`: how many records there are."""

from typing import Annotated

import typer

from tfrecs.cli.app import FAILED, MaxDecompressedBytes, MaxRecordBytes, Paths, command, files
from tfrecs.cli.terminal import complain, say, say_json
from tfrecs.errors import Error
from tfrecs.records.reader import count as count_records


@command
def count(
    paths: Paths,
    max_record_bytes: MaxRecordBytes = None,
    max_decompressed_bytes: MaxDecompressedBytes = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Count the records of files, without checking their data.

    \b
    Examples:
      tfrecs count train.tfrecord
      tfrecs count out/ 'more/*.tfrecord.gz'
      tfrecs count --json out/ | jq .records
    """  # noqa: D301 - \b, the character, keeps the lines as they are
    total = 0
    counted: list[dict[str, str | int | None]] = []
    found = files(paths)
    for path in found.files:
        records, error = _count(path, max_record_bytes, max_decompressed_bytes)
        total += records or 0
        counted.append({"path": path, "records": records, "error": error})
        if error is not None:
            complain(error)
        elif not json:
            say(f"{records:>10}  {path}")
    if json:
        say_json({"records": total, "files": counted, "skipped": found.skipped})
    elif len(found.files) > 1:
        say(f"{total:>10}  total")
    if any(file["error"] for file in counted):
        raise typer.Exit(FAILED)


def _count(
    path: str, max_record_bytes: int | None, max_decompressed_bytes: int | None
) -> tuple[int | None, str | None]:
    try:
        return count_records(
            [path],
            max_record_bytes=max_record_bytes,
            max_decompressed_bytes=max_decompressed_bytes,
        ), None
    except Error as error:
        return None, str(error)
