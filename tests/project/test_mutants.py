"""The tool of `make mutants`, on toy sources."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import needs
import pytest
from needs import REPO

from mutants import covering, outcome, processes, python_runs, register, rust_runs
from mutants.covering import Covering
from mutants.outcome import KILLED, SURVIVED, UNCOVERED
from mutants.python_sites import mutants_of as python_mutants
from mutants.run import Sample, drawn, summary
from mutants.rust_sites import mutants_of as rust_mutants
from mutants.rust_tokens import tokens_of
from mutants.site import Mutant

PYTHON = '''\
"""A docstring of 1 line."""
from __future__ import annotations
import os
LIMIT = 3


def larger(a: int | None, é=0):
    """Not 2 of them."""
    assert a is not None
    if a > é and not os.sep:
        a += 1
    print("é", a + é)
    return max(a, é)
'''


def changes(mutants: list[Mutant], source: str) -> list[str]:
    """What each mutant changes, in one line."""
    return [" → ".join(line[2:] for line in mutant.diff(source)) for mutant in mutants]


def test_mutants_of_python() -> None:
    found = changes(python_mutants("a.py", PYTHON), PYTHON)
    condition = "if a > é and not os.sep: → "
    assert sorted(found) == sorted(
        [
            "LIMIT = 3 → LIMIT = (4)",
            "LIMIT = 3 → LIMIT = (2)",
            "def larger(a: int | None, é=0): → def larger(a: int | None, é=(1)):",
            "def larger(a: int | None, é=0): → def larger(a: int | None, é=(-1)):",
            condition + "if not (a > é and (not os.sep)):",
            condition + "if (a > é or not os.sep):",
            condition + "if (a >= é) and not os.sep:",
            condition + "if (a <= é) and not os.sep:",
            condition + "if a > é and (os.sep):",
            "a += 1 → pass",
            "a += 1 → a -= 1",
            "a += 1 → a += (2)",
            "a += 1 → a += (0)",
            'print("é", a + é) → pass',
            'print("é", a + é) → print("é", (a - é))',
            "return max(a, é) → return None",
            "return max(a, é) → return (min)(a, é)",
        ]
    )


def test_every_mutant_of_this_package_parses() -> None:
    path = REPO / "python" / "tfrecs" / "dataset" / "distributed" / "shard_iterator.py"
    source = path.read_text()
    mutants = python_mutants("shard_iterator.py", source)
    assert len(mutants) > 100
    for mutant in mutants:
        changed = mutant.applied(source)
        ast.parse(changed)
        assert changed != source


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TypeVar\nT = TypeVar('T', bound=1 + 1)",
        "class P(Protocol):\n    def f(self) -> int:\n        return 1",
        "@overload\ndef f(a: int = 1) -> int: ...",
        "if TYPE_CHECKING:\n    A = 1",
        "Alias: TypeAlias = int | None",
        "__all__ = sorted(['a'] + ['b'])",
    ],
)
def test_types_are_no_mutants(source: str) -> None:
    assert python_mutants("a.py", source) == []


RUST = """\
//! Text with 1 < 2.
#[derive(Clone)]
struct A<'a, T: Copy + 'a>(&'a [T; 3]);

/* 1 < 2 /* nested */ 1 < 2 */
#[cfg(windows)]
fn elsewhere() -> bool { 1 < 2 }

impl<'a, T: Copy> A<'a, T> {
    /// How many.
    pub fn len(&self, text: &str) -> usize {
        let (quote, raw) = ('"', r#"1 < 2"#);
        self.note(quote, raw);
        if !text.is_empty() && self.0.len() <= 7_u8 {
            return 0;
        }
        self.0.len().min(0x1f)
    }
}

#[cfg(test)]
mod tests {
    fn not() -> bool { 1 < 2 }
}
"""


def test_mutants_of_rust() -> None:
    found = changes(rust_mutants("a.rs", RUST), RUST)
    condition = "if !text.is_empty() && self.0.len() <= 7_u8 { → "
    emptied = [change for change in found if "default" in change.lower()]
    assert len(emptied) == 1
    assert sorted(set(found) - set(emptied)) == sorted(
        [
            "struct A<'a, T: Copy + 'a>(&'a [T; 3]); → struct A<'a, T: Copy + 'a>(&'a [T; 4]);",
            "struct A<'a, T: Copy + 'a>(&'a [T; 3]); → struct A<'a, T: Copy + 'a>(&'a [T; 2]);",
            "self.note(quote, raw); → ",
            condition + "if text.is_empty() && self.0.len() <= 7_u8 {",
            condition + "if !text.is_empty() || self.0.len() <= 7_u8 {",
            condition + "if !text.is_empty() && self.0.len() < 7_u8 {",
            condition + "if !text.is_empty() && self.0.len() > 7_u8 {",
            condition + "if !text.is_empty() && self.0.len() <= 8u8 {",
            condition + "if !text.is_empty() && self.0.len() <= 6u8 {",
            "return 0; → return 1;",
            "self.0.len().min(0x1f) → self.0.len().max(0x1f)",
            "self.0.len().min(0x1f) → self.0.len().min(32)",
            "self.0.len().min(0x1f) → self.0.len().min(30)",
        ]
    )


def test_all_rust_of_the_core_has_tokens() -> None:
    files = sorted((REPO / "crates" / "core" / "src").rglob("*.rs"))
    assert len(files) > 80
    for path in files:
        source = path.read_text()
        assert all(source[it.begin : it.end] == it.text for it in tokens_of(source)), path


def test_modules_of_tests_are_no_mutants() -> None:
    paths = {mutant.path for mutant in rust_runs.all_rust()}
    assert "crates/core/src/record/read/unread.rs" in paths
    assert not {path for path in paths if path.endswith(("tests.rs", "agreement.rs"))}


def test_every_part_of_the_core_has_python_tests() -> None:
    for path in {mutant.path for mutant in rust_runs.all_rust()}:
        assert rust_runs.python_tests(path), path
    names = " ".join(rust_runs.PARTS.values()).split()
    assert all((REPO / "tests" / name).exists() for name in names)


# --- Runs ---


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of one module, and tests that see some of its mutants."""
    package = tmp_path / "python" / "tfrecs"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        textwrap.dedent("""
            def most(a, b):
                return max(a, b)

            def often(a):
                while a < 3:
                    a += 1
                return a

            def unused():
                return 1
        """)
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_toy.py").write_text(
        "import tfrecs\n"
        "def test_most(): assert tfrecs.most(1, 2) == 2\n"
        "def test_often(): assert tfrecs.often(0) > 0\n"
    )
    monkeypatch.setattr(python_runs, "REPO", tmp_path)
    monkeypatch.setattr(covering, "REPO", tmp_path)
    monkeypatch.setattr(python_runs, "package_copy", lambda name: tmp_path)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    return tmp_path


COVERING = Covering(
    {"tests/test_toy.py::test_most": 0.1, "tests/test_toy.py::test_often": 0.1},
    {
        "python/tfrecs/__init__.py": {
            3: ["tests/test_toy.py::test_most"],
            6: ["tests/test_toy.py::test_often"],
            7: ["tests/test_toy.py::test_often"],
            8: ["tests/test_toy.py::test_often"],
        }
    },
)


def test_toy_mutants_are_judged(toy: Path) -> None:
    runs = python_runs.PythonRuns("toy", COVERING)
    place = toy / "python" / "tfrecs" / "__init__.py"
    source = place.read_text()
    found = {}
    for mutant in python_runs.all_python():
        (change,) = changes([mutant], source)
        if "pass" not in change and "a += (0)" not in change and "-=" not in change:  # endless
            found[change] = runs.run(mutant)
        assert place.read_text() == source
    assert found["return max(a, b) → return (min)(a, b)"].result == KILLED
    assert found["return max(a, b) → return (min)(a, b)"].by == "tests/test_toy.py::test_most"
    assert found["while a < 3: → while (a <= 3):"].result == SURVIVED
    assert found["while a < 3: → while (a >= 3):"].by == "tests/test_toy.py::test_often"
    assert found["return 1 → return None"].result == UNCOVERED


def test_tests_are_found_by_line_or_in_changed_files_by_file() -> None:
    path = "python/tfrecs/__init__.py"
    assert COVERING.tests(path, 3, 3) == ["tests/test_toy.py::test_most"]
    assert COVERING.tests(path, 4, 5) == []
    assert len(COVERING.tests_of_file(path)) == 2
    changed = Covering(COVERING.seconds, COVERING.lines, {path})
    assert len(changed.tests(path, 4, 5)) == 2


def test_a_default_is_tested_by_the_tests_of_its_function(toy: Path) -> None:
    """It is evaluated at import, which coverage counts for one test alone."""
    place = toy / "python" / "tfrecs" / "__init__.py"
    place.write_text("def most(a, b, c=2):\n    return max(a, b, c)\n")
    (toy / "tests" / "test_toy.py").write_text(
        "import tfrecs\n"
        "def test_name(): assert tfrecs.most\n"
        "def test_most(): assert tfrecs.most(0, 0) == 2\n"
    )
    name, most = "tests/test_toy.py::test_name", "tests/test_toy.py::test_most"
    lines = {"python/tfrecs/__init__.py": {1: [name], 2: [most]}}
    runs = python_runs.PythonRuns("toy", Covering({name: 0.1, most: 0.1}, lines))
    (mutant,) = (it for it in python_runs.all_python() if "add 1" in it.what)
    assert runs.run(mutant).by == most


def test_tests_that_are_gone_are_left_out(toy: Path) -> None:
    seconds = {"tests/test_toy.py::test_most": 1.0, "tests/test_toy.py::test_renamed": 2.0}
    assert covering._present(seconds) == {"tests/test_toy.py::test_most": 1.0}


def test_what_a_killed_process_has_measured_is_left_out(tmp_path: Path) -> None:
    needs.found("coverage")
    (tmp_path / "a.data.host.pid1.x").write_bytes(b"SQLite format 3\0" + bytes(5000))
    (tmp_path / "a.tests").write_text('["tests/test_a.py::test_a", 1.5, "passed"]\n' * 2)
    found = covering._gathered(tmp_path, tmp_path)
    assert found == {"tests": ["tests/test_a.py::test_a"], "seconds": [3.0], "lines": {}}


def test_an_endless_mutant_ends(tmp_path: Path) -> None:
    """With the processes that it has started."""
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    begin = time.monotonic()
    done = processes.run([sys.executable, "-c", script], dict(os.environ), tmp_path, 1.0)
    assert done.code is None
    assert time.monotonic() - begin < 30
    assert outcome.killer(done) == "the time limit"


def test_the_test_that_fails_is_named() -> None:
    for text, name in {
        "..F\nFAILED tests/a.py::b - assert": "tests/a.py::b",
        "test record::a ... FAILED\n": "record::a",
        "thread 'order::b' (12) panicked at": "order::b",
        "Segmentation fault": "exit code 1: Segmentation fault",
    }.items():
        assert outcome.killer(processes.Done(1, text)) == name


def test_a_sample_is_repeated_by_its_seed() -> None:
    mutants = python_mutants("a.py", PYTHON)
    assert list(drawn(mutants, 1)) == list(drawn(mutants, 1)) != list(drawn(mutants, 2))
    assert sorted(drawn(mutants, 1)) == mutants


def test_a_sample_counts() -> None:
    """What is registered, or does not compile, is passed over."""
    path = "python/tfrecs/dataset/distributed/shard_iterator.py"
    source = (REPO / path).read_text()
    mutants = python_mutants(path, source)[:6]
    entry = "\n".join([path, *mutants[0].diff(source), "= it is a test"])
    sample = Sample(mutants, 3, register.Register(entry))
    results = [outcome.INVALID, KILLED, SURVIVED, KILLED]
    sample.work(lambda mutant: outcome.Outcome(mutant, results.pop(0), "x", 1.0))
    assert [it.mutant for it in sample.outcomes] == mutants[2:5]
    said = summary("python", 7, sample)
    assert "SEED=7: 3 judged, 2 killed, 1 live (33.3 %)" in said
    assert "1 registered as equivalent, 1 that do not compile" in said


def test_the_register_names_mutants_there_are() -> None:
    every: dict[str, set[tuple[str, ...]]] = {}
    for entry in register.entries(register.REGISTER.read_text()):
        source = (REPO / entry.path).read_text()
        if entry.path not in every:
            of = python_mutants if entry.path.endswith(".py") else rust_mutants
            every[entry.path] = {tuple(it.diff(source)) for it in of(entry.path, source)}
        assert entry.diff in every[entry.path], f"{entry} is no mutant any more"


def test_an_entry_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="reason"):
        register.entries("a.py\n- a\n+ b")


def test_the_command_says_what_it_takes() -> None:
    command = [sys.executable, str(REPO / "tests" / "mutants" / "run.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--seed" in done.stdout
