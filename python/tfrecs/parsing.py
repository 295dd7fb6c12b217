"""TensorFlow's parsing contract without TensorFlow: `tf.io.parse_example` and its like."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs.arrays import BytesArray, RaggedTensor, SparseTensor, column_of
from tfrecs.errors import SpecError
from tfrecs.features import Features, native_spec

Parsed: TypeAlias = dict[str, npt.NDArray[Any] | BytesArray | SparseTensor]
Serialized: TypeAlias = (
    bytes | Sequence[bytes] | _core.Records | BytesArray | npt.NDArray[np.object_ | np.bytes_]
)


def parse_example(
    serialized: Serialized, features: Features, example_names: Sequence[str] | str | None = None
) -> Parsed:
    """Parse a batch of serialized `tf.train.Example` messages into arrays.

    The contract is that of `tf.io.parse_example`, value for value and error for error; where it
    departs on purpose, docs/compatibility.md says so.

    Args:
        serialized: B records: a sequence of bytes, Records, a BytesArray or a 1-D NumPy array. A
            single bytes object (or a 0-d array) is parsed as by parse_single_example.
        features: What to parse, by name.
        example_names: Names of the records for error messages, as many as there are records.

    Returns:
        For a FixedLenFeature an array of shape (B, *shape): int64, float32, or a BytesArray. For a
        VarLenFeature a SparseTensor of dense_shape (B, longest row).

    Raises:
        SpecError: Something is wrong with `features`, or the shape of `serialized`.
        ParseError: A record is broken, or does not hold what `features` asks for; the text names
            the record and the feature.

    Example:
        >>> import tfrecs
        >>> records = [tfrecs.encode_example({"x": [1.0, 2.0], "label": n}) for n in range(3)]
        >>> spec = {
        ...     "x": tfrecs.FixedLenFeature([2], "float32"),
        ...     "label": tfrecs.FixedLenFeature([], "int64"),
        ... }
        >>> batch = tfrecs.parse_example(records, spec)
        >>> batch["x"].shape, batch["label"].tolist()
        ((3, 2), [0, 1, 2])
    """
    records = _records(serialized)
    if isinstance(records, bytes):
        _checked_names(example_names, None)
        return parse_single_example(records, features)
    spec = _spec(features)
    names = _checked_names(example_names, len(records))
    columns = _core.decode_batch(records, spec, names)
    return {name: _tensor(column_of(columns, index)) for index, name in enumerate(columns.names)}


def parse_single_example(serialized: Serialized, features: Features) -> Parsed:
    """Parse one serialized `tf.train.Example` message.

    The contract is that of `tf.io.parse_single_example`.

    Args:
        serialized: The record: bytes, or a 0-d array.
        features: What to parse, by name.

    Returns:
        For a FixedLenFeature an array of its shape (0-d for a scalar); for a VarLenFeature a
        SparseTensor with one dimension.

    Raises:
        SpecError: Something is wrong with `features`, or `serialized` is no scalar.
        ParseError: The record is broken, or does not hold what `features` asks for.

    Example:
        >>> import tfrecs
        >>> record = tfrecs.encode_example({"label": 7, "tags": ["a", "b"]})
        >>> spec = {
        ...     "label": tfrecs.FixedLenFeature([], "int64"),
        ...     "tags": tfrecs.VarLenFeature("string"),
        ... }
        >>> example = tfrecs.parse_single_example(record, spec)
        >>> int(example["label"]), example["tags"].values.tolist()
        (7, [b'a', b'b'])
    """
    record = _records(serialized)
    if not isinstance(record, bytes):
        raise SpecError(f"Input serialized must be a scalar, got {len(record)} records")
    columns = _core.decode_batch([record], _spec(features))
    return {name: _single(column_of(columns, index)) for index, name in enumerate(columns.names)}


def _checked_names(names: Sequence[str] | str | None, records: int | None) -> list[str] | None:
    """Names are as many as records (one str, if that is a scalar); an empty list is none."""
    is_one = isinstance(names, str)
    if names is None or len(names) == 0 or (is_one and records is None):
        return None
    if is_one or len(names) != records:
        shape = "" if is_one else str(len(names))
        raise SpecError(
            "Expected names have the same shape as serialized: "
            f"name.shape=[{shape}], serialized.shape=[{'' if records is None else records}]"
        )
    return [str(name) for name in names]


def _spec(features: Features) -> Any:
    if not features:
        raise SpecError(f"Argument `features` cannot be None or falsy. Got {features}")
    return native_spec(features)


def _records(serialized: Serialized) -> bytes | _core.Records | list[bytes]:
    """The records as the native decoder takes them; bytes for a scalar."""
    if isinstance(serialized, bytes | _core.Records):
        return serialized
    if isinstance(serialized, str | bytearray | memoryview | Mapping):
        raise SpecError(
            f"serialized is bytes or a sequence of bytes, not {type(serialized).__name__}"
        )
    if isinstance(serialized, BytesArray | np.ndarray):
        if serialized.ndim > 1:
            shape = ",".join(map(str, serialized.shape))
            raise SpecError(f"Expected serialized to be a scalar or vector, got shape: [{shape}]")
        if isinstance(serialized, BytesArray) and serialized.ndim == 1:
            return serialized.to_records()
        return serialized.tolist()  # type: ignore[no-any-return]
    return list(serialized)


def _tensor(column: npt.NDArray[Any] | BytesArray | RaggedTensor) -> Any:
    return column.to_sparse() if isinstance(column, RaggedTensor) else column


def _single(column: npt.NDArray[Any] | BytesArray | RaggedTensor) -> Any:
    """Take the batch dimension of a batch of one away."""
    if not isinstance(column, RaggedTensor):
        return column.reshape(column.shape[1:])
    size = len(column.values)
    indices = np.arange(size, dtype=np.int64).reshape(size, 1)
    return SparseTensor(indices, column.values, np.array([size], np.int64))
