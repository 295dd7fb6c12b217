"""One image from its bytes to an array, through Pillow; PNG through the native decoder.

Pillow's own doors (`Image.open`) warn, and look for metadata and for other formats. So each format
is opened here by its class, with bytes that headers.py has looked at.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from PIL.BmpImagePlugin import BmpImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.WebPImagePlugin import WebPImageFile

from tfrecs.errors import Error
from tfrecs.media import gif, png
from tfrecs.media.batches import broken
from tfrecs.media.headers import Format, Header, read_header
from tfrecs.media.pixels import COLOUR, GREY, Pixels, to_channels, to_dtype, upright
from tfrecs.media.resizing import reduced_size, resized
from tfrecs.media.waiting import call_interruptibly

try:
    import simplejpeg
except ModuleNotFoundError:
    simplejpeg = None

MAX_PIXELS = 89_478_485  # as Pillow's own

HAS_FAST_DCT = simplejpeg is not None

# Images below both are decoded within a few hundredths of a second: Ctrl-C waits for them.
_SHORT_PIXELS, _SHORT_BYTES = 1 << 20, 1 << 17

# A scan of a JPEG costs about as much as its pixels. A progressive one has some ten; this many
# scans of an image with as many pixels as allowed are decoded.
_SCANS = 20
# A frame costs at least about as much as that many pixels, however few it has.
_LEAST_FRAME = 1 << 14

_CMYK, _WITH_ALPHA = 4, 6  # colour types, as headers.py gives them


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to make of an image.

    Attributes:
        channels: 0 (as the image is), 1, 3 or 4.
        dtype: One of pixels.DTYPES.
        expand_animations: Whether formats with frames give (frames, height, width, channels).
        size: Height and width to resize to; None: as the image is.
        resample: How; one of resizing.FILTERS.
        fast_dct: Whether JPEG is decoded as TensorFlow does it by default.
        orient: Whether to turn the image as its EXIF orientation says.
        max_pixels: Of all frames together.
    """

    channels: int = 0
    dtype: str = "uint8"
    expand_animations: bool = True
    size: tuple[int, int] | None = None
    resample: str = "bilinear"
    fast_dct: bool = False
    orient: bool = False
    max_pixels: int = MAX_PIXELS

    def limit(self, pixels: int, what: str) -> None:
        """Refuse an image that is too large."""
        if pixels > self.max_pixels:
            raise broken(
                f"{what}, and so {pixels:,} pixels: more than max_pixels={self.max_pixels:,}, "
                "which protects from images that fill the memory"
            )

    def limit_frames(self, frames: int, pixels: int, what: str) -> None:
        """Refuse an animation that is too large, or of too many frames."""
        self.limit(frames * pixels, what)
        most = max(self.max_pixels, MAX_PIXELS) // _LEAST_FRAME
        if frames > most:
            raise broken(
                f"{what}: more than {most:,}, one for each {_LEAST_FRAME:,} of "
                f"max_pixels={self.max_pixels:,}, which protects from images that take too long"
            )

    def limit_scans(self, header: Header) -> None:
        """Refuse a JPEG of which too many scans go over all its pixels."""
        most = _SCANS * self.max_pixels
        # A scan takes ten bytes at least; so hardly any file has to be looked through.
        if len(header.plain) // 10 * header.pixels <= most:
            return
        scans = header.plain.count(b"\xff\xda")
        if scans > _SCANS and (cost := scans * header.pixels) > most:
            raise broken(
                f"the JPEG image has {scans:,} scans of {header.pixels:,} pixels, and so {cost:,} "
                f"to decode: more than {_SCANS} times max_pixels={self.max_pixels:,}, which "
                "protects from images that take too long"
            )


def decode(data: bytes, wanted: Wanted) -> Pixels:
    """Return the image in `data` as it is wanted.

    Raises:
        ParseError: It is broken, too large, or no image; without a position.
    """
    header = read_header(data)
    name = header.format.upper()
    with pillow_errors(f"the {name} image cannot be decoded"):
        if header.format != "gif":
            size = f"{header.width} wide and {header.height} high"
            wanted.limit(header.pixels, f"the {name} image is {size}")
        pixels = _decoded(header, wanted)
    pixels = to_channels(pixels, wanted.channels)
    if wanted.orient:
        pixels = upright(pixels, header.orientation)
    if wanted.size is not None:
        pixels = resized(pixels, wanted.size, wanted.resample)
    out = to_dtype(pixels, wanted.dtype, png=header.format == "png")
    return np.require(out, requirements=["C", "W"])


