"""What the first bytes of an image say, read before any of it is decoded.

A decoder takes memory as soon as it is shown an image, and reads metadata that nobody asked for. So
the size is looked up here first, without a library, and `Header.plain` has the file without the
metadata. All numbers are checked against the bytes that are there; every loop moves forward.
"""

import struct
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tfrecs.media.batches import broken

Format: TypeAlias = Literal["jpeg", "png", "gif", "bmp", "webp"]

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_EXIF = b"Exif\0\0"
_ORIENTATION = 0x0112
_SHORT = 3  # the type of a two-byte number in EXIF


@dataclass(frozen=True, slots=True)
class Header:
    """An image before it is decoded.

    Attributes:
        format: Its format.
        width: Of the image, in pixels; of GIF, what its frames make of it (see gif.py) is another.
        height: Likewise.
        plain: The bytes to decode: all of them, less metadata in front of the pixels.
        frames: How many frames there are; more than 1 for animations only.
        depth: Bits a sample; what PNG says, else 8.
        color_type: PNG's colour type; for others 0 is grey, 2 colours, 6 colours and alpha (WebP
            only), and 4 CMYK (JPEG only).
        adobe: Whether a JPEG has Adobe's marker, which is about how CMYK is stored.
        transparency: The content of PNG's tRNS chunk.
        gamma: PNG's gamma times 100,000; None if it says nothing.
        orientation: EXIF's: 1 is upright, 2 to 8 are turned or mirrored.
    """

    format: Format
    width: int
    height: int
    plain: bytes
    frames: int = 1
    depth: int = 8
    color_type: int = 2
    adobe: bool = False
    transparency: bytes | None = None
    gamma: int | None = None
    orientation: int = 1

    @property
    def pixels(self) -> int:
        """The pixels of a frame."""
        return self.width * self.height

    def check(self, size: tuple[int, int]) -> None:
        """Refuse the width and height that a decoder finds, if they are others."""
        if size != (self.width, self.height):
            text = f"{self.width} x {self.height} and {size[0]} x {size[1]}"
            raise broken(f"the {self.format.upper()} image has two sizes: {text}")


def read_header(data: bytes) -> Header:
    """Return what `data` says of itself.

    Raises:
        ParseError: It is no image, or ends before it has said its size.
    """
    if not data:
        raise broken("the value is empty, and no image")
    try:
        header = _header(data)
    except (struct.error, IndexError) as error:
        raise broken("the image is cut off in its header") from error
    if header is None:
        raise broken("unknown image format: it is no JPEG, PNG, GIF, BMP or WebP image")
    if header.format != "gif" and (header.width < 1 or header.height < 1):
        text = f"the {header.format.upper()} image has {header.width} x {header.height} pixels"
        raise broken(text)
    return header


