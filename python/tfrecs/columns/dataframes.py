"""What a batch's columns are in a DataFrame: which of them are text, and of which types."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from tfrecs import _core
from tfrecs.errors import SpecError, feature_error
from tfrecs.tensors import BytesArray, Column, RaggedTensor, column_of, ragged_pieces

Text: TypeAlias = bool | str | Iterable[str]
"""Which columns of byte strings become text: all that are valid UTF-8 (True), none (False), or
those of these names."""


def text_columns(columns: _core.Columns, text: Text) -> frozenset[str]:
    r"""Return the names of the columns that become text.

    Raises:
        SpecError: A column that was named is not there, is not of byte strings, or has one that is
            not valid UTF-8.

    Example:
        >>> import tfrecs
        >>> batch = tfrecs.decode_batch([tfrecs.encode_example({"a": "x", "b": b"\xff", "n": 1})])
        >>> sorted(text_columns(batch.columns, True)), sorted(text_columns(batch.columns, "a"))
        (['a'], ['a'])
    """
    if isinstance(text, bool):
        of_bytes = _byte_columns(columns) if text else {}
        return frozenset(
            name for name, column in of_bytes.items() if _invalid(_flat(column)) is None
        )
    names = [text] if isinstance(text, str) else list(text)
    of_bytes = _byte_columns(columns)
    for name in names:
        _check_text(name, columns, of_bytes)
    return frozenset(names)


def _byte_columns(columns: _core.Columns) -> dict[str, Column]:
    found = {name: column_of(columns, index) for index, name in enumerate(columns.names)}
    return {name: column for name, column in found.items() if _is_of_bytes(column)}


def _flat(column: Column) -> Any:
    """Return the values of all rows."""
    return column.flat_values if isinstance(column, RaggedTensor) else column


def _is_of_bytes(column: Column) -> bool:
    return isinstance(_flat(column), BytesArray)


def _check_text(name: str, columns: _core.Columns, of_bytes: dict[str, Column]) -> None:
    if name not in columns.names:
        raise SpecError(f"text= names {name!r}, and the columns are {columns.names}")
    column = of_bytes.get(name)
    if column is None:
        # A column without any value has no type yet.
        index = columns.names.index(name)
        if not _flat(column_of(columns, index)).size:
            return
        raise feature_error(name, "text= names it, and it holds numbers")
    place = _invalid(_flat(column))
    if place is not None:
        row = _row_of(column, place)
        raise feature_error(
            name, f"text= names it, and a value in row {row} is not valid UTF-8: leave it out"
        )


def _invalid(array: BytesArray) -> int | None:
    """Return the place of the first value that is not valid UTF-8, if there is one."""
    begins, ends = array.offsets[:-1], array.offsets[1:]
    try:
        str(array.data[array.offsets[0] : array.offsets[-1]].data, "utf-8")
    except UnicodeDecodeError:
        pass
    else:
        # All of it together is valid. So is each value, if none begins inside a character.
        begun = array.data[begins[ends > begins]]
        if not ((begun & 0xC0) == 0x80).any():  # noqa: PLR2004 - 10xxxxxx continues with a character
            return None
    return next(place for place, value in enumerate(array.to_records()) if not _is_text(value))


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _row_of(column: Column, place: int) -> int:
    """Return the row in which value `place` of all flat values is."""
    flat = _flat(column)
    inner = flat.shape[1:]
    place //= int(np.prod(inner))
    levels = column.nested_row_splits if isinstance(column, RaggedTensor) else ()
    for splits in reversed(levels):
        place = int(np.searchsorted(splits, place, side="right")) - 1
    return place


def bool_columns(columns: _core.Columns) -> frozenset[str]:
    """Return the names of the columns of bool, which `storable` has as int8."""
    kinds = {name: _kind(column_of(columns, place)) for place, name in enumerate(columns.names)}
    return frozenset(name for name, kind in kinds.items() if kind == "bool")


def storable(columns: _core.Columns) -> _core.Columns:
    """Return the columns with types that all libraries take.

    bool is int8, in place of an extension type, and bfloat16 is float32. The memory of columns
    without such types is shared, if it is of byte strings or lists.
    """
    arrays = [column_of(columns, place) for place in range(len(columns.names))]
    if not any(_kind(array) in _STORED for array in arrays):
        return columns
    pieces = [_pieces(name, array) for name, array in zip(columns.names, arrays, strict=True)]
    return _core.Columns.build(columns.num_rows, pieces)


def plain(column: Column) -> Column:
    """Return a column with float32 in place of bfloat16."""
    return _stored(column) if _kind(column) == "bfloat16" else column


_STORED = {"bool": np.int8, "bfloat16": np.float32}


def _kind(column: Column) -> str:
    flat = _flat(column)
    return "bytes" if isinstance(flat, BytesArray) else flat.dtype.name


def _stored(column: Any) -> Any:
    if isinstance(column, RaggedTensor):
        return RaggedTensor(_stored(column.values), column.row_splits, column.missing)
    return column.astype(_STORED[column.dtype.name])


def _pieces(name: str, column: Any) -> Any:
    if _kind(column) in _STORED:
        column = _stored(column)
    elif isinstance(column, RaggedTensor | BytesArray):
        return name, column, None, [], [], None  # by Arrow, without a copy
    if isinstance(column, RaggedTensor):
        return ragged_pieces(name, column)
    return name, np.ascontiguousarray(column), None, list(column.shape[1:]), [], None
