"""Whether the time grows as the work does: with the bytes, the records, the features.

Larger data are the same file, listed many times. What takes less than a moment is repeated, so
that there is something to measure.
"""

import statistics
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from figures import seconds, short, times
from files import made
from measure import Order
from options import Options
from report import Part, Table
from turns import Turns, in_turn
from workloads import EVERY

SYSTEMS = ["tfrecs", "tensorflow"]
RUNS = 3
GB_SIZES = (0.01, 0.1, 1, 10)
TAB_BYTES = 761  # about that many has a record of tab
RECORDS = (10, 1_000, 100_000, 10_000_000)
FEATURES = (4, 40, 400)
AT_ONCE = 100_000  # records of a file that is listed more than once
MOMENT = 20_000  # records that take long enough


@dataclass(frozen=True)
class Step:
    """One size.

    Attributes:
        axis: What grows.
        title: The size, for the table.
        workload: Whose file it is.
        records: How many records the file has.
        times: How often it is listed.
        unit: What the time is divided by.
        count: How many of these there are.
    """

    axis: str
    title: str
    workload: str
    records: int
    times: int
    unit: str
    count: float


def sizes(options: Options) -> Iterator[Step]:
    """Yield all sizes, as large as asked for; at a smaller scale fewer and smaller ones."""
    most = options.largest * options.scale / 100  # records of wide4, of about 80 bytes
    records = round(GB_SIZES[0] * 1e9 * min(1, options.scale) / TAB_BYTES)
    for size in GB_SIZES:
        if size * 1e9 <= options.largest:
            repeat = round(size / GB_SIZES[0])
            gb = records * repeat * TAB_BYTES / 1e9
            yield Step("bytes", f"{gb:.2g} GB", "tab", records, repeat, "s/GB", gb)
    for count in RECORDS:
        if count <= max(most, RECORDS[1]):
            each = min(count, AT_ONCE)
            yield Step(
                "records", short(count), "wide4", each, count // each, "ns/record", count / 1e9
            )
    for count in FEATURES:
        each = round(EVERY[f"wide{count}"].records * options.scale)
        yield Step(
            "features", f"{count} features", f"wide{count}", each, 1, "ns/value", each * count / 1e9
        )


def part(options: Options) -> Part:
    """Measure the systems in turn, size by size."""
    asked = list(sizes(options))
    with ThreadPoolExecutor(options.beside) as pool:
        found = list(pool.map(lambda step: taken(step, options), asked))
    data = [
        row(step, system, [run.seconds for run in runs])
        for step, turns in zip(asked, found, strict=True)
        for system, runs in turns.runs.items()
    ]
    return Part(
        "growth",
        [table(data)],
        data,
        skipped=[line for turns in found for line in turns.skipped],
        failures=[line for turns in found for line in turns.failures],
    )


def taken(step: Step, options: Options) -> Turns:
    """Measure one size."""
    print(f"growth: {step.title}", file=sys.stderr, flush=True)
    path = made(EVERY[step.workload], step.records)
    passes = max(1, MOMENT // (step.records * step.times))
    order = Order(step.workload, "parse", "", step.records, step.times, min(passes, 100))
    return in_turn(order, path, SYSTEMS, min(options.runs, RUNS), options)


def row(step: Step, system: str, taken: list[float]) -> dict[str, object]:
    """Return what one system took for one size."""
    median = statistics.median(taken)
    return {
        "axis": step.axis,
        "size": step.title,
        "system": system,
        "seconds": median,
        "times": taken,
        "unit": step.unit,
        "each": median / step.count,
    }


def table(data: list[dict[str, object]]) -> Table:
    """Return the figures."""
    reference = {each["size"]: each["seconds"] for each in data if each["system"] == "tensorflow"}
    rows = [
        [
            str(each["axis"]),
            str(each["size"]),
            str(each["system"]),
            seconds(number(each["seconds"])),
            f"{rounded(number(each['each']))} {each['unit']}",
            faster(each, reference.get(each["size"])),
        ]
        for each in data
    ]
    head = ("growth", "size", "system", "seconds", "each", "TF")
    return Table("Time as the work grows: parsed to columns, in batches", head, 3, rows)


def rounded(value: float) -> str:
    """Return a number with three digits that matter, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def faster(each: dict[str, object], reference: object) -> str:
    """Return how many times TensorFlow's speed this is."""
    if reference is None or each["system"] == "tensorflow":
        return ""
    return times(number(reference) / number(each["seconds"]))


def number(value: object) -> float:
    """Return what is known to be a number."""
    if not isinstance(value, float | int):
        raise TypeError(value)
    return float(value)
