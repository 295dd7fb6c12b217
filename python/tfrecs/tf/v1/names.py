"""`tf.compat.v1`: all of `tf`, and what TensorFlow 1 does otherwise under the same name.

Example:
    >>> from tfrecs import tf
    >>> pairs = [[1, 2], [3, 4]]
    >>> tf.compat.v1.where([True, False], pairs, [[0, 0], [0, 0]]).numpy()  # rows
    array([[1, 2],
           [0, 0]], dtype=int32)
    >>> tf.where([True, False], pairs, [[0, 0], [0, 0]]).numpy()  # columns
    array([[1, 0],
           [3, 0]], dtype=int32)
"""

from __future__ import annotations

import sys
from typing import Any

from tfrecs.tf.functions.choosing import where_rows as where
from tfrecs.tf.v1 import image, io
from tfrecs.tf.v1 import ops as math

__all__ = ["image", "io", "math", "where"]


def __getattr__(name: str) -> Any:
    return getattr(math if name in math.__all__ else sys.modules["tfrecs.tf"], name)


def __dir__() -> list[str]:
    return dir(sys.modules["tfrecs.tf"])
