"""Images to arrays and back: formats, channels, dtypes, frames, sizes."""

import struct
import zlib
from io import BytesIO
from typing import Any

import needs
import numpy as np
import pictures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pictures import GifFrame

import tfrecs

needs.optional("PIL")

from PIL import Image  # noqa: E402 - after it is known to be there

from tfrecs.media import pictures as decoding  # noqa: E402

RNG = np.random.default_rng(0)
NOISE = RNG.integers(0, 256, (6, 7, 4), np.uint8)
DEEP = RNG.integers(0, 65536, (6, 7, 4), np.uint16)
SMOOTH = np.add.outer(np.arange(48), np.arange(64))[..., None] * np.array([1, 2, 1]) % 256


def saved(image: Image.Image, format_name: str, **options: Any) -> bytes:
    made = BytesIO()
    image.save(made, format_name, **options)
    return made.getvalue()


def same(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found, expected)


# --- Round trips ---

LOSSLESS = [("png", 1), ("png", 2), ("png", 3), ("png", 4), ("webp", 3), ("webp", 4)]
LOSSLESS += [("bmp", 1), ("bmp", 3), ("bmp", 4), ("gif", 1), ("gif", 3)]


@pytest.mark.parametrize(("form", "channels"), LOSSLESS)
@given(data=st.data())
def test_round_trip(form: Any, channels: int, data: st.DataObject) -> None:
    side = st.integers(1, 15)  # so few pixels that GIF keeps all colours
    shape = (data.draw(side), data.draw(side), channels)
    pixels = data.draw(arrays.arrays(np.uint8, shape))
    encoded = tfrecs.encode_image(pixels, form, lossless=True)
    # WebP leaves the alpha of an opaque image out: it has to be asked for.
    asked = channels if form == "webp" else 0
    found = tfrecs.decode_image(encoded, asked, expand_animations=False)
    same(found, np.repeat(pixels, 3, -1) if (form, channels) == ("gif", 1) else pixels)


@given(
    pixels=arrays.arrays(
        np.uint16, st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))
    )
)
def test_round_trip_of_16_bits(pixels: Any) -> None:
    encoded = tfrecs.encode_image(pixels)
    same(tfrecs.decode_image(encoded, dtype="uint16"), pixels)
    same(tfrecs.decode_image(encoded), (pixels >> 8).astype(np.uint8))


