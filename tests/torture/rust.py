"""Tests of the core as rows of the table: they print how many cases they have tried."""

import os
import re
import subprocess
from pathlib import Path

REPO = Path(__file__).parents[2]


def run_tests(*names: str, **environment: str) -> tuple[int, list[str]]:
    """Run tests of crates/core/tests; add up what they print as `123 cases`, or files."""
    chosen = [option for name in names for option in ("--test", name)]
    return _added_up([*chosen, "--", "--nocapture"], environment)


def run_tests_within(module: str) -> tuple[int, list[str]]:
    """As run_tests(): the tests of a module of crates/core/src, or those whose path begins so."""
    return _added_up(["--lib", "--", "--nocapture", module], {})


def _added_up(options: list[str], environment: dict[str, str]) -> tuple[int, list[str]]:
    command = ["cargo", "test", "--quiet", "--locked", "--release", "--package", "tfrecs-core"]
    done = subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPO,
        env={**os.environ, **environment},
    )
    cases = sum(map(int, re.findall(r"\b(\d+) (?:cases\b|files: )", done.stdout + done.stderr)))
    if done.returncode == 0 and cases:
        return cases, []
    return cases, [(done.stdout + done.stderr)[-2000:]]
