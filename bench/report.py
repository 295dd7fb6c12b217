"""Tables for a terminal, as Markdown, and as JSON."""

import datetime as dt
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from jobs import CORES


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        title: What it is about; may be empty.
        head: Its columns' names.
        words: How many columns, from the left, are words; the others are figures.
        rows: The cells.
    """

    title: str
    head: tuple[str, ...]
    words: int
    rows: list[list[str]]


@dataclass(frozen=True)
class Part:
    """What a part of the benchmark found out.

    Attributes:
        name: Its short name.
        text: The tables for a terminal.
        markdown: The tables for a page; those for a terminal unless given.
        data: The same for machines.
        notes: Lines that belong below the tables.
        skipped: What was left out, and why.
        failures: What went wrong.
        versions: The version of each system that was measured.
    """

    name: str
    text: list[Table]
    data: list[dict[str, Any]]
    markdown: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


def text(parts: list[Part], how: str) -> str:
    """Return everything for a terminal."""
    blocks = [machine(parts, how)]
    for part in parts:
        blocks += ["\n".join(text_lines(table)) for table in part.text]
        blocks += ["\n".join(part.notes)] * bool(part.notes)
    return "\n\n".join([*blocks, *endings(parts)])


def text_lines(table: Table) -> list[str]:
    """Return a table's lines; a word is not repeated below itself."""
    lines = [list(table.head), *without_repetition(table)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = (
        " ".join(
            cell.ljust(width) if place < table.words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
    return [*([table.title] if table.title else []), *aligned]


def without_repetition(table: Table) -> Iterable[list[str]]:
    """Yield the rows, their first words left out as long as they are those of the row before."""
    before: list[str] = []
    for row in table.rows:
        same = 0
        while same < table.words - 1 and row[: same + 1] == before[: same + 1]:
            same += 1
        yield [""] * same + row[same:]
        before = row


def markdown(parts: list[Part], how: str) -> str:
    """Return everything for a page."""
    blocks = [machine(parts, how)]
    for part in parts:
        for table in part.markdown or part.text:
            blocks += [f"### {table.title}", "\n".join(markdown_lines(table))]
        blocks += ["\n".join(f"- {note}" for note in part.notes)] * bool(part.notes)
    return "\n\n".join([*blocks, *endings(parts)])


def markdown_lines(table: Table) -> list[str]:
    """Return a table's lines."""
    figures = len(table.head) - table.words
    align = "|" + "---|" * table.words + "---:|" * figures
    rows = ("| " + " | ".join(row) + " |" for row in table.rows)
    return ["| " + " | ".join(table.head) + " |", align, *rows]


def endings(parts: list[Part]) -> list[str]:
    """Return what was left out, and what went wrong."""
    skipped = [f"skipped: {line}" for line in dict.fromkeys(chain(*(p.skipped for p in parts)))]
    failed = [f"FAILED: {line}" for part in parts for line in part.failures]
    return ["\n".join(lines) for lines in (skipped, failed) if lines]


def as_json(parts: list[Part], how: str) -> str:
    """Return everything that was measured."""
    found = {
        part.name: {
            "rows": part.data,
            "notes": part.notes,
            "skipped": part.skipped,
            "failures": part.failures,
        }
        for part in parts
    }
    return json.dumps({"machine": machine(parts, how), "parts": found}, indent=1)


def machine(parts: list[Part], how: str) -> str:
    """Return what it was measured on and with, when, and how."""
    versions = {name: version for part in parts for name, version in part.versions.items()}
    return "; ".join(
        [
            f"{cpu()}, {CORES} of {os.cpu_count()} cores",
            f"{platform.system()} {platform.machine()}",
            f"Python {platform.python_version()}",
            *(f"{name} {versions[name]}" for name in sorted(versions)),
            f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}",
            how,
        ]
    )


def cpu() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
