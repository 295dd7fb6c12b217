"""Passes over damaged files: what is skipped, and who hears of it."""

import os
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

from tfrecs import _core
from tfrecs._internal.logging import logger
from tfrecs.dataset.plan.losses import Losses
from tfrecs.dataset.stages.stage import Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import SpecError
from tfrecs.records.salvage import SkippedRegion


class Skipping(Iterator[Any]):
    """The batches of a scan; what it skips is counted and told."""

    def __init__(
        self,
        scan: _core.Scan,
        losses: Losses,
        on_skip: Callable[[str, SkippedRegion], object] | None,
    ) -> None:
        """Iterate over the batches of `scan`."""
        self._scan = scan
        self._losses = losses
        self._on_skip = on_skip

    def __next__(self) -> Any:
        """Return the next batch."""
        try:
            return next(self._scan)
        finally:
            for path, begin, end, reason in self._scan.take_skipped():
                region = SkippedRegion(begin, end, reason)
                self._losses.add(os.fspath(path), region)
                logger.warning("%s: skipped bytes %d to %d: %s", path, begin, end, reason)
                if self._on_skip is not None:
                    self._on_skip(os.fspath(path), region)

    def count_in(self, meter: _core.Meter) -> None:
        """Count what comes from now on in `meter`."""
        self._scan.count_in(meter)

    def close(self) -> None:
        """Stop the threads."""
        self._scan.close()


def checked_choice(on_corrupt: str, on_skip: object) -> str:
    """Return what to do about damage.

    Raises:
        SpecError: There is no such choice, or nothing would ever be reported.
    """
    if on_corrupt not in {"raise", "skip"}:
        raise SpecError(f'on_corrupt must be "raise" or "skip", not {on_corrupt!r}')
    if on_skip is not None and on_corrupt != "skip":
        raise SpecError('on_skip is for on_corrupt="skip": what is raised is not skipped')
    return on_corrupt


class Replayed(Stage):
    """What is read of damaged files, in batches or one by one.

    Damaged files have no index; so it begins again by reading again.
    """

    def __init__(
        self,
        native: "_core.Scan | Skipping",
        make: Callable[[Any], Any],
        saved: Saved | None,
        *,
        one_by_one: bool,
    ) -> None:
        """Begin at the beginning, and continue to where a state says."""
        self._native = native
        self._each = chain.from_iterable(native) if one_by_one else native
        self._make = make
        self._at = 0
        if saved is not None:
            self.skip(saved.only(["at"]).integer("at"))

    def __next__(self) -> Any:
        """Return the next one."""
        one = next(self._each)
        self._at += 1
        return self._make(one)

    def skip(self, n: int) -> None:
        """Leave out what is next, without parsing it one by one."""
        self._at += sum(1 for _ in islice(self._each, n))

    def state(self) -> State:
        """Return how many there were."""
        return {"at": self._at}

    def close(self) -> None:
        """Stop the threads."""
        self._native.close()
