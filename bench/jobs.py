"""What is measured: the jobs, the systems, and the task that a system gets to do a job once.

The files `system_*.py` have the same shape: `JOBS` maps a job's name, or "job:road" where a system
has several roads, to a function that prepares a task outside the clock and returns its steps;
`plain` turns what a step gives into Python's own types, so that the outputs of two systems can be
compared; `VERSION`. Nothing here imports more than the standard library.
"""

import os
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from workloads import SEED, Spec, Workload

REPO = Path(__file__).parent.parent
PLAIN, GZIP, MEMBERS = "", ".gz", ".members.gz"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

# How the outputs of two systems are compared: a sample of the values; of Examples, that have no
# order within; of such records in the file that was written; or the whole file, decompressed.
Sample = Literal["values", "examples", "written", "file"]


@dataclass(frozen=True)
class System:
    """A way of doing jobs: another library, or another road of the same one.

    Attributes:
        module: The file that does them, without its beginning `system_`.
        peer: Whose environment it runs in; "" is ours.
        road: Which of the library's roads it takes.
        threads: How many threads it may use; None is as many as there are cores.
    """

    module: str
    peer: str = ""
    road: str = ""
    threads: int | None = None

    @property
    def is_variant(self) -> bool:
        """Whether this is not the library as it is mostly used."""
        return bool(self.road or self.threads)

    @property
    def ours(self) -> bool:
        """Whether this is tfrecs."""
        return self.module == "tfrecs"


SYSTEMS = {
    "tfrecs": System("tfrecs"),
    "tfrecs-1-thread": System("tfrecs", threads=1),
    "tfrecs-dataset": System("tfrecs", road="dataset"),
    "tfrecs-reader": System("tfrecs", road="reader"),
    "tfrecs-mapped": System("tfrecs", road="mapped"),
    "tfrecs-unsynced": System("tfrecs", road="unsynced"),
    "tfrecs-write_batch": System("tfrecs", road="write_batch"),
    "limit": System("limit"),
    "limit-1-thread": System("limit", threads=1),
    "tensorflow": System("tensorflow", "tensorflow"),
    "tensorflow-v1": System("tensorflow", "tensorflow", "v1"),
    "arrayrecord": System("arrayrecord", "arrayrecord"),
    "dali": System("dali", "dali"),
    "tfx-bsl": System("tfxbsl", "tfxbsl"),
    "vahidk": System("vahidk", "vahidk"),
}
REFERENCE = "tensorflow"


@dataclass(frozen=True)
class Job:
    """A job.

    Attributes:
        name: Its short name.
        title: What every system does.
        workloads: The workloads that it makes sense on.
        systems: Those that do it. The limit copies the output of the first one.
        batched: Whether a step is a batch of records, not a single one.
        form: The form of the file.
        spec: Which of the workload's specifications it is about.
        sample: How the outputs are compared.
        writes: Whether it writes a file.
        batch: How many records a batch has, if not as many as the workload says.
        at_most: The most records that a system does it on, if all of them would take too long.
    """

    name: str
    title: str
    workloads: tuple[str, ...]
    systems: tuple[str, ...]
    batched: bool = True
    form: str = PLAIN
    spec: Literal["features", "narrow", "projected"] = "features"
    sample: Sample = "values"
    writes: bool = False
    batch: int | None = None
    at_most: tuple[tuple[str, int], ...] = ()

    def records(self, system: str, records: int) -> int:
        """Return how many of that many records this system does the job on."""
        return min(records, dict(self.at_most).get(system, records))


