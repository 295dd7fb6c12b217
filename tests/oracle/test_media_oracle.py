"""Images and sound: what tf.io and tf.audio make of the same files.

JPEG is compared with `dct_method="INTEGER_ACCURATE"`, and with TensorFlow's default where ours is
asked for it. What TensorFlow refuses and we do not is left out; docs/compatibility.md has the rows.
"""

from io import BytesIO
from typing import Any

import needs
import numpy as np
import pictures
import pytest
import tensorflow as tf
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import tfrecs
from oracle.cases import randomly

needs.optional("PIL")

from PIL import Image  # noqa: E402 - after it is known to be there

SIDES = st.integers(1, 12)
SEEDS = st.integers(0, 2**32)
CHANNELS = st.sampled_from([0, 1, 3, 4])
DTYPES = st.sampled_from(["uint8", "uint16", "float32"])
EXPAND = st.booleans()


def noise(seed: int, *shape: int, dtype: Any = np.uint8, high: int | None = None) -> Any:
    most = np.iinfo(dtype).max + 1 if high is None else high
    return np.random.default_rng(seed).integers(0, most, shape, dtype)


def theirs(data: bytes, channels: int = 0, dtype: str = "uint8", expand: bool = True) -> Any:
    """TensorFlow's pixels, or None if it refuses."""
    try:
        return tf.io.decode_image(data, channels, tf.as_dtype(dtype), None, expand).numpy()
    except tf.errors.InvalidArgumentError:
        return None


def ours(data: bytes, channels: int = 0, dtype: str = "uint8", expand: bool = True) -> Any:
    try:
        return tfrecs.decode_image(data, channels, dtype, expand)
    except tfrecs.ParseError:
        return None


def check(data: bytes, channels: int, dtype: str = "uint8", expand: bool = True) -> None:
    expected = theirs(data, channels, dtype, expand)
    found = ours(data, channels, dtype, expand)
    assert found is not None
    if expected is not None:
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(found, expected)


# --- PNG ---


def gamma_chunk(kind: int) -> bytes:
    if kind == 0:
        return b""
    if kind == 1:
        return pictures.chunk(b"sRGB", b"\0")
    return pictures.chunk(b"gAMA", kind.to_bytes(4))


@randomly(2)
@given(
    seed=SEEDS,
    height=SIDES,
    width=SIDES,
    samples=st.integers(1, 4),
    deep=st.booleans(),
    interlaced=st.booleans(),
    transparent=st.booleans(),
    gamma=st.sampled_from([0, 1, 45455, 100_000, 98_000, 220_000]),
    channels=CHANNELS,
    dtype=DTYPES,
)
def test_png(
    seed: int,
    height: int,
    width: int,
    samples: int,
    deep: bool,
    interlaced: bool,
    transparent: bool,
    gamma: int,
    channels: int,
    dtype: str,
) -> None:
    pixels = noise(seed, height, width, samples, dtype=np.uint16 if deep else np.uint8)
    grey_of_deep = deep and channels == 1 and samples > 2
    chunks = b"" if grey_of_deep else gamma_chunk(gamma)
    if transparent and samples in (1, 3):
        chunks += pictures.chunk(b"tRNS", pixels[0, 0].astype(">u2").tobytes())
    check(pictures.png(pixels, chunks=chunks, interlaced=interlaced), channels, dtype)


@randomly(4)
@given(
    seed=SEEDS,
    height=SIDES,
    width=SIDES,
    depth=st.sampled_from([1, 2, 4, 8]),
    palette=st.booleans(),
    alphas=st.integers(0, 20),
    interlaced=st.booleans(),
    channels=CHANNELS,
    dtype=DTYPES,
)
def test_png_of_few_bits(
    seed: int,
    height: int,
    width: int,
    depth: int,
    palette: bool,
    alphas: int,
    interlaced: bool,
    channels: int,
    dtype: str,
) -> None:
    indices = noise(seed, height, width, 1, high=1 << depth)
    colours = noise(seed, 1 << depth, 3) if palette else None
    chunks = b""
    if alphas and palette:
        table = noise(seed + 1, min(alphas, 1 << depth))
        chunks = pictures.chunk(b"tRNS", table.tobytes())
    elif alphas:
        chunks = pictures.chunk(b"tRNS", bytes([0, alphas % (1 << depth)]))
    assume(depth == 8 or channels != 4 or alphas)  # test_alpha_of_few_bits
    check(pictures.png(indices, depth, colours, chunks, interlaced), channels, dtype)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_alpha_of_few_bits(depth: int) -> None:
    """TensorFlow's alpha, where an image has none, is that of as many bits, ours is opaque."""
    data = pictures.png(noise(0, 3, 4, 1, high=1 << depth), depth)
    assert set(theirs(data, 4)[..., 3].ravel()) == {(1 << depth) - 1}
    assert set(ours(data, 4)[..., 3].ravel()) == {255}
    np.testing.assert_array_equal(theirs(data, 4)[..., :3], ours(data, 4)[..., :3])


