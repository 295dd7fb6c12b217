"""`make soak`: new seeds, printed, until the time is over or something fails."""

import shlex
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import soak
from soak import Outcome, Suite

FAILS_AT_3 = "import os, sys; seed = int(sys.argv[1]); assert seed != int(os.environ['BAD']), seed"
TOY = Suite("toy", (sys.executable, "-c", FAILS_AT_3, "{seed}"), {"BAD": "3"})


def test_a_failure_ends_it_and_is_repeated_by_the_command_it_prints() -> None:
    said: list[str] = []
    assert soak.soak([TOY], 60, count(1), said.append) == 1
    assert [line for line in said if line.endswith(("seed 1", "seed 2", "seed 3"))] == [
        f"soak: toy, seed {seed}" for seed in (1, 2, 3)
    ]
    assert "AssertionError: 3" in said[-2]
    again = shlex.split(said[-1].splitlines()[-1])
    done = subprocess.run(again, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "AssertionError: 3" in done.stderr


def test_it_ends_when_the_time_is_over() -> None:
    said: list[str] = []

    def attempt(suite: Suite, seed: int, seconds: float) -> Outcome:
        time.sleep(seconds)
        return Outcome(0, "")

    assert soak.soak([TOY], 0.1, count(10), said.append, attempt) == 0
    assert said[0] == "soak: toy, seed 10"
    assert said[-1] == "soak: passed 1"


def test_a_run_that_takes_too_long_is_stopped_with_its_processes(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    slow = Suite("slow", ("sh", "-c", f"(sleep 2; touch {shlex.quote(str(mark))}) & sleep 60"))
    assert soak.run(slow, 1, 0.3) == Outcome(None, "")
    time.sleep(2.5)
    assert not mark.exists()


def test_time_in_which_nothing_ends_is_no_success() -> None:
    said: list[str] = []
    slow = Suite("slow", (sys.executable, "-c", "import time; time.sleep(60)"))
    assert soak.soak([slow], 0.3, count(1), said.append) == 1
    assert said[-1] == "soak: passed 0"


def test_all_suites_take_turns_with_seeds_of_their_own() -> None:
    runs: list[tuple[str, int]] = []

    def attempt(suite: Suite, seed: int, seconds: float) -> Outcome:
        runs.append((suite.name, seed))
        return Outcome(int(seed == 7), "")

    assert soak.soak(soak.SUITES, 60, count(1), lambda text: None, attempt) == 1
    names = [suite.name for suite in soak.SUITES]
    assert runs == list(zip([*names, *names], range(1, 8), strict=False))


def test_every_suite_gets_its_seed_and_its_files_exist() -> None:
    for suite in soak.SUITES:
        assert "123456" in suite.repeat(123456)
        named = [part for part in suite.command if part.startswith("tests/")]
        assert all((soak.REPO / part).exists() for part in named)


def test_a_suite_that_cannot_run_here_is_left_out_with_a_line(tmp_path: Path) -> None:
    said: list[str] = []
    absent = Suite("absent", ("false",), needs=tmp_path / "nothing")
    assert soak.available([TOY, absent], said.append) == [TOY]
    assert said == [f"soak: leaving out absent: {tmp_path / 'nothing'} is missing"]


def test_seeds_differ() -> None:
    drawn = soak.seeds()
    assert len({next(drawn) for _ in range(100)}) == 100
