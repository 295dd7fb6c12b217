"""Columns as people have them, in the form that the native encoder takes."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.wording import with_article
from tfrecs.columns.batch import Batch
from tfrecs.errors import SpecError, feature_error
from tfrecs.features import checked_name
from tfrecs.tensors import BytesArray, Pieces, RaggedTensor, Values, ragged_pieces

# The types of arrays that need no conversion, as almost all arrays have them.
_INT64, _FLOAT32 = np.dtype(np.int64), np.dtype(np.float32)

# Python's and NumPy's scalars by the list of a feature that holds them.
_KINDS: dict[str, tuple[type, ...]] = {
    "int or bool": (bool, int, np.integer, np.bool_),
    "float": (float, np.floating),
    "bytes or str": (str, bytes, bytearray, memoryview),
}


def table_of(columns: Any, pieces_of_one: "PiecesOf") -> Any:
    """Return columns as the native side takes them: as its own, or as what speaks Arrow.

    Raises:
        SpecError: They are no columns, or of different lengths.
    """
    if isinstance(columns, Batch):
        return columns.columns
    if not isinstance(columns, Mapping):
        if speaks_arrow(columns):
            return columns
        raise SpecError(
            f"expected a mapping of columns or an Arrow table, got {type(columns).__name__}"
        )
    pieces = [pieces_of_one(checked_name(name), column) for name, column in columns.items()]
    lengths = {name: rows for (name, *_), rows in pieces}
    if len(set(lengths.values())) > 1:
        raise SpecError(f"the columns have different lengths: {lengths}")
    rows = next(iter(lengths.values()), 0)
    return _core.Columns.build(rows, [piece for piece, _ in pieces], borrowed=True)


def speaks_arrow(columns: Any) -> bool:
    """Whether something hands itself over by Arrow's PyCapsule interface."""
    return hasattr(columns, "__arrow_c_array__") or hasattr(columns, "__arrow_c_stream__")


def pieces_of(name: str, column: Any) -> tuple[Pieces, int]:
    """Return a column in the form that the native side takes, and its number of rows.

    Raises:
        SpecError: It is no column, or holds what no feature holds.
    """
    if type(column) is np.ndarray and _is_native(column):
        shape = column.shape
        return (name, column, None, list(shape[1:]), [], None), shape[0]
    if isinstance(column, RaggedTensor):
        return ragged_pieces(name, _flat_rows(name, column)), len(column)
    if isinstance(column, BytesArray | np.ndarray):
        return array_pieces(name, column)
    if speaks_arrow(column):
        return (name, column, None, [], [], None), len(column)
    if hasattr(column, "__array__") and not isinstance(column, np.generic):
        return pieces_of(name, np.asarray(column))
    if isinstance(column, str | bytes | np.generic) or not isinstance(column, Iterable):
        raise feature_error(name, f"a scalar ({type(column).__name__}) is no column")
    return pieces_of(name, column_of_rows(name, list(column)))


def _is_native(array: npt.NDArray[Any]) -> bool:
    """Whether the native side can read an array of one dimension or more as it lies."""
    dtype = array.dtype
    return (dtype is _INT64 or dtype is _FLOAT32) and array.ndim > 0 and array.flags.c_contiguous


# pieces_of, or what takes columns of another form in its place.
PiecesOf: TypeAlias = Callable[[str, Any], tuple[Pieces, int]]


def _flat_rows(name: str, rows: RaggedTensor) -> RaggedTensor:
    """Make the elements of each row, which may be arrays, one flat list."""
    if isinstance(rows.values, RaggedTensor):
        raise feature_error(
            name,
            "its rows are made of rows, and a feature is one flat list: encode "
            "flat_values, and the row_lengths() of each level as a feature of its own",
        )
    each = math.prod(rows.values.shape[1:])
    return RaggedTensor(native_values(name, rows.values), rows.row_splits * each, rows.missing)


def array_pieces(name: str, array: Values) -> tuple[Pieces, int]:
    """Return an array with a row along its first axis, and its number of rows."""
    if array.ndim == 0:
        raise feature_error(name, "a scalar is no column")
    rows, shape = array.shape[0], [int(size) for size in array.shape[1:]]
    if isinstance(array, BytesArray):
        offsets = np.ascontiguousarray(array.offsets)
        return (name, array.data, offsets, shape, [], None), rows
    if array.dtype.kind == "O" and array.ndim == 1:
        return pieces_of(name, column_of_rows(name, array.tolist()))
    missing = _missing_rows(name, array)
    values = native_values(name, np.asarray(array))
    if isinstance(values, BytesArray):
        offsets = np.ascontiguousarray(values.offsets)
        return (name, values.data, offsets, shape, [], missing), rows
    return (name, values, None, shape, [], missing), rows


