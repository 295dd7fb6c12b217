"""Images in another size, by Pillow's filters."""

import numpy as np
from PIL import Image

from tfrecs import _core
from tfrecs.media.pixels import GREY, Pixels
from tfrecs.tensors.byte_values import array_over

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}

# Those of 8 bits that are computed natively, at ten times Pillow's speed, to its pixels or one
# level beside them. The others would round and clip in another order, which can be seen.
_NATIVE = ("bilinear", "hamming")

# By what JPEG images are reduced while they are decoded, which costs less than to decode all.
# What lies between takes longer, and smaller images are not told apart from it by their size.
_REDUCTIONS = (8, 4, 2)
_LEAST = 16


def reduced_size(whole: tuple[int, int], wanted: tuple[int, int]) -> tuple[int, int]:
    """Return a size to decode a JPEG of size `whole` in: the least that is not below `wanted`."""
    if min(whole) < _LEAST:
        return whole
    for factor in _REDUCTIONS:
        if all(mine >= factor * least for mine, least in zip(whole, wanted, strict=True)):
            width, height = (-(-mine // factor) for mine in whole)
            return width, height
    return whole


def resized(pixels: Pixels, size: tuple[int, int], how: str) -> Pixels:
    """Return an image, or frames, with another height and width.

    Args:
        pixels: uint8 or uint16; shape (..., height, width, channels).
        size: Height and width.
        how: One of FILTERS.
    """
    if pixels.shape[-3:-1] == size:
        return pixels
    pictures = pixels.reshape(-1, *pixels.shape[-3:])
    resize = _deep if pixels.dtype == np.uint16 else _plain
    done: Pixels = np.stack([resize(picture, size, how) for picture in pictures])
    return done.reshape(*pixels.shape[:-3], *size, pixels.shape[-1])


def _plain(picture: Pixels, size: tuple[int, int], how: str) -> Pixels:
    return (_natively if how in _NATIVE else _by_pillow)(picture, size, how)


def _natively(picture: Pixels, size: tuple[int, int], how: str) -> Pixels:
    height, width, channels = picture.shape
    samples = np.ascontiguousarray(picture)
    memory = _core.resize_image(samples, (height, width, channels), size, how)
    return array_over(memory).reshape(*size, channels)


def _by_pillow(picture: Pixels, size: tuple[int, int], how: str) -> Pixels:
    squeezed = picture[..., 0] if picture.shape[-1] == GREY else picture
    image = Image.fromarray(np.ascontiguousarray(squeezed))
    return np.asarray(image.resize(size[::-1], FILTERS[how])).reshape(*size, -1)


def _deep(picture: Pixels, size: tuple[int, int], how: str) -> Pixels:
    """Resize samples of 16 bits, which Pillow does only as floats, a channel at a time."""
    planes = [
        Image.fromarray(np.ascontiguousarray(picture[..., channel], np.float32))
        for channel in range(picture.shape[-1])
    ]
    done = [np.asarray(plane.resize(size[::-1], FILTERS[how])) for plane in planes]
    rounded: Pixels = np.clip(np.rint(np.stack(done, axis=-1)), 0, 65535)
    return rounded.astype(np.uint16)
