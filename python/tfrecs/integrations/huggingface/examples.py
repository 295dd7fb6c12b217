"""The source of an IterableDataset: batches of a plan as Arrow tables, whose rows are examples."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Self

import numpy as np
from datasets.formatting import PythonFormatter
from datasets.iterable_dataset import _BaseExamplesIterable

from tfrecs.columns.batch import Batch as Columns
from tfrecs.dataset.plan.kind import parsed_of
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.stages.stage import Run
from tfrecs.dataset.stages.state import Saved
from tfrecs.dataset.transforms.batch import Batch
from tfrecs.errors import StateError
from tfrecs.integrations.huggingface.schema import sparse_names
from tfrecs.integrations.huggingface.tables import row_table_of, table_of
from tfrecs.records.reader import Records

# Into how many shards a dataset can be divided, since datasets asks for a number: one that all
# usual numbers of workers and nodes divide.
SHARDS = 48

# How many records are parsed together where the plan makes no batches. States count them.
ROWS = 256


def per_table(node: Node) -> Node:
    """Return the plan whose elements become tables: of single records, that many at once."""
    parsed = parsed_of(node)
    return node if parsed is None or parsed.in_batches else Batch(node, ROWS, False)


class Examples(_BaseExamplesIterable):  # type: ignore[misc, unused-ignore]
    """Gives datasets' IterableDataset what it iterates over, and where it is.

    Its state is the state of the pass after the last table, as JSON, and how many rows of the next
    were given. `set_epoch` of the IterableDataset reaches it as a random generator of that seed.
    """

    def __init__(self, node: Node, epoch: int, shards: int) -> None:
        """Keep the plan; nothing is read yet."""
        super().__init__()
        self._state_dict: dict[str, Any] | None = None
        self._node = node
        self._first = self._epoch = epoch
        self._shards = shards
        # Which of how many parts of the batches this gives.
        self._part = (1, 0)
        self._in_batches = node.gives_batches
        self._sparse = sparse_names(node)
        # datasets asks for it when it ends.
        self._sleep_on_threads_shutdown = False

    @property
    def iter_arrow(self) -> Any:
        """What gives tables."""
        return self._iter_arrow

    @property
    def num_shards(self) -> int:
        """Into how many parts it can be divided."""
        return self._shards

    def shuffle_data_sources(self, generator: np.random.Generator) -> Self:
        """Return the same for an epoch: its order is the plan's."""
        seed = generator.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
        if not isinstance(seed, int):  # of someone's own generator
            seed = int(copy.deepcopy(generator).integers(2**62))
        return self._with(_epoch=self._first + seed)

    def _with(self, **changed: Any) -> Self:
        made = copy.copy(self)
        made.__dict__.update(changed)
        return made

    def shard_data_sources(self, num_shards: int, index: int, contiguous: bool = True) -> Self:
        """Return the batches i, i + n, i + 2n, … of it, `contiguous` or not."""
        num = min(num_shards, self._shards)
        left = len(self.split_shard_indices_by_worker(num, index, contiguous))
        parts, part = self._part
        return self._with(_shards=left, _part=(parts * num, part + parts * index))

    def reshard_data_sources(self) -> Self:
        """Return the same."""
        return self

    def _init_state_dict(self) -> dict[str, Any]:
        # Of which plan and which files it is; without a place in them it is their beginning, and
        # that of each part of them.
        begin = json.dumps({**self._whole().state_dict({}), "at": None})
        self._state_dict = state = {"at": begin, "row": 0, "type": type(self).__name__}
        return state

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Give examples, as datasets' own sources do: with a key each."""
        formatter = PythonFormatter()
        for key, table, after in self._tables():
            rows = formatter.format_batch(table)
            for row in range(table.num_rows):
                if row + 1 < table.num_rows:
                    self._count_row()
                else:
                    self._note(after)
                yield key, {name: values[row] for name, values in rows.items()}

    def _iter_arrow(self) -> Iterator[tuple[str, Any]]:
        for key, table, after in self._tables():
            self._note(after)
            yield key, table

    def _note(self, after: str) -> None:
        if self._state_dict is not None:
            self._state_dict["at"], self._state_dict["row"] = after, 0

    def _count_row(self) -> None:
        if self._state_dict is not None:
            self._state_dict["row"] += 1

    def _tables(self) -> Iterator[tuple[str, Any, str]]:
        """Give tables, each with a key and the state after it; of the first what is left."""
        with closing(self._iterator()) as it:
            row = 0 if self._state_dict is None else Saved(self._state_dict).integer("row")
            for number, element in enumerate(it):
                whole = self._table(element)
                if row > whole.num_rows:
                    raise StateError(f"the state is after row {row} of {whole.num_rows}")
                table, row = whole.slice(row), 0
                if table.num_rows:
                    yield f"{number}", table, json.dumps(it.state_dict())

    def _table(self, element: Any) -> Any:
        inner = element[1] if isinstance(element, tuple) and len(element) > 1 else element
        is_batch = self._in_batches or isinstance(inner, Columns | Records)
        return (table_of if is_batch else row_table_of)(element, self._sparse)

    def _whole(self) -> DatasetIterator:
        return DatasetIterator(self._node, Run(self._epoch))

    def _iterator(self) -> DatasetIterator:
        it = self._whole()
        if self._part[0] > 1:
            it = DatasetIterator(self._node, Run(self._epoch, self._part))
        if self._state_dict is None:
            return it
        state = _loaded(self._state_dict["at"])
        if Saved(state).optional_child("at") is None:
            self._whole().checked(state)
        else:
            it.load_state_dict(state)
        return it


def _loaded(at: Any) -> Any:
    try:
        return Saved(json.loads(at)).value
    except (TypeError, ValueError) as error:
        raise StateError(f"the state is not one of this dataset: {error}") from error
