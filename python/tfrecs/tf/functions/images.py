"""Images: the functions of `tf.io` and `tf.image`, over tfrecs.decode_image and encode_image."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfrecs._internal.optional import load
from tfrecs.errors import SpecError
from tfrecs.tf.graph import static_inputs as static
from tfrecs.tf.graph import static_shapes
from tfrecs.tf.graph.deferred import deferrable
from tfrecs.tf.tensor.dtypes import as_dtype, as_numpy, uint8
from tfrecs.tf.tensor.values import Tensor, single, tensor


@deferrable(rule=static.any_image)
def decode_image(
    contents: Any,
    channels: int = 0,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    """Decode an image of any format: shape (height, width, channels), or with frames in front."""
    return _decoded(contents, channels, dtype, expand_animations)


@deferrable(rule=static.image)
def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """Decode an image as `tf.io.decode_jpeg`, whose `dct_method=""` is INTEGER_FAST.

    Raises:
        InvalidArgumentError: The image is broken; or it is asked for in a way that is not there.
    """
    if ratio != 1 or not fancy_upscaling or try_recover_truncated:
        raise SpecError("of decode_jpeg there is only ratio=1, smooth colours, and whole images")
    return _decoded(contents, channels, uint8, False, dct_method=dct_method)


@deferrable(rule=static.image_of_type)
def decode_png(
    contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None
) -> Any:
    """Decode an image as `tf.io.decode_png`, with up to 16 bits a sample."""
    return _decoded(contents, channels, dtype, False)


@deferrable(rule=static.frames)
def decode_gif(contents: Any, name: str | None = None) -> Any:
    """Decode all frames of a GIF: shape (frames, height, width, 3)."""
    made = _decoded(contents, 3, uint8, True)
    return Tensor(made.given[None]) if made.ndim == 3 else made  # noqa: PLR2004 - one frame


@deferrable(rule=static.image)
def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Any:
    """Decode a BMP image.

    Raises:
        InvalidArgumentError: It is another image, or broken.
    """
    if not _bytes_of(contents).startswith(b"BM"):
        raise SpecError("decode_bmp() takes BMP images, and this is none")
    return _decoded(contents, channels, uint8, False)


def _media() -> Any:
    """Return what needs Pillow, which is an extra."""
    return load("tfrecs.media.images")


def _bytes_of(contents: Any) -> bytes:
    given = single(contents)
    if not isinstance(given, bytes | bytearray):
        raise TypeError(f"contents must be the bytes of an image, not {type(given).__name__}")
    return bytes(given)


def _decoded(
    contents: Any, channels: int, dtype: Any, expand: bool, dct_method: str = ""
) -> Tensor:
    given = _bytes_of(contents)
    decode = _media().decode_image
    # What TensorFlow takes for "", and for JPEG in all of its functions.
    method = dct_method or "INTEGER_FAST"
    kind = as_dtype(dtype).name
    return Tensor(decode(given, channels or 0, kind, expand, dct_method=method))


@deferrable(rule=static.string_scalar)
def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    *,
    name: str | None = None,
    **others: Any,
) -> Any:
    """Encode pixels as a JPEG image: bytes.

    Raises:
        InvalidArgumentError: The pixels are none, or it is asked for in a way that is not there.
    """
    if others:
        raise SpecError(f"encode_jpeg() has no {', '.join(others)} here")
    return Tensor(_media().encode_image(np.asarray(tensor(image)), "jpeg", quality=quality))


@deferrable(rule=static.string_scalar)
def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Any:
    """Encode pixels as a PNG image: bytes.

    Raises:
        InvalidArgumentError: They have not three dimensions: height, width, channels.
    """
    level = 6 if compression == -1 else compression
    pixels = np.asarray(tensor(image))
    if pixels.ndim != 3:  # noqa: PLR2004 - those
        raise SpecError(f"image must have 3 dimensions, and has {pixels.ndim}")
    return Tensor(_media().encode_image(pixels, "png", compression=level))


@deferrable(rule=static_shapes.alike)
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: Any = None) -> Any:
    """Return pixels of another type, scaled: of integers the whole range, of floats 0 to 1."""
    array, wanted = np.asarray(tensor(image)), as_numpy(dtype)
    if array.dtype == wanted:
        return tensor(image)
    of_floats, to_floats = array.dtype.kind == "f", wanted.kind == "f"
    if to_floats:
        scale = 1 if of_floats else 1.0 / np.iinfo(array.dtype).max
        return Tensor(array.astype(wanted) * wanted.type(scale))
    if of_floats:
        # TensorFlow scales by half a step more, so that 1.0 is the largest integer.
        scaled = array * array.dtype.type(np.iinfo(wanted).max + 0.5)
        limits = np.iinfo(wanted)
        return Tensor(
            (np.clip(scaled, limits.min, limits.max) if saturate else scaled).astype(wanted)
        )
    return _rescaled(array, wanted)


def _rescaled(array: np.ndarray[Any, Any], wanted: np.dtype[Any]) -> Tensor:
    have, want = int(np.iinfo(array.dtype).max), int(np.iinfo(wanted).max)
    if have > want:
        return Tensor((array // ((have + 1) // (want + 1))).astype(wanted))
    return Tensor(array.astype(wanted) * wanted.type((want + 1) // (have + 1)))