@pytest.mark.parametrize(("form", "channels"), [("jpeg", 1), ("jpeg", 3), ("webp", 3)])
def test_lossy_formats_come_near(form: Any, channels: int) -> None:
    pixels = (SMOOTH[..., :channels] // 2).astype(np.uint8)
    found = tfrecs.decode_image(tfrecs.encode_image(pixels, form), expand_animations=False)
    assert found.shape == pixels.shape
    assert np.abs(found.astype(int) - pixels).mean() < 6


@pytest.mark.parametrize("form", ["gif", "webp"])
def test_frames(form: Any) -> None:
    frames = np.repeat(NOISE[None, ..., :3], 3, 0)
    frames[1, 2:4] = 0
    frames[2, :, :3] = 255
    encoded = tfrecs.encode_image(frames, form, lossless=True)
    found = tfrecs.decode_image(encoded)
    same(found[..., :3], frames)
    same(tfrecs.decode_image(encoded, 3, expand_animations=False), frames[0])


# --- PNG ---


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("pixels", [NOISE, DEEP], ids=["8", "16"])
def test_png(pixels: Any, channels: int, interlaced: bool) -> None:
    pixels = pixels[..., :channels]
    for pieces in (1, 2, 7):
        data = pictures.png(pixels, interlaced=interlaced, pieces=pieces)
        same(tfrecs.decode_image(data, dtype=pixels.dtype), pixels)


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_png_of_few_bits(depth: int, interlaced: bool) -> None:
    levels = NOISE[..., :1] >> (8 - depth)
    scaled = levels * np.uint8(255 // ((1 << depth) - 1))
    same(tfrecs.decode_image(pictures.png(levels, depth, interlaced=interlaced)), scaled)


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize("alphas", [None, 1, 2])
def test_png_palette(depth: int, alphas: int | None) -> None:
    palette = RNG.integers(0, 256, (1 << depth, 3), np.uint8)
    indices = NOISE[..., :1] >> (8 - depth)
    colours = palette[indices[..., 0]]
    if alphas is None:
        same(tfrecs.decode_image(pictures.png(indices, depth, palette)), colours)
        return
    table = np.full(256, 255, np.uint8)
    table[:alphas] = [7, 200][:alphas]
    data = pictures.png(indices, depth, palette, pictures.chunk(b"tRNS", bytes(table[:alphas])))
    alpha = table[indices]
    same(tfrecs.decode_image(data), np.concatenate([colours, alpha], -1))
    same(tfrecs.decode_image(data, 3), colours)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("depth", [1, 4, 8, 16])
def test_png_transparent_colour(depth: int, channels: int) -> None:
    if channels == 3 and depth < 8:
        depth = 8
    wide = DEEP[..., :channels] >> (16 - depth)
    pixels = wide if depth == 16 else wide.astype(np.uint8)
    chosen = struct.pack(f">{channels}H", *map(int, pixels[2, 3]))
    data = pictures.png(pixels, depth, chunks=pictures.chunk(b"tRNS", chosen))
    assert tfrecs.decode_image(data).shape[-1] == channels  # as TensorFlow: only if asked for
    found = tfrecs.decode_image(data, 4)
    opaque = (pixels != pixels[2, 3]).any(-1)
    same(found[..., 3], np.where(opaque, 255, 0).astype(np.uint8))
    same(found[..., :3], tfrecs.decode_image(data, 3))


def test_png_metadata_is_not_read() -> None:
    bomb = b"Comment\0\0" + zlib.compress(bytes(50_000_000))
    odd = b"".join(
        pictures.chunk(name, content)
        for name, content in [
            (b"zTXt", bomb),
            (b"iCCP", b"x"),
            (b"acTL", bytes(8)),
            (b"eXIf", b"?"),
        ]
    )
    same(tfrecs.decode_image(pictures.png(NOISE, chunks=odd)), NOISE)


def test_png_grey_of_colours() -> None:
    grey = (NOISE[..., :3].astype(int) @ [9797, 19234, 3737] >> 15).astype(np.uint8)[..., None]
    same(tfrecs.decode_image(pictures.png(NOISE[..., :3]), 1), grey)
    same(tfrecs.decode_image(pictures.png(NOISE), 1), grey)
    deep = (DEEP[..., :3].astype(int) @ [9797, 19234, 3737] + (1 << 14) >> 15).astype(np.uint16)
    same(tfrecs.decode_image(pictures.png(DEEP), 1, "uint16"), deep[..., None])
    same(tfrecs.decode_image(pictures.png(DEEP), 1), (deep[..., None] >> 8).astype(np.uint8))


# --- BMP ---


@pytest.mark.parametrize("top_down", [False, True])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_bmp(channels: int, top_down: bool) -> None:
    same(tfrecs.decode_image(pictures.bmp(NOISE[..., :channels], top_down)), NOISE[..., :channels])


def test_bmp_palette() -> None:
    palette = RNG.integers(0, 256, (256, 3), np.uint8)
    data = pictures.bmp(NOISE[..., :1], palette=palette)
    same(tfrecs.decode_image(data), palette[NOISE[..., 0]])


def test_bmp_of_one_bit() -> None:
    data = saved(Image.fromarray(NOISE[..., 0]).convert("1"), "BMP")
    assert set(np.unique(tfrecs.decode_image(data))) == {0, 255}


# --- GIF ---

TABLE = RNG.integers(1, 256, (16, 3), np.uint8)


def drawing(*shape: int) -> Any:
    return RNG.integers(0, 16, shape, np.uint8)


def test_gif_frames_are_drawn_over_each_other() -> None:
    first, second, third = drawing(5, 6), drawing(2, 3), drawing(4, 6)
    own = TABLE[::-1]
    data = pictures.gif(
        20,
        30,
        TABLE,
        [
            GifFrame(first, 1, 1, transparent=3, disposal=2),
            GifFrame(second, 2, 3, own, transparent=5, disposal=3, interlaced=True),
            GifFrame(third, 4, 2),  # most of it is off the canvas
        ],
    )
    frames = np.zeros((3, 5, 6, 3), np.uint8)
    shown = first[:4, :5] != 3
    frames[0, 1:, 1:][shown] = TABLE[first[:4, :5][shown]]
    frames[1] = frames[0]
    shown = second != 5
    frames[1, 3:, 2:5][shown] = own[second[shown]]
    frames[2] = frames[1]
    frames[2, 2:, 4:] = TABLE[third[:3, :2]]
    same(tfrecs.decode_image(data), frames)
    same(tfrecs.decode_image(data, expand_animations=False), frames[0])


def test_gif_frames_off_the_canvas_and_empty_ones() -> None:
    frames = [GifFrame(drawing(2, 2), 50, 60), GifFrame(drawing(0, 3))]
    same(tfrecs.decode_image(pictures.gif(0, 0, TABLE, frames)), np.zeros((2, 2, 3, 3), np.uint8))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (pictures.gif(2, 2, TABLE, []), "has no frame with pixels"),
        (pictures.gif(2, 2, TABLE, [GifFrame(drawing(0, 2))]), "has no frame with pixels"),
        (pictures.gif(2, 2, None, [GifFrame(drawing(2, 2))]), "a frame without colours"),
        (pictures.gif(2, 2, TABLE, [GifFrame(drawing(2, 2) + 200)]), "beyond its 16 colours"),
        (pictures.gif(2, 2, TABLE, [])[:-1] + b"\x07", "block of unknown kind 7"),
        (pictures.gif(2, 2, TABLE, [GifFrame(drawing(2, 2))])[:-1], "is cut off"),
    ],
)
def test_broken_gif(data: bytes, reason: str) -> None:
    with pytest.raises(tfrecs.ParseError, match=reason):
        tfrecs.decode_image(data)


