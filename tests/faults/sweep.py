"""Runs an operation again and again, and lets another read of its files fail each time.

A process of its own, into which reads.c is loaded. It prints a line of JSON: each answer that is
neither complete nor an error that says where, and how many were tried.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import tfrecs
from faults.operations import OPERATIONS, make_data

SHORT = 0
ERRORS = (errno.EIO, errno.ESTALE, errno.EAGAIN)

shim = ctypes.CDLL(None)
shim.fault_calls.restype = ctypes.c_long


def set_fault(folder: Path, number: int, *, forever: bool, code: int) -> None:
    shim.fault_set(str(folder).encode(), ctypes.c_long(number), int(forever), code)


class Sweep:
    """One operation on one kind of file, in a folder of its own."""

    def __init__(self, name: str, folder: Path, kind: str) -> None:
        """Make the data, and the answer without any fault."""
        self.run = OPERATIONS[name]
        self.data, self.work = folder / "data", folder / "work"
        self.data.mkdir()
        self.work.mkdir()
        make_data(self.data, kind)
        self.before = set(self.data.iterdir())
        self.answer = self._answer()
        self.tries = self.reads = 0

    def _clean(self) -> None:
        for path in [*self.work.iterdir(), *(set(self.data.iterdir()) - self.before)]:
            path.unlink()

    def _answer(self) -> Any:
        self._clean()
        found = self.run(self.data)
        self._clean()
        return found

    def wrong(self, number: int, *, forever: bool, code: int) -> Iterator[str]:
        """Yield what is wrong when this read fails."""
        self._clean()
        set_fault(self.data, number, forever=forever, code=code)
        found, error = self._outcome()
        set_fault(self.data, -1, forever=False, code=0)
        if error is not None:
            yield from self._wrong_error(error, code)
            return
        if found != self.answer:
            yield f"a wrong answer: {summary(found)}, not {summary(self.answer)}"
        if self.run(self.data) != self.answer:
            yield "a wrong answer afterwards, from what was saved"

    def _outcome(self) -> tuple[Any, Exception | None]:
        try:
            return self.run(self.data), None
        except Exception as error:  # noqa: BLE001 - whatever it is, it is judged
            return None, error

    def _wrong_error(self, error: Exception, code: int) -> Iterator[str]:
        if code == SHORT:
            yield f"an error after a short read: {error!r}"
        if not isinstance(error, tfrecs.Error):
            yield f"an error that is none of ours: {error!r}"
            return
        if error.path is None or error.offset is None:
            yield f"an error that does not say where: {error!r}"
        if getattr(error, "errno", None) != code:
            yield f"another error: {error!r}"
        if left := set(self.data.iterdir()) - self.before:
            yield f"something was saved: {left}"

    def all(self, most: int) -> Iterator[str]:
        """Let every read fail in every way; of EIO and its kind, at most that many reads."""
        self._reads_without_fault()
        for code in (*ERRORS, SHORT):
            for forever in (False, True):
                for number in spread(self.reads, most if code == errno.EIO else most // 4):
                    self.tries += 1
                    for text in self.wrong(number, forever=forever, code=code):
                        how = "from then on" if forever else "once"
                        name = errno.errorcode.get(code, "short")
                        yield f"read {number} of {self.reads}, {name} {how}: {text}"

    def _reads_without_fault(self) -> None:
        self._clean()
        set_fault(self.data, -1, forever=False, code=0)
        self.run(self.data)
        self.reads = shim.fault_calls()


def spread(count: int, most: int) -> list[int]:
    """Return all numbers below `count`; of many the first and last ones, and some between.

    With FAULT_SEED, which `make soak` sets, it is any of them.
    """
    if count <= most:
        return list(range(count))
    if seed := os.environ.get("FAULT_SEED"):
        return sorted(random.Random(f"{seed} {count}").sample(range(count), most))
    begin = most // 3
    step = (count - 2 * begin) / (most - 2 * begin)
    between = [begin + int(step * n) for n in range(most - 2 * begin)]
    return sorted({*range(begin), *between, *range(count - begin, count)})


def summary(found: Any) -> str:
    size = len(found) if hasattr(found, "__len__") else None
    return repr(found)[:60] + ("" if size is None else f" ({size})")


def main() -> None:
    name, folder, kind = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    warnings.simplefilter("ignore")
    sweep = Sweep(name, folder, kind)
    wrong = list(sweep.all(int(sys.argv[4])))
    print(json.dumps({"wrong": wrong, "tries": sweep.tries}))  # noqa: T201


if __name__ == "__main__":
    main()
