"""GIF: frames, and the canvas that each is drawn on.

The blocks of the file are read here, and the pixels of each frame by Pillow, to which it is shown
as a file of its own. So the frames come together by TensorFlow's rules, and not by Pillow's: the
canvas is as wide as the widest frame and as high as the highest, whatever size the file gives the
whole; a frame is drawn over the one before, whatever the file says is to become of that (its
disposal); transparent pixels of a frame leave what is there, and what no frame covers is black.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import numpy.typing as npt
from PIL.GifImagePlugin import GifImageFile

from tfrecs.media.batches import broken

_TRAILER, _EXTENSION, _IMAGE, _CONTROL = 0x3B, 0x21, 0x2C, 0xF9
_HAS_TABLE, _INTERLACED, _TABLE_SIZE = 0x80, 0x40, 0x07


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame before it is decoded.

    Attributes:
        left: Where it is on the canvas.
        top: Likewise.
        width: Its size.
        height: Likewise.
        interlaced: Whether its lines are out of order.
        table: Its colours, 3 bytes each.
        transparent: The colour that leaves what is there; None: all colours are opaque.
        data: Its pixels, compressed: the least size of a code, and blocks.
    """

    left: int
    top: int
    width: int
    height: int
    interlaced: bool
    table: bytes
    transparent: int | None
    data: bytes


def frames(data: bytes) -> Iterator[Frame]:
    """Read the frames of a GIF file.

    Raises:
        ParseError: The file ends in the middle, has an unknown block, or a frame has no colours.
    """
    try:
        yield from _frames(data)
    except (struct.error, IndexError) as error:
        raise broken("the GIF image is cut off") from error


def _frames(data: bytes) -> Iterator[Frame]:
    common, place = _table(data, 13, data[10])
    transparent = None
    while (kind := data[place]) != _TRAILER:
        if kind == _EXTENSION:
            if data[place + 1] == _CONTROL:
                flags, _, colour = struct.unpack_from("<BHB", data, place + 3)
                transparent = colour if flags & 1 else None
            place = _after_blocks(data, place + 2)
        elif kind == _IMAGE:
            left, top, width, height, flags = struct.unpack_from("<HHHHB", data, place + 1)
            own, start = _table(data, place + 10, flags)
            place = _after_blocks(data, start + 1)
            if not (table := own or common):
                raise broken("the GIF image has a frame without colours")
            interlaced = bool(flags & _INTERLACED)
            body = data[start:place]
            yield Frame(left, top, width, height, interlaced, table, transparent, body)
            transparent = None
        else:
            raise broken(f"the GIF image has a block of unknown kind {kind}")


def _table(data: bytes, place: int, flags: int) -> tuple[bytes, int]:
    """Return the table of colours at `place`, if the flags say so, and what comes after it."""
    if not flags & _HAS_TABLE:
        return b"", place
    end = place + (3 << (flags & _TABLE_SIZE) + 1)
    if end > len(data):
        raise IndexError
    return data[place:end], end


def _after_blocks(data: bytes, place: int) -> int:
    """Return what comes after blocks of up to 255 bytes, of which the last is empty."""
    while length := data[place]:
        place += length + 1
    return place + 1


def draw(frame: Frame, canvas: npt.NDArray[np.uint8]) -> None:
    """Draw a frame on the canvas, of shape (height, width, 3); what lies outside is lost.

    Raises:
        ParseError: It cannot be decoded.
    """
    if not frame.width or not frame.height:
        return
    indices = _indices(frame)[: max(canvas.shape[0] - frame.top, 0)]
    indices = indices[:, : max(canvas.shape[1] - frame.left, 0)]
    colours = np.frombuffer(frame.table, np.uint8).reshape(-1, 3)
    rows = slice(frame.top, frame.top + indices.shape[0])
    target = canvas[rows, frame.left : frame.left + indices.shape[1]]
    if frame.transparent is None:
        shown = np.ones(indices.shape, np.bool_)
    else:
        shown = indices != frame.transparent
    if indices[shown].max(initial=0) >= len(colours):
        raise broken(f"the GIF image has pixels beyond its {len(colours)} colours")
    target[shown] = colours[indices[shown]]


def _indices(frame: Frame) -> npt.NDArray[np.uint8]:
    """Return the number of each pixel's colour, shape (height, width)."""
    # The file's own colours would do, but Pillow takes a shortcut if they are grey.
    bits = (len(frame.table) // 3).bit_length() - 2
    size = struct.pack("<HH", frame.width, frame.height)
    place = struct.pack("<BHH", _IMAGE, 0, 0) + size
    head = b"GIF89a" + size + bytes([_HAS_TABLE | bits, 0, 0]) + frame.table
    interlaced = bytes([_INTERLACED if frame.interlaced else 0])
    file = b"".join([head, place, interlaced, frame.data, bytes([_TRAILER])])
    with GifImageFile(BytesIO(file)) as image:
        return np.asarray(image)
