"""Batches as DataFrames of pandas."""

from typing import Any

import numpy as np

from tfrecs import _core
from tfrecs.columns.dataframes import Text, plain, text_columns
from tfrecs.errors import MissingLibraryError
from tfrecs.tensors import BytesArray, RaggedTensor, column_of

try:
    import pandas as pd
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'to_pandas() needs pandas: pip install "tfrecs[pandas]"', name=error.name
    ) from error


def frame_of(columns: _core.Columns, text: Text = False) -> Any:
    """Return columns as a pandas.DataFrame.

    Raises:
        SpecError: A column that `text` names is not text.

    Example:
        >>> import tfrecs
        >>> batch = tfrecs.decode_batch([tfrecs.encode_example({"a": ["x", "y"]})])
        >>> frame_of(batch.columns, text=True)["a"].tolist()
        [['x', 'y']]
    """
    as_text = text_columns(columns, text)
    made = {
        name: _series(plain(column_of(columns, place)), name in as_text)
        for place, name in enumerate(columns.names)
    }
    return pd.DataFrame(made, index=pd.RangeIndex(columns.num_rows), columns=columns.names)


def _series(column: Any, is_text: bool) -> Any:
    if isinstance(column, BytesArray) and column.ndim == 1:
        if is_text:
            return pd.Series(column.astype_str(), dtype="str")
        return pd.Series(np.asarray(column), dtype=object)
    if isinstance(column, np.ndarray) and column.ndim == 1:
        return pd.Series(column)
    rows = np.empty(len(column), object)
    for place, row in enumerate(column):
        rows[place] = _value(row, is_text)
    return pd.Series(rows, dtype=object)


def _value(row: Any, is_text: bool) -> Any:
    """Return a row that is no single value: an array, or nested lists; None if it is missing."""
    if isinstance(row, BytesArray):
        return (row.astype_str() if is_text else np.asarray(row)).tolist()
    if isinstance(row, RaggedTensor):
        return [_value(one, is_text) for one in row]
    return row