def _decoded(header: Header, wanted: Wanted) -> Pixels:
    """Return the pixels of an image; what takes long does not keep Ctrl-C waiting."""
    decoder = _DECODERS[header.format]
    is_short = header.format != "gif" and header.pixels * header.frames <= _SHORT_PIXELS
    if is_short and len(header.plain) <= _SHORT_BYTES:
        return decoder(header, wanted)
    return call_interruptibly(lambda: decoder(header, wanted))


@contextmanager
def pillow_errors(what: str) -> Iterator[None]:
    """Make ParseErrors of what Pillow raises on broken input, which is nearly anything."""
    try:
        yield
    except (Error, MemoryError):
        raise
    except Exception as error:
        raise broken(f"{what}: {str(error) or type(error).__name__}") from error


# --- JPEG ---


def _jpeg(header: Header, wanted: Wanted) -> Pixels:
    wanted.limit_scans(header)
    if (pixels := _turbo(header, wanted)) is not None:
        return pixels
    with JpegImageFile(BytesIO(header.plain)) as image:
        header.check(image.size)
        mode = "L" if wanted.channels == GREY and image.mode == "RGB" else None
        image.draft(mode, _reduced_size(header, wanted))
        pixels = np.asarray(image)
    if wanted.fast_dct and (fast := _turbo(header, wanted, strict=False)) is not None:
        return fast  # Pillow finds no fault to report, and has no such method
    if header.color_type == _CMYK:
        return _from_cmyk(pixels, inverted=header.adobe)
    return pixels if pixels.ndim == 3 else pixels[..., None]  # noqa: PLR2004


def _reduced_size(header: Header, wanted: Wanted) -> tuple[int, int]:
    """Return the width and height in which the JPEG is decoded."""
    whole = header.width, header.height
    if wanted.size is None:
        return whole
    height, width = wanted.size
    turned = wanted.orient and header.orientation > 4  # noqa: PLR2004 - 5 to 8 lie on their side
    return reduced_size(whole, (height, width) if turned else (width, height))


def _turbo(header: Header, wanted: Wanted, *, strict: bool = True) -> Pixels | None:
    """Decode by simplejpeg, which is faster; None if it is not there, or finds any fault."""
    is_cmyk = header.color_type == _CMYK
    if simplejpeg is None or (is_cmyk and not wanted.fast_dct):
        return None
    grey = header.color_type == 0 or wanted.channels == GREY
    width, height = _reduced_size(header, wanted)
    try:
        pixels: Pixels = simplejpeg.decode_jpeg(
            header.plain,
            colorspace="CMYK" if is_cmyk else "GRAY" if grey else "RGB",
            fastdct=wanted.fast_dct,
            min_height=height,
            min_width=width,
            strict=strict,
        )
    except ValueError:
        return None
    # As it is stored; Pillow gives the inverse.
    return _from_cmyk(255 - pixels, inverted=header.adobe) if is_cmyk else pixels


def _from_cmyk(pixels: Pixels, *, inverted: bool) -> Pixels:
    """Return CMYK, as Pillow gives it, as colours, with TensorFlow's numbers."""
    # Pillow takes all files for inverted ones, as Adobe's programs store them.
    light = 255 - pixels.astype(np.uint16) if inverted else pixels.astype(np.uint16)
    colours: Pixels = light[..., :3] * light[..., 3:] // np.uint16(255)
    return colours.astype(np.uint8)


# --- BMP ---

_BYTE, _WITH_FOURTH = 8, 32  # bits a pixel
_RAW, _BITFIELDS = 0, 3
_FILE_HEADER, _INFO_HEADER = 14, 40
_USUAL_MASKS = (0xFF0000, 0xFF00, 0xFF)


