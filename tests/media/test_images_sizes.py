"""Images in another size, beside Pillow's."""

from io import BytesIO
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tfrecs

needs.optional("PIL")
needs.optional("simplejpeg")

from PIL import Image  # noqa: E402 - after it is known to be there
from PIL.JpegImagePlugin import JpegImageFile  # noqa: E402 - likewise

from tfrecs.media.resizing import FILTERS, reduced_size, resized  # noqa: E402 - likewise

SIDES = st.integers(1, 40)


def by_pillow(pixels: Any, size: tuple[int, int], how: str) -> Any:
    image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    made = np.asarray(image.resize(size[::-1], FILTERS[how]))
    return made.reshape(*size, pixels.shape[-1])


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("how", FILTERS)
@given(data=st.data())
def test_pixels_are_pillows(how: str, channels: int, data: st.DataObject) -> None:
    height, width, size = data.draw(st.tuples(SIDES, SIDES, st.tuples(SIDES, SIDES)))
    pixels = data.draw(arrays.arrays(np.uint8, (height, width, channels)))
    found = resized(pixels, size, how)
    assert (found.shape, found.dtype.name) == ((*size, channels), "uint8")
    most = 1 if how in {"bilinear", "hamming"} else 0
    assert np.abs(found.astype(int) - by_pillow(pixels, size, how)).max() <= most


@given(size=st.tuples(SIDES, SIDES), data=st.data())
def test_what_is_transparent_has_no_colour(size: tuple[int, int], data: st.DataObject) -> None:
    shape = data.draw(st.tuples(SIDES, SIDES, st.just(4)))
    pixels = data.draw(arrays.arrays(np.uint8, shape))
    found, wanted = (
        np.concatenate([made[..., :3] * (made[..., 3:] / 255.0), made[..., 3:]], axis=-1)
        for made in (resized(pixels, size, "bilinear"), by_pillow(pixels, size, "bilinear"))
    )
    assert np.abs(found - wanted).max() <= 3  # rounded thrice


@pytest.mark.parametrize("how", FILTERS)
@given(size=st.tuples(SIDES, SIDES), channels=st.integers(1, 4), data=st.data())
def test_16_bits(how: str, size: tuple[int, int], channels: int, data: st.DataObject) -> None:
    shape = data.draw(st.tuples(SIDES, SIDES, st.just(channels)))
    pixels = data.draw(arrays.arrays(np.uint8, shape))
    found = resized(pixels.astype(np.uint16) * 257, size, how)
    assert (found.shape, found.dtype.name) == ((*size, channels), "uint16")
    if how in {"box", "nearest", "bilinear", "hamming"}:  # the others clip between rows and columns
        planes = [by_pillow(pixels[..., one : one + 1], size, how) for one in range(channels)]
        assert np.abs(found / 257.0 - np.concatenate(planes, axis=-1)).max() <= 1.01


@given(
    size=st.tuples(st.integers(1, 130), st.integers(1, 130)),
    whole=st.tuples(st.integers(1, 120), st.integers(1, 120)),
    subsampling=st.sampled_from([0, 1, 2]),
)
def test_a_jpeg_is_reduced_as_pillow_does_it(
    size: tuple[int, int], whole: tuple[int, int], subsampling: int
) -> None:
    slope = np.add.outer(np.arange(whole[0]) * 2, np.arange(whole[1]))[..., None] % 256
    made = BytesIO()
    colours = (slope * np.array([1, 2, 1]) % 256).astype(np.uint8)
    Image.fromarray(colours).save(made, "JPEG", subsampling=subsampling)
    with JpegImageFile(BytesIO(made.getvalue())) as image:
        if min(whole) >= 16:
            image.draft(None, size[::-1])
        drafted = np.asarray(image)
    assert reduced_size(whole[::-1], size[::-1]) == drafted.shape[1::-1]
    found = tfrecs.decode_image(made.getvalue(), size=size)
    np.testing.assert_array_equal(found, resized(drafted, size, "bilinear"))
