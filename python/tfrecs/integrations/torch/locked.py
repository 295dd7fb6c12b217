"""A file that one process at a time may change, on any system."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

# Where Windows locks: a byte far after what is written, since nobody may read one that is locked.
PLACE = 1 << 30
# Seconds between two attempts, where nothing waits by itself.
PAUSE = 0.002

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        while True:
            file.seek(PLACE)
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            except OSError:
                # Another process has it. (LK_LOCK would look once a second, and ten times only.)
                time.sleep(PAUSE)
            else:
                return

    def _unlock(file: IO[bytes]) -> None:
        file.seek(PLACE)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[IO[bytes]]:
    """Give the file, unbuffered, at its beginning; others wait until the block ends."""
    with path.open("a+b", buffering=0) as file:
        _lock(file)
        try:
            file.seek(0)
            yield file
        finally:
            _unlock(file)
