"""Columns that expressions are worked out over: of records, or of batches that are parsed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.native_types import NativeFeature
from tfrecs._internal.wording import counted
from tfrecs.errors import ParseError, feature_error
from tfrecs.expressions.text import Mask, Values
from tfrecs.features import Features, FixedLenFeature
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor
from tfrecs.tensors.bytes_array import values_of
from tfrecs.tensors.dtypes import dtype_name
from tfrecs.tensors.native import column_of

Key: TypeAlias = tuple[str, str | None]
"""A column's name, and the type that it is asked for in, if any."""


class Value(NamedTuple):
    """What an expression is for each row.

    Attributes:
        array: Shape (rows,); or a constant.
        valid: Where there is such a value; None is everywhere.
    """

    array: Any
    valid: Mask | None = None


class Wanted(NamedTuple):
    """A column to be read of records.

    Attributes:
        name: The feature's name.
        dtype: As the native decoder calls it.
        is_one: Whether each record has one value, and no list of them.
        default: What stands for a missing value, if that is not None.
        is_required: Whether a missing value is an error.
    """

    name: str
    dtype: str
    is_one: bool
    default: Any = None
    is_required: bool = False


def wanted_of(key: Key, features: Features | None) -> Wanted:
    """Return how a column is read of records that are parsed as `features`.

    Raises:
        SpecError: Nobody says what its type is, or it has no values of its own.
    """
    name, dtype = key
    if dtype is not None:
        return Wanted(name, dtype, is_one=True)
    feature: Any = (features or {}).get(name)
    if feature is None:
        raise feature_error(
            name,
            "there is no such feature; if the records have one, give its type: "
            f'col({name!r}, "int64")',
        )
    if hasattr(feature, "index_key") or getattr(feature, "value_key", None) not in (None, name):
        raise feature_error(
            name,
            "it is made of other columns of the records; ask for these, by their names and types: "
            'col("values", "float32")',
        )
    dtype = dtype_name(feature.dtype, name)
    if not isinstance(feature, FixedLenFeature):
        return Wanted(name, dtype, is_one=False)
    if isinstance(feature.shape, int) or len(feature.shape):
        return Wanted(name, dtype, is_one=False)
    default = _default_of(feature)
    return Wanted(name, dtype, True, default, default is None)


def _default_of(feature: FixedLenFeature) -> Any:
    """Return what stands for a missing value; text as bytes."""
    default: Any = feature.default_value
    if default is None:
        return None
    value = default if isinstance(default, bytes | str) else np.asarray(default).ravel()[0]
    return value.encode() if isinstance(value, str) else value


class Lists(NamedTuple):
    """The values of all rows, and where those of each end."""

    values: Values
    splits: npt.NDArray[Any]


class Table(ABC):
    """Rows of columns."""

    rows: int

    @abstractmethod
    def wanted(self, key: Key) -> Wanted:
        """Return how a column is meant."""

    @abstractmethod
    def lists(self, key: Key) -> Lists:
        """Return the values that each row has."""

    @abstractmethod
    def error(self, row: int, name: str, reason: str) -> Exception:
        """Return what to raise about a row."""

    def counts(self, key: Key) -> npt.NDArray[Any]:
        """Return how many values each row has."""
        return np.diff(self.lists(key).splits)

    def one(self, key: Key) -> Value:
        """Return the value of each row.

        Raises:
            ParseError: A row has several, or none where there must be one.
        """
        wanted, (values, splits) = self.wanted(key), self.lists(key)
        counts = np.diff(splits)
        if (counts == 1).all():
            return Value(values)
        if counts.max(initial=0) > 1:
            row = int((counts > 1).argmax())
            text = f"it has {counted(counts[row], 'value')}, and a filter compares single ones"
            raise self.error(row, wanted.name, text)
        if wanted.is_required:
            how = f"col({wanted.name!r}, {_TYPES.get(wanted.dtype, wanted.dtype)!r})"
            text = f"is required but could not be found; {how} takes it for missing"
            raise self.error(int(counts.argmin()), wanted.name, text)
        return _filled(values, splits, counts == 1, wanted.default)

    def length(self, key: Key) -> Value:
        """Return how long the list of each row is, or its byte string."""
        wanted = self.wanted(key)
        if not wanted.is_one:
            return Value(self.counts(key))
        values, valid = self.one(key)
        if not isinstance(values, BytesArray):
            raise feature_error(wanted.name, "single numbers have no length()")
        return Value(np.diff(values.offsets), valid)


