"""Which epoch a pass of a DataLoader is, counted by all of its worker processes together.

A worker has a copy of the dataset, made before it began, so what the parent counts, or another
worker, does not reach it. Nor can each worker count for itself: one that was slow to start may have
missed a pass that was given up early. So they count in a small file: who comes first to a pass
notes it there, and the others find it.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tfrecs.integrations.torch.locked import locked

# How many passes and processes are remembered: more than anybody runs side by side.
MOST = 64


class Begin(NamedTuple):
    """Where a pass begins: its epoch, and how many elements of that were given before."""

    epoch: int
    base: int = 0


@dataclass(frozen=True)
class Pass:
    """A pass as each of the workers that share it sees it.

    Attributes:
        seed: What the loader has drawn for it.
        number: Its number in each of the workers, which may be kept for several.
        num_workers: How many they are.
        worker: Which one this is.
        cohort: A number that is nearly the same in all of them.
    """

    seed: int
    number: int
    num_workers: int
    worker: int
    cohort: int

    def is_of(self, noted: dict[str, Any]) -> bool:
        """Whether it is the pass that another worker has noted."""
        return (
            noted["pass"] == [self.seed, self.number, self.num_workers]
            and self.worker not in noted["workers"]
            # With the same random seed set before each pass, only this tells them apart.
            and abs(noted["cohort"] - self.cohort) < self.num_workers
        )


def cohort_of(worker: int) -> int:
    """Return a number that is nearly the same in all workers of a pass.

    Processes have numbers in their names, and those of a pass are started one after the other.
    """
    found = re.search(r"(\d+)$", multiprocessing.current_process().name)
    return (int(found[1]) if found else 0) - worker


class Epochs:
    """Counts the passes over a dataset, each process and its workers for themselves."""

    def __init__(self, start: int) -> None:
        """Count on from epoch `start`."""
        file, name = tempfile.mkstemp(prefix="tfrecs-epochs-")
        os.close(file)
        self._start, self._path = start, Path(name)
        weakref.finalize(self, _remove, self._path, os.getpid())

    def __getstate__(self) -> dict[str, Any]:
        """Count in the same file in another process; it is the first one's to remove."""
        return self.__dict__.copy()

    def next(self, this: Pass | None) -> Begin:
        """Return where a pass begins, in a worker or without any."""
        with self._noted(this) as noted:
            if this is None:
                return self._count(noted)
            for one in reversed(noted["passes"]):
                if this.is_of(one):
                    one["workers"].append(this.worker)
                    return Begin(*one["begin"])
            begin = self._count(noted)
            key = [this.seed, this.number, this.num_workers]
            one = {"pass": key, "cohort": this.cohort, "workers": [this.worker], "begin": begin}
            noted["passes"] = [*noted["passes"], one][-MOST:]
            return begin

    def _count(self, noted: dict[str, Any]) -> Begin:
        begin = Begin(*noted["next"])
        noted["next"] = Begin(begin.epoch + 1)
        return begin

    def go_on(self, epoch: int, base: int = 0, *, in_worker: bool) -> None:
        """Let the pass that begins next be `epoch`, after its first `base` elements."""
        with self._noted(in_worker) as noted:
            noted["next"] = Begin(epoch, base)

    @contextlib.contextmanager
    def _noted(self, in_worker: object) -> Iterator[dict[str, Any]]:
        """Give what is noted for this process, or for the parent of this worker, and keep it."""
        parent = multiprocessing.parent_process() if in_worker else None
        whose = str(os.getpid() if parent is None else parent.pid)
        with locked(self._path) as file:
            everything = json.loads(file.read() or "{}")
            noted = everything.pop(whose, None) or {"next": Begin(self._start), "passes": []}
            yield noted
            everything[whose] = noted
            file.seek(0)
            file.truncate()
            file.write(json.dumps(dict(list(everything.items())[-MOST:])).encode())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        # Elsewhere a file that a worker has open just now cannot be removed.
        with contextlib.suppress(OSError):
            path.unlink()
