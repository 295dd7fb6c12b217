"""Without memory: the answer or a MemoryError, never an abort, a panic or a wrong answer."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from faults.memory import OPERATIONS
from faults.run import run_script

# Megabytes between two tries; the figures of docs/reliability.md are of MEMORY_STEP=1.
STEP = os.environ.get("MEMORY_STEP", "7")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds to the limit")
@pytest.mark.parametrize("name", OPERATIONS)
def test_less_and_less_memory(name: str, tmp_path: Path) -> None:
    # With a backtrace a panic prints more, which takes memory.
    said = run_script("memory.py", name, tmp_path, STEP, RUST_BACKTRACE="1")
    assert said["wrong"] == {}
    assert said["tries"] >= 3
