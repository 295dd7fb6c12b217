"""Rows and columns ⇄ serialized `tf.train` messages, without protobuf."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.wording import with_article
from tfrecs.columns.batch import Batch
from tfrecs.columns.columns import pieces_of, table_of, to_native
from tfrecs.errors import SpecError, feature_error
from tfrecs.features import Features
from tfrecs.parsing.missing_features import of_function
from tfrecs.parsing.plan import plan_examples, require_columns
from tfrecs.tensors import BytesArray

FeatureList: TypeAlias = list[int] | list[float] | list[bytes]

UnknownFields: TypeAlias = Literal["error", "ignore"]
"""What a record does that has fields its message does not have."""


def is_ignored(unknown_fields: UnknownFields) -> bool:
    """Return whether unknown fields are dropped.

    Raises:
        SpecError: It is neither "error" nor "ignore".
    """
    if unknown_fields not in ("error", "ignore"):
        raise SpecError(f'unknown_fields must be "error" or "ignore", not {unknown_fields!r}')
    return unknown_fields == "ignore"


def encode_example(features: Mapping[str, Any], *, sort_keys: bool = False) -> bytes:
    """Encode a mapping as a serialized `tf.train.Example`.

    Args:
        features: A value for each name: an int, float, bool, str or bytes, a NumPy scalar, a list,
            tuple or 1-D array of them, or None for a feature that is missing. Integers and booleans
            become an Int64List, floats a FloatList (32 bits!), strings (str as UTF-8) a BytesList;
            an empty list becomes a feature without a kind, which parsers take as missing or empty.
        sort_keys: Write the features sorted by name instead of in the order given. Either way the
            same mapping gives the same bytes.

    Raises:
        SpecError: A value is ambiguous or out of range: mixed kinds, an integer beyond int64, a
            float beyond float32, a list in a list, an array of more than one dimension, or of a
            type that no feature holds. The error names the feature.

    Example:
        >>> import tfrecs
        >>> record = tfrecs.encode_example({"name": "Ada", "born": 1815, "scores": [0.5, 1.0]})
        >>> tfrecs.decode_example(record)
        {'name': [b'Ada'], 'born': [1815], 'scores': [0.5, 1.0]}
    """
    return _core.encode_example(features, sort_keys, _plain)


def decode_example(
    record: bytes, *, unknown_fields: UnknownFields = "error"
) -> dict[str, FeatureList]:
    """Decode a serialized `tf.train.Example` to a dict of lists: of int, of float, or of bytes.

    Every feature is a list, whatever its length; a feature without a kind is an empty one. Of
    features with the same name, the last one counts.

    Args:
        record: The record.
        unknown_fields: What to do with a record that has fields an Example does not have: "error"
            raises, and the text says which message the record looks like; "ignore" drops the
            fields, as protobuf does.

    Raises:
        ParseError: The record is not a valid Example, or another message.

    Example:
        >>> import tfrecs
        >>> tfrecs.decode_example(tfrecs.encode_example({"label": 7}))
        {'label': [7]}
        >>> sequence = tfrecs.encode_sequence_example({"id": 7}, {"tokens": [[1], [2]]})
        >>> try:
        ...     tfrecs.decode_example(sequence)
        ... except tfrecs.ParseError as error:
        ...     print(error.reason.partition(";")[0])
        not an Example: it looks like a SequenceExample, which decode_sequence_example() reads
        >>> tfrecs.decode_example(sequence, unknown_fields="ignore")
        {'id': [7]}
    """
    return _core.decode_example(record, is_ignored(unknown_fields))


def encode_sequence_example(
    context: Mapping[str, Any] | None = None,
    feature_lists: Mapping[str, Iterable[Any]] | None = None,
    *,
    sort_keys: bool = False,
) -> bytes:
    """Encode two mappings as a serialized `tf.train.SequenceExample`.

    Args:
        context: The features of the whole sequence, as for encode_example.
        feature_lists: For each name a sequence of steps, each of which is a value as for
            encode_example.
        sort_keys: As for encode_example.

    Raises:
        SpecError: As for encode_example.

    Example:
        >>> import tfrecs
        >>> record = tfrecs.encode_sequence_example({"id": 7}, {"tokens": [[1, 2], [3]]})
        >>> tfrecs.decode_sequence_example(record)
        ({'id': [7]}, {'tokens': [[1, 2], [3]]})
    """
    return _core.encode_sequence_example(context or {}, feature_lists or {}, sort_keys, _plain)


def decode_sequence_example(
    record: bytes, *, unknown_fields: UnknownFields = "error"
) -> tuple[dict[str, FeatureList], dict[str, list[FeatureList]]]:
    """Decode a serialized `tf.train.SequenceExample` to its context and its feature lists.

    An Example is one too: with that context, and without feature lists.

    Args:
        record: The record.
        unknown_fields: As for decode_example.

    Raises:
        ParseError: The record is not a valid SequenceExample, or another message.

    Example:
        >>> import tfrecs
        >>> record = tfrecs.encode_sequence_example(feature_lists={"words": ["a", "b"]})
        >>> tfrecs.decode_sequence_example(record)
        ({}, {'words': [[b'a'], [b'b']]})
    """
    return _core.decode_sequence_example(record, is_ignored(unknown_fields))


def decode_batch(
    records: _core.Records | Sequence[bytes],
    features: Features | None = None,
    *,
    unknown_fields: UnknownFields = "error",
) -> Batch:
    """Decode serialized Examples into columns, natively and without the GIL.

    Args:
        records: Records, or a sequence of bytes.
        features: What to decode. A FixedLenFeature becomes an array of shape (records, *shape); a
            VarLenFeature and a RaggedFeature a RaggedTensor; a FixedLenSequenceFeature one whose
            values have its shape, without padding. (Partitions and SparseFeatures are for
            parse_example.) None decodes every feature that turns up, each to a RaggedTensor in
            which rows can be missing, in the order of first appearance.
        unknown_fields: As for decode_example, where `features` is None; with `features` the fields
            of other messages are ignored, as TensorFlow does.

    Raises:
        SpecError: Something is wrong with `features`.
        ParseError: A record is broken or does not fit `features`; without `features`, a feature has
            different kinds in different records. The text names record and feature.

    Example:
        >>> import tfrecs
        >>> records = [tfrecs.encode_example({"ids": list(range(n))}) for n in (1, 2)]
        >>> tfrecs.decode_batch(records)["ids"].tolist()
        [[0], [0, 1]]
    """
    if features is None:
        return Batch(_core.decode_batch(records, None, None, is_ignored(unknown_fields)))
    columns = tuple(require_columns(plan_examples(features)).columns)
    decoded = _core.decode_batch(records, columns, None, is_ignored(unknown_fields))
    of_function(columns).look(decoded, records)
    return Batch(decoded)


def encode_batch(columns: Any) -> _core.Records:
    """Encode columns as serialized Examples, one a row, natively and without the GIL.

    Args:
        columns: A mapping from names to columns of equal length: NumPy arrays (any integer, bool or
            float type; strings; objects), with as many dimensions as you like (a row is flattened),
            BytesArray, RaggedTensor, or lists; a list of lists is ragged. Or anything that speaks
            Arrow (`__arrow_c_stream__` or `__arrow_c_array__`): a Batch, a pyarrow or Polars table,
            a pandas DataFrame, a DuckDB relation. Nulls and None are missing features.

    Returns:
        Records, ready for RecordWriter.write_batch.

    Raises:
        SpecError: Columns of different lengths, of a type that no feature holds, or with numbers
            out of range.

    Example:
        >>> import numpy as np, tfrecs
        >>> records = tfrecs.encode_batch({"x": np.eye(2, dtype=np.float32), "name": ["a", "b"]})
        >>> [tfrecs.decode_example(record) for record in records]
        [{'x': [1.0, 0.0], 'name': [b'a']}, {'x': [0.0, 1.0], 'name': [b'b']}]
    """
    return _core.encode_batch(table_of(columns, pieces_of))


def _plain(name: str, value: Any) -> Any:
    """Turn a value that is not of Python's own plain types into one that is, or refuse it."""
    if isinstance(value, list | tuple):
        return [_plain_item(name, item) for item in value]
    if isinstance(value, np.generic):
        return (
            _plain_item(name, value)
            if value.dtype.kind != "V"
            else to_native(name, value.reshape(1))
        )
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, BytesArray):
        value = np.asarray(value)
    if not hasattr(value, "__array__"):
        raise feature_error(
            name,
            f"{with_article(type(value).__name__)} cannot be a feature: give an int, float, "
            "bool, str, bytes, a list or a 1-D array of them, or None",
        )
    return _plain_array(name, np.asarray(value))


def _plain_array(name: str, array: npt.NDArray[Any]) -> Any:
    if array.ndim > 1:
        raise feature_error(
            name,
            f"an array of shape {array.shape} is ambiguous: store array.ravel() "
            f"(a flat list of {array.size} values) or array.tobytes() (one byte string), and its "
            "shape in a feature of its own",
        )
    if array.dtype.kind in "OSTU":
        return [_plain_item(name, item) for item in array.reshape(-1).tolist()]
    return np.ascontiguousarray(to_native(name, array.reshape(-1)))


def _plain_item(name: str, item: Any) -> Any:
    """Turn an item of a list into one of Python's own scalars."""
    if isinstance(item, np.ndarray) and item.ndim == 0:
        item = item[()]
    if isinstance(item, np.floating):
        return float(item)  # a longdouble's item() is one again
    if isinstance(item, np.generic):
        item = item.item() if item.dtype.kind in "biuSU" else to_native(name, item.reshape(1))[0]
    if isinstance(item, bool | int | float | str | bytes | list | tuple):
        return item
    if isinstance(item, bytearray | memoryview):
        return bytes(item)
    raise feature_error(
        name,
        f"a list holds {with_article(type(item).__name__)}; it can hold int, float, bool, str or "
        "bytes",
    )
