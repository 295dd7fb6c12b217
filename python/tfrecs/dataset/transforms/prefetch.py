"""prefetch(): elements are made before they are asked for."""

from __future__ import annotations

from dataclasses import dataclass

from tfrecs.dataset.plan.node import Step, Traits
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved
from tfrecs.dataset.stages.worker_threads import Ahead, Plan

# A buffer of more elements holds the whole dataset: it needs a limit in bytes.
MOST_AHEAD = 1_000_000


@dataclass(frozen=True, eq=False)
class Prefetch(
    Step,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=True),
):
    """The elements of the source, up to `count` of them made ahead on a thread.

    With `max_bytes` fewer are, where they would take more together; one always may be.
    """

    count: int
    max_bytes: int | None = None

    def describe(self) -> str:
        """Return the call, without the numbers: they make no difference to what comes."""
        return "  .prefetch()"

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        plan = Plan(1, self.count, max_bytes=self.max_bytes)
        return Ahead(plan, start(self.source, run, saved), run.meters.of(self))
