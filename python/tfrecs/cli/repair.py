"""`tfrecs repair`: a clean copy of a damaged file."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from typing import Annotated, Any

import typer

from tfrecs._internal.checks import checked_name
from tfrecs._internal.wording import counted
from tfrecs.cli.app import FAILED, MaxDecompressedBytes, MaxRecordBytes, command
from tfrecs.cli.regions import region_as_json, say_regions
from tfrecs.cli.terminal import complain, console, say, say_json
from tfrecs.errors import ExistingFileError, SpecError
from tfrecs.records.salvage import RepairReport, copy_sound, kept_original, salvage
from tfrecs.records.salvage import repair as repair_file
from tfrecs.records.writer import RecordWriter
from tfrecs.storage.journal import FinishedSet, finish_sets


@command
def repair(
    src: Annotated[
        str,
        typer.Argument(
            help="The damaged file; or a folder, to finish sets of files that a killed writer left "
            "half done.",
            metavar="SRC",
        ),
    ],
    dst: Annotated[
        str | None,
        typer.Argument(
            help="The clean copy, compressed as its name says, else as SRC is; - is standard "
            "output.",
            metavar="DST",
        ),
    ] = None,
    in_place: Annotated[
        bool,
        typer.Option("--in-place", help="Replace SRC, if it is damaged: it stays as SRC.bak."),
    ] = False,
    max_lost_bytes: Annotated[
        int | None,
        typer.Option(min=0, metavar="BYTES", help="Fail, and write nothing, if more are lost."),
    ] = None,
    max_record_bytes: MaxRecordBytes = None,
    max_decompressed_bytes: MaxDecompressedBytes = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace DST, if it is there already.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write all records that damage did not touch to a clean copy, and say what is lost.

    The copy appears when it is complete; SRC is only read, unless --in-place replaces it. The exit
    code is 0 if a clean copy is there, whatever had to be left out.

    \b
    Examples:
      tfrecs repair damaged.tfrecord clean.tfrecord
      tfrecs repair --overwrite damaged.tfrecord clean.tfrecord
      tfrecs repair --in-place damaged.tfrecord.gz
      tfrecs repair damaged.tfrecord - | ssh host "cat > clean.tfrecord"
      tfrecs repair folder
      tfrecs repair --json damaged.tfrecord clean.tfrecord | jq .lost_bytes
    """  # noqa: D301 - \b, the character, keeps the lines as they are
    src, dst = checked_name(src), None if dst is None else checked_name(dst)
    if dst is None and not in_place and os.path.isdir(src):  # noqa: PTH112 - src is text
        _say_finished(finish_sets(src), src, json)
        return
    if (dst is None) == (not in_place):
        raise SpecError("say where the clean copy goes: either DST or --in-place")
    if dst == "-":
        _stream(src, json, max_lost_bytes, max_record_bytes, max_decompressed_bytes)
        return
    if dst is not None and os.path.realpath(dst) == os.path.realpath(src):
        raise SpecError(
            f"{dst}: that is SRC itself: --in-place replaces it, and keeps the original"
        )
    backup = None
    with kept_original(src) if dst is None else nullcontext() as original:
        report = _repaired(
            src,
            dst or src,
            quiet=json,
            max_lost_bytes=max_lost_bytes,
            max_record_bytes=max_record_bytes,
            max_decompressed_bytes=max_decompressed_bytes,
            overwrite=overwrite or in_place,
        )
        if original is not None and report.was_damaged:
            backup = original.keep()
    if json:
        say_json(_as_json(report, backup))
        return
    if dst is None and backup is None:
        say(f"{src}: nothing is wrong with it; it stays as it is")
        return
    say(f"{counted(report.records, 'record')} written to {report.output}")
    if backup is not None:
        say(f"the original is {backup}")
    say_regions(report.regions, report.mended)


def _say_finished(sets: list[FinishedSet], folder: str, json: bool) -> None:
    if json:
        say_json([asdict(one) for one in sets])
        return
    if not sets:
        say(f"{folder}: no set of files is half done")
    for one in sets:
        if one.published:
            say(f"{one.journal}: finished: {counted(len(one.published), 'file')} published")
        else:
            say(f"{one.journal}: taken back: {counted(len(one.removed), 'file')} removed")


def _stream(
    src: str,
    json: bool,
    max_lost_bytes: int | None,
    max_record_bytes: int | None,
    max_decompressed_bytes: int | None,
) -> None:
    """Write the records to standard output, and what is to be said to standard error."""
    if json:
        raise SpecError("--json and the records cannot both go to standard output")
    if sys.stdout.isatty():
        raise SpecError("a terminal cannot show records: redirect standard output")
    found = salvage(
        src,
        max_lost_bytes=max_lost_bytes,
        max_record_bytes=max_record_bytes,
        max_decompressed_bytes=max_decompressed_bytes,
    )
    report = copy_sound(found, RecordWriter("/dev/stdout", found.compression_type))
    say(f"{counted(report.records, 'record')} written to standard output", stderr=True)
    say_regions(report.regions, report.mended, stderr=True)


def _repaired(src: str, dst: str, *, quiet: bool, **options: Any) -> RepairReport:
    try:
        return _with_progress(lambda: repair_file(src, dst, **options), quiet=quiet)
    except ExistingFileError as error:
        complain(str(error))
        complain("nothing was written; --overwrite replaces the file that is there")
        raise typer.Exit(FAILED) from error


def _with_progress(work: Callable[[], RepairReport], *, quiet: bool) -> RepairReport:
    """Show on a terminal that long work continues."""
    errors = console(stderr=True)
    if quiet or not errors.is_terminal:
        return work()
    begin = time.monotonic()
    with errors.status("reading"):
        report = work()
    say(f"{time.monotonic() - begin:.1f} s", stderr=True)
    return report


def _as_json(report: RepairReport, backup: str | None) -> dict[str, Any]:
    return {
        "path": report.path,
        "output": report.output,
        "original": backup or report.path,
        "records": report.records,
        "mended": report.mended,
        "lost_bytes": report.lost_bytes,
        "regions": [region_as_json(region) for region in report.regions],
    }
