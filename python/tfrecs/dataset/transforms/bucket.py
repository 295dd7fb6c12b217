"""bucket_by_length(): batches of elements of about the same length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.collate.fill import Fill
from tfrecs.dataset.collate.pad import padded
from tfrecs.dataset.collate.rows import row_table
from tfrecs.dataset.native.bucketed import check_length
from tfrecs.dataset.plan.native_form import Divided, Division
from tfrecs.dataset.plan.node import Node, Step, Traits, called, name_of
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import MOST, Saved, State
from tfrecs.errors import StateError
from tfrecs.expressions import Expression
from tfrecs.features import FixedLenFeature


@dataclass(frozen=True, eq=False)
class Bucket(
    Step,
    traits=Traits(keeps_kind=False, gives_batches=True, pads=True, divisible=False),
):
    """Padded batches of the elements whose lengths lie between the same boundaries."""

    length_of: Callable[[Any], Any] | Expression
    division: Division
    fill: Fill | None = None

    @classmethod
    def of(cls, source: Node, length_of: Any, division: Division, fill: Fill | None) -> Bucket:
        """Return the step, if it makes sense.

        Raises:
            SpecError: The length makes no sense for records of these features.
        """
        made = cls(source, length_of, division, fill)
        form = made.native_form()
        if form is not None:
            check_length(form.length, form.choice)
        return made

    def native_form(self) -> Divided | None:
        """Return batches of records that are divided without making elements of them."""
        choice = self.source.choice()
        if choice is None or not isinstance(self.length_of, Expression):
            return None
        if choice.order.files.spec.features is None:
            return None
        return Divided(choice, self.length_of, self.division)

    def describe(self) -> str:
        """Return the call."""
        rest = ", drop_remainder=True" if self.division.drop_remainder else ""
        rest += ", pad_to_bucket_boundary=True" if self.division.to_boundary else ""
        rest += "" if self.fill is None else self.fill.describe()
        by = self.length_of
        length = repr(by) if isinstance(by, Expression) else name_of(by)
        what = f"{length}, {list(self.division.boundaries)}, {list(self.division.sizes)}"
        return f"  .bucket_by_length({what}{self.division.padding.describe()}{rest})"

    def length(self) -> Length:
        """Return None: it depends on the lengths."""
        return 0 if self.source.length() == 0 else None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with empty buckets, or with what a state says is in them."""
        return _Buckets(self, run, saved)

    def length_of_one(self, element: Any) -> int:
        """Return the length of an element."""
        if not isinstance(self.length_of, Expression):
            return int(called(self.length_of, element, self))
        array, valid = self.length_of.evaluate(row_table(element, self.describe().strip()))
        return 0 if valid is not None and not valid[0] else int(array[0])


def fixed_features(source: Node) -> frozenset[str]:
    """Return the features of the source that have a shape of their own, whatever the bucket."""
    choice = source.choice()
    features = (choice and choice.order.files.spec.features) or {}
    return frozenset(name for name, one in features.items() if isinstance(one, FixedLenFeature))


@dataclass(frozen=True)
class _Waiting:
    """An element in a bucket.

    Attributes:
        element: It.
        number: How many elements the source gave before it.
        before: Where the source was then.
    """

    element: Any
    number: int
    before: State


class _Buckets(ChainedStage):
    """What waits in the buckets is read again.

    A state is where the source was before the oldest of that, and how far after it the others are.
    """

    def __init__(self, node: Bucket, run: Run, saved: Saved | None) -> None:
        self._node, self._division = node, node.division
        self._buckets: list[list[_Waiting]] = [[] for _ in node.division.sizes]
        self._pulled = 0
        self._flushed = 0
        self._is_from_start = saved is None
        inner = None
        if saved is not None:
            saved.only(["source", "pulled", "held", "flushed"])
            inner = saved.child("source")
            self._flushed = saved.integer("flushed", most=len(node.division.sizes))
        super().__init__(start(node.source, run.whole(), inner))
        if saved is not None:
            self._refill(saved)

    def _refill(self, saved: Saved) -> None:
        held = set(saved.integers("held", sum(self._division.sizes), MOST))
        pulled = saved.integer("pulled")
        if held and max(held) >= pulled:
            raise StateError("the state is not one of this dataset: it holds what was not read")
        for _ in range(pulled):
            waiting = self._pull()
            if waiting is None:
                break
            if waiting.number in held:
                self._buckets[self._bucket_of(waiting)].append(waiting)

    def _pull(self) -> _Waiting | None:
        before = self._source.state()
        for element in self._source:
            self._pulled += 1
            return _Waiting(element, self._pulled - 1, before)
        return None

    def _bucket_of(self, waiting: _Waiting) -> int:
        return bisect_right(self._division.boundaries, self._node.length_of_one(waiting.element))

    def __next__(self) -> Any:
        while (waiting := self._pull()) is not None:
            which = self._bucket_of(waiting)
            bucket = self._buckets[which]
            bucket.append(waiting)
            if len(bucket) >= self._division.sizes[which]:
                return self._taken(bucket, which)
        while self._flushed < len(self._buckets):
            bucket = self._buckets[self._flushed]
            self._flushed += 1
            if bucket and not self._division.drop_remainder:
                return self._taken(bucket, self._flushed - 1)
        raise StopIteration

    def _taken(self, bucket: list[_Waiting], which: int) -> Any:
        elements = [waiting.element for waiting in bucket]
        # A state does not say how many elements came before it.
        numbers = [waiting.number for waiting in bucket] if self._is_from_start else None
        bucket.clear()
        return padded(elements, self._division.padding_of(which), self._node.fill, numbers)

    def state(self) -> State:
        """Return where the source was before the oldest element that waits, and which ones do."""
        waiting = sorted(
            (one for bucket in self._buckets for one in bucket), key=lambda one: one.number
        )
        first = waiting[0].number if waiting else self._pulled
        return {
            "source": waiting[0].before if waiting else self._source.state(),
            "pulled": self._pulled - first,
            "held": [one.number - first for one in waiting],
            "flushed": self._flushed,
        }
