"""Steps that TensorFlow's methods need beside those of tfrecs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tfrecs.dataset.plan.node import Node, Step, Traits
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved
from tfrecs.dataset.transforms.one_by_one import OneByOne
from tfrecs.dataset.transforms.take import Take
from tfrecs.tf.tensor.nest import mapped


@dataclass(frozen=True)
class Picked:
    """What a structure takes of an element: the way to it, from the whole."""

    way: tuple[Any, ...]

    def of(self, element: Any) -> Any:
        """Return it."""
        for key in self.way:
            element = element[key]
        return element


@dataclass(frozen=True)
class Formed:
    """Brings elements into a structure, which has a Picked for each value."""

    form: Any

    def __call__(self, parsed: Any) -> Any:
        """Return what is taken of it."""
        return mapped(lambda one: one.of(parsed), self.form)

    def over(self, node: Node) -> Node:
        """Return that as a step of a plan."""
        return _Forming(node, self)


@dataclass(frozen=True, eq=False)
class _Forming(
    OneByOne,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=True),
):
    form: Formed

    def describe(self) -> str:
        """Return the structure."""
        return f"  .map({_text(self.form.form)})"

    def make(self, element: Any) -> Any:
        """Return what is taken of an element."""
        return self.form(element)


def _text(form: Any) -> str:
    if isinstance(form, dict):
        return "{" + ", ".join(f"{name!r}: {_text(one)}" for name, one in form.items()) + "}"
    if isinstance(form, tuple):
        return "(" + ", ".join(map(_text, form)) + ")"
    return ".".join(map(str, form.way))


@dataclass(frozen=True, eq=False)
class AllSkipped(
    Take,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=False),
):
    """No elements of the source: `skip(-1)`, whose cardinality has a rule of its own."""


@dataclass(frozen=True, eq=False)
class SameEachTime(
    Step,
    traits=Traits(keeps_kind=True, gives_batches=None, pads=False, divisible=False),
):
    """The elements of the source in the order of its first pass, in each pass."""

    def describe(self) -> str:
        """Return what it is."""
        return "  .reshuffle_each_iteration(False)"

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin the first epoch."""
        return start(self.source, replace(run, epoch=0).whole(), saved)
