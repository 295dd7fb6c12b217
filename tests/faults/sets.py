"""Sets of shards that are written and then overwritten, and what a reader sees of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import tfrecs
from tfrecs.formats.shards import Output, write_shards

PATTERN = "t*-[0-9]*"
OLD = [b"old %d" % n for n in range(7)]
NEW = [b"new %d" % n for n in range(9)]


def convert(folder: Path, records: list[bytes], shards: int) -> None:
    output = Output(folder, {"test": 0.5, "train": 0.5}, shards, overwrite=True)
    outcomes = ((number % 2, "input", record) for number, record in enumerate(records))
    write_shards(outcomes, output, total=len(records), input_bytes=len(records))


def sharded(folder: Path, records: list[bytes], shards: int, manifest: bool) -> None:
    template = folder / "train-{shard}"
    with tfrecs.ShardedWriter(template, shards, manifest=manifest) as out:
        out.write_batch(records)


# How a set is written first, and how it is overwritten then.
WAYS: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    "convert": (lambda folder: convert(folder, OLD, 2), lambda folder: convert(folder, NEW, 2)),
    "convert to more": (
        lambda folder: convert(folder, OLD, 2),
        lambda folder: convert(folder, NEW, 3),
    ),
    "convert to fewer": (
        lambda folder: convert(folder, OLD, 3),
        lambda folder: convert(folder, NEW, 2),
    ),
    "convert to an empty folder": (lambda folder: None, lambda folder: convert(folder, NEW, 2)),
    "shards": (
        lambda folder: sharded(folder, OLD, 3, False),
        lambda folder: sharded(folder, NEW, 3, False),
    ),
    "shards with a manifest": (
        lambda folder: sharded(folder, OLD, 3, True),
        lambda folder: sharded(folder, NEW, 3, True),
    ),
    "shards over some with a manifest": (
        lambda folder: sharded(folder, OLD, 3, True),
        lambda folder: sharded(folder, NEW, 3, False),
    ),
    "shards of a new set": (lambda folder: None, lambda folder: sharded(folder, NEW, 3, True)),
}


def seen(folder: Path) -> str:
    """Classify what a reader sees: the old set, the new one, an error, or a mixture."""
    answers = set()
    for read in (
        lambda: sorted(tfrecs.Dataset(folder)),
        lambda: sorted(tfrecs.Dataset(str(folder / PATTERN))),
        lambda: sorted(tfrecs.open([*map(str, sorted(folder.glob(PATTERN)))])),
    ):
        try:
            found = read()
        except (tfrecs.FileError, tfrecs.CorruptRecordError, tfrecs.SpecError) as error:
            is_known = "not whole" in str(error) or not any(folder.glob(PATTERN))
            answers.add("refused" if is_known else repr(error))
            continue
        answers.add({str(sorted(OLD)): "old", str(sorted(NEW)): "new"}.get(str(found), f"{found}"))
    return answers.pop() if len(answers) == 1 else f"several answers: {answers}"
