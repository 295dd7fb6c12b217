"""What to parse from an Example: the feature classes of `tf.io`, without TensorFlow."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs.errors import SpecError
from tfrecs.tensors.dtypes import dtype_name


class FixedLenFeature(NamedTuple):
    """A feature with the same number of values in every record: a dense column.

    As `tf.io.FixedLenFeature`. Parsed in a batch of B records it gives an array of shape (B,
    *shape).

    Attributes:
        shape: The shape in one record, all dimensions known; `[]` is a scalar, `n` means `[n]`.
        dtype: int64, float32 or string, as a NumPy dtype, as Python's `int`, `float`, `bytes` or
            `str`, or as a name. Beyond TensorFlow, any other integer type, bool, or float type
            (bfloat16 needs ml_dtypes): values are converted while decoding, and one that does not
            fit is an error.
        default_value: What stands in for a missing feature: as many values as `shape` has elements.
            None makes the feature required.

    Example:
        >>> import tfrecs
        >>> records = [tfrecs.encode_example({"age": 36}), tfrecs.encode_example({})]
        >>> spec = {"age": tfrecs.FixedLenFeature([], "int64", default_value=-1)}
        >>> tfrecs.parse_example(records, spec)["age"]
        array([36, -1])
    """

    shape: int | Sequence[int]
    dtype: npt.DTypeLike
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values: a sparse tensor, or in a batch a ragged column.

    As `tf.io.VarLenFeature`.

    Attributes:
        dtype: The type of the values, as for FixedLenFeature.

    Example:
        >>> import tfrecs
        >>> records = [tfrecs.encode_example({"tags": tags}) for tags in (["a", "b"], ["c"])]
        >>> tags = tfrecs.parse_example(records, {"tags": tfrecs.VarLenFeature("string")})["tags"]
        >>> tags.values.tolist(), tags.dense_shape.tolist()
        ([b'a', b'b', b'c'], [2, 2])
    """

    dtype: npt.DTypeLike


class SparseFeature(NamedTuple):
    """Values with their places in a sparse tensor: one feature of values, others of indices.

    As `tf.io.SparseFeature`. Parsed in a batch of B records it gives a SparseTensor of dense_shape
    (B, *size), sorted by index. Each record must have as many indices as values; indices beyond
    `size` are not looked for.

    Attributes:
        index_key: The feature that holds the indices (int64), or a list of such features, one a
            dimension.
        value_key: The feature that holds the values.
        dtype: The type of the values, as for FixedLenFeature.
        size: The length of the dimension, or a list of as many lengths as there are index keys.
        already_sorted: Leave the values in the order in which a record has them.

    Example:
        >>> import tfrecs
        >>> record = tfrecs.encode_example({"ix": [5, 2], "val": [0.5, 1.0]})
        >>> spec = {"words": tfrecs.SparseFeature("ix", "val", "float32", size=10)}
        >>> words = tfrecs.parse_example([record], spec)["words"]
        >>> words.indices.tolist(), words.values.tolist(), words.dense_shape.tolist()
        ([[0, 2], [0, 5]], [1.0, 0.5], [1, 10])
    """

    index_key: str | Sequence[str]
    value_key: str
    dtype: npt.DTypeLike
    size: int | Sequence[int]
    already_sorted: bool = False


class FixedLenSequenceFeature(NamedTuple):
    """Any number of elements of one shape: a dense column, padded to the longest record.

    As `tf.io.FixedLenSequenceFeature`. Parsed in a batch of B records it gives an array of shape
    (B, longest, *shape), of one record (longest, *shape) without padding.

    Attributes:
        shape: The shape of an element, all dimensions known and positive.
        dtype: The type of the values, as for FixedLenFeature.
        allow_missing: Take a record without the feature for one with no elements. parse_example and
            parse_single_example demand it; for a feature list, False makes it required.
        default_value: One value to pad with; None is 0 or b"". A feature list has no other.

    Example:
        >>> import tfrecs
        >>> records = [tfrecs.encode_example({"ids": ids}) for ids in ([1, 2, 3], [4])]
        >>> ids = tfrecs.FixedLenSequenceFeature([], "int64", allow_missing=True, default_value=-1)
        >>> tfrecs.parse_example(records, {"ids": ids})["ids"].tolist()
        [[1, 2, 3], [4, -1, -1]]
    """

    shape: int | Sequence[int]
    dtype: npt.DTypeLike
    allow_missing: bool = False
    default_value: Any = None


class RowSplits(NamedTuple):
    """Where each row of values ends, with a leading 0: as many numbers as rows, and one more."""

    key: str


class RowLengths(NamedTuple):
    """How many values each row has."""

    key: str


class RowStarts(NamedTuple):
    """Where each row of values begins."""

    key: str


class RowLimits(NamedTuple):
    """Where each row of values ends."""

    key: str


class ValueRowIds(NamedTuple):
    """The row of each value, ascending."""

    key: str


