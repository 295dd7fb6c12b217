"""`tfrecs verify`: whether files are whole."""

from typing import Annotated, Any, NamedTuple

import typer

from tfrecs._internal.checks import Limits, checked_limits
from tfrecs._internal.wording import counted, plural
from tfrecs.cli.app import FAILED, MaxDecompressedBytes, MaxRecordBytes, Paths, command, files
from tfrecs.cli.regions import region_as_json, say_regions
from tfrecs.cli.terminal import say, say_json
from tfrecs.errors import (
    CorruptRecordError,
    Error,
    FileError,
    LimitError,
    NotTFRecordError,
    TruncatedFileError,
)
from tfrecs.records.reader import FileReport, VerifyReport, verify_file
from tfrecs.records.salvage import SkippedRegion
from tfrecs.records.salvage import salvage as salvage_file


@command
def verify(
    paths: Paths,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    salvage: Annotated[
        bool,
        typer.Option("--salvage", help="Say of damaged files what can still be read of them."),
    ] = False,
    max_record_bytes: MaxRecordBytes = None,
    max_decompressed_bytes: MaxDecompressedBytes = None,
) -> None:
    """Read files to their ends and check every checksum.

    A damaged file is reported with the place of the damage; the number of records is that of the
    sound ones before it. With --salvage all of a damaged file is read: how many records are sound,
    also after the damage, and which bytes are lost. The exit code is 1 if anything is wrong.

    \b
    Examples:
      tfrecs verify train.tfrecord
      tfrecs verify out/ 'more/*.tfrecord.gz'
      tfrecs verify --salvage damaged.tfrecord
      tfrecs verify --json out/ | jq '.files[] | select(.error)'
    """  # noqa: D301 - \b, the character, keeps the lines as they are
    limits = checked_limits(max_record_bytes, max_decompressed_bytes)
    reports = []
    salvaged = {}
    found = files(paths)
    for path in found.files:
        file = verify_file(path, limits=limits)
        reports.append(file)
        if salvage and isinstance(file.error, CorruptRecordError | TruncatedFileError):
            salvaged[path] = _salvage(path, limits)
        if not json:
            _show(file, salvaged.get(path))
    report = VerifyReport(reports)
    if json:
        say_json({**_as_json(report, salvaged), "skipped": found.skipped})
    else:
        _sum_up(report)
    if not report:
        raise typer.Exit(FAILED)


class _Salvaged(NamedTuple):
    records: int
    regions: list[SkippedRegion]
    mended: int


def _salvage(path: str, limits: Limits) -> _Salvaged:
    record, decompressed = limits
    found = salvage_file(path, max_record_bytes=record, max_decompressed_bytes=decompressed)
    records, regions = 0, []
    for piece in found.batches():
        if isinstance(piece, SkippedRegion):
            regions.append(piece)
        else:
            records += len(piece)
    return _Salvaged(records, regions, found.mended)


def _show(file: FileReport, salvaged: _Salvaged | None) -> None:
    status, style = ("ok", "green") if file.error is None else (_status(file.error), "bold red")
    compression = file.compression_type or "-"
    records = f"{file.records:>10} {plural(file.records, 'record'):<7}"
    say((f"{status:<12}", style), f"{records}  {compression:<4}  {file.path}")
    if file.error is not None:
        say("    ", str(file.error).removeprefix(f"{file.path}: "))
    if salvaged is not None:
        records = f"{salvaged.records:,} {plural(salvaged.records, 'record')}"
        say(f"    {records} can be read (tfrecs repair)")
        say_regions(salvaged.regions, salvaged.mended)


def _status(error: Error) -> str:
    if isinstance(error, NotTFRecordError):
        return "NO TFRECORD"
    if isinstance(error, LimitError):
        return "TOO LARGE"
    return "UNREADABLE" if isinstance(error, FileError) else "DAMAGED"


def _sum_up(report: VerifyReport) -> None:
    wrong = len(report.errors)
    files = counted(len(report.files), "file")
    verdict = ("all are sound", "green")
    if wrong:
        verdict = (f"{counted(wrong, 'file')} {plural(wrong, 'is', 'are')} damaged", "bold red")
    if len(report.files) > 1:
        records = f"{report.records:,} sound {plural(report.records, 'record')}"
        say(f"{records} in {files}; ", verdict)


def _as_json(report: VerifyReport, salvaged: dict[str, _Salvaged]) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "records": report.records,
        "files": [
            {
                "path": file.path,
                "records": file.records,
                "compression_type": file.compression_type,
                "error": None if file.error is None else _error_as_json(file.error),
                **(_salvaged_as_json(salvaged[file.path]) if file.path in salvaged else {}),
            }
            for file in report.files
        ],
    }


def _error_as_json(error: Error) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "message": str(error),
        "record": error.record,
        "offset": error.offset,
        "reason": error.reason,
    }


def _salvaged_as_json(salvaged: _Salvaged) -> dict[str, Any]:
    return {
        "salvage": {
            "records": salvaged.records,
            "mended": salvaged.mended,
            "regions": [region_as_json(region) for region in salvaged.regions],
        }
    }
