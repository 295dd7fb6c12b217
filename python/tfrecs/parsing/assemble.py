"""From decoded columns to what the feature kinds promise."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.wording import counted
from tfrecs.parsing.missing_features import MissingFeatures
from tfrecs.parsing.partition_errors import MisfitError
from tfrecs.parsing.plan import Divided, Indexed, Packed, Padded, Part, Plan, Whole
from tfrecs.parsing.ragged import divided
from tfrecs.parsing.serialized import SerializedRecords
from tfrecs.tensors import RaggedTensor, SparseTensor, Values, column_of
from tfrecs.tensors.decoded import Decoded
from tfrecs.tensors.dense import rows_side_by_side, scattered
from tfrecs.tensors.native import dense_maker, sparse_maker, view

# Row numbers in the data say how many rows there are: at most 1 MB of row splits, and 32 bytes of
# them for every byte of input.
_FREE_ROWS = 2**17
_ROWS_PER_BYTE = 4


class Assembly(Decoded):
    """Decoded columns, and the records that they come from."""

    __slots__ = ("_is_single", "_source")

    def __init__(self, columns: _core.Columns, source: SerializedRecords) -> None:
        """Keep both."""
        super().__init__(columns)
        self._source = source
        self._is_single = source.is_single

    def features(self, plan: Plan) -> dict[str, Any]:
        """Return what is made of the columns, by the features' names."""
        return {name: self.feature(name, part) for name, part in plan.parts.items()}

    def lengths(self, plan: Plan) -> dict[str, npt.NDArray[np.int64]]:
        """Return how many elements each row of the padded columns has."""
        parts = {name: part for name, part in plan.parts.items() if isinstance(part, Padded)}
        counts = {name: self._rows(part.column).row_lengths() for name, part in parts.items()}
        shape = () if self._is_single else (-1,)
        return {name: rows.astype(np.int64).reshape(shape) for name, rows in counts.items()}

    def feature(self, name: str, part: Part) -> Any:
        """Return what is made of the columns for one feature."""
        match part:
            case Whole():
                return self._whole(part)
            case Packed():
                return self._packed(part)
            case Padded():
                return self._padded(name, part)
            case Indexed():
                return self._indexed(name, part)
            case Divided():
                return self._divided(name, part)

    def _rows(self, column: int) -> RaggedTensor:
        return column_of(self.columns, column)  # type: ignore[return-value]

    def _whole(self, part: Whole) -> Values:
        array = dense_maker(part.column, part.dtype, part.shape)(self)
        return array.reshape(part.shape) if self._is_single else array

    def _packed(self, part: Packed) -> SparseTensor:
        rows = self._rows(part.column)
        if not self._is_single:
            return rows.to_sparse()
        if isinstance(rows.values, RaggedTensor):
            return rows.values.to_sparse()
        size = len(rows.values)
        indices = np.arange(size, dtype=np.int64).reshape(size, 1)
        return SparseTensor(indices, rows.values, np.array([size], np.int64))

    def _padded(self, name: str, part: Padded) -> Values:
        rows = self._rows(part.column)
        if self._is_single:
            return rows.values  # type: ignore[return-value]
        try:
            return padded(rows, part.padding)
        except MemoryError as error:
            row = int(np.argmax(rows.row_lengths()))
            records = counted(len(rows), "record")
            reason = f"no memory to pad {records} to the length of this one: {error}"
            raise self._source.error(row, name, reason) from None

    def _indexed(self, name: str, part: Indexed) -> SparseTensor:
        values = self._rows(part.values)
        indices = [self._rows(column) for column in part.indices]
        for rows, key in zip(indices, part.keys, strict=False):
            self._require_equal_lengths(name, rows, values, (key, part.keys[-1]))
        columns: list[Any] = [rows.values for rows in indices]
        table, order = _core.sparse_indices(values.row_splits, columns, part.already_sorted)
        found = view(table, np.int64).reshape(-1, 1 + len(columns))
        flat: Any = values.values
        flat = flat if order is None else flat[view(order, np.int64)]
        if self._is_single:
            return SparseTensor(
                np.ascontiguousarray(found[:, 1:]), flat, np.array(part.size, np.int64)
            )
        return SparseTensor(found, flat, np.array([len(values), *part.size], np.int64))

    def _require_equal_lengths(
        self, name: str, indices: RaggedTensor, values: RaggedTensor, keys: tuple[str, str]
    ) -> None:
        numbers, counts = indices.row_lengths(), values.row_lengths()
        differ = numbers != counts
        if differ.any():
            row = int(np.argmax(differ))
            reason = (
                f"{counted(numbers[row], 'index', 'indices')} (feature {keys[0]!r}) and "
                f"{counted(counts[row], 'value')} (feature "
                f"{keys[1]!r}) are not compatible: there is one index for each value"
            )
            raise self._source.error(row, name, reason)

    def _divided(self, name: str, part: Divided) -> RaggedTensor | Values:
        try:
            return divided(part, self._rows, is_single=self._is_single, max_rows=self._max_rows)
        except MisfitError as misfit:
            raise self._source.error(misfit.row, name, misfit.reason) from None

    def _max_rows(self) -> int:
        return _FREE_ROWS + _ROWS_PER_BYTE * self._source.nbytes


Recipe: TypeAlias = Callable[[Assembly], Any]


class Recipes(dict[str, Recipe]):
    """What makes each feature of batch after batch; a recipe is made when first asked for."""

    def __init__(self, plan: Plan) -> None:
        """Make features as `plan` says."""
        super().__init__()
        self.plan = plan
        self.missing = MissingFeatures(plan.columns)

    def __reduce__(self) -> Any:
        """Pickle the plan: recipes are made again."""
        return Recipes, (self.plan,)

    def __missing__(self, name: str) -> Recipe:
        """Make the recipe for `name`."""
        recipe = self[name] = _recipe(name, self.plan.parts[name])
        return recipe


def _recipe(name: str, part: Part) -> Recipe:
    if isinstance(part, Whole):
        return dense_maker(part.column, part.dtype, part.shape)
    if isinstance(part, Packed) and not part.in_lists:
        return sparse_maker(part.column, part.dtype)
    return lambda batch: batch.feature(name, part)


def padded(rows: RaggedTensor, padding: Any = None) -> Values:
    """Return rows of elements as an array of shape (rows, longest, …).

    Raises:
        MemoryError: There is not as much memory.
    """
    values: Any = rows.values
    lengths = rows.row_lengths()
    longest = int(lengths.max(initial=0))
    shape = (len(rows), longest, *values.shape[1:])
    if len(values) == len(rows) * longest:
        return values.reshape(shape)  # type: ignore[no-any-return]
    if math.prod(shape) * np.dtype(np.int64).itemsize > np.iinfo(np.intp).max:
        raise MemoryError(f"an array of shape {shape} is too large")
    if isinstance(values, np.ndarray):
        return rows_side_by_side(values, rows.row_splits, longest, padding)  # type: ignore[arg-type]
    starts = np.arange(len(rows), dtype=np.int64) * longest - rows.row_splits[:-1]
    places = np.arange(len(values)) + np.repeat(starts, lengths)
    dense: Any = scattered(values, places, len(rows) * longest, padding)
    return dense.reshape(shape)  # type: ignore[no-any-return]
