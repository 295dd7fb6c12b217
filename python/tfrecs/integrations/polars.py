"""Batches as DataFrames of Polars."""

from typing import Any

from tfrecs import _core
from tfrecs.columns.dataframes import Text, bool_columns, storable, text_columns
from tfrecs.errors import MissingLibraryError

try:
    import polars as pl
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'to_polars() needs Polars: pip install "tfrecs[polars]"', name=error.name
    ) from error


def frame_of(columns: _core.Columns, text: Text = False) -> Any:
    """Return columns as a polars.DataFrame.

    Raises:
        SpecError: A column that `text` names is not text.

    Example:
        >>> import tfrecs
        >>> batch = tfrecs.decode_batch([tfrecs.encode_example({"a": "x"})])
        >>> frame_of(batch.columns, text=True).to_dicts()
        [{'a': ['x']}]
    """
    as_text, as_bool = text_columns(columns, text), bool_columns(columns)
    frame = pl.DataFrame(storable(columns))
    targets = dict.fromkeys(as_text, pl.String) | dict.fromkeys(as_bool, pl.Boolean)
    cast = [frame[name].cast(_with_inner(frame[name].dtype, to)) for name, to in targets.items()]
    return frame.with_columns(cast)


def _with_inner(kind: Any, target: Any) -> Any:
    """Return a type with another one below all lists."""
    if kind == pl.Null:
        return kind
    if isinstance(kind, pl.List):
        return pl.List(_with_inner(kind.inner, target))
    if isinstance(kind, pl.Array):
        return pl.Array(target, kind.shape)
    return target
