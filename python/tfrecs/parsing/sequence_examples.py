"""`tf.io.parse_sequence_example` and its sibling for one record, without TensorFlow."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs.errors import SpecError
from tfrecs.features import Features
from tfrecs.parsing.assemble import Assembly
from tfrecs.parsing.examples import Parsed
from tfrecs.parsing.missing_features import of_function
from tfrecs.parsing.plan import plan_context, plan_lists
from tfrecs.parsing.serialized import Serialized, SerializedRecords, single_source, source_of

Lengths: TypeAlias = dict[str, npt.NDArray[np.int64]]


def parse_sequence_example(
    serialized: Serialized,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: Sequence[str] | str | None = None,
) -> tuple[Parsed, Parsed, Lengths]:
    """Parse a batch of serialized `tf.train.SequenceExample` messages into arrays.

    The contract is that of `tf.io.parse_sequence_example`, value for value and error for error;
    where it departs on purpose, docs/compatibility.md says so.

    Args:
        serialized: B records, as for parse_example. A single bytes object (or a 0-d array) is
            parsed as by parse_single_sequence_example.
        context_features: What to parse of the contexts, by name: FixedLenFeature, VarLenFeature and
            RaggedFeature.
        sequence_features: What to parse of the feature lists, by name: FixedLenSequenceFeature,
            VarLenFeature and RaggedFeature.
        example_names: Names of the records for error messages, as many as there are records.

    Returns:
        Three dicts. The context features, as of parse_example. The feature lists (steps is the
        largest number of steps in a record):
            FixedLenSequenceFeature: an array of shape (B, steps, *shape), padded with 0 or b"".
            VarLenFeature: a SparseTensor of dense_shape (B, steps, longest step).
            RaggedFeature: a RaggedTensor of B rows of steps.
        And for each FixedLenSequenceFeature the number of steps of each record: int64, shape (B,).

    Raises:
        SpecError: Something is wrong with the features, or the shape of `serialized`.
        ParseError: A record is broken, or does not hold what the features ask for; the text names
            the record and the feature.

    Example:
        >>> import tfrecs
        >>> records = [
        ...     tfrecs.encode_sequence_example({"id": 1}, {"tokens": [3, 1], "tags": [["a"], []]}),
        ...     tfrecs.encode_sequence_example({"id": 2}, {"tokens": [1]}),
        ... ]
        >>> context, lists, lengths = tfrecs.parse_sequence_example(
        ...     records,
        ...     {"id": tfrecs.FixedLenFeature([], "int64")},
        ...     {
        ...         "tokens": tfrecs.FixedLenSequenceFeature([], "int64"),
        ...         "tags": tfrecs.RaggedFeature("string"),
        ...     },
        ... )
        >>> context["id"].tolist(), lists["tokens"].tolist(), lengths["tokens"].tolist()
        ([1, 2], [[3, 1], [1, 0]], [2, 1])
        >>> lists["tags"].tolist()
        [[[b'a'], []], []]
    """
    source = source_of(serialized, example_names)
    return _parsed(source, context_features, sequence_features)


def parse_single_sequence_example(
    serialized: Serialized,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: Sequence[str] | str | None = None,
) -> tuple[Parsed, Parsed]:
    """Parse one serialized `tf.train.SequenceExample` message.

    The contract is that of `tf.io.parse_single_sequence_example`.

    Args:
        serialized: The record: bytes, or a 0-d array.
        context_features: What to parse of the context, as for parse_sequence_example.
        sequence_features: What to parse of the feature lists, as for parse_sequence_example.
        example_name: The name of the record for error messages.

    Returns:
        Two dicts, the context features and the feature lists, without the dimension of the batch:
        a FixedLenSequenceFeature is an array of shape (steps, *shape).

    Raises:
        SpecError: Something is wrong with the features, or `serialized` is no scalar.
        ParseError: The record is broken, or does not hold what the features ask for.

    Example:
        >>> import tfrecs
        >>> record = tfrecs.encode_sequence_example({"id": 1}, {"xy": [[0.0, 1.0], [2.0, 3.0]]})
        >>> context, lists = tfrecs.parse_single_sequence_example(
        ...     record, sequence_features={"xy": tfrecs.FixedLenSequenceFeature([2], "float32")}
        ... )
        >>> context, lists["xy"].tolist()
        ({}, [[0.0, 1.0], [2.0, 3.0]])
    """
    source = single_source(serialized, example_name)
    context, lists, _ = _parsed(source, context_features, sequence_features)
    return context, lists


def _parsed(
    source: SerializedRecords, context: Features | None, lists: Features | None
) -> tuple[Parsed, Parsed, Lengths]:
    if not context and not lists:
        raise SpecError(
            "Both context_features and sequence_features are None, but at least one should have "
            "values."
        )
    plans = plan_context(context), plan_lists(lists)
    context_spec, lists_spec = (tuple(plan.columns) for plan in plans)
    columns = _core.decode_sequence_batch(source.records, context_spec, lists_spec, source.names)
    for plan, decoded in zip(plans, columns, strict=True):
        of_function(plan.columns).look(decoded, source.records)
    of_context, of_lists = (Assembly(decoded, source) for decoded in columns)
    return of_context.features(plans[0]), of_lists.features(plans[1]), of_lists.lengths(plans[1])
