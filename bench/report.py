"""The figures as a table for a terminal, as Markdown or as JSON."""

import json
import os
import platform
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jobs import JOBS
from measure import Measurement
from workloads import WORKLOADS

HEADER = (
    "workload",
    "job",
    "system",
    "seconds",
    "min-max",
    "GB/s",
    "records/s",
    "peak RSS",
    "ratio",
)
LEFT = 3  # so many columns are words


@dataclass(frozen=True)
class Row:
    """All measurements of one system doing one job on one workload.

    Attributes:
        workload: The workload's name.
        job: The job's name.
        system: The system's name.
        records: How many records the file has.
        file_bytes: How large it is.
        runs: The measurements.
    """

    workload: str
    job: str
    system: str
    records: int
    file_bytes: int
    runs: tuple[Measurement, ...]

    @property
    def whole(self) -> bool:
        """Whether the job was done on all records of the file."""
        return self.runs[0].records == self.records

    @property
    def times(self) -> list[float]:
        """Seconds for the whole file, scaled up if the job was done on a part."""
        return [run.seconds * self.records / run.records for run in self.runs]

    @property
    def seconds(self) -> float:
        """The median time for the whole file."""
        return statistics.median(self.times)

    @property
    def peak_rss(self) -> float:
        """The median of the peak memory, in bytes."""
        return statistics.median(run.peak_rss for run in self.runs)

    def ratio(self, others: Iterable["Row"]) -> float | None:
        """Return how many times TensorFlow's speed this is."""
        for other in others:
            if (other.workload, other.job, other.system) == (self.workload, self.job, "tensorflow"):
                return other.seconds / self.seconds
        return None


def cells(row: Row, rows: list[Row]) -> list[str]:
    """Return a row's figures as text; "~" before what is scaled up from a part of the file."""
    about = "" if row.whole else "~"
    ratio = row.ratio(rows)
    return [
        row.workload,
        JOBS[row.job].title,
        row.system,
        f"{about}{row.seconds:.3f}",
        f"{min(row.times):.3f}-{max(row.times):.3f}",
        f"{row.file_bytes / row.seconds / 1e9:.3f}",
        f"{row.records / row.seconds:,.0f}",
        f"{row.peak_rss / 1e6:.0f} MB",
        "" if ratio is None or row.system == "tensorflow" else f"{ratio:.1f}x",
    ]


def text(rows: list[Row]) -> str:
    """Return the table for a terminal."""
    table = [list(HEADER), *(cells(row, rows) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if place < LEFT else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )
    return "\n".join([machine(rows), "", *lines])


def markdown(rows: list[Row]) -> str:
    """Return a heading line, and a table for each workload."""
    parts = [machine(rows)]
    for name in dict.fromkeys(row.workload for row in rows):
        mine = [row for row in rows if row.workload == name]
        size = f"{mine[0].records:,} records, {mine[0].file_bytes / 1e6:,.0f} MB"
        lines = ["| " + " | ".join(cells(row, rows)[1:]) + " |" for row in mine]
        align = "|" + "---|" * (LEFT - 1) + "---:|" * (len(HEADER) - LEFT)
        head = "| " + " | ".join(HEADER[1:]) + " |"
        title = f"### {name}: {WORKLOADS[name].title} ({size})"
        parts.append("\n".join([title, "", head, align, *lines]))
    return "\n\n".join(parts)


def as_json(rows: list[Row]) -> str:
    """Return everything that was measured."""
    table = [
        {
            "workload": row.workload,
            "job": row.job,
            "system": row.system,
            "records": row.records,
            "file_bytes": row.file_bytes,
            "measured_records": row.runs[0].records,
            "seconds": row.seconds,
            "times": row.times,
            "peak_rss": row.peak_rss,
            "ratio": row.ratio(rows),
        }
        for row in rows
    ]
    return json.dumps({"machine": machine(rows), "rows": table}, indent=1)


def machine(rows: list[Row]) -> str:
    """Return what it was measured on and with."""
    versions = dict(sorted((f"{row.system} {row.runs[0].version}", None) for row in rows))
    parts = [
        f"{cpu()}, {os.cpu_count()} cores",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        *versions,
        f"median of {len(rows[0].runs)} runs",
    ]
    return "; ".join(parts)


def cpu() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
