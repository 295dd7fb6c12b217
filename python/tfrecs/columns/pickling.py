"""Pickle and copy what the native side holds: as NumPy arrays, which go out of band.

Under protocol 5 NumPy hands the memory of an array to `buffer_callback`, so that it is not copied
into the pickle on its way between processes (Ray, Dask, a queue). Earlier protocols have it in
band. `copyreg` is where pickle, copy and multiprocessing look first: importing this module
registers both classes there.
"""

import copyreg
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfrecs import _core
from tfrecs.tensors.dtypes import numpy_dtype
from tfrecs.tensors.native import view

# The types of the pickled arrays, where buffers do not have the type of the column.
_STORED = {"bytes": "uint8", "bfloat16": "uint16"}


def _reduced_columns(columns: _core.Columns) -> tuple[Any, ...]:
    pieces = [_reduced_column(columns, index) for index in range(len(columns.names))]
    return _columns, (columns.num_rows, columns.names, pieces)


def _reduced_column(columns: _core.Columns, index: int) -> tuple[Any, ...]:
    """Return a column as its type, and the arrays of which Columns.build makes it again."""
    dtype, memory, offsets, shape, splits, present = columns.column(index)
    stored = _STORED.get(dtype)
    values = view(memory, stored or numpy_dtype(dtype))
    ends = None if offsets is None else view(offsets, np.int64)
    missing = None if present is None else (view(present, np.uint8) == 0).astype(np.uint8)
    return dtype, values, ends, list(shape), [view(one, np.int64) for one in splits], missing


def _columns(rows: int, names: Sequence[str], pieces: Sequence[Any]) -> _core.Columns:
    return _core.Columns.build(rows, list(map(_piece, names, pieces)))


def _piece(name: str, piece: tuple[Any, ...]) -> Any:
    dtype, values, *rest = piece
    is_viewed = dtype in _STORED and dtype != "bytes"
    return name, values.view(numpy_dtype(dtype)) if is_viewed else values, *rest


def _reduced_records(records: _core.Records) -> tuple[Any, ...]:
    """Return the records, without where they came from."""
    values = records.tolist()
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    return _records, (np.frombuffer(b"".join(values), np.uint8), offsets)


def _records(data: Any, offsets: Any) -> _core.Records:
    return _core.Records.from_buffers(data, offsets)


copyreg.pickle(_core.Columns, _reduced_columns)
copyreg.pickle(_core.Records, _reduced_records)
