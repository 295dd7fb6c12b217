"""`make soak`: run the seeded tests with new random seeds until the time is over.

CI always runs the same seeds, so that a change is judged by what it changes. This job draws others,
prints each one, and stops at the first failure with the command that repeats it. Beside them one
process does everything again and again, and must not grow (leaks.py).
"""

import argparse
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
PYTEST = (sys.executable, "-m", "pytest", "-q")
# What Hypothesis and pytest print of a failure at the end of a run.
SHOWN = 20_000


@dataclass(frozen=True)
class Suite:
    """Tests that depend on a seed.

    Attributes:
        name: What is printed.
        command: What runs it; "{seed}" stands for the seed.
        environment: Variables that it needs, with the same placeholder.
        needs: A file without which it is left out.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: Path = REPO

    def arguments(self, seed: int) -> list[str]:
        """Return the command with the seed filled in."""
        return [part.replace("{seed}", str(seed)) for part in self.command]

    def variables(self, seed: int) -> dict[str, str]:
        """Return the variables with the seed filled in."""
        return {name: text.replace("{seed}", str(seed)) for name, text in self.environment.items()}

    def repeat(self, seed: int) -> str:
        """Return the line of shell that runs it once more."""
        assigned = [f"{name}={text}" for name, text in self.variables(seed).items()]
        # Where CI is set, Hypothesis would ignore the seed.
        return shlex.join(["env", "-u", "CI", *assigned, *self.arguments(seed)])


OTHER_ENVIRONMENTS = [f"--ignore=tests/{it}" for it in ("oracle", "integrations", "trainers")]
TABLES = [
    f"tests/dataset/run/test_dataset_{it}.py" for it in ("shared", "resume", "states", "abandoned")
]
INJECTIONS = [
    "tests/records/read/test_failing_reads.py",
    "tests/records/sets/test_whole_sets.py",
    "tests/hostile/test_no_memory.py",
]
ORACLE = REPO / ".venv-oracle"

SUITES = [
    Suite(
        "hypothesis",
        (*PYTEST, "-m", "hypothesis", "--hypothesis-seed={seed}", *OTHER_ENVIRONMENTS),
    ),
    Suite(
        "proptest",
        ("cargo", "test", "--locked", "--package", "tfrecs-core", "--lib", "--", "--quiet"),
        {"PROPTEST_RNG_SEED": "{seed}"},
    ),
    Suite(
        "oracle",
        (
            str(ORACLE / "bin" / "python"),
            *("-m", "pytest", "-q", "-W", "default", "--hypothesis-seed={seed}"),
            "tests/oracle/test_campaign_oracle.py",
        ),
        {"SEED": "{seed}", "CASES": "10000", "TF_CPP_MIN_LOG_LEVEL": "3"},
        needs=ORACLE / ".done",
    ),
    Suite(
        "torture",
        (sys.executable, "tests/torture/table.py", "--scale", "0.01", "--seed", "{seed}"),
    ),
    # Reads that fail, writers that are killed, memory that ends.
    Suite("injections", (*PYTEST, *INJECTIONS), {"FAULT_SEED": "{seed}", "FAILING_READS": "24"}),
    # Which thread gets which element depends on the moment, so that every run is another one.
    Suite("threads and resume", (*PYTEST, "--hypothesis-seed={seed}", *TABLES)),
]


@dataclass(frozen=True)
class Outcome:
    """The result of one run: its exit status, None if the time was over; and its output."""

    status: int | None
    output: str


def run(suite: Suite, seed: int, seconds: float) -> Outcome:
    """Run a suite for at most `seconds`."""
    environment = {**os.environ, **suite.variables(seed)}
    environment.pop("CI", None)
    process = subprocess.Popen(
        suite.arguments(seed),
        cwd=REPO,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # it ends with all its processes
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return Outcome(None, "")
    finally:
        _end(process)
    return Outcome(process.returncode, output)


def _end(process: "subprocess.Popen[str]") -> None:
    """Kill a run that has not ended, with the processes it started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def seeds() -> Iterator[int]:
    """Draw seeds that fit wherever a seed is asked for."""
    system = random.SystemRandom()
    while True:
        yield system.randrange(1, 1 << 31)


def soak(
    suites: Sequence[Suite],
    seconds: float,
    drawn: Iterator[int],
    say: Callable[[str], None],
    attempt: Callable[[Suite, int, float], Outcome] = run,
) -> int:
    """Run all suites in turn, each time with another seed, until the time is over.

    Returns:
        The exit status: 0, or 1 after a failure, or if nothing was run to its end.
    """
    end, done = time.monotonic() + seconds, 0
    for number in count():
        suite, seed = suites[number % len(suites)], next(drawn)
        begin = time.monotonic()
        if begin >= end:
            break
        say(f"soak: {suite.name}, seed {seed}")
        outcome = attempt(suite, seed, end - begin)
        if outcome.status is None:
            say("soak: stopped, because the time is over")
            break
        if outcome.status:
            say(outcome.output[-SHOWN:])
            say(f"soak: {suite.name} failed. To repeat it:\n  {suite.repeat(seed)}")
            return 1
        done += 1
        say(f"soak: {suite.name}, seed {seed}: passed in {time.monotonic() - begin:.0f} s")
    say(f"soak: passed {done}")
    return 0 if done else 1


def available(suites: Sequence[Suite], say: Callable[[str], None]) -> list[Suite]:
    """Return the suites that can run here, and report the others."""
    for suite in suites:
        if not suite.needs.exists():
            say(f"soak: leaving out {suite.name}: {suite.needs} is missing")
    return [suite for suite in suites if suite.needs.exists()]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Run the seeded tests with new random seeds.")
    parser.add_argument("minutes", type=float)

    def say(text: str) -> None:
        print(text, flush=True)  # noqa: T201 - a script

    minutes = parser.parse_args().minutes
    leaks = subprocess.Popen([sys.executable, "tests/leaks.py", str(minutes)], cwd=REPO)
    try:
        status = soak(available(SUITES, say), minutes * 60, seeds(), say)
        return status or leaks.wait()
    finally:
        leaks.kill()


if __name__ == "__main__":
    sys.exit(main())
