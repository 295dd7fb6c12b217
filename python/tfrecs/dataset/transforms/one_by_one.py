"""What steps share that make one element of each of their source's."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from tfrecs.dataset.plan.node import Step
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import Made, Run, Stage
from tfrecs.dataset.stages.state import Saved


class OneByOne(Step, traits=None):
    """A step that makes one element of each of its source's."""

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        return Made(self.make, start(self.source, run, saved))

    @abstractmethod
    def make(self, element: Any) -> Any:
        """Return what is made of an element."""
