"""Encoded images in bytes features: JPEG, PNG, GIF, BMP and WebP, to arrays and back."""

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.checks import checked_limit, checked_threads
from tfrecs.errors import MissingLibraryError, SpecError
from tfrecs.media.batches import (
    Contents,
    DecodedBatch,
    MediaSource,
    OnError,
    batch,
    checked_choice,
    checked_dtype,
    decode_many,
    decode_one,
    single,
)
from tfrecs.media.pixels import DTYPES, Pixels
from tfrecs.tensors import BytesArray
from tfrecs.tensors.coercion import array_of

try:
    from PIL import Image

    from tfrecs.media import pictures, png
    from tfrecs.media.resizing import FILTERS
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'images need Pillow: pip install "tfrecs[images]"', name=error.name
    ) from error

ImageFormat: TypeAlias = Literal["png", "jpeg", "webp", "gif", "bmp"]
Resample: TypeAlias = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
DctMethod: TypeAlias = Literal["", "INTEGER_ACCURATE", "INTEGER_FAST"]


@overload
def decode_image(
    contents: bytes | memoryview,
    channels: int = ...,
    dtype: npt.DTypeLike = ...,
    expand_animations: bool = ...,
    *,
    size: tuple[int, int] | None = ...,
    resample: Resample = ...,
    dct_method: DctMethod = ...,
    apply_orientation: bool = ...,
    max_pixels: int = ...,
    on_error: OnError = ...,
    num_threads: int | None = ...,
    feature: str | None = ...,
    records: _core.Records | None = ...,
    example_names: Sequence[str] | None = ...,
) -> npt.NDArray[Any]: ...
@overload
def decode_image(
    contents: BytesArray | _core.Records | Sequence[bytes] | npt.NDArray[np.object_],
    channels: int = ...,
    dtype: npt.DTypeLike = ...,
    expand_animations: bool = ...,
    *,
    size: tuple[int, int] | None = ...,
    resample: Resample = ...,
    dct_method: DctMethod = ...,
    apply_orientation: bool = ...,
    max_pixels: int = ...,
    on_error: OnError = ...,
    num_threads: int | None = ...,
    feature: str | None = ...,
    records: _core.Records | None = ...,
    example_names: Sequence[str] | None = ...,
) -> Any: ...
def decode_image(
    contents: Contents,
    channels: int = 0,
    dtype: npt.DTypeLike = "uint8",
    expand_animations: bool = True,
    *,
    size: tuple[int, int] | None = None,
    resample: Resample = "bilinear",
    dct_method: DctMethod = "",
    apply_orientation: bool = False,
    max_pixels: int = 89_478_485,
    on_error: OnError = "raise",
    num_threads: int | None = None,
    feature: str | None = None,
    records: _core.Records | None = None,
    example_names: Sequence[str] | None = None,
) -> Any:
    """Decode JPEG, PNG, GIF, BMP and WebP images, one or a whole batch, to arrays.

    As `tf.io.decode_image`, whose results it gives pixel for pixel; JPEG as
    `tf.io.decode_jpeg(..., dct_method="INTEGER_ACCURATE")`. docs/compatibility.md has what
    TensorFlow refuses and this takes. A batch is decoded on several threads, with the interpreter
    released.

    Args:
        contents: The bytes of an image; or a batch: a BytesArray, Records, a list, or a 1-D NumPy
            array of objects.
        channels: 0: as many as the image has; 1: grey; 3: colours; 4: colours and alpha.
        dtype: uint8; uint16; or float16, float32, float64, which have 0 to 1.
        expand_animations: Whether GIF and WebP give all their frames, with an axis in front. False:
            the first frame, as any other image.
        size: Height and width to resize to. JPEG images are decoded at a half, a quarter or an
            eighth of their size at once, where that is not below.
        resample: How to resize: Pillow's name of the filter, which widens where it shrinks.
        dct_method: Of JPEG, as in `tf.io.decode_jpeg`. "" is "INTEGER_ACCURATE". "INTEGER_FAST",
            which TensorFlow takes for "", is a few levels off, no faster, and needs the extra
            `jpeg`; it is there for models that were trained with it. It has no effect on CMYK, with
            `size`, nor on images that are not quite sound.
        apply_orientation: Whether to turn images as their EXIF data says. TensorFlow does not.
        max_pixels: An image with more pixels, all frames together, is refused before it is decoded.
            It bounds the time too: at most 20 JPEG scans over that many pixels, and one frame for
            each 16,384 of them.
        on_error: What a broken image does to a batch: "raise" raises, "skip" leaves it out.
        num_threads: How many threads decode a batch (at most 1,024); None is one for each core.
        feature: The name of the feature that the bytes are from, for the texts of errors.
        records: The records that a batch was parsed from: an error then names their file, and the
            record's number and place in it. Not needed if `contents` is Records.
        example_names: A name for each value of a batch, for the texts of errors.

    Returns:
        For one image an array of shape (height, width, channels), and (frames, height, width,
        channels) for GIF and WebP with `expand_animations`. For a batch a list of such arrays; with
        `size`, one array of shape (batch, height, width, channels), of first frames only. With
        `on_error="skip"`, a DecodedBatch of the one or the other. An array is its own memory.

    Raises:
        ParseError: An image is broken, too large, or no image.
        SpecError: An option makes no sense; or a batch with `size` leaves `channels` open.
        TypeError: `contents` is no bytes.

    Example:
        >>> import numpy as np, tfrecs
        >>> pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
        >>> record = tfrecs.encode_example({"image": tfrecs.encode_image(pixels), "label": 1})
        >>> spec = {"image": tfrecs.FixedLenFeature([], "string")}
        >>> batch = tfrecs.parse_example([record, record], spec)
        >>> images = tfrecs.decode_image(batch["image"], feature="image")
        >>> len(images), np.array_equal(images[1], pixels)
        (2, True)
        >>> tfrecs.decode_image(batch["image"], channels=1, dtype="float32", size=(8, 8)).shape
        (2, 8, 8, 1)
    """
    checked_choice("on_error", on_error, ("raise", "skip"))
    checked_threads(num_threads)
    wanted = _wanted(
        channels,
        dtype,
        expand_animations,
        size,
        resample,
        dct_method,
        apply_orientation,
        max_pixels,
    )
    source = MediaSource(feature, records, example_names)
    if (data := single(contents)) is not None:
        if on_error == "skip":
            raise SpecError('on_error="skip" is for a batch; a single image is there or is not')
        return decode_one(lambda image: pictures.decode(image, wanted), data, source)
    values = batch(contents)
    if wanted.size is not None:
        wanted = _stackable(wanted)
    found, places, skipped = decode_many(
        lambda image: pictures.decode(image, wanted),
        values,
        source,
        num_threads=num_threads,
        on_error=on_error,
    )
    result = found if wanted.size is None else _stacked(found, wanted)
    if on_error == "raise":
        return result
    return DecodedBatch(result, np.array(places, np.int64), skipped)