_TYPES = {"bytes": "string"}


def _filled(values: Values, splits: Any, present: Mask, default: Any) -> Value:
    """Return one value for each row; what is missing is the default, or not valid."""
    if isinstance(values, BytesArray):
        each = BytesArray(values.data, values.offsets[splits])
        if default is None:
            return Value(each, present)
        objects = each.__array__()
        objects[~present] = default
        return Value(BytesArray.from_values(objects.tolist()))
    filled = np.zeros(len(present), values.dtype)
    filled[present] = values
    if default is None:
        return Value(filled, present)
    filled[~present] = default
    return Value(filled)


class RecordColumns:
    """Which columns of records expressions need.

    Attributes:
        native: Each as the native side takes it.
    """

    def __init__(self, keys: Iterable[Key], features: Features | None) -> None:
        """Find out how each is read.

        Raises:
            SpecError: Nobody says what the type of one is, or it is asked for in two.
        """
        self._wanted = {key: wanted_of(key, features) for key in keys}
        types: dict[str, str] = {}
        for one in self._wanted.values():
            if types.setdefault(one.name, one.dtype) != one.dtype:
                text = f"asked for as {types[one.name]} and as {one.dtype}"
                raise feature_error(one.name, text)
        self.native = tuple(
            [NativeFeature(name, dtype, "ragged", []) for name, dtype in types.items()]
        )
        self._places = {name: place for place, name in enumerate(types)}

    def table(self, columns: _core.Columns, records: _core.Records) -> Table:
        """Return what was decoded of `records` as a table."""
        return _RecordTable(self._wanted, self._places, columns, records)

    def empty(self) -> Table:
        """Return the table of no records."""
        records = _core.Records([])
        return self.table(_core.decode_batch(records, self.native), records)


class _RecordTable(Table):
    """Columns that were decoded of records, each as lists."""

    def __init__(
        self,
        wanted: Mapping[Key, Wanted],
        places: Mapping[str, int],
        columns: _core.Columns,
        records: _core.Records,
    ) -> None:
        self.rows = columns.num_rows
        self._all, self._places = wanted, places
        self._columns, self._records = columns, records
        self._read: dict[str, Lists] = {}

    def wanted(self, key: Key) -> Wanted:
        """Return how a column is meant."""
        return self._all[key]

    def lists(self, key: Key) -> Lists:
        """Return the values that each record has."""
        name = key[0]
        if name not in self._read:
            ragged: Any = column_of(self._columns, self._places[name])
            self._read[name] = Lists(ragged.flat_values, ragged.row_splits)
        return self._read[name]

    def error(self, row: int, name: str, reason: str) -> Exception:
        """Return an error that names the record."""
        return self._records.parse_error(row, reason, name)


class BatchTable(Table):
    """The columns of a batch, whatever made it; the types that are asked for are not looked at."""

    def __init__(self, batch: Mapping[str, Any], rows: int) -> None:
        """Look at a batch of `rows` rows."""
        self.rows = rows
        self._batch = batch

    def _column(self, name: str) -> Any:
        if name not in self._batch:
            raise feature_error(name, f"the batch has {', '.join(map(str, self._batch))}")
        column = self._batch[name]
        is_array = isinstance(column, np.ndarray | BytesArray | RaggedTensor | SparseTensor)
        return column if is_array else values_of(column)

    def wanted(self, key: Key) -> Wanted:
        """Return how a column is meant: as single values where it has one dimension."""
        is_one = getattr(self._column(key[0]), "ndim", 0) == 1
        return Wanted(key[0], key[1] or "", is_one)

    def lists(self, key: Key) -> Lists:
        """Return the values that each row has."""
        column = self._column(key[0])
        if isinstance(column, RaggedTensor):
            return Lists(column.values, column.row_splits)  # type: ignore[arg-type]
        if isinstance(column, SparseTensor):
            counts = np.bincount(column.indices[:, 0], minlength=self.rows)
            return Lists(column.values, np.concatenate([[0], np.cumsum(counts)]))
        each = 1 if column.ndim < 2 else column.shape[1]  # noqa: PLR2004 - rows of something
        return Lists(column, np.arange(self.rows + 1) * each)

    def error(self, row: int, name: str, reason: str) -> Exception:
        """Return an error that names the record, or at least the row."""
        records = getattr(self._batch, "records", None)
        if isinstance(records, _core.Records):
            return records.parse_error(row, reason, name)
        return ParseError(f"row {row}: feature {name!r}: {reason}", feature=name, reason=reason)
