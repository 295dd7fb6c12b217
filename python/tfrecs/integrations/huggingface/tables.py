"""Elements of datasets as Arrow tables, over the same memory where Arrow lays things out alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs.errors import Error, MissingLibraryError, SpecError, feature_error
from tfrecs.parsing.parsed_batch import ParsedBatch
from tfrecs.records.reader import Records
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor

try:
    import pyarrow as pa
    from datasets.features.features import cast_to_python_objects
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        f'to_hf() and from_hf() need datasets: pip install "tfrecs[huggingface]" ({error})',
        name=error.name,
    ) from error

# Names for what has none.
RECORD, KEY = "record", "__key__"

_MATRIX = 2


def table_of(batch: Any, sparse: frozenset[str] = frozenset()) -> Any:
    """Return the table of a batch: a row for each record.

    Args:
        batch: Records, a mapping of columns, a pair of keys and either, or what is parsed of
            SequenceExamples.
        sparse: Which SparseTensors are indices and values; of the others, the values are rows.

    Raises:
        SpecError: It is none of these, or Arrow has no such columns; it names the column.

    Example:
        >>> import numpy as np, tfrecs
        >>> batch = {"age": np.array([1, 2]), "name": tfrecs.BytesArray.from_values([b"a", b"b"])}
        >>> table_of(batch).to_pylist()
        [{'age': 1, 'name': b'a'}, {'age': 2, 'name': b'b'}]
    """
    columns = {}
    for name, column in _named(batch):
        try:
            columns[name] = column_of(column, name in sparse)
        except (Error, pa.ArrowException) as error:
            raise feature_error(name, getattr(error, "reason", str(error))) from error
    return pa.table(columns)


def row_table_of(row: Any, sparse: frozenset[str] = frozenset()) -> Any:
    """Return the table of one row: of what is no batch."""
    if isinstance(row, bytes):
        return pa.table({RECORD: pa.array([row], pa.binary())})
    return table_of({name: _alone(value, name in sparse) for name, value in _named(row)}, sparse)


def _named(element: Any) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a batch, or the values of a row, with their names."""
    if isinstance(element, Records | bytes):
        yield RECORD, element
    elif isinstance(element, ParsedBatch):
        yield from _unpadded(element, element.lengths())
    elif isinstance(element, Mapping):
        yield from element.items()
    elif isinstance(element, tuple) and _is_keyed(element):
        yield KEY, element[0]
        yield from _named(element[1])
    elif isinstance(element, tuple) and all(isinstance(one, Mapping) for one in element):
        # Of SequenceExamples: contexts, feature lists, and in batches how long these are.
        context, lists, *lengths = element
        yield from context.items()
        yield from _unpadded(lists, lengths[0] if lengths else {})
    else:
        raise SpecError(f"to_hf() needs elements that are dicts, not {type(element).__name__}")


def _is_keyed(element: tuple[Any, ...]) -> bool:
    return len(element) == 2 and isinstance(element[0], bytes | BytesArray)  # noqa: PLR2004 - a pair


