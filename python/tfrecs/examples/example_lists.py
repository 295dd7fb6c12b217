"""Lists of examples with a context: TensorFlow Ranking's `ExampleListWithContext`."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs.errors import SpecError, feature_error
from tfrecs.examples.rows import encode_example
from tfrecs.features import Feature, Features
from tfrecs.parsing import Parsed, Serialized, parse_example, source_of
from tfrecs.tensors import BytesArray, IntArray, RaggedTensor, SparseTensor, Values

Lists: TypeAlias = dict[str, npt.NDArray[Any] | BytesArray | RaggedTensor | SparseTensor]


def parse_example_list(
    serialized: Serialized,
    context_features: Features | None = None,
    example_features: Features | None = None,
    *,
    list_size: int | None = None,
) -> tuple[Parsed, Lists, IntArray]:
    """Parse a batch of serialized `ExampleListWithContext` messages: contexts and lists.

    That is the message of TensorFlow Ranking, `{ repeated Example examples = 1; Example context =
    2; }`: a query and its documents. With `list_size` the arrays are those of its
    `parse_from_example_list`.

    Args:
        serialized: B records: a sequence of bytes, Records, a BytesArray or a 1-D NumPy array.
        context_features: What to parse from each context, by name.
        example_features: What to parse from each example, by name.
        list_size: None leaves the lists as they are. A number makes all of them so long: longer
            ones are cut, shorter ones padded with the feature's `default_value` (0 or b"", if it
            has none).

    Returns:
        The contexts, as parse_example parses B examples.
        The examples, by name: for a feature that parse_example parses to an array of shape (N,
            *shape), a RaggedTensor of B rows with values of that shape, or with `list_size` an
            array of shape (B, list_size, *shape); for one that it parses to a RaggedTensor, one
            with a further level; for one that it parses to a SparseTensor, one with a further
            dimension, of dense_shape (B, longest list or list_size, …).
        How many examples each list has: int64, shape (B,), before anything is cut or padded.

    Raises:
        SpecError: Something is wrong with the features, `list_size` or the shape of `serialized`.
        ParseError: A record is broken, or does not hold what the features ask for; the text names
            the record and the feature.

    Example:
        >>> import tfrecs
        >>> query = tfrecs.encode_example_list([{"score": 0.5}, {"score": 0.25}], {"words": 3})
        >>> empty = tfrecs.encode_example_list([], {"words": 1})
        >>> context, examples, lengths = tfrecs.parse_example_list(
        ...     [query, empty],
        ...     {"words": tfrecs.FixedLenFeature([], "int64")},
        ...     {"score": tfrecs.FixedLenFeature([], "float32")},
        ... )
        >>> context["words"].tolist(), examples["score"].tolist(), lengths.tolist()
        ([3, 1], [[0.5, 0.25], []], [2, 0])
    """
    if not context_features and not example_features:
        raise SpecError("context_features and example_features: at least one should have values")
    if list_size is not None and not _is_positive(list_size):
        raise SpecError(f"list_size is at least 1, or None: {list_size!r}")
    source = source_of(serialized, None)
    if source.is_single:
        raise SpecError(
            "serialized is a batch of lists; for one list, put it into a list: [record]"
        )
    contexts, examples, ends = _core.split_lists(source.records)
    row_splits = np.frombuffer(memoryview(ends), np.int64)  # type: ignore[arg-type, unused-ignore]
    lists: Lists = {}
    if example_features:
        parsed = parse_example(examples, example_features)
        for name, column in parsed.items():
            lists[name] = _listed(name, column, row_splits, list_size, example_features[name])
    context = parse_example(contexts, context_features) if context_features else {}
    return context, lists, np.diff(row_splits)


def encode_example_list(
    examples: Iterable[Mapping[str, Any]], context: Mapping[str, Any] | None = None
) -> bytes:
    """Encode a list of examples and their context as an `ExampleListWithContext` message.

    Args:
        examples: The examples, each as encode_example takes it.
        context: The context, likewise; None leaves it out.

    Returns:
        The bytes of the message: a record.

    Raises:
        SpecError: A value is none that a feature holds, or `examples` is a single mapping.

    Example:
        >>> import tfrecs
        >>> tfrecs.encode_example_list([{"a": 1}], {"query": "x"}).count(b"query")
        1
    """
    if isinstance(examples, Mapping):
        raise SpecError("examples are a list of mappings; put a single one into a list")
    parts = [b"\x0a" + _delimited(encode_example(example)) for example in examples]
    if context is not None:
        parts.append(b"\x12" + _delimited(encode_example(context)))
    return b"".join(parts)


def _is_positive(size: Any) -> bool:
    is_integer = isinstance(size, int | np.integer) and not isinstance(size, bool)
    return is_integer and bool(size >= 1)


def _delimited(message: bytes) -> bytes:
    """A message after its length, as a varint."""
    length, prefix = len(message), bytearray()
    while length > 0x7F:  # noqa: PLR2004 - seven bits a byte
        prefix.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*prefix, length]) + message


def _listed(
    name: str, column: Any, row_splits: IntArray, list_size: int | None, feature: Feature
) -> Any:
    """Give a column of examples the dimension of the lists."""
    if isinstance(column, SparseTensor):
        return _sparse_lists(column, row_splits, list_size)
    if list_size is None:
        return RaggedTensor(column, row_splits)
    if isinstance(column, RaggedTensor):
        raise feature_error(
            name,
            f"ragged rows cannot be padded to list_size={list_size}; ask for it "
            "in a call without list_size",
        )
    return _padded(column, row_splits, list_size, getattr(feature, "default_value", None))


def _sparse_lists(
    sparse: SparseTensor, row_splits: IntArray, list_size: int | None
) -> SparseTensor:
    number = sparse.indices[:, 0]
    row = np.searchsorted(row_splits[1:], number, side="right")
    place = number - row_splits[row]
    size = int(np.diff(row_splits).max(initial=0)) if list_size is None else list_size
    kept = place < size
    indices = np.column_stack([row, place, sparse.indices[:, 1:]])[kept]
    values = sparse.values if kept.all() else sparse.values[kept]
    shape = [len(row_splits) - 1, size, *sparse.dense_shape[1:].tolist()]
    return SparseTensor(indices, values, np.array(shape, np.int64))


def _padded(values: Values, row_splits: IntArray, list_size: int, default: Any) -> Values:
    """Cut lists of elements to one length, and fill the shorter ones up."""
    shape = values.shape[1:]
    each = math.prod(shape)
    pool, padding = _with_padding(values, each, default)
    places = row_splits[:-1, np.newaxis] + np.arange(list_size)
    is_there = places < row_splits[1:, np.newaxis]
    first = np.where(is_there, places * each, padding)
    index = first[..., np.newaxis] + np.arange(each)
    padded: Values = pool[index]
    return padded.reshape((*is_there.shape, *shape))


def _with_padding(values: Values, each: int, default: Any) -> tuple[Values, int]:
    """Return all values, flat, an element of padding after them, and where that begins."""
    end = values.size
    if isinstance(values, BytesArray):
        given = np.asarray(b"" if default is None else default, np.object_).ravel()
        padding = BytesArray.from_values(np.broadcast_to(given, each))
        start, stop = int(values.offsets[0]), int(values.offsets[-1])
        data = np.concatenate([values.data[start:stop], padding.data])
        offsets = [values.offsets - start, padding.offsets[1:] + (stop - start)]
        return BytesArray(data, np.concatenate(offsets)), end
    given = np.asarray(0 if default is None else default).astype(values.dtype).ravel()
    return np.concatenate([values.ravel(), np.broadcast_to(given, each)]), end