def _wanted(
    channels: int,
    dtype: npt.DTypeLike,
    expand_animations: bool,
    size: tuple[int, int] | None,
    resample: str,
    dct_method: str,
    apply_orientation: bool,
    max_pixels: int,
) -> "pictures.Wanted":
    if isinstance(channels, bool) or channels not in (0, 1, 3, 4):
        raise SpecError(f"channels must be 0, 1, 3 or 4, not {channels!r}")
    checked_choice("resample", resample, [*FILTERS])
    checked_choice("dct_method", dct_method, ("", "INTEGER_ACCURATE", "INTEGER_FAST"))
    fast = dct_method == "INTEGER_FAST"
    if fast and not pictures.HAS_FAST_DCT:
        raise MissingLibraryError(
            'dct_method="INTEGER_FAST" needs simplejpeg: pip install "tfrecs[images]"',
            name="simplejpeg",
        )
    return pictures.Wanted(
        channels=int(channels),
        dtype=checked_dtype(dtype, DTYPES),
        expand_animations=bool(expand_animations),
        size=None if size is None else _checked_size(size),
        resample=resample,
        fast_dct=fast,
        orient=bool(apply_orientation),
        max_pixels=checked_limit("max_pixels", max_pixels),
    )


def _checked_size(size: Any) -> tuple[int, int]:
    try:
        height, width = size
    except (TypeError, ValueError):
        raise SpecError(f"size must be (height, width), not {size!r}") from None
    limits = (("height in size", height), ("width in size", width))
    height, width = (checked_limit(what, given) for what, given in limits)
    if height * width > pictures.MAX_PIXELS:
        raise SpecError(f"size {size!r} has more than {pictures.MAX_PIXELS:,} pixels")
    return height, width