# --- JPEG ---

PHOTO = Image.fromarray(SMOOTH.astype(np.uint8))


def jpeg(mode: str = "RGB", **options: Any) -> bytes:
    return saved(PHOTO.convert(mode), "JPEG", **options)


def without_turbo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "simplejpeg", None)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_both_decoders_give_the_same(
    mode: str, subsampling: int, progressive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.optional("simplejpeg")
    data = jpeg(mode, subsampling=subsampling, progressive=progressive, quality=60)
    found = [tfrecs.decode_image(data, channels) for channels in (0, 1, 3, 4)]
    assert [image.shape[-1] for image in found] == [1 if mode == "L" else 3, 1, 3, 4]
    without_turbo(monkeypatch)
    for channels, image in zip((0, 1, 3, 4), found, strict=True):
        same(image, tfrecs.decode_image(data, channels))


def test_dct_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    needs.optional("simplejpeg")
    data = jpeg(quality=60)
    accurate = tfrecs.decode_image(data)
    same(accurate, tfrecs.decode_image(data, dct_method="INTEGER_ACCURATE"))
    fast = tfrecs.decode_image(data, dct_method="INTEGER_FAST")
    assert 0 < np.abs(accurate.astype(int) - fast).max() < 16
    monkeypatch.setattr(decoding, "HAS_FAST_DCT", False)
    with pytest.raises(tfrecs.MissingLibraryError, match=r"needs simplejpeg: pip install"):
        tfrecs.decode_image(data, dct_method="INTEGER_FAST")


def test_jpeg_without_adobes_marker_holds_cmyk_as_it_is() -> None:
    data = jpeg("CMYK")
    start = data.index(b"\xff\xee")
    plain = data[:start] + data[start + 2 + int.from_bytes(data[start + 2 : start + 4]) :]
    stored = 255 - np.asarray(Image.open(BytesIO(plain))).astype(int)
    expected = (255 - stored[..., :3]) * (255 - stored[..., 3:]) // 255
    same(tfrecs.decode_image(plain), expected.astype(np.uint8))


ORIENTED = {
    1: PHOTO,
    **{
        number: PHOTO.transpose(turn)
        for number, turn in {
            2: Image.Transpose.FLIP_LEFT_RIGHT,
            3: Image.Transpose.ROTATE_180,
            4: Image.Transpose.FLIP_TOP_BOTTOM,
            5: Image.Transpose.TRANSPOSE,
            6: Image.Transpose.ROTATE_270,
            7: Image.Transpose.TRANSVERSE,
            8: Image.Transpose.ROTATE_90,
        }.items()
    },
}


@pytest.mark.parametrize(("orientation", "apply"), [(1, True), (6, False), (None, False)])
def test_upright_images_are_reduced_alike(orientation: int | None, apply: bool) -> None:
    """A JPEG is decoded at an eighth of its size if that is enough, turned or not."""
    pixels = np.random.default_rng(0).integers(0, 256, (64, 512, 3), np.uint8)
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    out = BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", exif=exif)
    found = tfrecs.decode_image(out.getvalue(), 3, size=(8, 64), apply_orientation=apply)
    out = BytesIO()
    Image.fromarray(pixels).save(out, "JPEG")
    assert (found == tfrecs.decode_image(out.getvalue(), 3, size=(8, 64))).all()


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", ORIENTED)
def test_orientation(orientation: int, form: str) -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "maker", orientation
    options: dict[str, Any] = {"quality": 100, "subsampling": 0} if form == "JPEG" else {}
    options |= {"lossless": True} if form == "WEBP" else {}
    data = saved(PHOTO, form, exif=exif, **options)
    plain = tfrecs.decode_image(data, expand_animations=False)
    assert plain.shape == (48, 64, 3)
    found = tfrecs.decode_image(data, expand_animations=False, apply_orientation=True)
    near = np.abs(found.astype(int) - np.asarray(ORIENTED[orientation])).max()
    assert near <= (8 if form == "JPEG" else 0)
    small = tfrecs.decode_image(data, 3, size=(20, 9), apply_orientation=True)
    assert small.shape[-3:] == (20, 9, 3)


# --- dtypes, channels, sizes ---


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", np.float32, np.dtype("f8")])
def test_floats(dtype: Any) -> None:
    name = np.dtype(dtype).name
    for data, most in ((pictures.png(DEEP), 65535), (pictures.png(NOISE), 255)):
        pixels = DEEP if most == 65535 else NOISE
        found = tfrecs.decode_image(data, dtype=dtype)
        assert found.dtype == name
        np.testing.assert_allclose(found, pixels / most, rtol=1e-3 if name == "float16" else 1e-6)
    white = tfrecs.encode_image(np.full((1, 1, 3), 255, np.uint8), "bmp")
    assert tfrecs.decode_image(white, dtype=dtype).max() == 1


def test_uint16_of_8_bits_is_tensorflows() -> None:
    pixels = NOISE[..., :3]
    png = tfrecs.decode_image(pictures.png(pixels), dtype="uint16")
    same(png, pixels.astype(np.uint16) * 257)
    bmp = tfrecs.decode_image(pictures.bmp(pixels), dtype="uint16")
    same(bmp, pixels.astype(np.uint16) * 256)


@pytest.mark.parametrize("channels", [0, 1, 3, 4])
@pytest.mark.parametrize("form", ["png", "jpeg", "gif", "bmp", "webp"])
def test_channels(form: Any, channels: int) -> None:
    found = tfrecs.decode_image(tfrecs.encode_image(NOISE[..., :3], form), channels)
    assert found.shape[-3:] == (6, 7, channels or 3)
    if channels == 4:
        assert (found[..., 3] == 255).all()


@pytest.mark.parametrize(
    "resample", ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
)
def test_size(resample: Any) -> None:
    pixels = np.full((40, 60, 3), 77, np.uint8)
    for form in ("png", "jpeg", "gif", "bmp", "webp"):
        for size in ((10, 15), (80, 61), (1, 1), (40, 60)):
            data = tfrecs.encode_image(pixels, form)
            found = tfrecs.decode_image(data, 0, "uint8", False, size=size, resample=resample)
            assert found.shape == (*size, 3)
            assert np.abs(found.astype(int) - 77).max() <= 2


def test_size_of_frames_and_of_16_bits() -> None:
    frames = np.stack([np.zeros((4, 4, 3), np.uint8), np.full((4, 4, 3), 9, np.uint8)])
    found = tfrecs.decode_image(tfrecs.encode_image(frames, "gif"), size=(2, 3))
    same(found, np.stack([np.zeros((2, 3, 3), np.uint8), np.full((2, 3, 3), 9, np.uint8)]))
    deep = np.full((4, 4, 2), 40_000, np.uint16)
    found = tfrecs.decode_image(tfrecs.encode_image(deep), dtype="uint16", size=(9, 2))
    same(found, np.full((9, 2, 2), 40_000, np.uint16))


def test_results_are_memory_of_their_own() -> None:
    for data in (pictures.bmp(NOISE), pictures.png(DEEP), jpeg(), tfrecs.encode_image(NOISE)):
        for channels in (0, 1, 3, 4):
            image = tfrecs.decode_image(data, channels)
            assert image.flags.writeable
            assert image.flags.c_contiguous


# --- Wrong use ---

GOOD = tfrecs.encode_image(NOISE)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"channels": 2}, "channels must be 0, 1, 3 or 4, not 2"),
        ({"channels": True}, "channels must be"),
        (
            {"dtype": "int32"},
            "dtype must be one of uint8, uint16, float16, float32, float64, not int32",
        ),
        ({"dtype": object()}, "dtype must be one of"),
        ({"size": 7}, r"size must be \(height, width\), not 7"),
        ({"size": (0, 7)}, "height in size must be a positive integer, not 0"),
        ({"size": (7, 1.5)}, "width in size must be a positive integer, not 1.5"),
        ({"size": (10**6, 10**6)}, "more than 89,478,485 pixels"),
        ({"resample": "cubic"}, "'bilinear', 'hamming', 'bicubic', 'lanczos', not 'cubic'"),
        ({"dct_method": "FLOAT"}, "of '', 'INTEGER_ACCURATE', 'INTEGER_FAST', not 'FLOAT'"),
        ({"max_pixels": 0}, "max_pixels must be a positive integer, not 0"),
        ({"on_error": "ignore"}, "on_error must be one of 'raise', 'skip', not 'ignore'"),
        ({"num_threads": 0}, "num_threads must be a positive integer or None, not 0"),
        ({"on_error": "skip"}, "is for a batch"),
        ({"example_names": ["a", "b"]}, "example_names has 2 entries for 1 value"),
    ],
)
def test_wrong_options(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=reason):
        tfrecs.decode_image(GOOD, **options)


