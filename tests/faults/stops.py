"""Overwrites a set of shards again and again, and stops the writer at another call each time.

A process of its own, into which names.c is loaded; each try is a fork. It prints a line of JSON:
what is wrong with what readers see then, and how many were tried.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import tfrecs
from faults.sets import WAYS, seen

KILL = 0
shim = ctypes.CDLL(None)
shim.names_calls.restype = ctypes.c_long


def in_a_fork(
    work: Callable[[Path], None], folder: Path, number: int, code: int
) -> tuple[int, int]:
    """Return how it ended, and how many calls there were, if it did by itself."""
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        shim.names_set(ctypes.c_long(number), code)
        try:
            work(folder)
            status = 0
        except tfrecs.Error:
            status = 2
        finally:
            calls = shim.names_calls()
            shim.names_set(ctypes.c_long(-1), 0)
            os.write(mouth, b"%d" % calls)
            os._exit(status)
    os.close(mouth)
    said = os.read(ear, 100)
    os.close(ear)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(said or 0)


class Stops:
    """One way to overwrite a set, in a folder of its own."""

    def __init__(self, name: str, work: Path) -> None:
        """Write what is there before."""
        self.write, self.overwrite = WAYS[name]
        self.work, self.before = work / "set", work / "before"
        self.before.mkdir()
        self.write(self.before)
        self.is_new = not any(self.before.iterdir())
        self.outcomes: Counter[str] = Counter()

    def _restore(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.before, self.work)

    def wrong(self, number: int, code: int) -> Iterator[str]:
        """Yield what is wrong when the writer is stopped at this call."""
        self._restore()
        status, _ = in_a_fork(self.overwrite, self.work, number, code)
        if status not in {0, 2, -9}:
            yield f"the writer ended with {status}"
        outcome = seen(self.work)
        self.outcomes[outcome] += 1
        good = {"old", "new", "refused"}
        if outcome not in good:
            yield f"a reader sees {outcome}"
        journals = [*self.work.glob(".*.journal")]
        if status == 2 and not journals and tfrecs.leftovers(self.work):
            yield f"something was left: {tfrecs.leftovers(self.work)}"
        for left in tfrecs.leftovers(self.work):
            left.remove()  # what a journal names is none
        tfrecs.repair(self.work)
        outcome = seen(self.work)
        if outcome not in good or (outcome == "refused" and not self.is_new):
            yield f"after repair() a reader sees {outcome}"
        self.overwrite(self.work)
        outcome = seen(self.work)
        if outcome != "new":
            yield f"after the next run a reader sees {outcome}"
        if journals := [*self.work.glob(".*.journal")]:
            yield f"journals are left: {journals}"

    def all(self) -> Iterator[str]:
        """Stop at every call, in both ways."""
        self._restore()
        status, self.calls = in_a_fork(self.overwrite, self.work, -1, KILL)
        if status != 0:
            yield f"it fails without a fault: {status}"
        for code in (KILL, errno.EIO):
            for number in range(self.calls):
                how = "killed" if code == KILL else "EIO"
                for text in self.wrong(number, code):
                    yield f"call {number} of {self.calls}, {how}: {text}"


def main() -> None:
    """Run one way; the answer goes to standard output."""
    stops = Stops(sys.argv[1], Path(sys.argv[2]))
    wrong = list(stops.all())
    sys.stdout.write(
        json.dumps({"wrong": wrong, "tries": 2 * stops.calls, "outcomes": stops.outcomes})
    )


if __name__ == "__main__":
    main()
