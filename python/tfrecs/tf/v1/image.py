"""`tf.compat.v1.image`: `tf.image`, but that it resizes as TensorFlow 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfrecs.errors import SpecError
from tfrecs.tf import image
from tfrecs.tf.functions.resizing import Sampling, sampled
from tfrecs.tf.graph import static_inputs as static
from tfrecs.tf.graph.deferred import deferrable
from tfrecs.tf.tensor.values import tensor

__all__ = [
    "ResizeMethod",
    "resize",
    "resize_bilinear",
    "resize_images",
    "resize_nearest_neighbor",
]


class ResizeMethod:
    """The numbers of methods, as `tf.compat.v1.image.ResizeMethod`; the last two are refused."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {0: "bilinear", 1: "nearest", "bilinear": "bilinear", "nearest": "nearest"}


@deferrable(rule=static.resized_v1)
def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Resize images as `tf.compat.v1.image.resize`, bilinear or nearest.

    Pixels are points, of which the first ones are aligned, and the last ones too if
    `align_corners`. Images that have the size already stay as they are, of their own type.

    Raises:
        InvalidArgumentError: It is asked for in a way that is not there.
    """
    if method not in _METHODS or preserve_aspect_ratio:
        raise SpecError("of resize() there are only the methods BILINEAR and NEAREST_NEIGHBOR")
    given = tensor(images)
    if np.shape(given)[-3:-1] == tuple(np.asarray(tensor(size)).tolist()):
        return given
    return sampled(given, size, _METHODS[method], Sampling(False, align_corners))


resize_images = resize


@deferrable(rule=static.bilinear)
def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Resize images between their pixels, as `tf.compat.v1.image.resize_bilinear`: float32."""
    return sampled(images, size, "bilinear", Sampling(half_pixel_centers, align_corners))


@deferrable(rule=static.nearest)
def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Resize images by taking pixels, as `tf.compat.v1.image.resize_nearest_neighbor`."""
    return sampled(images, size, "nearest", Sampling(half_pixel_centers, align_corners))


def __getattr__(name: str) -> Any:
    return getattr(image, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *image.__all__})
