"""Without memory: the answer or a MemoryError, never an abort, a panic or a wrong answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults.memory import OPERATIONS

SWEEP = Path(__file__).parent / "faults" / "memory.py"

# How many megabytes lie between two tries; MEMORY_STEP=1 is what docs/reliability.md tells of.
STEP = os.environ.get("MEMORY_STEP", "7")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds to the limit")
@pytest.mark.parametrize("name", OPERATIONS)
def test_less_and_less_memory(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SWEEP, name, tmp_path, STEP],
        env={**os.environ, "RUST_BACKTRACE": "1"},  # a panic would print more, which takes memory
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["wrong"] == {}
    assert said["tries"] >= 3