def _header(data: bytes) -> Header | None:
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    if data.startswith(PNG_SIGNATURE):
        return _png(data)
    if data.startswith((b"GIF87a", b"GIF89a")):
        width, height = struct.unpack_from("<HH", data, 6)
        return Header("gif", width, height, data)
    if data.startswith(b"BM"):
        return _bmp(data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    return None


# --- JPEG: segments, each with a marker and a length, up to the first scan ---

_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_END, _SCAN, _JFIF, _EXIF_MARKER, _ADOBE = 0xD9, 0xDA, 0xE0, 0xE1, 0xEE
# Metadata and comments, except what says how colours are stored.
_UNNEEDED = {*range(0xE0, 0xFF)} - {_JFIF, _ADOBE}


def _jpeg(data: bytes) -> Header:
    place, frame, kept = 2, None, [data[:2]]
    adobe, orientation = False, 1
    place = _next_marker(data, place)
    while (marker := data[place + 1]) != _SCAN:
        if marker == _END:
            raise broken("the JPEG image ends before its first scan")
        end = place + 2 + struct.unpack_from(">H", data, place + 2)[0]
        segment = data[place:end]
        if marker in _FRAMES and frame is None:
            frame = struct.unpack_from(">BHHB", segment, 4)
        adobe = adobe or (marker == _ADOBE and segment[4:9] == b"Adobe")
        if marker == _EXIF_MARKER and segment[4:10] == _EXIF:
            orientation = _orientation(segment[10:])
        if marker not in _UNNEEDED:
            kept.append(segment)
        place = _next_marker(data, end)
    if frame is None:
        raise broken("the JPEG image has no size before its first scan")
    depth, height, width, components = frame
    dropped = place != sum(map(len, kept))
    plain = b"".join([*kept, memoryview(data)[place:]]) if dropped else data
    color_type = {1: 0, 4: 4}.get(components, 2)
    return Header(
        "jpeg",
        width,
        height,
        plain,
        depth=depth,
        color_type=color_type,
        adobe=adobe,
        orientation=orientation,
    )


def _next_marker(data: bytes, place: int) -> int:
    """Return where the next marker is: some files have bytes between segments."""
    while True:
        place = data.find(b"\xff", place)
        if place < 0 or place + 2 > len(data):
            raise IndexError
        if data[place + 1] not in (0x00, 0xFF):
            return place
        place += 1


# --- PNG: chunks, each with a length, a name and a checksum ---

_NEEDED = {b"IHDR", b"PLTE", b"tRNS"}


def _png(data: bytes) -> Header:
    width, height, depth, color_type = struct.unpack_from(">IIBB", data, 16)
    place, kept = len(PNG_SIGNATURE), [PNG_SIGNATURE]
    transparency, gamma, orientation = None, None, 1
    while (name := data[place + 4 : place + 8]) != b"IDAT":
        (length,) = struct.unpack_from(">I", data, place)
        content = data[place + 8 : place + 8 + length]
        if name == b"tRNS":
            transparency = content
        elif name == b"gAMA" and gamma is None:
            (gamma,) = struct.unpack_from(">I", content)
        elif name == b"sRGB":
            gamma = 45455
        elif name == b"eXIf":
            orientation = _orientation(content)
        if name in _NEEDED:
            kept.append(data[place : place + 12 + length])
        place += 12 + length
    dropped = place != sum(map(len, kept))
    plain = b"".join([*kept, memoryview(data)[place:]]) if dropped else data
    return Header(
        "png",
        width,
        height,
        plain,
        depth=depth,
        color_type=color_type,
        transparency=transparency,
        gamma=gamma,
        orientation=orientation,
    )


# --- BMP ---

_OLD_BMP = 12  # the length of the oldest header


def _bmp(data: bytes) -> Header:
    (size,) = struct.unpack_from("<I", data, 14)
    if size == _OLD_BMP:
        width, height, _, depth = struct.unpack_from("<HHHH", data, 18)
    else:
        width, height, _, depth = struct.unpack_from("<iiHH", data, 18)
    return Header("bmp", width, abs(height), data, depth=depth)


# --- WebP: chunks, each with a name and a length ---

_FLAG_ALPHA = 0x10


def _webp(data: bytes) -> Header:
    name = data[12:16]
    if name == b"VP8X":
        return _webp_extended(data)
    if name == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        width, height, alpha = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, bits >> 28 & 1
        return Header("webp", width, height, data, color_type=6 if alpha else 2)
    if name == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return Header("webp", width & 0x3FFF, height & 0x3FFF, data)
    raise broken("the WebP image begins with an unknown chunk")


def _webp_extended(data: bytes) -> Header:
    flags = data[20]
    width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
    frames, orientation, place = 0, 1, 12
    while place + 8 <= len(data):
        name, (length,) = data[place : place + 4], struct.unpack_from("<I", data, place + 4)
        if name == b"ANMF":
            frames += 1
        elif name == b"EXIF":
            orientation = _orientation(data[place + 8 : place + 8 + length].removeprefix(_EXIF))
        place += 8 + length + length % 2
    return Header(
        "webp",
        width,
        height,
        data,
        frames=max(frames, 1),
        color_type=6 if flags & _FLAG_ALPHA else 2,
        orientation=orientation,
    )


# --- EXIF ---


def _orientation(exif: bytes) -> int:
    """Return the orientation, 1 to 8, of EXIF data; 1 if it does not say."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}I", exif, 4)
        (count,) = struct.unpack_from(f"{order}H", exif, start)
        for entry in range(start + 2, start + 2 + 12 * count, 12):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", exif, entry)
            if tag == _ORIENTATION and kind == _SHORT and 1 <= value <= 8:  # noqa: PLR2004
                return int(value)
    except struct.error:
        pass
    return 1
