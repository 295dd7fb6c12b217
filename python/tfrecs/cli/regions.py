"""Skipped regions, for people and as JSON."""

from collections.abc import Sequence
from typing import Any

from tfrecs._internal.wording import counted, plural
from tfrecs.cli.terminal import say
from tfrecs.records.salvage import SkippedRegion

_MOST = 20  # regions that have a line each


def say_regions(regions: Sequence[SkippedRegion], mended: int, *, stderr: bool = False) -> None:
    """Print what is lost, a region a line."""
    lost = sum(region.nbytes for region in regions)
    places = counted(len(regions), "place")
    size = f"{lost:,} {plural(lost, 'byte')}"
    verdict = (f"{size} lost in {places}", "bold red") if regions else ("nothing lost", "")
    say("    ", verdict, stderr=stderr)
    for region in regions[:_MOST]:
        say(f"    bytes {region.begin:,} to {region.end:,}: {region.reason.reason}", stderr=stderr)
    if len(regions) > _MOST:
        say(f"    and {len(regions) - _MOST:,} more", stderr=stderr)
    if mended:
        say(
            f"    {mended:,} {plural(mended, 'record')} with a damaged header, proved by the data",
            stderr=stderr,
        )


def region_as_json(region: SkippedRegion) -> dict[str, Any]:
    """Return a region as JSON has it."""
    return {
        "begin": region.begin,
        "end": region.end,
        "type": type(region.reason).__name__,
        "reason": region.reason.reason,
    }
