"""Columns of Arrow tables as arrays, over the same memory where both lay things out alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tfrecs._internal.wording import counted
from tfrecs.errors import SpecError, feature_error
from tfrecs.tensors import BytesArray, RaggedTensor


def columns_of(table: Any, features: Any = None) -> dict[str, Any]:
    """Return the columns of a table as a batch of a Dataset has them.

    Numbers become arrays, strings a BytesArray, lists a RaggedTensor, structs and lists of them a
    column for each of their fields (`name/field`), images and audio the bytes of their files.

    Raises:
        SpecError: A column holds null, or something else that has no such form; it is named.

    Example:
        >>> import pyarrow as pa
        >>> columns = columns_of(pa.table({"age": [1, 2], "ids": [[1], [2, 3]]}))
        >>> columns["age"], columns["ids"].tolist()
        (array([1, 2]), [[1], [2, 3]])
    """
    columns: dict[str, Any] = {}
    for name in table.column_names:
        feature = None if features is None else features[name]
        try:
            columns |= _of(name, _whole(table[name]), feature)
        except (SpecError, pa.ArrowException) as error:
            raise feature_error(name, getattr(error, "reason", str(error))) from error
    return columns


def _whole(column: Any) -> Any:
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # as of none
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    return whole


def _of(name: str, array: Any, feature: Any) -> dict[str, Any]:
    if isinstance(feature, datasets.Image | datasets.Audio):
        return {name: _files(array)}
    if pa.types.is_struct(array.type):
        return _fields(name, array, feature)
    if _is_list(array.type) and pa.types.is_struct(array.type.value_type):
        values, splits, missing = _parts(array)
        fields = _fields(name, values, getattr(feature, "feature", None))
        return {field: RaggedTensor(one, splits, missing) for field, one in fields.items()}
    return {name: _column(array)}


def _fields(name: str, array: Any, feature: Any) -> dict[str, Any]:
    features = feature if isinstance(feature, dict) else {}
    found: dict[str, Any] = {}
    for field, values in zip(array.type, array.flatten(), strict=True):
        found |= _of(f"{name}/{field.name}", values, features.get(field.name))
    return found


def _files(array: Any) -> BytesArray:
    """Return the bytes of files, which lie in the table or where it says."""
    if not pa.types.is_struct(array.type):
        return _strings(array)
    return BytesArray.from_values(
        one["bytes"] if one["bytes"] is not None else Path(one["path"]).read_bytes()
        for one in array.to_pylist()
    )


def _column(array: Any) -> Any:
    kind = array.type
    if isinstance(kind, pa.ExtensionType):
        return _column(array.storage)
    if pa.types.is_dictionary(kind):
        return _column(array.dictionary_decode())
    if _is_list(kind):
        values, splits, missing = _parts(array)
        return RaggedTensor(_column(values), splits, missing)
    if array.null_count:
        raise SpecError(
            f"{array.null_count} of {counted(len(array), 'value')} are null: fill or drop them"
        )
    if pa.types.is_fixed_size_list(kind):
        return _column(array.flatten()).reshape(len(array), kind.list_size, *_inner(array))
    if _is_strings(kind):
        return _strings(array)
    if pa.types.is_temporal(kind):
        array = array.cast(pa.int64() if kind.bit_width == 64 else pa.int32())  # noqa: PLR2004 - bits
    if not (pa.types.is_primitive(array.type) or pa.types.is_boolean(kind)):
        raise SpecError(f"it is {kind}, which is neither numbers nor strings nor lists of them")
    return array.to_numpy(zero_copy_only=False)


def _inner(array: Any) -> tuple[int, ...]:
    """Return the shape of the elements of fixed-size lists."""
    inner = _column(array.flatten())
    return inner.shape[1:] if hasattr(inner, "shape") else ()


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _parts(array: Any) -> tuple[Any, npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Return the values of lists, where each list ends, and which lists are missing."""
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    return values, offsets - offsets[0], missing


def _is_strings(kind: Any) -> bool:
    types = pa.types
    return any(
        check(kind)
        for check in (
            types.is_string,
            types.is_binary,
            types.is_large_string,
            types.is_large_binary,
        )
    )


def _strings(array: Any) -> BytesArray:
    if not _is_strings(array.type):
        raise SpecError(f"it is {array.type}, and no bytes of files")
    if array.null_count:
        raise SpecError(
            f"{array.null_count} of {counted(len(array), 'value')} are null: fill or drop them"
        )
    wide = array.type in (pa.large_string(), pa.large_binary())
    _, ends, data = array.buffers()
    dtype: Any = np.int64 if wide else np.int32
    if ends is None or not len(array):
        return BytesArray(np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int64))
    offsets: npt.NDArray[Any] = np.frombuffer(ends, dtype)[array.offset :][: len(array) + 1]
    held = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    begin, end = int(offsets[0]), int(offsets[-1])
    return BytesArray(held[begin:end], offsets.astype(np.int64) - begin)