# --- JPEG ---


@randomly(4)
@given(
    seed=SEEDS,
    height=st.integers(1, 70),
    width=st.integers(1, 70),
    mode=st.sampled_from(["L", "RGB", "CMYK"]),
    quality=st.integers(1, 100),
    subsampling=st.integers(0, 2),
    progressive=st.booleans(),
    channels=st.sampled_from([0, 1, 3]),
)
def test_jpeg(
    seed: int,
    height: int,
    width: int,
    mode: str,
    quality: int,
    subsampling: int,
    progressive: bool,
    channels: int,
) -> None:
    image = Image.fromarray(noise(seed, 1 + height // 5, 1 + width // 5, 3)).resize((width, height))
    made = BytesIO()
    options = {"quality": quality, "subsampling": subsampling, "progressive": progressive}
    image.convert(mode).save(made, "JPEG", **options)
    data = made.getvalue()
    assume(mode != "CMYK" or channels != 1)  # TensorFlow has no grey of it
    accurate = tf.io.decode_jpeg(data, channels, dct_method="INTEGER_ACCURATE").numpy()
    np.testing.assert_array_equal(ours(data, channels), accurate)
    if mode != "CMYK":
        needs.optional("simplejpeg")
        for dtype in ("uint8", "uint16", "float32"):
            fast: Any = tfrecs.decode_image(data, channels, dtype, dct_method="INTEGER_FAST")
            np.testing.assert_array_equal(fast, theirs(data, channels, dtype))


# --- BMP ---


@randomly(4)
@given(
    seed=SEEDS,
    height=SIDES,
    width=SIDES,
    samples=st.sampled_from([1, 3, 4]),
    top_down=st.booleans(),
    channels=CHANNELS,
    dtype=DTYPES,
)
def test_bmp(
    seed: int, height: int, width: int, samples: int, top_down: bool, channels: int, dtype: str
) -> None:
    pixels = noise(seed, height, width, samples)
    # TensorFlow reads outside of a top-down image, and crashes, if it is to be anything but uint8.
    check(pictures.bmp(pixels, top_down), channels, "uint8" if top_down else dtype)


def test_bmp_palette() -> None:
    """TensorFlow gives the numbers of the colours, we the colours."""
    indices, palette = noise(0, 3, 4, 1), noise(1, 256, 3)
    data = pictures.bmp(indices, palette=palette)
    np.testing.assert_array_equal(theirs(data), indices)
    np.testing.assert_array_equal(ours(data), palette[indices[..., 0]])


# --- What has frames ---

frames = st.builds(
    lambda seed, height, width, **options: pictures.GifFrame(
        noise(seed, height, width, high=8), **options
    ),
    seed=SEEDS,
    height=SIDES,
    width=SIDES,
    left=st.integers(0, 9),
    top=st.integers(0, 9),
    table=st.none() | SEEDS.map(lambda seed: noise(seed, 8, 3)),
    transparent=st.none() | st.integers(0, 9),
    disposal=st.integers(0, 3),
    interlaced=st.booleans(),
)


@randomly(4)
@given(
    seed=SEEDS,
    height=SIDES,
    width=SIDES,
    shown=st.lists(frames, min_size=1, max_size=4),
    channels=st.sampled_from([0, 3]),
    dtype=DTYPES,
    expand=EXPAND,
)
def test_gif(
    seed: int, height: int, width: int, shown: Any, channels: int, dtype: str, expand: bool
) -> None:
    check(pictures.gif(width, height, noise(seed, 8, 3), shown), channels, dtype, expand)


@randomly(8)
@given(
    seed=SEEDS,
    count=st.integers(1, 3),
    height=SIDES,
    width=SIDES,
    samples=st.sampled_from([3, 4]),
    lossless=st.booleans(),
    channels=CHANNELS,
    expand=EXPAND,
)
def test_webp(
    seed: int,
    count: int,
    height: int,
    width: int,
    samples: int,
    lossless: bool,
    channels: int,
    expand: bool,
) -> None:
    pixels = noise(seed, count, height, width, samples)
    data = tfrecs.encode_image(pixels, "webp", lossless=lossless)
    # An animation without alpha: TensorFlow writes beyond its memory, and crashes.
    assume(count == 1 or data[20] & 0x10 or channels)
    check(data, channels, expand=expand)


# --- Damage ---


@randomly(4)
@given(seed=SEEDS, data=st.data())
def test_damage_to_png(seed: int, data: st.DataObject) -> None:
    """TensorFlow takes no damaged chunk that it needs, and we refuse none that it takes."""
    whole = tfrecs.encode_image(noise(seed, 9, 8, 3), "png")
    changed = damaged(whole, data, 0)
    expected, found = theirs(changed), ours(changed)
    if expected is None:
        assert found is None or found.shape[2] in range(1, 5)
    else:
        np.testing.assert_array_equal(found, expected)


@randomly(4)
@given(seed=SEEDS, data=st.data())
def test_damage_to_jpeg(seed: int, data: st.DataObject) -> None:
    """We refuse no image that TensorFlow takes. (A broken BMP image crashes it.)"""
    whole = tfrecs.encode_image(noise(seed, 9, 8, 3), "jpeg")
    # Mostly in the pixels: TensorFlow refuses most changes of what comes before them.
    changed = damaged(
        whole, data, data.draw(st.sampled_from([0, 1, 1, 1])) * whole.rindex(b"\xff\xda")
    )
    try:
        tf.io.decode_image(changed)
        expected = tf.io.decode_jpeg(changed, dct_method="INTEGER_ACCURATE").numpy()
    except tf.errors.InvalidArgumentError:
        reject()
    np.testing.assert_array_equal(ours(changed), expected)


def damaged(whole: bytes, data: st.DataObject, begin: int) -> bytes:
    """Some changed bytes after `begin`, and perhaps an end that is missing."""
    end = data.draw(st.just(len(whole)) | st.integers(begin, len(whole)))
    changed = bytearray(whole[:end])
    for place in data.draw(st.lists(st.integers(begin, max(end - 1, begin)), max_size=2)):
        if place < end:
            changed[place] ^= data.draw(st.integers(1, 255))
    return bytes(changed)


# --- Sound ---


@randomly(4)
@given(
    seed=SEEDS,
    length=st.integers(0, 50),
    channels=st.integers(1, 4),
    rate=st.integers(1, 192_000),
    desired_channels=st.sampled_from([-1, 1, 2, 3, 7]),
    desired_samples=st.integers(-1, 70),
)
def test_wav(
    seed: int, length: int, channels: int, rate: int, desired_channels: int, desired_samples: int
) -> None:
    needs.optional("soundfile")
    samples = (noise(seed, length, channels, dtype=np.uint16).view(np.int16)).copy()
    data = pictures.wav(samples, rate)
    expected, expected_rate = tf.audio.decode_wav(data, desired_channels, desired_samples)
    found = tfrecs.decode_audio(data, "float32", desired_channels, desired_samples)
    assert found.sample_rate == expected_rate.numpy()
    assert (found.samples.shape, found.samples.dtype) == (expected.shape, np.float32)
    np.testing.assert_array_equal(found.samples, expected.numpy())


@pytest.mark.parametrize("end", range(60))
def test_cut_wav(end: int) -> None:
    needs.optional("soundfile")
    data = pictures.wav(noise(0, 4, 2, dtype=np.uint16).view(np.int16))[:end]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.audio.decode_wav(data)
    with pytest.raises(tfrecs.ParseError):
        tfrecs.decode_audio(data)
