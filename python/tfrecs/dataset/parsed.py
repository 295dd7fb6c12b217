"""Batches of what the feature kinds promise, made of decoded columns when somebody asks."""

from collections.abc import Iterator
from typing import Any

from tfrecs import _core
from tfrecs.batch import Batch
from tfrecs.parsing.assembly import Assembly
from tfrecs.parsing.plan import Plan
from tfrecs.parsing.serialized import Source


class ParsedBatch(Batch):
    """A batch whose columns are what parse_example makes of the features.

    To Arrow it is the columns as the records have them.
    """

    def __init__(self, columns: _core.Columns, plan: Plan, source: Source) -> None:
        """Make of the columns what `plan` says; faults of the records are raised at once."""
        self._columns = columns
        self._arrays = {}
        self._plan = plan
        self._assembly = Assembly(columns, source)
        for name in plan.checked:
            self[name]

    def __getitem__(self, name: str) -> Any:
        """Return what is made of the feature `name`."""
        if name not in self._arrays:
            self._arrays[name] = self._assembly.feature(name, self._plan.parts[name])
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._plan.parts)

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self._plan.parts)

    def lengths(self) -> dict[str, Any]:
        """Return how many elements each row of the padded features has."""
        return self._assembly.lengths(self._plan)


def parsed_batch(decoded: tuple[Any, ...], plan: Plan | None) -> ParsedBatch:
    """Return the batch that was decoded, with the places of its records, by `plan`."""
    columns, places = decoded
    return ParsedBatch(columns, plan or Plan(), Source(places, None, is_single=False))


def parsed_sequences(
    decoded: tuple[Any, ...], context: Plan | None, lists: Plan
) -> tuple[ParsedBatch, ParsedBatch, dict[str, Any]]:
    """Return the batch of contexts, that of feature lists, and the lengths of those padded."""
    of_context, of_lists, places = decoded
    steps = parsed_batch((of_lists, places), lists)
    return parsed_batch((of_context, places), context), steps, steps.lengths()
