"""Rows of batches: how many there are, some of them, or one."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs.errors import SpecError
from tfrecs.expressions import BatchTable
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor

Places = npt.NDArray[np.int64]


def rows_at(batch: Any, rows: Places) -> Any:
    """Return the rows of a batch at these places, which ascend; of mappings, of all columns.

    Example:
        >>> import numpy as np
        >>> rows_at({"a": np.arange(4), "b": [b"w", b"x", b"y", b"z"]}, np.array([1, 3]))
        {'a': array([1, 3]), 'b': [b'x', b'z']}
    """
    if isinstance(batch, Mapping):
        return {name: rows_at(column, rows) for name, column in batch.items()}
    if isinstance(batch, tuple):
        return tuple([rows_at(part, rows) for part in batch])
    if isinstance(batch, SparseTensor):
        return _of_sparse(batch, rows)
    if isinstance(batch, RaggedTensor):
        return _of_ragged(batch, rows)
    if isinstance(batch, list):
        return [batch[row] for row in rows.tolist()]
    return batch[rows]


def columns_of(element: Any, where: str) -> Mapping[str, Any]:
    """Return the columns in an element, beside which there may be a label or a key.

    Raises:
        SpecError: There are none, or several mappings of them.
    """
    parts = element if isinstance(element, tuple) else (element,)
    found = [part for part in parts if isinstance(part, Mapping)]
    if len(found) != 1:
        raise SpecError(f"{where} finds no columns in {type(element).__name__}")
    return found[0]


def row_table(element: Any, where: str) -> BatchTable:
    """Return a single element as a table of one row."""
    columns = columns_of(element, where)
    return BatchTable({name: _as_column(value) for name, value in columns.items()}, 1)


def _as_column(value: Any) -> Any:
    """Return a value as a column of one row: a list, unless it is a single one."""
    if isinstance(value, RaggedTensor | SparseTensor):
        value = value.values
    elif getattr(value, "shape", ()) == () and not isinstance(value, list):
        return value.reshape(1) if isinstance(value, BytesArray | np.ndarray) else [value]
    return RaggedTensor(value, [0, len(value)])


def _of_sparse(sparse: SparseTensor, rows: Places) -> SparseTensor:
    shape = sparse.dense_shape.copy()
    # Where each row comes to lie, if it stays.
    moved = np.full(int(shape[0]), -1)
    moved[rows] = np.arange(len(rows))
    indices = sparse.indices.copy()
    indices[:, 0] = moved[indices[:, 0]]
    kept = np.flatnonzero(indices[:, 0] >= 0)
    shape[0] = len(rows)
    return SparseTensor(indices[kept], sparse.values[kept], shape)


def _of_ragged(ragged: RaggedTensor, rows: Places) -> RaggedTensor:
    splits = ragged.row_splits
    lengths = np.diff(splits)[rows]
    kept = np.zeros(len(rows) + 1, splits.dtype)
    np.cumsum(lengths, out=kept[1:])
    steps = np.arange(kept[-1]) - np.repeat(kept[:-1], lengths)
    places = np.repeat(splits[:-1][rows], lengths) + steps
    missing = None if ragged.missing is None else ragged.missing[rows]
    return RaggedTensor(rows_at(ragged.values, places), kept, missing)


def rows_of(batch: Any) -> int:
    """Return how many rows a batch has.

    Raises:
        SpecError: It has none, for example because it is a number, or its parts have not equally
            many.
    """
    if isinstance(batch, Mapping):
        return int(batch.num_rows) if hasattr(batch, "num_rows") else _rows(batch.values())
    if isinstance(batch, tuple):
        return _rows(batch)
    if isinstance(batch, SparseTensor):
        return int(batch.dense_shape[0])
    try:
        return len(batch)
    except TypeError as error:
        raise SpecError(f"unbatch() needs batches, not {type(batch).__name__}") from error


def _rows(parts: Iterable[Any]) -> int:
    # An empty mapping, and None in place of a column, have as many rows as their neighbours.
    counted = [part for part in parts if not _has_no_rows(part)]
    counts = {rows_of(part) for part in counted}
    if len(counts) > 1:
        raise SpecError(f"unbatch() needs parts of equally many rows, not {sorted(counts)}")
    return max(counts, default=0)


def _has_no_rows(part: Any) -> bool:
    return part is None or (isinstance(part, Mapping) and not part)


def row_of(batch: Any, row: int) -> Any:
    """Return a row of a batch; of a SparseTensor, the SparseTensor of that row."""
    if isinstance(batch, Mapping):
        return {name: row_of(column, row) for name, column in batch.items()}
    if isinstance(batch, tuple):
        return tuple([row_of(column, row) for column in batch])
    if isinstance(batch, SparseTensor):
        return sparse_row(batch, row)
    return None if batch is None else batch[row]


def sparse_row(batch: SparseTensor, row: int) -> SparseTensor:
    """Return a row of a SparseTensor, with one dimension less.

    Raises:
        SpecError: It has one dimension only.
    """
    if len(batch.dense_shape) < 2:  # noqa: PLR2004 - rows, and what is in them
        raise SpecError("unbatch() needs a SparseTensor of two dimensions or more")
    mine = batch.indices[:, 0] == row
    return SparseTensor(batch.indices[mine, 1:], batch.values[mine], batch.dense_shape[1:])
