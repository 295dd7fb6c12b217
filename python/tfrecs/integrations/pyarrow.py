"""Batches as Arrow tables of pyarrow."""

from typing import Any

from tfrecs import _core
from tfrecs.columns.dataframes import Text, bool_columns, storable, text_columns
from tfrecs.errors import MissingLibraryError

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'to_arrow() needs pyarrow: pip install "tfrecs[arrow]"', name=error.name
    ) from error


def table_of(columns: _core.Columns, text: Text = False) -> Any:
    """Return columns as a pyarrow.Table, over the same memory where types are the same.

    Raises:
        SpecError: A column that `text` names is not text.

    Example:
        >>> import tfrecs
        >>> batch = tfrecs.decode_batch([tfrecs.encode_example({"a": "x"})])
        >>> table_of(batch.columns, text=True).to_pylist()
        [{'a': ['x']}]
    """
    as_text, as_bool = text_columns(columns, text), bool_columns(columns)
    table = pa.table(storable(columns))
    for place, field in enumerate(table.schema):
        target = pa.large_string() if field.name in as_text else None
        target = pa.bool_() if field.name in as_bool else target
        if target is not None:
            array = _cast(_whole(table.column(place)), target)
            table = table.set_column(place, field.with_type(array.type), array)
    return table


def _whole(column: Any) -> Any:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # of no rows
        array = pa.concat_arrays(array.chunks) if array.chunks else pa.array([], array.type)
    return array


def _cast(array: Any, target: Any) -> Any:
    """Return an array whose values below all lists are of another type."""
    kind = array.type
    if pa.types.is_null(kind):
        return array
    mask = array.is_null() if array.null_count else None
    if pa.types.is_large_list(kind):
        item = _cast(array.values, target)
        kind = pa.large_list(kind.value_field.with_type(item.type))
        return pa.LargeListArray.from_arrays(array.offsets, item, type=kind, mask=mask)
    if pa.types.is_fixed_size_list(kind):
        item = _cast(array.values, target)
        kind = pa.list_(kind.value_field.with_type(item.type), kind.list_size)
        if not kind.list_size:  # of which pyarrow cannot tell how many there are
            return pa.array([[]] * len(array), kind)
        return pa.FixedSizeListArray.from_arrays(item, type=kind, mask=mask)
    return array.cast(target)