def _bmp(header: Header, _: Wanted) -> Pixels:
    if header.depth == _WITH_FOURTH and (pixels := _bmp_with_alpha(header)) is not None:
        return pixels
    if header.depth == _BYTE and (pixels := _bmp_of_grey(header)) is not None:
        return pixels
    with BmpImageFile(BytesIO(header.plain)) as image:
        header.check(image.size)
        mode = {"1": "L", "P": "RGB"}.get(image.mode, image.mode)
        pixels = np.asarray(image.convert(mode))
    return pixels if pixels.ndim == 3 else pixels[..., None]  # noqa: PLR2004


def _bmp_with_alpha(header: Header) -> Pixels | None:
    """Return the pixels of 4 bytes, the last of which TensorFlow takes for alpha in any case.

    None if they are stored in another way.
    """
    data = header.plain
    number = np.frombuffer(data, "<u4", count=4, offset=14)
    (compression,) = np.frombuffer(data, "<u4", count=1, offset=30)
    if compression == _BITFIELDS and tuple(np.frombuffer(data, "<u4", 3, 54)) != _USUAL_MASKS:
        return None
    if compression not in (_RAW, _BITFIELDS):
        return None
    (start,) = np.frombuffer(data, "<u4", count=1, offset=10)
    stored = np.frombuffer(data, np.uint8, count=4 * header.pixels, offset=int(start))
    rows = stored.reshape(header.height, header.width, 4)
    upside_down = number[2] < 1 << 31  # a negative height: the first row is the top one
    return (rows[::-1] if upside_down else rows)[..., [2, 1, 0, 3]]


def _bmp_of_grey(header: Header) -> Pixels | None:
    """Return the pixels of 1 byte, of a file without a palette: they are grey.

    None if there is a palette, or they are stored in another way.
    """
    data = header.plain
    start, length = (int(one) for one in np.frombuffer(data, "<u4", count=2, offset=10))
    if start != _FILE_HEADER + length or length < _INFO_HEADER:
        return None
    height, compression = np.frombuffer(data, "<i4", count=3, offset=22)[[0, 2]]
    if compression != _RAW:
        return None
    stride = -(-header.width // 4) * 4  # rows are filled up to 4 bytes
    stored = np.frombuffer(data, np.uint8, count=stride * header.height, offset=start)
    rows = stored.reshape(header.height, stride)[:, : header.width, None]
    return rows[::-1] if height > 0 else rows


# --- What has frames ---


def _webp(header: Header, wanted: Wanted) -> Pixels:
    frames = header.frames if wanted.expand_animations else 1
    wanted.limit_frames(frames, header.pixels, f"the WebP image has {frames:,} frames")
    mode = "RGBA" if header.color_type == _WITH_ALPHA else "RGB"
    shown = []
    with WebPImageFile(BytesIO(header.plain)) as image:
        header.check(image.size)
        for frame in range(frames):
            image.seek(frame)
            shown.append(np.asarray(image.convert(mode)))
    return np.stack(shown) if wanted.expand_animations else shown[0]


def _gif(header: Header, wanted: Wanted) -> Pixels:
    found = list(gif.frames(header.plain))
    height = max((frame.height for frame in found), default=0)
    width = max((frame.width for frame in found), default=0)
    if not height * width:
        raise broken("the GIF image has no frame with pixels")
    chosen = found if wanted.expand_animations else found[:1]
    what = f"the GIF image has {len(chosen):,} frames, {width} wide and {height} high"
    wanted.limit_frames(len(chosen), width * height, what)
    shown = np.zeros((len(chosen), height, width, COLOUR), np.uint8)
    for number, frame in enumerate(chosen):
        if number:
            shown[number] = shown[number - 1]
        gif.draw(frame, shown[number])
    return shown if wanted.expand_animations else shown[0]


def _png(header: Header, wanted: Wanted) -> Pixels:
    deep = wanted.dtype != "uint8"
    limit = wanted.max_pixels
    return png.decode(header, channels=wanted.channels, deep=deep, max_pixels=limit)


_DECODERS: dict[Format, Callable[[Header, Wanted], Pixels]] = {
    "jpeg": _jpeg,
    "png": _png,
    "gif": _gif,
    "bmp": _bmp,
    "webp": _webp,
}
