"""`tf.image`: images to pixels and back, and other sizes."""

from typing import Any

from tfrecs.tf.functions.images import (
    convert_image_dtype,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
)
from tfrecs.tf.functions.resizing import ResizeMethod, resize
from tfrecs.tf.functions.suggestions import no_such

__all__ = [
    "ResizeMethod",
    "convert_image_dtype",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "resize",
]


def __getattr__(name: str) -> Any:
    raise no_such("tf.image", name, __all__)
