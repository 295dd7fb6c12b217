"""Measurements in processes of their own, each with the interpreter that has the system."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from jobs import REPO, SYSTEMS
from measure import Measurement, Order

HERE = Path(__file__).parent
LONGEST = 1800.0  # seconds


class SkippedError(Exception):
    """A system is not installed, or lacks what the job needs; the text says which."""


class FailedError(Exception):
    """A measurement went wrong; the text is the last that it said."""


@dataclass(frozen=True)
class Interpreters:
    """Where each peer is installed.

    Attributes:
        given: Interpreters by peer, instead of those in the environments that `make bench` makes.
    """

    given: dict[str, str] = field(default_factory=dict)

    def of(self, peer: str) -> str:
        """Return the interpreter that has this peer; "" stands for tfrecs, which we have."""
        usual = REPO / f".venv-bench-{peer}" / "bin" / "python" if peer else Path(sys.executable)
        found = Path(self.given.get(peer, usual))
        # Without its stamp, what is there is half an installation.
        installed = found.exists() and (found != usual or not peer or is_stamped(peer))
        if not installed:
            raise SkippedError(f"it is not installed (make bench PEERS={peer})")
        return str(found)


def is_stamped(peer: str) -> bool:
    """Whether `make bench` installed this peer wholly."""
    return (REPO / f".venv-bench-{peer}" / ".peer").exists()


def measured(order: Order, path: Path, interpreters: Interpreters) -> Measurement:
    """Measure once, on a file that was read just before."""
    warm_page_cache(path)
    command = [interpreters.of(SYSTEMS[order.system].peer), str(HERE / "measure.py")]
    found = json.loads(last_line([*command, json.dumps(asdict(order))]))
    if "skipped" in found:
        raise SkippedError(found["skipped"])
    return Measurement(**found)


def last_line(command: list[str], package: Path | None = None) -> str:
    """Run a command and return the last line that it prints; `package` holds another tfrecs."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=environment(package),
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired as error:
        raise FailedError(f"no end after {LONGEST:.0f} s") from error
    if done.returncode or not done.stdout.strip():
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise FailedError(said[-1])
    return done.stdout.splitlines()[-1]


def environment(package: Path | None = None) -> dict[str, str]:
    """Return the environment of a measurement.

    TensorFlow says less. NumPy's BLAS has no threads: they wait busily for a while after they were
    started, on a core that others need, and no job has anything for them to do. Modules are kept
    compiled, as everywhere where nobody forbids it.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if package:
        kept["PYTHONPATH"] = str(package)
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "3", "OPENBLAS_NUM_THREADS": "1"}


def warm_page_cache(path: Path) -> None:
    """Read a file, so that the measurement finds it in the page cache."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
