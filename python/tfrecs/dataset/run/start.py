"""Start a step: natively, in one of the forms the native side knows, or in Python.

This is the only module that decides it. A step says what it is (`native_form`) and what it does to
elements (`traits`); here that becomes a stage, counted and timed.
"""

from __future__ import annotations

from functools import partial

from tfrecs.dataset.collate.pad import PaddedColumns
from tfrecs.dataset.native.batches import Batches, Elements
from tfrecs.dataset.native.bucketed import RecordBuckets
from tfrecs.dataset.native.filtered import ChosenBatches, ChosenElements, ChosenRows
from tfrecs.dataset.plan.native_form import (
    Choice,
    Divided,
    FilteredBatches,
    Grouped,
    NativeForm,
    ReadBatches,
)
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.stages.stage import Made, Metered, Run, Stage, Strided
from tfrecs.dataset.stages.state import Saved


def start(node: Node, run: Run, saved: Saved | None) -> Stage:
    """Start a step for the elements that the run wants, and count them."""
    form = node.native_form()
    begin = partial(_begun, node, form)
    is_whole = run.stripe is None or node.traits.divisible or _divides(form)
    stage = begin(run, saved) if is_whole else Strided(begin, run, saved)
    return Metered.of(stage, node, run)


def _divides(form: NativeForm | None) -> bool:
    """Whether the native side reads nothing but the elements that a run wants."""
    return isinstance(form, Choice | Grouped) and not form.conditions


def _begun(node: Node, form: NativeForm | None, run: Run, saved: Saved | None) -> Stage:
    stage: Stage
    match form:
        case None:
            stage = node.begin(run, saved)
        case Choice(order, ()):
            stage = Elements(order, run, saved)
        case Choice():
            stage = ChosenElements(form, run, saved)
        case Grouped():
            stage = _grouped(form, run, saved)
        case FilteredBatches():
            stage = ChosenRows(form, run, saved)
        case Divided():
            stage = RecordBuckets(form, run, saved)
        case ReadBatches():
            stage = form.begin(run, saved)
    return stage


def _grouped(form: Grouped, run: Run, saved: Saved | None) -> Stage:
    how = (form.size, form.drop_remainder, run, saved)
    if form.conditions:
        stage: Stage = ChosenBatches(form.choice, *how)
    else:
        stage = Batches(form.choice.order, *how)
    features = form.choice.order.files.spec.features
    if form.padding is None or features is None:
        return stage
    return Made(PaddedColumns(form.padding, features), stage)
