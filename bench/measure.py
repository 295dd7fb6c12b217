"""One measurement, in a process of its own: `python bench/measure.py workload job system records`.

Prints a line of JSON. The job is prepared and its first step done before the clock starts, so that
neither an import nor a graph being traced is counted; then one whole pass is timed. Afterwards some
of the output is made into a digest, which must be the same for every system.
"""

import hashlib
import importlib
import json
import resource
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import tfrecs
from jobs import JOBS, Job, Steps, Task
from workloads import FOLDER, WORKLOADS

SYSTEMS = ("tfrecs", "tensorflow")
SAMPLE = 100  # single records; or one batch


@dataclass(frozen=True)
class Measurement:
    """What one process found out.

    Attributes:
        seconds: How long the pass took.
        records: How many records it was over.
        peak_rss: The most memory that the process held until then, in bytes; mapped files count.
        digest: Of a sample of the output.
        version: The system's version.
    """

    seconds: float
    records: int
    peak_rss: int
    digest: str
    version: str


def measure(workload_name: str, job_name: str, system_name: str, records: int) -> Measurement:
    """Do the job once."""
    workload, job = WORKLOADS[workload_name], JOBS[job_name]
    system = importlib.import_module(f"system_{system_name}")
    some = job.records(system_name, records)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        scratch = Path(folder, "written.tfrecord")
        task = Task(workload, workload.path(records), some, some == records, scratch)
        steps: Steps = system.JOBS[job_name](task)
        deque(islice(steps(), 1), maxlen=0)
        seconds = timed(steps, -(-some // workload.batch) if job.batched else some)
        peak = peak_rss()
        if scratch.exists():
            digest = hashlib.sha256(scratch.read_bytes()).hexdigest()
        else:
            digest = sample_digest(job, steps(), system)
    return Measurement(seconds, some, peak, digest, system.VERSION)


def timed(steps: Steps, expected: int) -> float:
    """Return how long all steps take, dropping what they give."""
    counter = count()
    start = time.perf_counter()
    deque(zip(steps(), counter, strict=False), maxlen=0)
    seconds = time.perf_counter() - start
    done = next(counter)
    if done != expected:
        raise SystemExit(f"{done} steps instead of {expected}")
    return seconds


def peak_rss() -> int:
    """Return the most memory that this process ever held, in bytes.

    Linux's ru_maxrss includes what the parent held at the fork; VmHWM does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def sample_digest(job: Job, outputs: Iterable[Any], system: Any) -> str:
    """Return a digest of the first outputs, the same for equal values of equal types."""
    digest = hashlib.sha256()
    for output in islice(outputs, 1 if job.batched else SAMPLE):
        # An Example's features have no order; as a dict, they compare without one.
        value = tfrecs.decode_example(output) if job.name == "encode" else output
        digest.update(repr(in_order(system.plain(value))).encode())
    return digest.hexdigest()


def in_order(value: Any) -> Any:
    """Sort the keys of every dict."""
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value)}
    if isinstance(value, tuple):
        return tuple(map(in_order, value))
    return value


def main() -> None:
    """Measure what the command line says."""
    workload, job, system, records = sys.argv[1:]
    print(json.dumps(asdict(measure(workload, job, system, int(records)))))


if __name__ == "__main__":
    main()