def _missing_rows(name: str, array: npt.NDArray[Any]) -> npt.NDArray[np.uint8] | None:
    """Masked values of a masked array are missing features."""
    if not isinstance(array, np.ma.MaskedArray) or not np.ma.is_masked(array):
        return None
    if array.ndim > 1:
        raise feature_error(name, "a value inside a row is masked")
    return np.ma.getmaskarray(array).astype(np.uint8)


def column_of_rows(name: str, rows: Sequence[Any]) -> Values | RaggedTensor:
    """Make a column of rows that are scalars, sequences of scalars, arrays, or None."""
    if not any(row is None or isinstance(row, list | tuple | np.ndarray) for row in rows):
        return _of_scalars(name, rows)
    if len({row.dtype if isinstance(row, np.ndarray) else None for row in rows} - {None}) == 1:
        arrays = [row for row in rows if isinstance(row, np.ndarray)]
        if len(arrays) == len(rows) and arrays[0].dtype.kind in "biuf":
            values = np.concatenate([row.ravel() for row in arrays])
            return RaggedTensor.from_row_lengths(values, [row.size for row in arrays])
    lists = [None if row is None else _row(name, row) for row in rows]
    flat = [value for row in lists if row is not None for value in row]
    lengths = [None if row is None else len(row) for row in lists]
    return RaggedTensor.from_row_lengths(_of_scalars(name, flat), lengths)


def _row(name: str, row: Any) -> list[Any]:
    """Return the values of a row: an array is flattened, a list must be flat."""
    if isinstance(row, np.ndarray):
        return list(row.ravel().tolist())
    values = list(row) if isinstance(row, list | tuple) else [row]
    if any(isinstance(value, list | tuple | np.ndarray) for value in values):
        raise feature_error(
            name,
            "a list inside a list; a row is one flat list, or an array of any "
            "shape, which is flattened",
        )
    return values


def _of_scalars(name: str, values: Sequence[Any]) -> Values:
    """Make an array of scalars of one kind."""
    kinds = {_kind(name, kind) for kind in set(map(type, values))}
    if len(kinds) > 1:
        raise feature_error(
            name,
            f"its values are {' and '.join(sorted(kinds))}; a feature holds one "
            "kind: convert them to one",
        )
    if kinds == {"bytes or str"}:
        return _bytes_array(name, values)
    if kinds == {"float"}:
        return to_native(name, np.array([float(value) for value in values]))
    try:
        return np.array([int(value) for value in values], np.int64)
    except OverflowError:
        raise feature_error(name, "a value does not fit int64") from None


def _kind(name: str, found: type) -> str:
    for kind, types in _KINDS.items():
        if issubclass(found, types):
            return kind
    raise feature_error(
        name,
        f"it holds {with_article(found.__name__)}; a feature holds int, float, bool, str or "
        "bytes, and only a whole row can be None",
    )


def _bytes_array(name: str, values: Iterable[Any]) -> BytesArray:
    try:
        return BytesArray.from_values(values)
    except UnicodeEncodeError as error:
        raise feature_error(name, f"{error}") from None


def native_values(name: str, values: Values) -> Values:
    """Return the values as BytesArray, or as contiguous int64 or float32, if they fit."""
    if isinstance(values, BytesArray):
        return values
    if values.dtype.kind == "O":
        return _of_scalars(name, values.ravel().tolist())
    if values.dtype.kind in "STU":
        return _bytes_array(name, values.ravel().tolist())
    return np.ascontiguousarray(to_native(name, values)).ravel()


def to_native(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert to int64 or float32, the only numbers that a feature holds."""
    kind = values.dtype.kind
    if kind in "bi":
        return values.astype(np.int64, copy=False)
    if kind == "u":
        if values.size and values.max() > np.iinfo(np.int64).max:
            raise feature_error(name, f"{values.max()} does not fit int64")
        return values.astype(np.int64)
    # bfloat16 and other small floats of ml_dtypes have kind "V" or "f" and cast like floats.
    if kind == "f" or (kind == "V" and "float" in values.dtype.name):
        with np.errstate(over="ignore"):
            narrow = values.astype(np.float32, copy=False)
        if narrow is not values and (np.isinf(narrow) & np.isfinite(values)).any():
            raise feature_error(name, "a value does not fit float32")
        return narrow
    raise feature_error(
        name,
        f"an array of {values.dtype} cannot be a feature: convert it to an "
        "integer, a float or a string type",
    )
