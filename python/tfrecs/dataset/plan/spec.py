"""What to parse of the records of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfrecs import _core
from tfrecs._internal.cached_property import cached_property
from tfrecs.errors import SpecError
from tfrecs.features import Features
from tfrecs.parsing import parse_single_sequence_example
from tfrecs.parsing.assemble import Recipes
from tfrecs.parsing.examples import parse_planned
from tfrecs.parsing.parsed_batch import parsed_batch, parsed_sequences
from tfrecs.parsing.plan import plan_context, plan_examples, plan_lists
from tfrecs.records.reader import Records

RECORDS = _core.Output.records(False)
# Those before an error come before it, as a batch of fewer.
RECORDS_UP_TO_ERRORS = _core.Output.records(True)


@dataclass(frozen=True, eq=False)
class Spec:
    """Features of Examples, or of contexts and feature lists of SequenceExamples, or none."""

    features: Features | None = None
    context: Features | None = None
    lists: Features | None = None

    def __post_init__(self) -> None:
        """Check them, before anything is read.

        Raises:
            SpecError: Something is wrong with the features.
        """
        if self.features is not None and self.is_of_sequences:
            raise SpecError(
                "features are those of Examples, context_features and sequence_features those of "
                "SequenceExamples: a file holds one of the two"
            )
        _ = self._recipes

    @property
    def is_of_sequences(self) -> bool:
        """Whether SequenceExamples are parsed."""
        return self.context is not None or self.lists is not None

    @property
    def parses(self) -> bool:
        """Whether anything is parsed."""
        return self.features is not None or self.is_of_sequences

    @cached_property
    def _recipes(self) -> tuple[Recipes | None, Recipes | None]:
        """What is the same for every batch."""
        if self.is_of_sequences:
            return Recipes(plan_context(self.context)), Recipes(plan_lists(self.lists))
        if self.features is None:
            return None, None
        return Recipes(plan_examples(self.features)), None

    def _columns(self) -> tuple[Any, Any]:
        """Return the columns of features and of lists as the native side takes them."""
        features, lists = self._recipes
        return (
            None if features is None else tuple(features.plan.columns),
            None if lists is None else tuple(lists.plan.columns),
        )

    @property
    def output(self) -> _core.Output:
        """What the native side makes of batches of records: columns, or the records themselves."""
        features, lists = self._columns()
        if lists is not None:
            return _core.Output.sequence_columns(features, lists)
        return RECORDS if features is None else _core.Output.columns(features)

    def batch(self, decoded: Any) -> Any:
        """Return what is made of a batch that the native side has read: itself, or columns."""
        features, lists = self._recipes
        if features is None:
            return decoded
        if lists is None:
            return parsed_batch(decoded, features)
        return parsed_sequences(decoded, features, lists)

    @property
    def of_examples(self) -> Features | None:
        """The features that lie where those of Examples do: theirs, or those of contexts."""
        return self.context if self.is_of_sequences else self.features

    def parsed(self, records: Records) -> Any:
        """Return what is made of a batch of records: natively, but not ahead."""
        return self.batch(self.output.of(records))

    def one(self, record: bytes) -> Any:
        """Return what is made of one record."""
        if self.is_of_sequences:
            return parse_single_sequence_example(record, self.context, self.lists)
        features, _ = self._recipes
        return (
            record if features is None else parse_planned(record, features.plan, features.missing)
        )

    def lines(self) -> list[str]:
        """Return what is parsed, a feature a line."""
        given = {
            "features": self.features,
            "context_features": self.context,
            "sequence_features": self.lists,
        }
        lines = []
        for name, features in given.items():
            if features is not None:
                lines += [f"{name}:", *(f"  {key}: {one}" for key, one in features.items())]
        return lines
