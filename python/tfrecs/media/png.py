"""PNG: what Pillow alone does not give, which is 16 bits a sample and TensorFlow's transparency."""

from io import BytesIO
from struct import pack
from zlib import compress, crc32

import numpy as np
from PIL.PngImagePlugin import PngImageFile

from tfrecs.media.batches import broken
from tfrecs.media.headers import PNG_SIGNATURE, Header
from tfrecs.media.pixels import (
    COLOUR_ALPHA,
    GREY,
    Pixels,
    corrected_luma,
    to_channels,
    with_alpha,
)

_GREY, _RGB, _PALETTE, _GREY_ALPHA, _RGBA = 0, 2, 3, 4, 6  # colour types
_SAMPLES = {_GREY: 1, _RGB: 3, _PALETTE: 1, _GREY_ALPHA: 2, _RGBA: 4}
_DEEP = 16
_GAMMA_MATTERS = 5000  # of 100,000: libpng leaves colours alone below that

# How Pillow is told to take the upper or the lower byte of each sample. Of grey and alpha it takes
# all four bytes of a pixel as if they were four samples.
_UPPER = {_RGB: "RGB;16B", _RGBA: "RGBA;16B"}
_LOWER = {_RGB: "RGB;16L", _RGBA: "RGBA;16L"}


def decode(header: Header, *, channels: int, deep: bool) -> Pixels:
    """Return the pixels with all the channels they have, or with so many as wanted.

    Args:
        header: What the file says.
        channels: How many are wanted; 0: as the file has.
        deep: Whether samples of 16 bits are wanted as such.
    """
    if header.depth == _DEEP:
        pixels = _deep(header)
    elif header.color_type == _PALETTE:
        pixels = _palette(header)
    else:
        pixels = _samples(header)
    if channels == COLOUR_ALPHA and header.transparency and header.color_type in (_GREY, _RGB):
        pixels = _with_transparent(pixels, header)
    # TensorFlow makes grey of the full samples, and drops their lower bytes after that.
    if channels == GREY and pixels.shape[-1] > 2:  # noqa: PLR2004
        pixels = _grey(pixels, header)
    if header.depth == _DEEP and not deep:
        pixels = (pixels >> 8).astype(np.uint8)
    return pixels


def _open(header: Header) -> PngImageFile:
    image = PngImageFile(BytesIO(header.plain))
    header.check(image.size)
    return image


def _samples(header: Header) -> Pixels:
    """Return samples of 8 bits or less."""
    with _open(header) as image:
        pixels = np.asarray(image.convert("L") if image.mode == "1" else image)
    return pixels.reshape(header.height, header.width, -1)


def _palette(header: Header) -> Pixels:
    with _open(header) as image:
        transparent = header.transparency is not None
        palette = np.zeros((256, 4 if transparent else 3), np.uint8)
        colours = np.frombuffer(bytes(image.getpalette("RGB") or []), np.uint8).reshape(-1, 3)
        palette[: len(colours), :3] = colours
        indices = np.asarray(image)
    if transparent:
        alpha = np.frombuffer(header.transparency or b"", np.uint8)[:256]
        palette[:, 3] = 255
        palette[: len(alpha), 3] = alpha
    pixels: Pixels = palette[indices]
    return pixels


def _deep(header: Header) -> Pixels:
    """Return samples of 16 bits."""
    if header.color_type == _GREY:
        with _open(header) as image:
            grey: Pixels = np.asarray(image).astype(np.uint16)
        return grey[..., None]
    if header.color_type == _GREY_ALPHA:
        pairs = _raw(header, "RGBA")
        return _joined(pairs[..., 0::2], pairs[..., 1::2])
    if header.color_type not in _UPPER:
        raise broken("the PNG image has a palette and 16 bits a sample")
    upper, lower = (_raw(header, which[header.color_type]) for which in (_UPPER, _LOWER))
    return _joined(upper, lower)


def _joined(upper: Pixels, lower: Pixels) -> Pixels:
    joined: Pixels = upper.astype(np.uint16) << np.uint16(8) | lower
    return joined


def _raw(header: Header, raw_mode: str) -> Pixels:
    """Return what Pillow makes of the pixels if it is told that they are of another kind."""
    with _open(header) as image:
        image.tile = [tile._replace(args=raw_mode) for tile in image.tile]
        return np.asarray(image)


def _with_transparent(pixels: Pixels, header: Header) -> Pixels:
    """Return 4 channels, of which the last is 0 where the colour is the transparent one."""
    if len(header.transparency or b"") != 2 * pixels.shape[-1]:
        return pixels
    colour = np.frombuffer(header.transparency or b"", ">u2").astype(np.uint16)
    if header.depth < 8:  # noqa: PLR2004 - bits
        colour = colour * np.uint16(255 // ((1 << header.depth) - 1))
    elif header.depth == 8:  # noqa: PLR2004
        colour &= np.uint16(255)
    opaque = (pixels != colour).any(axis=-1)
    full = np.iinfo(pixels.dtype).max
    return with_alpha(to_channels(pixels, 3), np.where(opaque, full, 0))


def _grey(pixels: Pixels, header: Header) -> Pixels:
    gamma = header.gamma
    if gamma and abs(gamma - 100_000) >= _GAMMA_MATTERS and pixels.dtype == np.uint8:
        return corrected_luma(pixels, gamma)
    return to_channels(pixels, GREY)


def encode(pixels: Pixels, level: int) -> bytes:
    """Return pixels of 16 bits, shape (height, width, channels), as a PNG file."""
    height, width, channels = pixels.shape
    kind = {count: kind for kind, count in _SAMPLES.items() if kind != _PALETTE}[channels]
    lines = pixels.astype(">u2").view(np.uint8).reshape(height, -1)
    stored = np.empty((height, 1 + lines.shape[1]), np.uint8)
    stored[:, 0] = 1  # each byte is stored as what is added to that of the pixel before
    stored[:, 1:] = lines
    stored[:, 1 + 2 * channels :] -= lines[:, : -2 * channels]
    head = pack(">IIBBBBB", width, height, _DEEP, kind, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", compress(stored.tobytes(), level)), (b"IEND", b""))
    return PNG_SIGNATURE + b"".join(_chunk(name, content) for name, content in parts)


def _chunk(name: bytes, content: bytes) -> bytes:
    return pack(">I", len(content)) + name + content + pack(">I", crc32(name + content))
