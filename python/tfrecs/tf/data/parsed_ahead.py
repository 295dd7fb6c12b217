"""Records that a function is going to parse, parsed many at a time before it asks for it.

To parse a record by itself costs many times as much as to parse it with others. So, where it is
known what a function parses of each record (tracing.py), it is given records whose features are
there already; it still gets them from the parse function, if it asks for the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tfrecs.dataset.plan.node import Step, Traits
from tfrecs.dataset.run.start import start
from tfrecs.dataset.stages.stage import ChainedStage, Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import ParseError
from tfrecs.parsing import parse_example
from tfrecs.tensors import BytesArray, SparseTensor
from tfrecs.tf.functions.parsing import Features, ParsedRecord
from tfrecs.tf.tensor.values import Tensor, wrapped

# How many are parsed together.
TOGETHER = 128


@dataclass(frozen=True, eq=False)
class ParsedAhead(
    Step,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=True),
):
    """The records of the source, each with what will be parsed of it."""

    features: Features

    def describe(self) -> str:
        """Return which features."""
        return f"  .parsed_ahead({', '.join(self.features)})"

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Begin with the first, or the one that a state says."""
        return _ParsedAhead(self, run, saved)


class _ParsedAhead(ChainedStage):
    """Its state is where the source was before some records, and how many of these were given."""

    def __init__(self, node: ParsedAhead, run: Run, saved: Saved | None) -> None:
        given, inner = 0, None
        if saved is not None:
            given = saved.only(["source", "given"]).integer("given", most=TOGETHER)
            inner = saved.child("source")
        super().__init__(start(node.source, run, inner))
        self._features = node.features
        self._before = self._source.state()
        self._ready: Iterator[Any] = iter(())
        self._given = 0
        self._error: BaseException | None = None
        self.skip(given)

    def __next__(self) -> Any:
        for element in self._ready:
            self._given += 1
            return element
        self._fill()
        return next(self)

    def _fill(self) -> None:
        """Take some records, up to an error: that is raised after them."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        before, some = self._source.state(), []
        try:
            for element in self._source:
                some.append(element)
                if len(some) == TOGETHER:
                    break
        except BaseException as error:
            if not some:
                raise
            self._error = error
        if not some:
            raise StopIteration
        self._before, self._given = before, 0
        self._ready = iter(with_rows(some, self._features))

    def state(self) -> State:
        """Return where the source was, and how many were given since."""
        return {"source": self._before, "given": self._given}


def with_rows(records: list[Any], features: Features) -> list[Any]:
    """Return records with what is parsed of them; as they are, if that cannot be done."""
    if not all(isinstance(record, bytes) for record in records):
        return records
    try:
        columns = parse_example(records, features)
    except ParseError:
        return records  # whoever parses the one that is wrong says so
    values = zip(*(_rows(column, len(records)) for column in columns.values()), strict=True)
    rows = [dict(zip(columns, row, strict=True)) for row in values]
    return [ParsedRecord(*pair, features) for pair in zip(records, rows, strict=True)]


def _rows(column: Any, count: int) -> list[Any]:
    """Return what each record has of a column, as parse_single_example does."""
    if not isinstance(column, SparseTensor):
        single = isinstance(column, BytesArray) and column.ndim == 1
        return [Tensor(row) for row in (column.tolist() if single else column)]
    ends = np.searchsorted(column.indices[:, 0], np.arange(count + 1)).tolist()
    rows = []
    for begin, end in pairwise(ends):
        places = np.arange(end - begin, dtype=np.int64)
        shape = np.array([end - begin], np.int64)
        row = SparseTensor.of(places.reshape(-1, 1), column.values[begin:end], shape)
        rows.append(wrapped(row))
    return rows
