"""Image and sound files made by hand, byte by byte: what no library would write."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # PNG's, by channels
PALETTE = 3
# Adam7: first column, first row, and the steps of each pass.
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)]
PASSES.append((0, 1, 1, 2))


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", crc(name + content))


def crc(data: bytes) -> int:
    return zlib.crc32(data)


def png(
    pixels: Array,
    depth: int | None = None,
    palette: Array | None = None,
    chunks: bytes = b"",
    interlaced: bool = False,
    pieces: int = 1,
) -> bytes:
    """A PNG file; pixels of shape (height, width, channels), or with a palette of 1 channel.

    `chunks` stand before the pixels, which come in that many pieces.
    """
    height, width, channels = pixels.shape
    bits = depth or pixels.dtype.itemsize * 8
    kind = COLOR_TYPES[channels] if palette is None else PALETTE
    head = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, int(interlaced))
    colours = b"" if palette is None else chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    passes = PASSES if interlaced else [(0, 0, 1, 1)]
    lines = b"".join(_lines(pixels[y::dy, x::dx], bits) for x, y, dx, dy in passes)
    data = zlib.compress(lines)
    step = -(-len(data) // pieces)
    parts = [chunk(b"IDAT", data[at : at + step]) for at in range(0, len(data), step)]
    begin = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + colours + chunks
    return b"".join([begin, *parts, chunk(b"IEND", b"")])


def _lines(pixels: Array, bits: int) -> bytes:
    """Unfiltered lines."""
    if 0 in pixels.shape:
        return b""
    flat = pixels.reshape(len(pixels), -1)
    if bits == 16:
        packed = flat.astype(">u2").view(np.uint8)
    elif bits == 8:
        packed = flat.astype(np.uint8)
    else:
        each = np.unpackbits(flat.astype(np.uint8)[..., None], axis=-1)[..., 8 - bits :]
        packed = np.packbits(each.reshape(len(flat), -1), axis=-1)
    return b"".join(b"\0" + line.tobytes() for line in packed)


def bmp(pixels: Array, top_down: bool = False, palette: Array | None = None) -> bytes:
    """A BMP file with 1 (with a palette, or grey), 3 or 4 channels."""
    height, width, channels = pixels.shape
    stored = pixels if channels == 1 else pixels[..., [2, 1, 0, 3][:channels]]
    if not top_down:
        stored = stored[::-1]
    lines = stored.reshape(height, -1)
    rest = np.zeros((height, -lines.shape[1] % 4), np.uint8)
    data = np.concatenate([lines, rest], axis=1).tobytes()
    colours = b""
    if channels == 1:
        table = (
            np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, 1) if palette is None else palette
        )
        colours = np.pad(table[:, ::-1], ((0, 256 - len(table)), (0, 1))).astype(np.uint8).tobytes()
    signed = -height if top_down else height
    start = 54 + len(colours)
    size = struct.pack("<iiHHII", width, signed, 1, channels * 8, 0, len(data))
    info = struct.pack("<I", 40) + size + struct.pack("<iiII", 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start) + info + colours + data


@dataclass(frozen=True)
class GifFrame:
    indices: Array  # (height, width)
    left: int = 0
    top: int = 0
    table: Array | None = None  # colours of its own
    transparent: int | None = None
    disposal: int = 0
    interlaced: bool = False


def gif(width: int, height: int, table: Array | None, frames: Sequence[GifFrame]) -> bytes:
    """A GIF file, not compressed."""
    flags, colours = _gif_table(table)
    parts = [b"GIF89a", struct.pack("<HHBBB", width, height, flags, 0, 0), colours]
    for frame in frames:
        control = frame.disposal << 2 | (frame.transparent is not None)
        parts.append(b"\x21\xf9\x04" + struct.pack("<BHBB", control, 7, frame.transparent or 0, 0))
        flags, colours = _gif_table(frame.table)
        lines = frame.indices
        if frame.interlaced:
            flags |= 0x40
            lines = np.concatenate([lines[0::8], lines[4::8], lines[2::4], lines[1::2]])
        rows, columns = frame.indices.shape
        place = struct.pack("<HHHHB", frame.left, frame.top, columns, rows, flags)
        parts += [b"\x2c", place, colours, _gif_pixels(lines.astype(np.uint8).tobytes())]
    return b"".join([*parts, b"\x3b"])


def _gif_table(table: Array | None) -> tuple[int, bytes]:
    if table is None:
        return 0, b""
    bits = max(len(table) - 1, 1).bit_length()
    full = np.zeros((1 << bits, 3), np.uint8)
    full[: len(table)] = table
    return 0x80 | (bits - 1), full.tobytes()


def _gif_pixels(indices: bytes) -> bytes:
    """LZW without any compression: 9-bit codes, begun anew before they would grow."""
    codes = []
    for start in range(0, len(indices), 250):
        codes += [256, *indices[start : start + 250]]
    value, bits = 0, 0
    for code in [*codes, 257]:
        value |= code << bits
        bits += 9
    data = value.to_bytes(-(-bits // 8), "little")
    blocks = [data[at : at + 255] for at in range(0, len(data), 255)]
    return b"\x08" + b"".join(bytes([len(block)]) + block for block in blocks) + b"\0"


def wav(samples: Array, rate: int = 8000, chunks: bytes = b"", kind: int = 1) -> bytes:
    """A WAV file of integers, shape (frames, channels); kind 3: of floats."""
    width = samples.dtype.itemsize
    frame = samples.shape[1] * width
    values = (kind, samples.shape[1], rate, rate * frame, frame, width * 8)
    form = b"fmt " + struct.pack("<IHHIIHH", 16, *values)
    data = b"data" + struct.pack("<I", samples.nbytes) + samples.tobytes()
    body = b"WAVE" + form + chunks + data
    return b"RIFF" + struct.pack("<I", len(body)) + body