def _unpadded(batch: Mapping[str, Any], lengths: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield columns; what is padded to the longest row of the batch is rows as the records have."""
    for name in batch:
        column = batch[name]
        yield name, column if name not in lengths else _rows(column, np.asarray(lengths[name]))


def _rows(padded: Any, lengths: npt.NDArray[Any]) -> RaggedTensor:
    rows, longest = padded.shape[:2]
    there = np.arange(longest) < lengths[:, None]
    flat = padded.reshape(rows * longest, *padded.shape[2:])[there.ravel()]
    return RaggedTensor(flat, np.concatenate([[0], np.cumsum(lengths)]))


def column_of(column: Any, is_sparse: bool = False) -> Any:
    """Return an Arrow array of a column."""
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return _dense(column)
    if isinstance(column, BytesArray | Records):
        return _strings(_byte_strings(column))
    if isinstance(column, RaggedTensor):
        return _ragged(column)
    if isinstance(column, SparseTensor):
        return _sparse(column) if is_sparse else _ragged(_packed(column))
    if isinstance(column, Mapping):
        return pa.StructArray.from_arrays([*map(column_of, column.values())], [*column])
    return pa.array(cast_to_python_objects(list(column), only_1d_for_numpy=True))


def _byte_strings(column: BytesArray | Records) -> BytesArray:
    return column if isinstance(column, BytesArray) else BytesArray.from_values(column)


def _dense(array: npt.NDArray[Any]) -> Any:
    """Return an array, of more dimensions as lists: those of a batch may be of any length."""
    if array.ndim == 1:
        if array.dtype.kind == "V":
            raise SpecError(f"Arrow has no {array.dtype}")
        return pa.array(array)
    flat = array.reshape(-1, *array.shape[2:])
    return _lists(np.arange(len(array) + 1) * array.shape[1], _dense(flat))


def _strings(array: BytesArray) -> Any:
    if array.ndim > 1:
        flat = array.reshape(-1, *array.shape[2:])
        return _lists(np.arange(len(array) + 1) * array.shape[1], _strings(flat))
    offsets, kind = _offsets(array.offsets), pa.binary()
    if offsets.dtype == np.int64:
        kind = pa.large_binary()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(array.data))]
    return pa.Array.from_buffers(kind, len(array), buffers)


def _offsets(offsets: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return offsets as Arrow's plain types have them, if they fit."""
    fits = not len(offsets) or int(offsets[-1]) <= np.iinfo(np.int32).max
    return np.ascontiguousarray(offsets, np.int32 if fits else np.int64)


def _ragged(ragged: RaggedTensor) -> Any:
    return _lists(ragged.row_splits, column_of(ragged.values), ragged.missing)


def _lists(splits: npt.NDArray[Any], values: Any, missing: Any = None) -> Any:
    offsets = _offsets(splits)
    kind = pa.ListArray if offsets.dtype == np.int32 else pa.LargeListArray
    mask = None if missing is None else pa.array(np.asarray(missing, bool))
    return kind.from_arrays(pa.array(offsets), values, mask=mask)


def _packed(sparse: SparseTensor) -> RaggedTensor:
    """Return the values of each row.

    Raises:
        SpecError: It has other dimensions than rows and columns.
    """
    if len(sparse.shape) != _MATRIX:
        raise SpecError(f"a SparseTensor of shape {sparse.shape} has no rows of values")
    splits = np.searchsorted(sparse.indices[:, 0], np.arange(sparse.shape[0] + 1))
    return RaggedTensor(sparse.values, splits.astype(np.int64))


def _sparse(sparse: SparseTensor) -> Any:
    """Return for each row its indices and its values."""
    splits = np.searchsorted(sparse.indices[:, 0], np.arange(sparse.shape[0] + 1))
    places = sparse.indices[:, 1:]
    indices = _dense(places[:, 0] if places.shape[1] == 1 else places)
    return pa.StructArray.from_arrays(
        [_lists(splits, indices), _lists(splits, column_of(sparse.values))], ["indices", "values"]
    )


def _alone(value: Any, is_sparse: bool) -> Any:
    """Return the column of one row."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)[None] if np.asarray(value).dtype.kind != "O" else [value]
    if isinstance(value, BytesArray):
        return value.reshape(1, *value.shape)
    if isinstance(value, RaggedTensor):
        return RaggedTensor(value, np.array([0, len(value)]))
    if isinstance(value, SparseTensor):
        return _alone_sparse(value, is_sparse)
    return [value]


def _alone_sparse(value: SparseTensor, is_sparse: bool) -> Any:
    if not is_sparse:
        return RaggedTensor(value.values, np.array([0, len(value.values)]))
    indices = np.pad(value.indices, ((0, 0), (1, 0)))
    return SparseTensor(indices, value.values, np.array([1, *value.shape]))
