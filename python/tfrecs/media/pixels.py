"""Channels, depths and dtypes of pixels, as `tf.io` and `tf.image` make them.

Pixels are arrays of shape (..., height, width, channels), uint8 or uint16; 1 channel is grey, 2 are
grey and alpha, 3 are colours, 4 colours and alpha.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Pixels: TypeAlias = npt.NDArray[Any]

DTYPES = ("uint8", "uint16", "float16", "float32", "float64")

GREY, GREY_ALPHA, COLOUR, COLOUR_ALPHA = 1, 2, 3, 4
# What libpng makes of TensorFlow's weights 0.299 and 0.587, of 32768.
_RED, _GREEN = 9797, 19234
_BLUE = 32768 - _RED - _GREEN


def to_channels(pixels: Pixels, channels: int) -> Pixels:
    """Return the same picture with that many channels; 0: as it is."""
    have = pixels.shape[-1]
    if channels in (0, have):
        return pixels
    if channels == GREY:
        return pixels[..., :1] if have == GREY_ALPHA else luma(pixels)
    colours = pixels[..., :3] if have >= COLOUR else np.repeat(pixels[..., :1], 3, axis=-1)
    if channels == COLOUR:
        return colours
    if have == GREY_ALPHA:
        return np.concatenate([colours, pixels[..., 1:]], axis=-1)
    return with_alpha(colours, np.iinfo(pixels.dtype).max)


def with_alpha(colours: Pixels, alpha: Any) -> Pixels:
    """Return `colours`, of 3 channels, with a fourth."""
    out = np.empty((*colours.shape[:-1], COLOUR_ALPHA), colours.dtype)
    out[..., :3] = colours
    out[..., 3] = alpha
    return out


def luma(pixels: Pixels) -> Pixels:
    """Return colours as grey, by the numbers of libpng."""
    red, green, blue = (pixels[..., channel].astype(np.uint32) for channel in range(3))
    half = 0 if pixels.dtype == np.uint8 else 1 << 14  # libpng rounds in the second case only
    grey = (red * _RED + green * _GREEN + blue * _BLUE + np.uint32(half)) >> np.uint32(15)
    return grey.astype(pixels.dtype)[..., None]


def corrected_luma(pixels: Pixels, gamma: int) -> Pixels:
    """Return colours of 8 bits as grey, in linear light: what libpng does if a file says its gamma.

    Args:
        pixels: The colours, uint8.
        gamma: Of the file, times 100,000.
    """
    to_linear, back = _gamma_table(100_000 / gamma), _gamma_table(gamma / 100_000)
    linear = to_linear[pixels[..., :3]].astype(np.uint32)
    weights = np.array([_RED, _GREEN, _BLUE], np.uint32)
    grey = back[(linear @ weights + np.uint32(1 << 14)) >> np.uint32(15)]
    plain = (pixels[..., 0] == pixels[..., 1]) & (pixels[..., 0] == pixels[..., 2])
    out: Pixels = np.where(plain, pixels[..., 0], grey)[..., None]
    return out


def _gamma_table(exponent: float) -> npt.NDArray[np.uint8]:
    levels = np.arange(256) / 255
    return np.floor(255 * levels**exponent + 0.5).astype(np.uint8)


def to_dtype(pixels: Pixels, dtype: str, *, png: bool) -> Pixels:
    """Return `pixels` as `dtype`: integers over their range, floats over 0 to 1.

    As `tf.image.convert_image_dtype`; and as `tf.io.decode_png` for PNG, whose 8 bits become 16 by
    doubling the byte, where other formats shift it.
    """
    deep = pixels.dtype == np.uint16
    if dtype == "uint8":
        return (pixels >> 8).astype(np.uint8) if deep else pixels
    if dtype == "uint16":
        return pixels if deep else pixels.astype(np.uint16) * np.uint16(257 if png else 256)
    wide = np.dtype("float64" if dtype == "float64" else "float32")
    if png and not deep:
        pixels, deep = pixels.astype(np.uint16) * np.uint16(257), True
    scale = wide.type(1) / wide.type(65535 if deep else 255)
    scaled: Pixels = pixels.astype(wide) * scale
    return scaled.astype(dtype, copy=False)


# Quarter turns to the left, and whether it is mirrored after them.
_TURNS = {
    2: (0, True),
    3: (2, False),
    4: (2, True),
    5: (3, True),
    6: (3, False),
    7: (1, True),
    8: (1, False),
}


def upright(pixels: Pixels, orientation: int) -> Pixels:
    """Turn and mirror pictures as EXIF's orientation (1 to 8) says."""
    if orientation == 1:
        return pixels
    turns, mirrored = _TURNS[orientation]
    turned = np.rot90(pixels, turns, axes=(-3, -2))
    return np.ascontiguousarray(turned[..., ::-1, :] if mirrored else turned)
