"""`tfrecs verify`: whether files are whole."""

from typing import Annotated, Any

import typer

from tfrecs.cli.app import FAILED, Paths, command, files
from tfrecs.cli.terminal import say, say_json
from tfrecs.errors import Error, FileError, NotTFRecordError
from tfrecs.records import FileReport, VerifyReport, verify_file


@command
def verify(
    paths: Paths,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Read files to their ends and check every checksum.

    A damaged file is reported with the place of the damage; the number of records is that of the
    sound ones before it. The exit code is 1 if anything is wrong.

    \b
    Examples:
      tfrecs verify train.tfrecord
      tfrecs verify out/ 'more/*.tfrecord.gz'
      tfrecs verify --json out/ | jq '.files[] | select(.error)'
    """  # noqa: D301 - \b, the character, keeps the lines as they are
    reports = []
    for path in files(paths):
        reports.append(verify_file(path))
        if not json:
            _show(reports[-1])
    report = VerifyReport(reports)
    if json:
        say_json(_as_json(report))
    else:
        _sum_up(report)
    if not report:
        raise typer.Exit(FAILED)


def _show(file: FileReport) -> None:
    status, style = ("ok", "green") if file.error is None else (_status(file.error), "bold red")
    compression = file.compression_type or "-"
    say((f"{status:<12}", style), f"{file.records:>10} records  {compression:<4}  {file.path}")
    if file.error is not None:
        say("    ", str(file.error).removeprefix(f"{file.path}: "))


def _status(error: Error) -> str:
    if isinstance(error, NotTFRecordError):
        return "NO TFRECORD"
    return "UNREADABLE" if isinstance(error, FileError) else "DAMAGED"


def _sum_up(report: VerifyReport) -> None:
    wrong = len(report.errors)
    files = f"{len(report.files)} file{'s' * (len(report.files) != 1)}"
    verdict = (f"{wrong} of them not sound", "bold red") if wrong else ("all sound", "green")
    if len(report.files) > 1:
        say(f"{files}, {report.records} sound records; ", verdict)


def _as_json(report: VerifyReport) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "records": report.records,
        "files": [
            {
                "path": file.path,
                "records": file.records,
                "compression_type": file.compression_type,
                "error": None if file.error is None else _error_as_json(file.error),
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
