"""Which tests execute which line of the Python package: measured once, kept in build/mutants.

The tests run under coverage.py, which counts lines for each test (contexts.py); processes that a
test starts count for it too. That takes half an hour, so it is not done again when a file changes:
for a mutant of such a file all tests run that executed any line of it. Remove build/mutants to
measure anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from mutants.copies import BUILD, PACKAGE, REPO, environment, package_copy
from mutants.processes import run

# What tests no code of the package (the first three read its text only), or measures this machine.
LEFT_OUT = (
    *("test_architecture.py", "test_tests.py", "test_mutants.py"),
    *("test_bench.py", "test_torture.py", "test_docs.py"),
)
# Where which tests run: the interpreter, and the folder.
SUITES = {
    ".venv": "tests",
    ".venv-integrations": "tests/integrations",
    ".venv-oracle": "tests/oracle",
}
LAST_LINE = 100_000
CONFIG = """
[run]
parallel = true
data_file = {data}
source_pkgs = tfrecs
context = ${{PYTEST_CURRENT_TEST-}}
disable_warnings = no-data-collected,module-not-measured,no-ctracer
"""


@dataclass
class Covering:
    """Attributes:
    seconds: How long each test takes.
    lines: For each file, the tests that execute each line.
    changed: The files whose lines are others now.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)

    def tests(self, path: str, first: int, last: int) -> list[str]:
        """Return the tests that execute one of these lines, the quickest first."""
        lines = self.lines.get(path, {})
        near = lines if path in self.changed else range(first, last + 1)
        found = {test for line in near for test in lines.get(line, ())}
        return sorted(found & self.seconds.keys(), key=lambda test: (self.seconds[test], test))

    def tests_of_file(self, path: str) -> list[str]:
        """Return the tests that execute any line of the file in a call, the quickest first."""
        return self.tests(path, 1, LAST_LINE)


def digests() -> dict[str, str]:
    """Return a digest of each file of the package."""
    return {
        str(path.relative_to(REPO)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((REPO / PACKAGE).rglob("*.py"))
    }


def covering(jobs: int) -> Covering:
    """Return what was measured, measuring it if that was not done yet."""
    stored = BUILD / "covering.json"
    if not stored.exists():
        print(f"mutants: measuring which tests cover which lines, into {stored}", flush=True)
        stored.write_text(json.dumps({"of": digests(), **_measured(jobs)}))
    found = json.loads(stored.read_text())
    changed = {path for path, digest in digests().items() if found["of"].get(path) != digest}
    if new := sorted(changed - set(found["of"])):
        print(f"mutants: not measured yet, remove {stored.parent} to do so: {', '.join(new)}")
    tests = found["tests"]
    lines = {
        path: {int(line): [tests[number] for number in numbers] for line, numbers in of.items()}
        for path, of in found["lines"].items()
    }
    return Covering(_present(dict(zip(tests, found["seconds"], strict=True))), lines, changed)


def _present(seconds: dict[str, float]) -> dict[str, float]:
    """Leave out tests that were renamed or removed: pytest refuses to run those, and fails."""
    present: set[str] = set()
    for venv in SUITES:
        if files := files_of(venv):
            command = [str(REPO / venv / "bin" / "python"), "-m", "pytest", "--collect-only", "-q"]
            env = environment(REPO)
            out = subprocess.run(
                [*command, *files], check=False, env=env, cwd=REPO, capture_output=True
            )
            present.update(out.stdout.decode().splitlines())
    found = {test: taken for test, taken in seconds.items() if test in present}
    print(f"mutants: {len(seconds) - len(found)} measured tests are gone", flush=True)
    return found


def files_of(venv: str) -> list[str]:
    """Return the test files of a suite, if its environment is there."""
    if not (REPO / venv / "bin" / "python").exists():
        return []
    folder = REPO / SUITES[venv]
    heavy = ("integrations", "oracle", "trainers")
    others = {REPO / "tests" / name for name in heavy} - {folder}
    found = (path for path in folder.rglob("test_*.py") if not others & {*path.parents})
    return sorted(str(path.relative_to(REPO)) for path in found if path.name not in LEFT_OUT)


def _measured(jobs: int) -> dict[str, object]:
    data = BUILD / "measured"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    root = package_copy("measured")
    work = [(venv, file) for venv in SUITES for file in files_of(venv)]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda item: _measure(root, data, *item), work))
    return _gathered(root, data)


def _measure(root: Path, data: Path, venv: str, file: str) -> None:
    """Run one test file under coverage.py."""
    name = file.replace("/", ".")
    config = data / f"{name}.rc"
    config.write_text(CONFIG.format(data=data / f"{name}.data"))
    python = str(REPO / venv / "bin" / "python")
    more = {
        "COVERAGE_PROCESS_START": str(config),
        "MUTANTS_TESTS": str(data / f"{name}.tests"),
        "PYTEST_CURRENT_TEST": "",
    }
    env = environment(root, **more)
    env["PYTHONPATH"] += "".join(os.pathsep + str(REPO / it) for it in ("tests", "tests/support"))
    # `coverage run` would measure a second time beside sitecustomize, which begins earlier.
    command = [python, "-m", "pytest", "-q", "-p", "mutants.contexts", "-p", "no:cacheprovider"]
    done = run([*command, f"--basetemp={data}/{name}.tmp", file], env, REPO, 1800)
    last = done.output.strip().splitlines()[-1:] or [""]
    print(f"mutants: {file}: {last[0]}", flush=True)


def _gathered(root: Path, data: Path) -> dict[str, object]:
    """Put together what all processes have measured."""
    seconds = _timed(data)
    tests = sorted(seconds)
    numbers = {test: number for number, test in enumerate(tests)}
    lines: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for part in sorted(data.glob("*.data.*")):
        for file, line, context in _executed(part):
            number = numbers.get(context.partition(" (")[0])
            if number is not None:
                lines[str(Path(file).relative_to(root))][line].add(number)
    listed = {path: {line: sorted(of) for line, of in it.items()} for path, it in lines.items()}
    return {"tests": tests, "seconds": [seconds[test] for test in tests], "lines": listed}


def _timed(data: Path) -> dict[str, float]:
    """Return how long each test took that passed."""
    seconds: dict[str, float] = defaultdict(float)
    failed = set()
    for noted in data.glob("*.tests"):
        for line in noted.read_text().splitlines():
            test, duration, outcome = json.loads(line)
            seconds[test] += duration
            if outcome != "passed":
                failed.add(test)
    print(f"mutants: {len(seconds)} tests; left out, as they fail or skip here: {sorted(failed)}")
    return {test: taken for test, taken in seconds.items() if test not in failed}


def _executed(part: Path) -> list[tuple[str, int, str]]:
    """Return file, line and context of all that one process has executed."""
    from coverage import CoverageData
    from coverage.exceptions import CoverageException

    measured = CoverageData(str(part))
    try:
        measured.read()
        return [
            (file, line, context)
            for file in measured.measured_files()
            for line, contexts in measured.contexts_by_lineno(file).items()
            for context in contexts
        ]
    except CoverageException:
        return []  # of a process that its test has killed while it wrote


if __name__ == "__main__":
    covering(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
