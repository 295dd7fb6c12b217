"""PNG: the native decoder's samples by TensorFlow's rules, and 16 bits a sample to a file."""

from struct import pack
from zlib import compress, crc32

import numpy as np

from tfrecs import _core
from tfrecs.errors import ParseError
from tfrecs.media.batches import broken
from tfrecs.media.headers import PNG_SIGNATURE, Header
from tfrecs.media.pixels import COLOUR, COLOUR_ALPHA, GREY, Pixels, corrected_luma, to_channels

# PNG's colour types without a palette, by channels.
_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
_OPAQUE = {
    0: 1,
    2: 3,
}  # channels of the types that have no alpha, but can have a transparent colour
_DEEP = 16
_GAMMA_MATTERS = 5000  # of 100,000: libpng leaves colours alone below that


def decode(header: Header, *, channels: int, deep: bool, max_pixels: int) -> Pixels:
    """Return the pixels with all the channels they have, or with that many as wanted.

    Args:
        header: What the file says.
        channels: How many are wanted; 0: as the file has.
        deep: Whether samples of 16 bits are wanted as such.
        max_pixels: More than these are refused.

    Raises:
        ParseError: The image is broken.
    """
    pixels = _samples(header, max_pixels)
    if channels != COLOUR_ALPHA and header.color_type in _OPAQUE:
        pixels = pixels[..., : _OPAQUE[header.color_type]]
    # TensorFlow makes grey of the full samples, and drops their lower bytes after that.
    if channels == GREY and pixels.shape[-1] >= COLOUR:
        pixels = _grey(pixels, header)
    if pixels.dtype == np.uint16 and not deep:
        pixels = (pixels >> 8).astype(np.uint8)
    return pixels


def _samples(header: Header, max_pixels: int) -> Pixels:
    try:
        memory, shape, deep = _core.decode_png(header.plain, max_pixels)
    except ParseError as error:
        raise broken(f"the PNG image cannot be decoded: {error.reason}") from error
    dtype = np.uint16 if deep else np.uint8
    return np.frombuffer(memoryview(memory), dtype).reshape(shape)  # type: ignore[arg-type, unused-ignore]


def _grey(pixels: Pixels, header: Header) -> Pixels:
    gamma = header.gamma
    if gamma and abs(gamma - 100_000) >= _GAMMA_MATTERS and pixels.dtype == np.uint8:
        return corrected_luma(pixels, gamma)
    return to_channels(pixels, GREY)


def encode(pixels: Pixels, level: int) -> bytes:
    """Return pixels of 16 bits, shape (height, width, channels), as a PNG file."""
    height, width, channels = pixels.shape
    lines = pixels.astype(">u2").view(np.uint8).reshape(height, -1)
    stored = np.empty((height, 1 + lines.shape[1]), np.uint8)
    stored[:, 0] = 1  # each byte is stored as what is added to that of the pixel before
    stored[:, 1:] = lines
    stored[:, 1 + 2 * channels :] -= lines[:, : -2 * channels]
    head = pack(">IIBBBBB", width, height, _DEEP, _COLOR_TYPES[channels], 0, 0, 0)
    data = compress(stored.tobytes(), level)
    parts = ((b"IHDR", head), (b"IDAT", data), (b"IEND", b""))
    return PNG_SIGNATURE + b"".join(_chunk(name, content) for name, content in parts)


def _chunk(name: bytes, content: bytes) -> bytes:
    return pack(">I", len(content)) + name + content + pack(">I", crc32(name + content))
