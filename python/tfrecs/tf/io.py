"""`tf.io`: records, features, bytes, images and files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfrecs import raw, tensors
from tfrecs.errors import SpecError, file_error
from tfrecs.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecs.tf import filesystem as gfile
from tfrecs.tf.deferred import deferrable, parts
from tfrecs.tf.dtypes import as_dtype
from tfrecs.tf.images import (
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
)
from tfrecs.tf.missing import no_such
from tfrecs.tf.parsing import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from tfrecs.tf.values import Tensor, single, tensor, unwrapped, wrapped
from tfrecs.tf.writing import TFRecordOptions, TFRecordWriter

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_bmp",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "encode_jpeg",
    "encode_png",
    "gfile",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "write_file",
]


@deferrable
def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Any:
    """Read byte strings as numbers, as tfrecs.decode_raw: `tf.io.decode_raw`."""
    given = unwrapped(input_bytes)
    return wrapped(raw.decode_raw(given, as_dtype(out_type).name, little_endian, fixed_length))


@deferrable
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """Read a serialized array, as tfrecs.parse_tensor: `tf.io.parse_tensor`."""
    return wrapped(tensors.parse_tensor(single(serialized), as_dtype(out_type).name))


@deferrable
def serialize_tensor(tensor: Any, name: str | None = None) -> Any:
    """Return an array as bytes, as tfrecs.serialize_tensor: `tf.io.serialize_tensor`."""
    return Tensor(tensors.serialize_tensor(_as_array(tensor)))


def _as_array(value: Any) -> Any:
    return np.asarray(tensor(value))


@deferrable
def read_file(filename: Any, name: str | None = None) -> Any:
    """Return the content of a file, as bytes.

    Raises:
        NotFoundError: There is no such file; and other errors of files.
    """
    path = gfile.path_of(filename)
    try:
        return Tensor(Path(path).read_bytes())
    except OSError as error:
        raise file_error(error, path) from error


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write bytes to a file, and make the folders that it is in."""
    path = Path(gfile.path_of(filename))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(tensor(contents)))
    except OSError as error:
        raise file_error(error, str(path)) from error


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Return the names of the files that match a pattern, or one of several, in order."""
    return tensor(np.array([os.fsencode(file) for file in gfile.matching(pattern)], object))


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    """Return the columns of lines of CSV, each in the shape of the lines: `tf.io.decode_csv`.

    Raises:
        InvalidArgumentError: A line has another number of fields, or one that is no number, or none
            where there is no default.

    Example:
        >>> from tfrecs import tf
        >>> name, age = tf.io.decode_csv(["ada,36", "grace,"], [[""], [-1]])
        >>> age.numpy()
        array([36, -1], dtype=int32)
    """
    how = (field_delim, use_quote_delim, na_value, select_cols)
    return parts(_columns(records, record_defaults, *how), len(record_defaults))  # type: ignore[no-any-return]


@deferrable
def _columns(
    records: Any, defaults: Sequence[Any], delimiter: str, quotes: bool, na_value: str, chosen: Any
) -> list[Tensor]:
    lines, given = np.asarray(tensor(records)), [tensor(default) for default in defaults]
    rows = []
    for line in lines.reshape(-1):
        fields = _fields(line.decode(), delimiter, quotes)
        if chosen is not None:
            fields = [fields[number] for number in chosen]
        if len(fields) != len(given):
            raise SpecError(f"Expect {len(given)} fields but have {len(fields)} in record")
        rows.append([_field(*one, na_value) for one in zip(fields, given, strict=True)])
    columns = [np.empty(len(rows), one.dtype.dtype) for one in given]
    for number, column in enumerate(columns):
        column[:] = [row[number] for row in rows]
    return [Tensor(column.reshape(lines.shape)) for column in columns]


def _fields(line: str, delimiter: str, quotes: bool) -> list[str]:
    import csv  # noqa: PLC0415 - its own need

    if quotes:
        return next(csv.reader([line], delimiter=delimiter))
    return next(csv.reader([line], delimiter=delimiter, quoting=csv.QUOTE_NONE))


def _field(text: str, default: Tensor, na_value: str) -> Any:
    if text in ("", na_value):
        if default.shape.num_elements() == 0:
            raise SpecError("a field is required, and the record has none")
        return np.asarray(default).reshape(-1)[0]
    if default.dtype.name == "string":
        return text.encode()
    try:
        return np.asarray(text).astype(default.dtype.dtype)[()]
    except (ValueError, OverflowError):
        raise SpecError(f"Field is not a valid {default.dtype.name}: {text}") from None


def __getattr__(name: str) -> Any:
    raise no_such("tf.io", name, __all__)
