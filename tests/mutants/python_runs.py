"""Runs the tests that cover a mutant of the Python package, in a private copy of it."""

from __future__ import annotations

import time
from pathlib import Path

from mutants.copies import PACKAGE, REPO, environment, package_copy
from mutants.covering import LAST_LINE, SUITES, Covering
from mutants.outcome import KILLED, SURVIVED, UNCOVERED, Outcome, killer
from mutants.processes import run
from mutants.python_sites import mutants_of
from mutants.site import Mutant

# Tests of a mutant that would take longer than this together: the quickest of them.
MOST_SECONDS = 60.0


def all_python() -> list[Mutant]:
    """Return every mutant of the package."""
    files = sorted((REPO / PACKAGE).rglob("*.py"))
    return [
        mutant
        for path in files
        for mutant in mutants_of(str(path.relative_to(REPO)), path.read_text())
    ]


class PythonRuns:
    """A copy of the package, in which one mutant at a time lives."""

    def __init__(self, name: str, covering: Covering) -> None:
        """Make the copy."""
        self._root = package_copy(name)
        self._covering = covering

    def run(self, mutant: Mutant) -> Outcome:
        """Run the tests until one fails."""
        begin = time.monotonic()
        tests = self._tests(mutant)
        if not tests:
            return Outcome(mutant, UNCOVERED, "no test executes it", 0.0)
        place = self._root / mutant.path
        source = place.read_text()
        place.write_text(mutant.applied(source))
        try:
            by = self._killed_by(tests)
        finally:
            place.write_text(source)
        seconds = time.monotonic() - begin
        if by is None:
            return Outcome(mutant, SURVIVED, f"{len(tests)} tests pass", seconds)
        return Outcome(mutant, KILLED, by, seconds)

    def _tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute its line, or its function, or its file; not too many.

        A line that runs at import (a default, a decorator) counts only for the test that
        imported it first: then the tests of the function, or of the file, run too.
        """
        covering = self._covering
        found = covering.tests(mutant.path, mutant.line, mutant.line)
        if len(found) <= 1:
            around = (1, LAST_LINE) if mutant.lines == (0, 0) else mutant.lines
            found = list(dict.fromkeys([*found, *covering.tests(mutant.path, *around)]))
        chosen: list[str] = []
        total = 0.0
        for test in found:
            total += covering.seconds[test]
            if chosen and total > MOST_SECONDS:
                break
            chosen.append(test)
        return chosen

    def _killed_by(self, tests: list[str]) -> str | None:
        """Return the first test that fails, in one of the environments that they need."""
        for venv in SUITES:
            own = [test for test in tests if _venv_of(test) == venv]
            if not own:
                continue
            seconds = sum(self._covering.seconds[test] for test in own)
            by = run_tests(self._root, venv, own, 60 + 4 * seconds)
            if by is not None:
                return by
        return None


def _venv_of(test: str) -> str:
    folder = str(Path(test.partition("::")[0]).parent)
    return next(venv for venv, of in SUITES.items() if of == folder)


def run_tests(root: Path, venv: str, tests: list[str], seconds: float) -> str | None:
    """Run tests with the package of a copy: the first that fails, or None."""
    listed = root / "tests.txt"
    listed.write_text("\n".join(tests))
    options = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", f"--basetemp={root}/tmp"]
    python = str(REPO / venv / "bin" / "python")
    done = run([python, "-m", "pytest", *options, f"@{listed}"], environment(root), REPO, seconds)
    return None if done.code == 0 else killer(done)
