"""What is known of a pass while it runs, and after its end."""

from __future__ import annotations

import logging
from time import perf_counter

from tfrecs._internal.logging import logger
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.run.timings import DatasetTimings, timings_of
from tfrecs.dataset.stages.stage import Run


class PassLog:
    """A pass as others see it: it outlives the pass, and holds none of its threads and files."""

    def __init__(self, node: Node, run: Run) -> None:
        """Know nothing yet."""
        self._node = node
        self.renew(run)

    def renew(self, run: Run) -> None:
        """Begin again: the pass continues from a state."""
        self._run = run
        self._begun: float | None = None
        self._ended: float | None = None

    def begin(self) -> None:
        """Note that the first element is asked for."""
        self._begun = perf_counter()
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("epoch %d of %s begins", self._run.epoch, self._name)

    @property
    def _name(self) -> str:
        first = next(self._node.lines()).splitlines()[0]
        return f"{first} … {self._node.describe().splitlines()[0].strip()}"

    def end(self) -> None:
        """Note that nothing comes any more."""
        if self._begun is None or self._ended is not None:
            return
        self._ended = perf_counter()
        if logger.isEnabledFor(logging.DEBUG):
            self._tell(self.timings())

    def _tell(self, timings: DatasetTimings) -> None:
        logger.debug(
            "epoch %d of %s ends: %d elements in %.3f s, %.0f records/s, %.1f MB/s",
            self._run.epoch,
            self._name,
            timings.elements,
            timings.seconds,
            timings.records_per_second,
            timings.bytes_per_second / 1e6,
        )

    def timings(self) -> DatasetTimings:
        """Return what the pass has given so far."""
        now = perf_counter() if self._ended is None else self._ended
        seconds = 0.0 if self._begun is None else now - self._begun
        return timings_of(self._node, self._run.epoch, self._run.meters, seconds)