@pytest.mark.parametrize(
    ("array", "options", "reason"),
    [
        (np.zeros((2, 2, 3), np.int64), {}, "PNG holds uint8 and uint16, not int64"),
        (np.zeros((2, 2, 3), np.uint16), {"format": "jpeg"}, "JPEG holds uint8, not uint16"),
        (np.zeros((2, 2, 4), np.uint8), {"format": "jpeg"}, "JPEG holds 1, 3 channels, not 4"),
        (np.zeros((2, 2, 5), np.uint8), {}, "PNG holds 1, 2, 3, 4 channels, not 5"),
        (np.zeros(4, np.uint8), {}, r"shape \(height, width, channels\) .*, not \(4,\)"),
        (np.zeros((0, 2, 3), np.uint8), {}, "not empty"),
        (np.zeros((2, 3, 3, 3), np.uint8), {}, "PNG holds arrays of shape"),
        (
            np.zeros((2, 2), np.uint8),
            {"format": "tiff"},
            "one of 'png', 'jpeg', 'webp', 'gif', 'bmp', not 'tiff'",
        ),
        (np.zeros((2, 2), np.uint8), {"quality": 101}, "quality must be an integer from 0 to 100"),
        (np.zeros((2, 2), np.uint8), {"compression": -1}, "compression must be .* from 0 to 9"),
    ],
)
def test_what_cannot_be_encoded(array: Any, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=reason):
        tfrecs.encode_image(array, **options)