@dataclass(frozen=True)
class Task:
    """A job to do once.

    Attributes:
        workload: The workload.
        job: The job.
        path: The workload's file.
        times: How many times the file is listed.
        records: How many of the file's records to do it on.
        total: How many it has.
        scratch: Where to write, if the job writes.
        threads: How many threads to use; None is as many as there are cores.
        output_bytes: The size of our output, for the limit.
    """

    workload: Workload
    job: Job
    path: Path
    times: int
    records: int
    total: int
    scratch: Path
    threads: int | None
    output_bytes: int

    @property
    def paths(self) -> list[str]:
        """The files to read, as a list that may name the same one again and again."""
        return [str(self.path)] * self.times

    @property
    def whole(self) -> bool:
        """Whether these are all of the file's records."""
        return self.records == self.total

    @property
    def steps(self) -> int:
        """How many steps the whole task has."""
        records = self.records * self.times
        return -(-records // self.batch) if self.job.batched else records

    @property
    def batch(self) -> int:
        """How many records a batch has."""
        return self.job.batch or self.workload.batch

    @property
    def order(self) -> list[int]:
        """The numbers of records, each once, in an order that is always the same."""
        return random.Random(SEED).sample(range(self.total), self.total)[: self.records]

    def features(self, io: Any) -> Spec:
        """Return what to parse, made of this module's feature classes."""
        spec = self.workload.features(io)
        if self.job.spec == "narrow" and self.workload.narrow is not None:
            return self.workload.narrow(io)
        if self.job.spec == "projected":
            return {name: spec[name] for name in self.workload.projection}
        return spec


# Each call goes once through the task, from its beginning; what it yields is the output by steps.
Steps = Callable[[], Iterable[Any]]
Prepare = Callable[[Task], Steps]


class NotThereError(Exception):
    """A system does not have what this job needs; the text says what."""


EXAMPLES = ("tab", "img", "vec", "tok")
ALL = (*EXAMPLES, "rag", "seq")
ROWS = ("tab", "vec", "tok")
OURS = ("tfrecs", "tfrecs-1-thread", "tfrecs-reader")
LIMITS = ("limit", "limit-1-thread")
# They make a Python object of every value.
SOME = tuple((name, 10_000) for name in ("tfrecs", "tensorflow", "vahidk"))
# What takes them seconds, or tens of them, on all records.
PARSE_SOME = (("vahidk", 10_000), ("dali", 50_000))

JOBS = {
    job.name: job
    for job in [
        Job(
            "read",
            "raw records, in batches",
            ALL,
            ("tfrecs", "tfrecs-dataset", "limit", "tensorflow", "arrayrecord"),
        ),
        Job(
            "parse",
            "parsed to columns, in batches",
            EXAMPLES,
            (*OURS, *LIMITS, "tensorflow", "dali", "tfx-bsl", "vahidk"),
            at_most=PARSE_SOME,
        ),
        Job(
            "project",
            "2 of the 40 features parsed, in batches",
            ("tab",),
            (*OURS, "limit", "tensorflow", "dali", "tfx-bsl"),
            spec="projected",
            at_most=PARSE_SOME,
        ),
        Job(
            "parse-narrow",
            "parsed to narrower types, in batches",
            ("vec", "tok"),
            (*OURS, "limit", "tensorflow"),
            spec="narrow",
        ),
        Job(
            "parse-kinds",
            "parse_example of every other kind",
            ("rag",),
            (*OURS, "limit", "tensorflow"),
        ),
        Job(
            "parse-sequences",
            "parse_sequence_example, in batches",
            ("seq",),
            (*OURS, *LIMITS, "tensorflow"),
        ),
        Job(
            "random",
            "raw records at random places, in batches of 1,024",
            ("tab", "img"),
            ("tfrecs", "tfrecs-1-thread", "tfrecs-mapped", "arrayrecord"),
            batch=1024,
        ),
        Job(
            "random-one",
            "raw records at random places, one by one",
            ("tab",),
            ("tfrecs", "tfrecs-mapped", "arrayrecord"),
            batched=False,
            at_most=(("arrayrecord", 20_000),),
        ),
        Job(
            "gzip-random-one",
            "the same, of a gzip file of one member",
            ("tab",),
            ("tfrecs",),
            batched=False,
            form=GZIP,
            at_most=(("tfrecs", 2_000),),
        ),
        Job(
            "gzips-random-one",
            "the same, of a gzip file of many members",
            ("tab",),
            ("tfrecs",),
            batched=False,
            form=MEMBERS,
            at_most=(("tfrecs", 2_000),),
        ),
        Job(
            "iterate",
            "raw records, one by one, to bytes",
            ALL,
            ("tfrecs", "limit", "tensorflow", "tensorflow-v1", "vahidk"),
            batched=False,
            at_most=(("tensorflow", 20_000),),
        ),
        Job(
            "sequence",
            "SequenceExamples, one by one, to dicts",
            ("seq",),
            ("tfrecs", "tensorflow", "vahidk"),
            batched=False,
            at_most=SOME,
        ),
        Job(
            "decode",
            "decode ready records to dicts",
            ROWS,
            ("tfrecs", "tensorflow", "vahidk"),
            batched=False,
            at_most=SOME,
        ),
        Job(
            "encode",
            "encode rows from dicts",
            ROWS,
            ("tfrecs", "tensorflow", "vahidk"),
            batched=False,
            sample="examples",
            at_most=SOME,
        ),
        Job(
            "write",
            "write ready records",
            ("tab", "img", "vec"),
            ("tfrecs", "tfrecs-unsynced", "tfrecs-write_batch", "limit", "tensorflow"),
            sample="file",
            writes=True,
        ),
        Job(
            "write-columns",
            "encode columns and write them",
            ("tab",),
            ("tfrecs", "tfrecs-unsynced", "limit", "tensorflow"),
            sample="written",
            writes=True,
            at_most=(("tensorflow", 10_000),),
        ),
        Job(
            "gzip-read",
            "raw records of a gzip file of one member, in batches",
            ("tab", "vec"),
            ("tfrecs", "tfrecs-dataset", "limit", "tensorflow", "vahidk"),
            form=GZIP,
        ),
        Job(
            "gzip-parse",
            "the same, parsed to columns",
            ("tab", "vec"),
            (*OURS, "limit", "tensorflow"),
            form=GZIP,
        ),
        Job(
            "gzips-read",
            "raw records of a gzip file of many members, in batches",
            ("tab", "vec"),
            ("tfrecs", "tfrecs-dataset", "limit", "tensorflow"),
            form=MEMBERS,
        ),
        Job(
            "gzips-parse",
            "the same, parsed to columns",
            ("tab", "vec"),
            (*OURS, "limit", "tensorflow"),
            form=MEMBERS,
        ),
        Job(
            "gzip-write",
            "write ready records, GZIP",
            ("tab",),
            ("tfrecs", "tfrecs-unsynced", "tfrecs-write_batch", "tensorflow"),
            sample="file",
            writes=True,
        ),
    ]
}
