"""`resize` of `tf.image`, and of `tf.compat.v1.image`, which samples at other places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs.errors import SpecError
from tfrecs.tf.graph import static_inputs as static
from tfrecs.tf.graph.deferred import deferrable
from tfrecs.tf.tensor.values import Tensor, tensor

Array = npt.NDArray[Any]


class ResizeMethod:
    """The names of methods, as `tf.image.ResizeMethod`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"


@dataclass(frozen=True)
class Sampling:
    """Where the samples of an axis are taken.

    Attributes:
        half_pixel_centers: Whether pixels are squares, whose centers are aligned, as in
            TensorFlow 2; else pixels are points, of which the first ones are aligned.
        align_corners: Whether the last points are aligned too.
    """

    half_pixel_centers: bool = True
    align_corners: bool = False

    def check(self) -> None:
        """Refuse both at once."""
        if self.half_pixel_centers and self.align_corners:
            raise SpecError("If half_pixel_centers is True, align_corners must be False.")

    def places(self, have: int, want: int) -> Array:
        """Return where each of `want` samples is, in pixels from the edge, or from the first."""
        is_aligned = self.align_corners and want > 1
        scale = np.float32((have - 1) / (want - 1) if is_aligned else have / want)
        half = np.float32(0.5 if self.half_pixel_centers else 0)
        return (np.arange(want, dtype=np.float32) + half) * scale


@deferrable(rule=static.resized)
def resize(
    images: Any,
    size: Any,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """Resize images as `tf.image.resize` with "bilinear" or "nearest", which do not smooth.

    `Dataset.decode_images(size=…)` of tfrecs does, natively.

    Raises:
        InvalidArgumentError: It is asked for in a way that is not there.
    """
    if method not in ("bilinear", "nearest") or preserve_aspect_ratio or antialias:
        raise SpecError('of resize() there are only method="bilinear" and "nearest", no antialias')
    return sampled(images, size, method, Sampling())


def sampled(images: Any, size: Any, method: str, sampling: Sampling) -> Tensor:
    """Return images of another height and width."""
    sampling.check()
    array = np.asarray(tensor(images))
    if array.ndim not in (3, 4):
        raise SpecError(f"images must have either 3 or 4 dimensions, not shape {array.shape}")
    lengths = zip((-3, -2), np.asarray(tensor(size)).tolist(), strict=True)
    if method == "nearest":
        for axis, want in lengths:
            array = np.take(array, _nearest(array.shape[axis], int(want), sampling), axis)
        return Tensor(array)
    (rows, height), (columns, width) = lengths
    array = _between(array.astype(np.float32), columns, int(width), sampling)
    return Tensor(_between(array, rows, int(height), sampling))


def _nearest(have: int, want: int, sampling: Sampling) -> Array:
    places = sampling.places(have, want)
    rounded = np.floor(places + np.float32(0.5)) if sampling.align_corners else np.floor(places)
    return np.minimum(rounded.astype(np.int64), have - 1)


def _between(array: Array, axis: int, want: int, sampling: Sampling) -> Array:
    """Return values between those of an axis."""
    have = array.shape[axis]
    if have == want:
        return array
    places = sampling.places(have, want)
    if sampling.half_pixel_centers:
        places = places - np.float32(0.5)
    low = np.floor(places)
    share = (places - low).reshape(-1, *[1] * (-axis - 1))
    first = np.take(array, np.clip(low, 0, have - 1).astype(np.int64), axis)
    second = np.take(array, np.clip(low + 1, 0, have - 1).astype(np.int64), axis)
    between: Array = first + (second - first) * share
    return between
