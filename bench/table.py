"""The table: every job on every workload, by every system in turn."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from figures import HEAD, LEGEND, Row, as_data, cells, is_limit
from files import made
from jobs import GZIP, JOBS, SYSTEMS
from measure import Order
from options import Options
from report import Part, Table
from turns import Turns, in_turn
from workloads import WORKLOADS


@dataclass(frozen=True)
class Cell:
    """A job on the file of a workload."""

    workload: str
    job: str
    records: int
    path: Path
    systems: tuple[str, ...]


def part(options: Options) -> Part:
    """Measure all that is asked for."""
    asked = [
        cell_of(workload, job, options)
        for workload in options.workloads
        for job in options.jobs
        if workload in JOBS[job].workloads
    ]
    with ThreadPoolExecutor(options.beside) as pool:
        found = list(pool.map(lambda cell: taken(cell, options), asked))
    rows = [rows_of(cell, turns) for cell, turns in zip(asked, found, strict=True)]
    return Part(
        "table",
        text=[as_text(rows)] if any(rows) else [],
        markdown=by_workload(rows),
        data=[as_data(row, cell) for cell in rows for row in cell],
        notes=[*LEGEND, *titles(asked), *sizes(rows), *projections(rows)],
        skipped=[line for turns in found for line in turns.skipped],
        failures=[line for turns in found for line in turns.failures],
        versions={
            row.system: row.runs[0].version
            for cell in rows
            for row in cell
            if not (is_limit(row.system) or SYSTEMS[row.system].is_variant)
        },
    )


def cell_of(workload: str, job: str, options: Options) -> Cell:
    """Return a cell, whose file is made."""
    records = WORKLOADS[workload].scaled(options.scale)
    path = made(WORKLOADS[workload], records, JOBS[job].form)
    systems = tuple(system for system in JOBS[job].systems if system in options.systems)
    return Cell(workload, job, records, path, systems)


def taken(cell: Cell, options: Options) -> Turns:
    """Measure a cell."""
    print(f"{cell.workload}: {JOBS[cell.job].title}", file=sys.stderr, flush=True)
    order = Order(cell.workload, cell.job, "", cell.records, sized=True)
    return in_turn(order, cell.path, list(cell.systems), options.runs, options)


def rows_of(cell: Cell, turns: Turns) -> list[Row]:
    """Return a row for each system of a cell; GB/s are of the records' file, not compressed."""
    size = WORKLOADS[cell.workload].path(cell.records).stat().st_size
    return [
        Row(cell.workload, cell.job, system, cell.records, size, tuple(runs))
        for system, runs in turns.runs.items()
    ]


def as_text(rows: list[list[Row]]) -> Table:
    """Return one table of everything."""
    lines = [
        [row.workload, row.job, row.system, *cells(row, cell)] for cell in rows for row in cell
    ]
    return Table("", ("file", "job", "system", *HEAD), 3, lines)


def by_workload(rows: list[list[Row]]) -> list[Table]:
    """Return a table for each workload."""
    tables = []
    for name in dict.fromkeys(row.workload for cell in rows for row in cell):
        mine = [cell for cell in rows if cell and cell[0].workload == name]
        first = mine[0][0]
        size = f"{first.records:,} records, {first.file_bytes / 1e6:,.0f} MB"
        lines = [
            [JOBS[row.job].title, row.system, *cells(row, cell)] for cell in mine for row in cell
        ]
        title = f"{name}: {WORKLOADS[name].title} ({size})"
        tables.append(Table(title, ("job", "system", *HEAD), 2, lines))
    return tables


def titles(asked: list[Cell]) -> list[str]:
    """Return what the jobs' short names mean."""
    return [f"{job}: {JOBS[job].title}" for job in dict.fromkeys(cell.job for cell in asked)]


def sizes(rows: list[list[Row]]) -> list[str]:
    """Return the sizes of compressed files beside that of zlib's level 6."""
    return [
        f"{row.workload} {row.job}, {row.system}: {row.runs[0].written_bytes / 1e6:.2f} MB; "
        f"zlib's level 6: {zlib_size(row) / 1e6:.2f} MB"
        for cell in rows
        for row in cell
        if row.job == "gzip-write"
    ]


def zlib_size(row: Row) -> int:
    """Return the size of a workload's file as zlib compresses it."""
    return made(WORKLOADS[row.workload], row.records, GZIP).stat().st_size


def projections(rows: list[list[Row]]) -> list[str]:
    """Return what a projection takes beside parsing everything, for each system."""
    seconds = {(row.workload, row.job, row.system): row.seconds for cell in rows for row in cell}
    return [
        f"{workload} project, {system}: {taken / seconds[workload, 'parse', system]:.2f} of "
        "its own time for all features"
        for (workload, job, system), taken in seconds.items()
        if job == "project" and not is_limit(system) and (workload, "parse", system) in seconds
    ]