class UniformRowLength(NamedTuple):
    """How many values every row has: a number, and no feature of the records."""

    length: int


Partition: TypeAlias = (
    RowSplits | RowLengths | RowStarts | RowLimits | ValueRowIds | UniformRowLength
)
_PARTITIONS = (RowSplits, RowLengths, RowStarts, RowLimits, ValueRowIds, UniformRowLength)


class _RaggedFields(NamedTuple):
    dtype: npt.DTypeLike
    value_key: str | None = None
    partitions: Sequence[Partition] = ()
    row_splits_dtype: npt.DTypeLike = "int32"
    validate: bool = False


class RaggedFeature(_RaggedFields):
    """Values, and other features that divide them into rows, to any depth: a ragged tensor.

    As `tf.io.RaggedFeature`. Parsed in a batch of B records it gives a RaggedTensor of B rows with
    one more level for every partition; partitions of uniform length at the end become dimensions of
    the values instead. Of one record, the same without the level of the batch.

    Attributes:
        dtype: The type of the values, as for FixedLenFeature.
        value_key: The feature that holds the values; None is the one of this name.
        partitions: What divides the values of a record into rows, outermost first:
            `RaggedFeature.RowSplits(key)`, `.RowLengths(key)`, `.RowStarts(key)`,
            `.RowLimits(key)`, `.ValueRowIds(key)`, where `key` is a feature that holds such
            numbers, or `.UniformRowLength(length)`.
        row_splits_dtype: int32 or int64: the type of the result's row splits.
        validate: No effect. TensorFlow's check can be left out, and then values get lost or land
            in another record; here it is always made, record by record.

    Raises:
        SpecError: An argument is none of these. (The other kinds are checked when parsed with.)

    Example:
        >>> import tfrecs
        >>> record = tfrecs.encode_example({"words": ["a", "b", "c"], "per_line": [2, 0, 1]})
        >>> lines = tfrecs.RaggedFeature(
        ...     "string", "words", [tfrecs.RaggedFeature.RowLengths("per_line")]
        ... )
        >>> tfrecs.parse_example([record], {"lines": lines})["lines"].tolist()
        [[[b'a', b'b'], [], [b'c']]]
    """

    RowSplits = RowSplits
    RowLengths = RowLengths
    RowStarts = RowStarts
    RowLimits = RowLimits
    ValueRowIds = ValueRowIds
    UniformRowLength = UniformRowLength

    __slots__ = ()

    def __new__(
        cls,
        dtype: npt.DTypeLike,
        value_key: str | None = None,
        partitions: Sequence[Partition] = (),
        row_splits_dtype: npt.DTypeLike = "int32",
        validate: bool = False,
    ) -> Self:
        """Check the arguments as TensorFlow does, when the feature is made."""
        _check_value_key(value_key)
        dtype_name(dtype, value_key)
        if dtype_name(row_splits_dtype, value_key) not in {"int32", "int64"}:
            raise SpecError(f"row_splits_dtype must be int32 or int64, got {row_splits_dtype!r}")
        if not isinstance(partitions, list | tuple):
            raise SpecError(f"partitions must be a list or tuple, got {partitions!r}")
        for partition in partitions:
            _check_partition(partition)
        if not isinstance(validate, bool):
            raise SpecError(f"validate must be a bool, got {validate!r}")
        return super().__new__(cls, dtype, value_key, tuple(partitions), row_splits_dtype, validate)


def _check_value_key(key: Any) -> None:
    if key is not None and not (isinstance(key, str) and key):
        raise SpecError(f"value_key must be a string that is not empty, got {key!r}")


def _check_partition(partition: Any) -> None:
    if not isinstance(partition, _PARTITIONS):
        names = ", ".join(kind.__name__ for kind in _PARTITIONS)
        raise SpecError(f"partitions are objects of RaggedFeature's {names}, got {partition!r}")
    if not isinstance(partition, UniformRowLength):
        if not isinstance(partition.key, str):
            raise SpecError(f"the key of a partition is a string, got {partition!r}")
        return
    length: Any = partition.length
    if not isinstance(length, int | np.integer) or isinstance(length, bool) or length < 1:
        raise SpecError(f"the length of a partition is a positive integer, got {partition!r}")


Feature: TypeAlias = (
    FixedLenFeature | VarLenFeature | SparseFeature | RaggedFeature | FixedLenSequenceFeature
)
Features: TypeAlias = Mapping[str, Feature]


def checked_name(name: Any) -> str:
    """Return the name or the key of a feature.

    Raises:
        SpecError: It is no text, or has lone surrogates.
    """
    if not isinstance(name, str):
        raise SpecError(f"a feature's name must be str, not {type(name).__name__}: {name!r}")
    if not is_encodable(name):
        raise SpecError(f"a feature's name must be encodable as UTF-8: {name!r}")
    return name


def is_encodable(text: str) -> bool:
    """Whether `text` has no lone surrogates, which UTF-8 cannot express."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
