"""Columns ⇄ serialized `tf.train.SequenceExample` messages."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfrecs import _core
from tfrecs._internal.wording import with_article
from tfrecs.columns.batch import Batch
from tfrecs.columns.columns import (
    array_pieces,
    column_of_rows,
    native_values,
    pieces_of,
    speaks_arrow,
    table_of,
)
from tfrecs.errors import SpecError, feature_error
from tfrecs.examples.rows import UnknownFields, is_ignored
from tfrecs.features import Features
from tfrecs.parsing.missing_features import of_function
from tfrecs.parsing.plan import plan_context, plan_lists, require_columns
from tfrecs.tensors import BytesArray, Pieces, RaggedTensor, ragged_pieces

_STEPS = 2  # levels of rows in a column of feature lists: of records, and of steps


def decode_sequence_batch(
    records: _core.Records | Sequence[bytes],
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    *,
    unknown_fields: UnknownFields = "error",
) -> tuple[Batch, Batch]:
    """Decode serialized SequenceExamples into columns, natively and without the GIL.

    Args:
        records: Records, or a sequence of bytes.
        context_features: What to decode of the contexts, as for decode_batch; None decodes every
            feature that turns up, {} none.
        sequence_features: What to decode of the feature lists: a FixedLenSequenceFeature becomes a
            RaggedTensor of steps of its shape, a VarLenFeature and a RaggedFeature one of steps
            that are rows themselves. None decodes every list that turns up as by VarLenFeature, {}
            none. A record without the list is a missing row.
        unknown_fields: As for decode_example, where everything is decoded; where features are
            named, the fields of other messages are ignored, as TensorFlow does.

    Returns:
        The columns of the contexts, and those of the feature lists.

    Raises:
        SpecError: Something is wrong with the features.
        ParseError: A record is broken or does not fit them; the text names record and feature.

    Example:
        >>> import tfrecs
        >>> records = [
        ...     tfrecs.encode_sequence_example({"id": n}, {"words": [["a"], ["b", "c"]][:n]})
        ...     for n in (1, 2)
        ... ]
        >>> context, lists = tfrecs.decode_sequence_batch(records)
        >>> context["id"].tolist(), lists["words"].tolist()
        ([[1], [2]], [[[b'a']], [[b'a'], [b'b', b'c']]])
    """
    plans = [
        None if features is None else require_columns(plan(features))
        for plan, features in ((plan_context, context_features), (plan_lists, sequence_features))
    ]
    context, lists = (None if plan is None else tuple(plan.columns) for plan in plans)
    decoded = _core.decode_sequence_batch(records, context, lists, None, is_ignored(unknown_fields))
    for plan, columns in zip(plans, decoded, strict=True):
        if plan is not None:
            of_function(plan.columns).look(columns, records)
    return Batch(decoded[0]), Batch(decoded[1])


def encode_sequence_batch(context: Any = None, feature_lists: Any = None) -> _core.Records:
    """Encode columns as serialized SequenceExamples, one a row, natively and without the GIL.

    Args:
        context: The columns of the contexts, as for encode_batch; None for none.
        feature_lists: The columns of the feature lists, of as many rows: a mapping of names to
            RaggedTensors (of steps that are values, arrays, or rows), arrays of shape (records,
            steps, …), lists (of records) of lists (of steps) of values or lists, or Arrow arrays of
            such lists; or an Arrow table of them. None for none. Nulls and None are missing lists.

    Returns:
        Records, ready for RecordWriter.write_batch.

    Raises:
        SpecError: Columns of different lengths, of a type that no feature holds, with numbers out
            of range, or feature lists without steps.

    Example:
        >>> import tfrecs
        >>> records = tfrecs.encode_sequence_batch(
        ...     {"id": [1, 2]}, {"tokens": [[3, 1, 4], [1]], "tags": [[["a", "b"], []], [["c"]]]}
        ... )
        >>> tfrecs.decode_sequence_example(records[0])
        ({'id': [1]}, {'tokens': [[3], [1], [4]], 'tags': [[b'a', b'b'], []]})
    """
    if context is None and feature_lists is None:
        raise SpecError("encode_sequence_batch needs a context, feature_lists, or both")
    features = table_of({} if context is None else context, pieces_of)
    lists = table_of({} if feature_lists is None else feature_lists, steps_pieces)
    if _has_no_columns(context):
        features = _of_as_many_rows(lists)
    elif _has_no_columns(feature_lists):
        lists = _of_as_many_rows(features)
    return _core.encode_sequence_batch(features, lists)


def _has_no_columns(columns: Any) -> bool:
    """Whether it is None or {}, which do not say how many rows there are."""
    return columns is None or (isinstance(columns, dict) and not columns)


def _of_as_many_rows(table: Any) -> _core.Columns:
    """Return a table of no columns and as many rows as another."""
    rows = table.num_rows if hasattr(table, "num_rows") else len(table)
    return _core.Columns.build(int(rows), [])


def steps_pieces(name: str, column: Any) -> tuple[Pieces, int]:
    """Return a column of feature lists in the form that the native side takes, and its rows.

    Raises:
        SpecError: It has no steps, or holds what no feature holds.
    """
    if isinstance(column, RaggedTensor):
        return ragged_pieces(name, _steps_of_ragged(name, column)), len(column)
    if isinstance(column, BytesArray | np.ndarray) and column.ndim > 1:
        return array_pieces(name, column)
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind == "O":
        column = column.tolist()
    if isinstance(column, list | tuple):
        return steps_pieces(name, _steps_of_lists(name, column))
    if speaks_arrow(column) and not isinstance(column, BytesArray):
        return (name, column, None, [], [], None), len(column)
    raise _no_steps(name, column)


def _no_steps(name: str, column: Any) -> SpecError:
    return feature_error(
        name,
        f"{with_article(type(column).__name__)} has no steps: a feature list is, for each "
        "record, a list of steps, each of them a value or a list of values",
    )


def _steps_of_ragged(name: str, rows: RaggedTensor) -> RaggedTensor:
    """Make each step a value, an array, or a flat list."""
    if rows.ragged_rank > _STEPS:
        raise feature_error(
            name, "its steps are made of rows of rows, and each step is one flat list"
        )
    flat, splits = rows.flat_values, rows.nested_row_splits
    shape = flat.shape[1:]
    values = native_values(name, flat)
    if rows.ragged_rank == _STEPS:
        steps = RaggedTensor(values, splits[1] * math.prod(shape))
        return RaggedTensor(steps, splits[0], rows.missing)
    return RaggedTensor(values.reshape(flat.shape), splits[0], rows.missing)


def _steps_of_lists(name: str, records: Sequence[Any]) -> RaggedTensor:
    """Make a column of lists of steps; None is a missing list, a step of None one of no values."""
    wrong = [row for row in records if not isinstance(row, list | tuple | np.ndarray | None)]
    if wrong:
        raise _no_steps(name, wrong[0])
    steps = [step for row in records if row is not None for step in row]
    values = column_of_rows(name, [[] if step is None else step for step in steps])
    return RaggedTensor.from_row_lengths(
        values, [None if row is None else len(row) for row in records]
    )
