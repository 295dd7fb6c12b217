"""map() and filter(): Python functions of elements, or of batches, where they stand in a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.plan.node import Step, Traits, called, name_of
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import Saved
from tfrecs.dataset.stages.worker_threads import MOST_GIVEN, Ahead, Plan
from tfrecs.dataset.transforms.one_by_one import OneByOne


@dataclass(frozen=True, eq=False)
class Map(
    OneByOne,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=True),
):
    """What `function` makes of each element, on that many threads beside the caller's."""

    function: Callable[[Any], Any]
    num_threads: int
    ordered: bool = True

    @property
    def at_once(self) -> int:
        """How many threads call the function."""
        return max(self.num_threads, 1)

    def describe(self) -> str:
        """Return the call; how many threads there are makes no difference to what comes."""
        how = "" if self.ordered else ", ordered=False"
        return f"  .map({name_of(self.function)}{how})"

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin, on threads if there are to be any."""
        if not self.num_threads:
            return super().begin(run, saved)
        plan = Plan(self.num_threads, 2 * self.num_threads, self.make, self.ordered)
        given: list[int] = []
        if saved is not None and not self.ordered:
            given = saved.only(["source", "given"]).integers("given", MOST_GIVEN, MOST_GIVEN)
            saved = saved.child("source")
        source = start(self.source, run, saved)
        return Ahead(plan, source, run.meters.of(self), given)

    def make(self, element: Any) -> Any:
        """Call the function."""
        return called(self.function, element, self)


@dataclass(frozen=True, eq=False)
class Filter(
    Step,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """The elements of the source for which `predicate` is true."""

    predicate: Callable[[Any], Any]

    def describe(self) -> str:
        """Return the call."""
        return f"  .filter({name_of(self.predicate)})"

    def length(self) -> Length:
        """Return None: it is unknown."""
        return 0 if self.source.length() == 0 else None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin where the source does."""
        return _Filter(self, start(self.source, run, saved))


class _Filter(ChainedStage):
    def __init__(self, node: Filter, source: Stage) -> None:
        self._node = node
        super().__init__(source)

    def __next__(self) -> Any:
        for element in self._source:
            if called(self._node.predicate, element, self._node):
                return element
        raise StopIteration
