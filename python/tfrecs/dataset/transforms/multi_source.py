"""What steps with several sources share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State


@dataclass(frozen=True, eq=False)
class Several(Node, traits=None):
    """A step over several sources, side by side or one after the other."""

    parts: tuple[Node, ...]

    @property
    def sources(self) -> tuple[Node, ...]:
        """All of them."""
        return self.parts


class Stages(Stage):
    """A stage over several that all run."""

    def __init__(self, parts: Sequence[Node], run: Run, saved: Saved | None) -> None:
        """Start all of them."""
        inner: Sequence[Saved | None] = [None] * len(parts)
        if saved is not None:
            inner = saved.children("sources", len(parts), len(parts))
        self._sources = [start(part, run, one) for part, one in zip(parts, inner, strict=True)]

    @abstractmethod
    def __next__(self) -> Any:
        """Return the next element."""

    def state(self) -> State:
        """Return where all sources are."""
        return {"sources": [source.state() for source in self._sources]}

    def close(self) -> None:
        """Close all sources."""
        for source in self._sources:
            source.close()
