"""Some of the rows of a batch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs.arrays import RaggedTensor, SparseTensor

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
