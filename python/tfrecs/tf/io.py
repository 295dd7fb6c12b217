"""`tf.io`: records, features, bytes, images and files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tfrecs.errors import file_error
from tfrecs.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecs.tensors import decode_raw as raw
from tfrecs.tensors import tensor_proto as tensors
from tfrecs.tf import python_io
from tfrecs.tf.functions import filesystem as gfile
from tfrecs.tf.functions.csv import decode_csv
from tfrecs.tf.functions.file_io import path_of
from tfrecs.tf.functions.images import (
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
)
from tfrecs.tf.functions.keywords import renamed
from tfrecs.tf.functions.parsing import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from tfrecs.tf.functions.suggestions import no_such
from tfrecs.tf.functions.writing import TFRecordOptions, TFRecordWriter
from tfrecs.tf.graph import static_inputs as static
from tfrecs.tf.graph.deferred import deferrable
from tfrecs.tf.tensor.dtypes import as_dtype
from tfrecs.tf.tensor.values import Tensor, single, tensor, unwrapped, wrapped

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


@renamed(bytes="input_bytes")
@deferrable(rule=static.raw)
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


@deferrable(rule=static.typed)
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """Read a serialized array, as tfrecs.parse_tensor: `tf.io.parse_tensor`."""
    return wrapped(tensors.parse_tensor(single(serialized), as_dtype(out_type).name))


@deferrable(rule=static.string_scalar)
def serialize_tensor(tensor: Any, name: str | None = None) -> Any:
    """Return an array as bytes, as tfrecs.serialize_tensor: `tf.io.serialize_tensor`."""
    return Tensor(tensors.serialize_tensor(_as_array(tensor)))


def _as_array(value: Any) -> Any:
    return np.asarray(tensor(value))


@deferrable(rule=static.file_content)
def read_file(filename: Any, name: str | None = None) -> Any:
    """Return the content of a file, as bytes.

    Raises:
        NotFoundError: There is no such file; and other errors of files.
    """
    path = path_of(filename)
    try:
        return Tensor(Path(path).read_bytes())
    except OSError as error:
        raise file_error(error, path) from error


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write bytes to a file, and make the folders that it is in."""
    path = Path(path_of(filename))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(tensor(contents)))
    except OSError as error:
        raise file_error(error, str(path)) from error


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Return the names of the files that match a pattern, or one of several, in order."""
    return tensor(np.array([os.fsencode(file) for file in gfile.matching(pattern)], object))


def __getattr__(name: str) -> Any:
    if name == "tf_record_iterator":  # TensorFlow 1's
        return python_io.tf_record_iterator
    raise no_such("tf.io", name, __all__)
