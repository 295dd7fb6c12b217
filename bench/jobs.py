"""What is measured: the jobs, and the task that a system gets to do one of them once.

`system_tfrecs.py` and `system_tensorflow.py` have the same shape: `JOBS` maps a job's name to a
function that prepares a task outside the clock and returns its steps; `plain` turns what a step
gives into Python's own types, so that the outputs of two systems can be compared; `VERSION`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads import Workload


@dataclass(frozen=True)
class Job:
    """A job.

    Attributes:
        name: Its short name.
        title: What both systems do.
        workloads: The workloads that it makes sense on.
        batched: Whether a step is a batch of records, not a single one.
        limits: The most records that a system does it on, if it would take too long on all of them.
    """

    name: str
    title: str
    workloads: tuple[str, ...]
    batched: bool = False
    limits: tuple[tuple[str, int], ...] = ()

    def records(self, system: str, records: int) -> int:
        """Return how many of so many records this system does the job on."""
        return min(records, dict(self.limits).get(system, records))


@dataclass(frozen=True)
class Task:
    """A job to do once.

    Attributes:
        workload: The workload.
        path: Its file.
        records: How many of the file's records to do it on.
        whole: Whether these are all.
        scratch: Where to write, if the job writes.
    """

    workload: Workload
    path: Path
    records: int
    whole: bool
    scratch: Path


# Each call goes once through the task, from its beginning; what it yields is the output by steps.
Steps = Callable[[], Iterable[Any]]
Prepare = Callable[[Task], Steps]

EXAMPLES = ("tab", "img", "vec", "tok")
ALL = (*EXAMPLES, "rag", "seq")
# Both systems make a Python object a value in these jobs.
SOME = (("tfrecs", 10_000), ("tensorflow", 10_000))

JOBS = {
    job.name: job
    for job in [
        Job("read", "raw records, in batches", ALL, batched=True),
        Job("parse", "parsed to columns, in batches", EXAMPLES, batched=True),
        Job("parse-narrow", "parsed to narrower types, in batches", ("vec", "tok"), batched=True),
        Job("parse-kinds", "parse_example of every other kind", ("rag",), batched=True),
        Job("parse-sequences", "parse_sequence_example, in batches", ("seq",), batched=True),
        Job("iterate", "raw records, one by one, to bytes", ALL, limits=(("tensorflow", 20_000),)),
        Job("iterate-v1", "the same, by tf_record_iterator", ALL),
        Job("sequence", "SequenceExamples, one by one, to dicts", ("seq",), limits=SOME),
        Job("write", "write ready records", ALL, batched=True),
        Job("encode", "encode rows from dicts", ("tab", "vec", "tok"), limits=SOME),
        Job("decode", "decode ready records to dicts", ("tab", "vec", "tok"), limits=SOME),
    ]
}
