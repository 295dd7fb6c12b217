"""A little of what `make torture` does at length: writers that are killed, or interrupted."""

import os
import sys

import pytest

from torture import interrupts, kills

posix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="it is forks that are killed")


@posix_only
def test_kill_9_at_random_times() -> None:
    cases, failures = kills.run(60, seed=int(os.environ.get("SEED", "1")))
    assert (cases, failures) == (60, [])


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_ctrl_c_at_random_times() -> None:
    """How soon it is heard is not judged here, where the machine may be busy."""
    cases, failures = interrupts.run(16, seed=int(os.environ.get("SEED", "1")), longest=30.0)
    assert (cases, failures) == (16, [])
