"""Batches of what the feature kinds promise, made of decoded columns when somebody asks."""

from collections.abc import Iterator, Mapping
from typing import Any

from tfrecs import _core
from tfrecs.columns.batch import Batch
from tfrecs.parsing.assemble import Assembly, Recipes
from tfrecs.parsing.plan import Whole
from tfrecs.parsing.serialized import SerializedRecords


class ParsedBatch(Batch):
    """A batch whose columns are what parse_example makes of the features.

    To Arrow it is the columns as the records have them.
    """

    def __init__(self, columns: _core.Columns, recipes: Recipes, source: SerializedRecords) -> None:
        """Make of the columns what `recipes` say; faults of the records are raised at once."""
        self._set(columns, recipes, source, {})
        for name in recipes.plan.checked:
            self[name]

    def _set(
        self,
        columns: _core.Columns,
        recipes: Recipes,
        source: SerializedRecords,
        made: dict[str, Any],
    ) -> None:
        self._columns = columns
        self._arrays = made
        self._recipes = recipes
        self._assembly = Assembly(columns, source)
        self._source = source

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the columns, and what was made of them; errors of the copy name no files."""
        parts = self._recipes.plan.parts
        # Other arrays are views of the columns.
        made = {
            name: one for name, one in self._arrays.items() if not isinstance(parts[name], Whole)
        }
        return _restored, (self._columns, self._recipes, made)

    def __getitem__(self, name: str) -> Any:
        """Return what is made of the feature `name`."""
        made = self._arrays.get(name)
        if made is None:
            made = self._arrays[name] = self._recipes[name](self._assembly)
        return made

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._recipes.plan.parts)

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self._recipes.plan.parts)

    @property
    def records(self) -> Any:
        """What the batch was parsed of, as far as errors need it."""
        return self._source.records

    def lengths(self) -> dict[str, Any]:
        """Return how many elements each row of the padded features has."""
        return self._assembly.lengths(self._recipes.plan)


def _restored(columns: _core.Columns, recipes: Recipes, made: Mapping[str, Any]) -> ParsedBatch:
    """Return a batch that was pickled, of which some arrays are made already."""
    batch = ParsedBatch.__new__(ParsedBatch)
    records = _core.Records([b""] * columns.num_rows)
    source = SerializedRecords(records, None, is_single=False)
    batch._set(columns, recipes, source, dict(made))  # noqa: SLF001 - a part of this class
    return batch


def parsed_batch(decoded: tuple[Any, ...], recipes: Recipes) -> ParsedBatch:
    """Return the batch that was decoded, with the places of its records."""
    columns, places = decoded
    recipes.missing.look(columns, places)
    return ParsedBatch(columns, recipes, SerializedRecords(places, None, is_single=False))


def parsed_sequences(
    decoded: tuple[Any, ...], context: Recipes, lists: Recipes
) -> tuple[ParsedBatch, ParsedBatch, dict[str, Any]]:
    """Return the batch of contexts, that of feature lists, and the lengths of those padded."""
    of_context, of_lists, places = decoded
    context.missing.look(of_context, places)
    lists.missing.look(of_lists, places)
    steps = parsed_batch((of_lists, places), lists)
    return parsed_batch((of_context, places), context), steps, steps.lengths()
