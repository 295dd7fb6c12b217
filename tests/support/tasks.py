"""How many threads of the core a process has, as Linux lists them."""

import time
from contextlib import suppress
from pathlib import Path

import pytest

TASKS = Path("/proc/self/task")
needs_proc = pytest.mark.skipif(not TASKS.exists(), reason="threads are counted by /proc")


def names() -> list[str]:
    """The names of the threads that are listed now, those of other libraries included."""
    found = []
    for task in TASKS.iterdir() if TASKS.exists() else ():
        with suppress(OSError):  # it may have ended since
            found.append((task / "comm").read_text())
    return found


def own_threads() -> int:
    """How many threads are listed now."""
    return sum(name.startswith("tfrecs-") for name in names())


def has_threads(count: int) -> bool:
    """Whether there are soon that many: at first one has no name yet, and one that was joined is
    listed for some milliseconds still.
    """
    until = time.monotonic() + 10
    while own_threads() != count and time.monotonic() < until:
        time.sleep(0.001)
    return own_threads() == count
