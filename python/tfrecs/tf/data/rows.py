"""Elements that somebody has given: rows of arrays, and what a function yields."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from tfrecs.dataset.collate.rows import sparse_row
from tfrecs.dataset.plan.node import SOURCE
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.plan.source import Root
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import SpecError
from tfrecs.tensors import SparseTensor
from tfrecs.tf.data.elements import flat
from tfrecs.tf.tensor.nest import like


@dataclass(frozen=True, eq=False)
class _Called(Root, traits=None):
    """Elements that are no records, and are known by the call that made them."""

    call: str
    things = "elements"

    def describe(self) -> str:
        """Return the call."""
        return f"Dataset.{self.call}"

    def identity(self) -> str:
        """Return the call."""
        return self.call


@dataclass(frozen=True, eq=False)
class Given(_Called, traits=SOURCE):
    """A number of elements, any of which can be had: `element(i)` is one of them.

    Attributes:
        call: What made it.
        count: How many there are.
        element: Returns one.
        data: What they are made of, by which states tell it from other data.
    """

    count: int
    element: Callable[[int], Any]
    data: Any

    def content(self) -> tuple[int, int, Any]:
        """Return how many elements there are, and what distinguishes them from others."""
        digest = hashlib.sha256(pickle.dumps(self.data)).hexdigest()
        return self.count, 0, digest

    def length(self) -> Length:
        """Return how many there are."""
        return self.count

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first, or the one that a state says."""
        return _Given(self, 0 if saved is None else saved.only(["at"]).integer("at"))


class _Given(Stage):
    def __init__(self, node: Given, at: int) -> None:
        self._node, self._at = node, at

    def __next__(self) -> Any:
        if self._at >= self._node.count:
            raise StopIteration
        self._at += 1
        return self._node.element(self._at - 1)

    def skip(self, n: int) -> None:
        self._at += n

    def state(self) -> State:
        return {"at": self._at}


@dataclass(frozen=True, eq=False)
class Generated(_Called, traits=SOURCE):
    """What a function yields each time it is called."""

    function: Callable[[], Iterator[Any]]

    def content(self) -> tuple[int, int, Any]:
        """Return nothing: what a function yields is not known before."""
        return 0, 0, None

    def length(self) -> Length:
        """Return None: it is unknown."""
        return None

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first; a state's begins there too, and leaves out what came before."""
        return _Generated(self, 0 if saved is None else saved.only(["at"]).integer("at"))


class _Generated(Stage):
    def __init__(self, node: Generated, at: int) -> None:
        self._elements = islice(node.function(), at, None)
        self._at = at

    def __next__(self) -> Any:
        element = next(self._elements)
        self._at += 1
        return element

    def state(self) -> State:
        return {"at": self._at}


def sliced(structure: Any) -> Given:
    """Return the rows of arrays: `from_tensor_slices`.

    Raises:
        SpecError: They have not equally many, or one is a single value.
    """
    parts = [part for part in flat(structure) if part is not None]
    if not parts:
        raise SpecError("from_tensor_slices() needs an array, and there is none")
    counts = {_rows(part) for part in parts}
    if len(counts) != 1:
        raise SpecError(f"from_tensor_slices() needs arrays of equally many rows, not {counts}")
    return Given("from_tensor_slices(...)", counts.pop(), lambda row: _row(structure, row), parts)


def _rows(part: Any) -> int:
    if isinstance(part, SparseTensor):
        return int(part.dense_shape[0])
    if getattr(part, "ndim", 1) == 0:
        raise SpecError("from_tensor_slices() takes arrays apart, and this is a single value")
    return len(part)


def _row(structure: Any, row: int) -> Any:
    if isinstance(structure, dict):
        return {name: _row(one, row) for name, one in structure.items()}
    if isinstance(structure, tuple):
        return like(structure, [_row(one, row) for one in structure])
    if isinstance(structure, SparseTensor):
        return sparse_row(structure, row)
    return None if structure is None else structure[row]


def listed(call: str, elements: Sequence[Any]) -> Given:
    """Return the elements of a sequence."""
    return Given(call, len(elements), elements.__getitem__, list(elements[:1000]))
