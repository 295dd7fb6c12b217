"""`tf.compat`: text and bytes, and the names of TensorFlow 1 (`tf.compat.v1`)."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from tfrecs._internal.checks import checked_codec
from tfrecs.errors import SpecError
from tfrecs.tf.functions.suggestions import no_such

__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "path_to_str"]


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Return bytes, of text as it is encoded.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(bytes_or_text, bytearray | bytes):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        checked_codec(encoding, "strict")
        try:
            return bytes_or_text.encode(encoding)
        except UnicodeEncodeError as error:
            raise SpecError(f"{bytes_or_text!r:.60} cannot be encoded: {error}") from error
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Return text, of bytes as they are decoded.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Return anything as text."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Return a path as text."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path


def __getattr__(name: str) -> Any:
    if name == "v1":
        return import_module("tfrecs.tf.v1.names")  # which knows all of tf
    if name == "v2":
        return sys.modules["tfrecs.tf"]
    raise no_such("tf.compat", name, __all__)
