"""What the measurements of one cell of the table say: medians, spreads and ratios."""

import statistics
from dataclasses import dataclass

from jobs import JOBS, REFERENCE, SYSTEMS
from measure import Measurement


def is_limit(system: str) -> bool:
    """Whether this is no system but what the machine allows."""
    return SYSTEMS[system].module == "limit"


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
    def cpu(self) -> float:
        """The median of the processors' time for the whole file."""
        return statistics.median(run.cpu * self.records / run.records for run in self.runs)

    @property
    def peak_rss(self) -> float:
        """The median of the peak memory, in bytes."""
        return statistics.median(run.peak_rss for run in self.runs)


@dataclass(frozen=True)
class Ratios:
    """How a row compares with the others of its cell.

    Attributes:
        tensorflow: How many times TensorFlow's speed it has.
        peer: How many times that of the quickest other system.
        best: Which one that is.
        limit: How many times the limit's seconds it takes.
    """

    tensorflow: float | None = None
    peer: float | None = None
    best: str | None = None
    limit: float | None = None


def ratios(row: Row, cell: list[Row]) -> Ratios:
    """Compare a row with its cell, where there is something to compare it with."""
    if is_limit(row.system):
        return Ratios()
    by_name = {other.system: other for other in cell}
    peers = [other for other in cell if not SYSTEMS[other.system].ours]
    best = min(
        (other for other in peers if not is_limit(other.system)),
        key=lambda other: other.seconds,
        default=None,
    )
    reference, limit = by_name.get(REFERENCE), limit_of(row, by_name)
    ours = SYSTEMS[row.system].ours
    return Ratios(
        reference.seconds / row.seconds if reference and reference is not row else None,
        best.seconds / row.seconds if best and ours else None,
        best.system if best and ours else None,
        row.seconds / limit.seconds if limit else None,
    )


def limit_of(row: Row, by_name: dict[str, Row]) -> Row | None:
    """Return the limit on as many threads as the row's system has."""
    several = by_name.get("limit")
    return by_name.get("limit-1-thread", several) if SYSTEMS[row.system].threads else several


HEAD = ("seconds", "min-max", "GB/s", "rec/s", "MB", "TF", "peer", "limit")
LEGEND = [
    "seconds: the median; ~: scaled up from a part of the records. MB: the process's peak memory.",
    "TF: TensorFlow's seconds over these. peer: those of the best of all others over ours.",
    "limit: these seconds over those of reading the file once and copying our output once.",
]


def cells(row: Row, cell: list[Row]) -> list[str]:
    """Return a row's figures as text; "~" before what is scaled up from a part of the file."""
    found = ratios(row, cell)
    about = "" if row.whole else "~"
    return [
        about + seconds(row.seconds),
        f"{seconds(min(row.times))}-{seconds(max(row.times))}",
        f"{row.file_bytes / row.seconds / 1e9:.2f}",
        short(row.records / row.seconds),
        f"{row.peak_rss / 1e6:.0f}",
        times(found.tensorflow),
        times(found.peer),
        times(found.limit),
    ]


def seconds(value: float) -> str:
    """Return seconds with about three digits that matter."""
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def short(value: float) -> str:
    """Return a large number in thousands or millions."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return (
                f"{value / unit:.2f}{name}" if value < 100 * unit else f"{value / unit:.0f}{name}"
            )
    return f"{value:.0f}"


def times(ratio: float | None) -> str:
    """Return a ratio as text."""
    return "" if ratio is None else f"{ratio:.1f}x" if ratio < 100 else f"{ratio:.0f}x"


def as_data(row: Row, cell: list[Row]) -> dict[str, object]:
    """Return a row for machines."""
    found = ratios(row, cell)
    return {
        "workload": row.workload,
        "job": row.job,
        "title": JOBS[row.job].title,
        "system": row.system,
        "records": row.records,
        "file_bytes": row.file_bytes,
        "measured_records": row.runs[0].records,
        "seconds": row.seconds,
        "times": row.times,
        "cpu": row.cpu,
        "peak_rss": row.peak_rss,
        "output_bytes": row.runs[0].output_bytes,
        "written_bytes": row.runs[0].written_bytes,
        "version": row.runs[0].version,
        "ratio_tensorflow": found.tensorflow,
        "ratio_peer": found.peer,
        "best_peer": found.best,
        "ratio_limit": found.limit,
    }