def _stackable(wanted: "pictures.Wanted") -> "pictures.Wanted":
    if wanted.channels == 0:
        raise SpecError(
            "a batch with size is one array, whose shape must not depend on the images: say "
            "channels=1, 3 or 4"
        )
    return replace(wanted, expand_animations=False)


def _stacked(found: list[Pixels], wanted: "pictures.Wanted") -> Pixels:
    shape = (*(wanted.size or ()), wanted.channels)
    return np.stack(found) if found else np.empty((0, *shape), wanted.dtype)


def encode_image(
    array: npt.ArrayLike,
    format: ImageFormat = "png",  # noqa: A002 - TensorFlow's and Pillow's name for it
    *,
    quality: int = 95,
    compression: int = 6,
    lossless: bool = False,
) -> bytes:
    """Encode an array as a PNG, JPEG, WebP, GIF or BMP image.

    As `tf.io.encode_png` and `tf.io.encode_jpeg`. What is not lossy by its format comes back from
    `decode_image` as it was: PNG, BMP, WebP with `lossless`, and GIF of up to 256 colours.

    Args:
        array: The pixels: shape (height, width, channels) or (height, width), uint8; for PNG also
            uint16; for GIF and WebP also (frames, height, width, channels). Channels: 1 grey
            (WebP: 3 and 4 only), 2 grey and alpha (PNG only), 3 colours, 4 colours and alpha (PNG,
            BMP and WebP).
        format: "png", "jpeg", "webp", "gif" or "bmp".
        quality: Of JPEG and WebP, 0 to 100.
        compression: Of PNG, 0 to 9.
        lossless: Whether WebP keeps every pixel.

    Returns:
        The bytes of the file.

    Raises:
        SpecError: The format cannot hold such an array, or an option is out of its range.

    Example:
        >>> import numpy as np, tfrecs
        >>> pixels = np.full((4, 6, 3), 200, np.uint8)
        >>> tfrecs.decode_image(tfrecs.encode_image(pixels, "jpeg")).shape
        (4, 6, 3)
    """
    checked_choice("format", format, [*_CHANNELS])
    pixels = _checked_pixels(array, format)
    _check_range("quality", quality, 100)
    _check_range("compression", compression, 9)
    if pixels.dtype == np.uint16:
        return png.encode(pixels, compression)
    first, *others = [_pillow(frame) for frame in pixels.reshape(-1, *pixels.shape[-3:])]
    options: dict[str, Any] = {
        "png": {"compress_level": compression},
        "jpeg": {"quality": quality},
        "webp": {"quality": quality, "lossless": lossless, "exact": True},
    }.get(format, {})
    if others:
        options |= {"save_all": True, "append_images": others}
    if format == "gif":
        options |= {"disposal": 1, "optimize": False}
    made = BytesIO()
    first.save(made, format.upper(), **options)
    return made.getvalue()


_CHANNELS = {"png": (1, 2, 3, 4), "jpeg": (1, 3), "webp": (3, 4), "gif": (1, 3), "bmp": (1, 3, 4)}
_ANIMATED = {"gif", "webp"}


def _checked_pixels(array: npt.ArrayLike, format_name: str) -> Pixels:
    pixels = given = array_of(array, "array")
    dtypes = ("uint8", "uint16") if format_name == "png" else ("uint8",)
    name = format_name.upper()
    if pixels.dtype.name not in dtypes:
        raise SpecError(f"{name} holds {' and '.join(dtypes)}, not {pixels.dtype.name}")
    if pixels.ndim == 2:  # noqa: PLR2004
        pixels = pixels[..., None]
    dimensions = (3, 4) if format_name in _ANIMATED else (3,)
    if pixels.ndim not in dimensions or 0 in pixels.shape:
        raise SpecError(
            f"{name} holds arrays of shape (height, width, channels) that are not empty, not "
            f"{given.shape}"
        )
    if pixels.shape[-1] not in _CHANNELS[format_name]:
        counts = ", ".join(map(str, _CHANNELS[format_name]))
        raise SpecError(f"{name} holds {counts} channels, not {pixels.shape[-1]}")
    return pixels


def _check_range(what: str, given: Any, most: int) -> None:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or not 0 <= given <= most:
        raise SpecError(f"{what} must be an integer from 0 to {most}, not {given!r}")


def _pillow(pixels: Pixels) -> Image.Image:
    squeezed = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    return Image.fromarray(np.ascontiguousarray(squeezed))
