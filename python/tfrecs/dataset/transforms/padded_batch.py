"""padded_batch(): elements of different lengths side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tfrecs.dataset.collate.fill import Fill
from tfrecs.dataset.collate.pad import Padding, padded
from tfrecs.dataset.plan.native_form import Grouped, NativeForm
from tfrecs.dataset.plan.node import Traits
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved
from tfrecs.dataset.transforms.batch import FixedBatch, Groups


@dataclass(frozen=True, eq=False)
class PaddedBatch(
    FixedBatch,
    traits=Traits(keeps_kind=False, gives_batches=True, pads=True, divisible=False),
):
    """Batches of `size` elements that padding makes equally long."""

    padding: Padding
    fill: Fill | None = None

    def describe(self) -> str:
        """Return the call."""
        rest = ", drop_remainder=True" if self.drop_remainder else ""
        rest += "" if self.fill is None else self.fill.describe()
        return f"  .padded_batch({self.size}{self.padding.describe()}{rest})"

    def native_form(self) -> NativeForm | None:
        """Return batches of records whose columns are padded whole, where they are parsed."""
        choice = self.source.choice()
        if choice is None or choice.order.files.spec.features is None:
            return None
        return Grouped(choice, self.size, self.drop_remainder, self.padding)

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with elements that no native code makes batches of."""
        make = partial(padded, padding=self.padding, fill=self.fill)
        return Groups(self, make, run, saved)
