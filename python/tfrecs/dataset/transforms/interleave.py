"""interleave(): elements of several datasets in turn, which a function makes of elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tfrecs.dataset.plan.node import Node, Step, Traits, called, name_of
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import StateError


@dataclass(frozen=True, eq=False)
class Interleave(
    Step,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=False),
):
    """`block` elements of each of `cycle` datasets in turn, which `make` makes of elements.

    The order is TensorFlow's: the place of a dataset that has ended is empty until its next turn,
    and then that of the next dataset.
    """

    function: Callable[[Any], Any]
    make: Callable[[Any], Node]
    cycle: int
    block: int

    def describe(self) -> str:
        """Return the call."""
        return f"  .interleave({name_of(self.function)}, {self.cycle}, {self.block})"

    @property
    def gives_records(self) -> bool:
        """Whether its elements are records: as far as can be seen, which is not what is made."""
        return True

    def length(self) -> Length:
        """Return None: it is unknown how long the datasets are."""
        return 0 if self.source.length() == 0 else None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first dataset, or those that a state says."""
        return _Interleave(self, run, saved)


@dataclass
class _Open:
    """A dataset that is being read, and where the source was before the element it is made of."""

    stage: Stage
    before: State


class _Interleave(Stage):
    def __init__(self, node: Interleave, run: Run, saved: Saved | None) -> None:
        self._node = node
        self._run = run.whole()
        self._inside = replace(self._run, meters=run.meters.inside(node))
        self._open: dict[int, _Open] = {}  # by place; a cycle may have more places than memory
        self._place, self._given, self._is_over = 0, 0, False
        inner = None
        if saved is not None:
            saved.only(["source", "open", "place", "given", "over"])
            inner = saved.child("source")
            self._place = saved.integer("place", most=node.cycle - 1)
            self._given = saved.integer("given", most=node.block)
            self._is_over = bool(saved.integer("over", most=1))
        self._source = start(node.source, self._run, inner)
        if saved is not None:
            self._reopen(saved)

    def _reopen(self, saved: Saved) -> None:
        for one in saved.children("open", 0, self._node.cycle):
            place = one.only(["place", "before", "stage"]).integer(
                "place", most=self._node.cycle - 1
            )
            before = start(self._node.source, self._run, one.child("before"))
            try:
                opened = self._opened(before, one.child("stage"))
            finally:
                before.close()
            if opened is None:
                raise StateError("the state is not one of this dataset: a part of it has ended")
            self._open[place] = opened

    def _opened(self, source: Stage, saved: Saved | None = None) -> _Open | None:
        """Open a dataset of the source's next element."""
        before = source.state()
        for element in source:
            node = called(self._node.make, element, self._node)
            return _Open(start(node, self._inside, saved), before)
        return None

    def __next__(self) -> Any:
        while True:
            opened = self._turn()
            for element in opened.stage:
                self._count()
                return element
            opened.stage.close()
            del self._open[self._place]
            self._place, self._given = (self._place + 1) % self._node.cycle, 0

    def _turn(self) -> _Open:
        """Return the dataset whose turn it is, which is opened if its place is empty."""
        if self._place not in self._open and not self._is_over:
            opened = self._opened(self._source)
            if opened is not None:
                self._open[self._place] = opened
            self._is_over = opened is None
        if not self._open:
            raise StopIteration
        if self._place not in self._open:  # and stays empty: on to the next that is not
            later = [place for place in self._open if place > self._place]
            self._place, self._given = min(later or self._open), 0
        return self._open[self._place]

    def _count(self) -> None:
        self._given += 1
        if self._given == self._node.block:
            self._place, self._given = (self._place + 1) % self._node.cycle, 0

    def state(self) -> State:
        """Return where the source and all datasets are that are being read."""
        return {
            "source": self._source.state(),
            "open": [
                {"place": place, "before": one.before, "stage": one.stage.state()}
                for place, one in sorted(self._open.items())
            ],
            "place": self._place,
            "given": self._given,
            "over": int(self._is_over),
        }

    def close(self) -> None:
        """Close all of them."""
        for one in self._open.values():
            one.stage.close()
        self._source.close()
