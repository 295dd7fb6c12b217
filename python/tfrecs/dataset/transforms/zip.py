"""zip(): elements of several datasets side by side."""

from __future__ import annotations

from typing import Any

from tfrecs.dataset.plan.node import Traits
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved
from tfrecs.dataset.transforms.multi_source import Several, Stages


class Zip(
    Several,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """Tuples of an element of each source, until one of them ends."""

    def describe(self) -> str:
        """Return the call."""
        return f"  .zip({len(self.parts) - 1} more)"

    def length(self) -> Length:
        """Return the least length."""
        lengths = [part.length() for part in self.parts]
        return None if None in lengths else min(length for length in lengths if length is not None)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with all of them."""
        return _Zip(self.parts, run, None if saved is None else saved.only(["sources"]))


class _Zip(Stages):
    def __next__(self) -> Any:
        made: list[Any] = []
        failed: Exception | None = None
        for source in self._sources:
            try:
                made.append(next(source))
            except StopIteration:
                raise
            except Exception as error:  # noqa: BLE001 - it is raised once all sources have advanced
                failed = failed or error
        if failed is not None:
            raise failed
        return tuple(made)

    def skip(self, n: int) -> None:
        """Leave out as many of each."""
        for source in self._sources:
            source.skip(n)
