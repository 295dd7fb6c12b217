"""What graphs know of decoded records and images before they are decoded."""

from __future__ import annotations

from typing import Any

from tfrecs.features import FixedLenFeature, FixedLenSequenceFeature, RaggedFeature
from tfrecs.tf.graph.known import UNKNOWN, Known, known, of, shape_of
from tfrecs.tf.tensor.dtypes import as_dtype
from tfrecs.tf.tensor.shapes import TensorShape


def string_scalar(*given: Any, **options: Any) -> Known:
    """Infer a function that returns one byte string."""
    return of("string", [])


def file_content(filename: Any, name: Any = None) -> Known:
    """Infer `read_file`."""
    _check_single(filename)
    return of("string", [])


def raw(input_bytes: Any, out_type: Any, endian: Any = True, length: Any = None, *_: Any) -> Known:
    """Infer `decode_raw`."""
    dtype = as_dtype(out_type)
    count = None if length is None else int(length) // dtype.size
    return of(dtype, known(input_bytes).shape.concatenate([count]))


def _check_single(contents: Any) -> None:
    """Refuse a batch where one byte string is taken.

    Raises:
        ValueError: It is one.
    """
    known(contents).shape.assert_has_rank(0)


def typed(serialized: Any, out_type: Any, name: Any = None) -> Known:
    """Infer `parse_tensor`."""
    return of(out_type)


def image(contents: Any, channels: int = 0, *others: Any, **options: Any) -> Known:
    """Infer `decode_jpeg` and `decode_bmp`."""
    _check_single(contents)
    return of("uint8", [None, None, channels or None])


def image_of_type(contents: Any, channels: int = 0, dtype: Any = "uint8", *_: Any) -> Known:
    """Infer `decode_png`."""
    _check_single(contents)
    return of(dtype, [None, None, channels or None])


def any_image(
    contents: Any, channels: Any = 0, dtype: Any = "uint8", name: Any = None, expand: bool = True
) -> Known:
    """Infer `decode_image`."""
    _check_single(contents)
    return of(dtype) if expand else of(dtype, [None, None, channels or None])


def frames(contents: Any, name: Any = None) -> Known:
    """Infer `decode_gif`."""
    _check_single(contents)
    return of("uint8", [None, None, None, 3])


def resized(images: Any, size: Any, method: Any = "bilinear", *others: Any) -> Known:
    """Infer `resize`."""
    given, wanted = known(images), shape_of(size)
    kind = given.dtype if method in ("nearest", 1) else "float32"
    if given.shape.rank not in (3, 4):
        raise ValueError(f"images must have either 3 or 4 dimensions, not shape {given.shape}")
    height, width = (None, None) if wanted.rank is None else wanted
    *outer, _, _, channels = given.shape
    return of(kind, [*outer, height, width, channels])


def resized_v1(images: Any, size: Any, method: Any = 0, *others: Any) -> Known:
    """Infer `resize` of TensorFlow 1."""
    return resized(images, size, method)


def bilinear(images: Any, size: Any, *others: Any) -> Known:
    """Infer `resize_bilinear`."""
    return resized(images, size)


def nearest(images: Any, size: Any, *others: Any) -> Known:
    """Infer `resize_nearest_neighbor`."""
    return resized(images, size, "nearest")


# --- Parsed features ---


def parsed(feature: Any, rows: TensorShape, *, in_lists: bool = False) -> Known:
    """Infer a feature of records of which there are `rows`, or of their feature lists."""
    dtype = getattr(feature, "dtype", None)
    return of(dtype, UNKNOWN if rows.rank is None else _parsed_shape(feature, rows, in_lists))


def _parsed_shape(feature: Any, rows: TensorShape, in_lists: bool) -> list[int | None]:
    steps = [None] if in_lists else []
    if isinstance(feature, FixedLenFeature):
        return [*rows, *TensorShape(feature.shape)]
    if isinstance(feature, FixedLenSequenceFeature):
        return [*rows, None, *TensorShape(feature.shape)]
    if isinstance(feature, RaggedFeature):
        lengths = [getattr(one, "length", None) for one in feature.partitions]
        return [*rows, *steps, None, *lengths]
    unknown = [None] * len(rows)
    size = getattr(feature, "size", None)  # of a SparseFeature
    return [*unknown, *steps, *(TensorShape(size) if size is not None else [None])]
