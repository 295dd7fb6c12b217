"""One measurement, in a process of its own: `python bench/measure.py '{"workload": "tab", …}'`.

Prints a line of JSON. The job is prepared and its first step done before the clock starts, so that
neither an import nor a graph being traced is counted; then one whole pass is timed. Afterwards some
of the output is made into a digest, which must be the same for every system.
"""

import gzip
import hashlib
import importlib
import json
import resource
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from io import BytesIO
from itertools import count, islice
from pathlib import Path
from typing import Any

from framing import frames
from jobs import JOBS, SYSTEMS, NotThereError, Steps, Task
from workloads import EVERY, FOLDER

SAMPLE = 100  # single records; or one batch


@dataclass(frozen=True)
class Order:
    """What to measure.

    Attributes:
        workload: The workload's name.
        job: The job's name.
        system: The system's name.
        records: How many records the workload's file has.
        times: How many times the file is listed.
        passes: How many passes are timed, one after the other.
        output_bytes: The size of our output, for the limit.
        sized: Whether to find out that size, in one more pass.
    """

    workload: str
    job: str
    system: str
    records: int
    times: int = 1
    passes: int = 1
    output_bytes: int = 0
    sized: bool = False


@dataclass(frozen=True)
class Measurement:
    """What one process found out.

    Attributes:
        seconds: How long a pass took.
        cpu: How long all threads together were running in it, in seconds.
        records: How many records it was over.
        peak_rss: The most memory that the process held until then, in bytes; mapped files count.
        digest: Of a sample of the output.
        output_bytes: The size of the whole output, where it is ours.
        written_bytes: The size of the file that was written.
        version: The system's version.
    """

    seconds: float
    cpu: float
    records: int
    peak_rss: int
    digest: str
    output_bytes: int
    written_bytes: int
    version: str


def measure(order: Order) -> Measurement:
    """Do the job once."""
    system = imported(SYSTEMS[order.system].module)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        task = task_of(order, Path(folder))
        steps = prepared(system, task, SYSTEMS[order.system].road)
        deque(islice(steps(), 1), maxlen=0)
        seconds, cpu = timed(steps, task.steps if gives(system) else 0, order.passes)
        peak = peak_rss()
        return Measurement(
            seconds,
            cpu,
            task.records * task.times,
            peak,
            digest(task, steps, system),
            output_bytes(task, steps, system) if order.sized else 0,
            task.scratch.stat().st_size if task.scratch.exists() else 0,
            system.VERSION,
        )


def imported(module: str) -> Any:
    """Return what does the jobs."""
    try:
        return importlib.import_module(f"system_{module}")
    except ModuleNotFoundError as error:
        raise NotThereError(f"{error.name} is not installed") from error


def task_of(order: Order, folder: Path) -> Task:
    """Return the task that is ordered."""
    workload, job = EVERY[order.workload], JOBS[order.job]
    some = job.records(order.system, order.records)
    return Task(
        workload=workload,
        job=job,
        path=workload.path(order.records, job.form),
        times=order.times,
        records=some,
        total=order.records,
        # tfrecs goes by the name, TensorFlow by the job's.
        scratch=folder / ("written.tfrecord" + ".gz" * job.name.startswith("gzip")),
        threads=SYSTEMS[order.system].threads,
        output_bytes=order.output_bytes,
    )


def prepared(system: Any, task: Task, road: str) -> Steps:
    """Return the steps of a task on one of the system's roads."""
    name = f"{task.job.name}:{road}" if road else task.job.name
    steps: Steps = system.JOBS[name](task)
    return steps


def gives(system: Any) -> bool:
    """Whether the system gives any output; the limit does not."""
    return hasattr(system, "plain")


def timed(steps: Steps, expected: int, passes: int) -> tuple[float, float]:
    """Return how long all steps take, dropping what they give, and the processors' time."""
    counter = count()
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(passes):
        deque(zip(steps(), counter, strict=False), maxlen=0)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    done = next(counter) // passes
    if done != expected:
        raise SystemExit(f"{done} steps instead of {expected}")
    return seconds / passes, cpu / passes


def peak_rss() -> int:
    """Return the most memory that this process ever held, in bytes.

    Linux's ru_maxrss includes what the parent held at the fork; VmHWM does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def digest(task: Task, steps: Steps, system: Any) -> str:
    """Return a digest of the output, the same for equal values of equal types; "" if none."""
    if not gives(system):
        return ""
    sha = hashlib.sha256()
    for value in sample(task, steps, system):
        sha.update(repr(in_order(value)).encode() if not isinstance(value, bytes) else value)
    return sha.hexdigest()


def sample(task: Task, steps: Steps, system: Any) -> Iterator[Any]:
    """Yield what is compared."""
    first = islice(steps(), 1 if task.job.batched else SAMPLE)
    match task.job.sample:
        case "values":
            yield from (system.plain(output, task) for output in first)
        case "examples":
            yield from (system.example(record) for record in first)
        case "written":
            yield from map(system.example, islice(frames(BytesIO(written(task))), SAMPLE))
        case "file":
            yield written(task)


def written(task: Task) -> bytes:
    """Return the file that was written, decompressed."""
    data = task.scratch.read_bytes()
    return gzip.decompress(data) if task.scratch.suffix == ".gz" else data


def in_order(value: Any) -> Any:
    """Sort the keys of every dict."""
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value)}
    if isinstance(value, tuple):
        return tuple(map(in_order, value))
    return value


def output_bytes(task: Task, steps: Steps, system: Any) -> int:
    """Return the size of the whole output, if the system can tell; what is written counts once."""
    if not hasattr(system, "size"):
        return 0
    if task.job.writes:
        return task.path.stat().st_size
    return sum(map(system.size, steps()))


def main() -> None:
    """Measure what the command line says."""
    order = Order(**json.loads(sys.argv[1]))
    try:
        print(json.dumps(asdict(measure(order))))
    except NotThereError as error:
        print(json.dumps({"skipped": str(error)}))


if __name__ == "__main__":
    main()
