"""What the command line asks for."""

import argparse
from dataclasses import dataclass

from jobs import CORES, JOBS, SYSTEMS
from processes import Interpreters
from workloads import WORKLOADS

PARTS: tuple[str, ...] = (
    "table",
    "start",
    "memory",
    "growth",
    "media",
    "forged",
    "pipeline",
    "training",
    "resume",
)
PARTS += ("damaged", "import", "threads")
TRIAL_SCALE = 0.05


@dataclass(frozen=True)
class Options:
    """What to measure, and how.

    Attributes:
        parts: The parts of the benchmark.
        workloads: The workloads.
        jobs: The jobs.
        systems: The systems.
        runs: How many processes there are for each figure.
        scale: Which part of the records is taken.
        largest: How many bytes the largest file of the part "growth" has.
        interpreters: Where each peer is installed.
        form: "text", "markdown" or "json".
    """

    parts: list[str]
    workloads: list[str]
    jobs: list[str]
    systems: list[str]
    runs: int
    scale: float
    largest: float
    interpreters: Interpreters
    form: str

    @property
    def is_trial(self) -> bool:
        """Whether the harness is only tried out, and nobody relies on the figures."""
        return self.runs == 1 and self.scale <= TRIAL_SCALE

    @property
    def beside(self) -> int:
        """How many measurements are made at the same time: one, unless this is a trial."""
        return CORES if self.is_trial else 1

    @property
    def how(self) -> str:
        """How the figures were made, for the heading."""
        runs = f"median of {self.runs} runs" if self.runs > 1 else "one run"
        scale = "" if self.scale == 1 else f", {self.scale:g} of the records"
        beside = f", A TRIAL: {self.beside} measurements side by side" if self.beside > 1 else ""
        return f"{runs}{scale}{beside}"


def options() -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="tfrecs beside its peers: every job on every workload, in turn."
    )
    choices: dict[str, tuple[str, ...]] = {
        "parts": PARTS,
        "workloads": tuple(WORKLOADS),
        "jobs": tuple(JOBS),
        "systems": tuple(SYSTEMS),
    }
    for name, known in choices.items():
        parser.add_argument(
            f"--{name}", nargs="+", choices=known, metavar="NAME", help=", ".join(known)
        )
    parser.add_argument("--runs", type=int, default=5, help="processes for each figure")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the records, as 0.02")
    parser.add_argument(
        "--largest", type=float, default=1.0, help="GB of the largest file of the part growth"
    )
    parser.add_argument(
        "--python",
        nargs="+",
        default=[],
        metavar="PEER=PATH",
        help="the interpreter that has a peer, instead of the one in .venv-bench-PEER",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_const", dest="form", const="json")
    form.add_argument("--markdown", action="store_const", dest="form", const="markdown")
    given = parser.parse_args()
    # Jobs, workloads and systems are those of the table.
    narrowed = given.jobs or given.workloads or given.systems
    return Options(
        parts=given.parts or (["table"] if narrowed else list(PARTS)),
        workloads=given.workloads or list(WORKLOADS),
        jobs=given.jobs or list(JOBS),
        systems=given.systems or list(SYSTEMS),
        runs=given.runs,
        scale=given.scale,
        largest=given.largest * 1e9,
        interpreters=Interpreters(dict(each.split("=", 1) for each in given.python)),
        form=given.form or "text",
    )
