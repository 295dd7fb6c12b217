"""`make mutants`: changes the source in one place at a time, and looks whether a test fails.

Mutants are drawn by a seed, equally likely each. One that lives and is not in the register
(register.py) shows what no test tests. Exit code 1: there is one.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from mutants.copies import BUILD, REPO
from mutants.covering import covering
from mutants.outcome import INVALID, Outcome
from mutants.python_runs import PythonRuns, all_python
from mutants.register import REGISTER, Register
from mutants.rust_runs import RustRuns, all_rust
from mutants.site import Mutant

Run = Callable[[Mutant], Outcome]


def drawn(mutants: list[Mutant], seed: int) -> Iterator[Mutant]:
    """Yield mutants in the order of a seed."""
    order = list(range(len(mutants)))
    random.Random(seed).shuffle(order)
    for number in order:
        yield mutants[number]


class Sample:
    """Draws mutants until enough were judged, from several threads."""

    def __init__(self, mutants: Iterable[Mutant], count: int, register: Register) -> None:
        """Begin with none."""
        self._mutants = iter(mutants)
        self._left = count
        self._register = register
        self._lock = threading.Lock()
        self.outcomes: list[Outcome] = []
        self.equivalent = self.invalid = 0

    def work(self, run: Run) -> None:
        """Run mutants as long as some are wanted."""
        while (mutant := self._next()) is not None:
            outcome = run(mutant)
            with self._lock:
                if outcome.result == INVALID:
                    self.invalid += 1
                    self._left += 1
                else:
                    self.outcomes.append(outcome)
                    show(outcome)

    def _next(self) -> Mutant | None:
        with self._lock:
            while self._left > 0 and (mutant := next(self._mutants, None)) is not None:
                if self._register.reason(mutant, (REPO / mutant.path).read_text()) is None:
                    self._left -= 1
                    return mutant
                self.equivalent += 1
        return None


def show(outcome: Outcome) -> None:
    """Print what became of a mutant, and what it changes."""
    mutant = outcome.mutant
    print(f"{outcome.result}: {mutant} ({mutant.what}), {outcome.seconds:.0f} s: {outcome.by}")
    for line in mutant.diff((REPO / mutant.path).read_text()):
        print(f"    {line}")
    sys.stdout.flush()


def sampled(code: str, seed: int, count: int, jobs: int) -> Sample:
    """Judge `count` mutants of a language."""
    mutants = {"python": all_python, "rust": all_rust}[code]()
    print(f"mutants: {count} of {len(mutants):,} mutants of {code}, SEED={seed}", flush=True)
    sample = Sample(drawn(mutants, seed), count, Register(REGISTER.read_text()))
    if code == "rust":
        sample.work(RustRuns().run)
        return sample
    covered = covering(jobs)
    with ThreadPoolExecutor(jobs) as pool:
        runs = [PythonRuns(f"python-{number}", covered) for number in range(jobs)]
        list(pool.map(lambda one: sample.work(one.run), runs))
    return sample


def summary(code: str, seed: int, sample: Sample) -> str:
    """Return one line of figures."""
    lives = [it for it in sample.outcomes if it.lives]
    total = len(sample.outcomes)
    share = 100 * len(lives) / max(total, 1)
    return (
        f"mutants: {code}, SEED={seed}: {total} judged, {total - len(lives)} killed, "
        f"{len(lives)} live ({share:.1f} %); passed over: {sample.equivalent} registered as "
        f"equivalent, {sample.invalid} that do not compile"
    )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Which changes of the source does no test see?")
    parser.add_argument("--code", choices=["python", "rust", "all"], default="all")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=20, help="mutants of each language")
    parser.add_argument("--jobs", type=int, default=2, help="mutants of Python at a time")
    given = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    codes = ("python", "rust") if given.code == "all" else (given.code,)
    samples = {code: sampled(code, given.seed, given.count, given.jobs) for code in codes}
    lives = [it for sample in samples.values() for it in sample.outcomes if it.lives]
    for outcome in lives:
        show(outcome)
    for code, sample in samples.items():
        print(summary(code, given.seed, sample))
    return int(bool(lives))


if __name__ == "__main__":
    sys.exit(main())
