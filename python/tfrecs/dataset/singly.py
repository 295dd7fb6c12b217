"""Records of files one by one, up to damage: where many at a time give nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tfrecs.records import RecordReader, Records


class Singly(Iterator[Records]):
    """Batches of one record, behind `at` of them. It may be closed while another thread reads."""

    def __init__(self, paths: Sequence[str], at: int, *how: Any, **limits: Any) -> None:
        """Begin with the first file; `how` and `limits` are as for RecordReader."""
        self._paths = iter(paths)
        self._at = at
        self._how, self._limits = how, limits
        self._reader: RecordReader | None = None
        self._reads = threading.Lock()
        self._is_closed = False

    def __next__(self) -> Records:
        """Return the next record."""
        with self._reads:
            try:
                records = self._next()
            except BaseException:
                self._is_closed = True
                raise
            finally:
                if self._is_closed:
                    self._leave()
        return records

    def _next(self) -> Records:
        while not self._is_closed:
            if self._reader is None:
                self._reader = RecordReader(next(self._paths), *self._how, **self._limits)
            records = self._reader.read_batch(1)
            if not len(records):
                self._leave()
            elif self._at:
                self._at -= 1
            else:
                return records
        raise StopIteration

    def _leave(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def close(self) -> None:
        """Close the file, or have who reads close it."""
        self._is_closed = True
        if self._reads.acquire(blocking=False):
            try:
                self._leave()
            finally:
                self._reads.release()
