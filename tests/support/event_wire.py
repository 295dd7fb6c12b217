"""Tensorboard's events, put together byte by byte: tests need no tensorboard."""

from __future__ import annotations

import struct
from pathlib import Path

from frames import frame
from reference_wire import BYTES, FIXED32, FIXED64, VARINT, delimited, tag, varint

__all__ = ["BYTES", "FIXED32", "FIXED64", "VARINT", "delimited", "tag", "varint"]


def number(field: int, value: int) -> bytes:
    """A varint field; a negative number is its 64 bits."""
    return tag(field, VARINT) + varint(value % 2**64)


def event(*parts: bytes, step: int = 0, wall_time: float = 0.0) -> bytes:
    """An Event of Values, or of whatever else its fields are."""
    head = tag(1, FIXED64) + struct.pack("<d", wall_time) + number(2, step)
    return head + b"".join(parts)


def summary(*values: bytes) -> bytes:
    return delimited(5, b"".join(delimited(1, value) for value in values))


def simple(name: str, value: float) -> bytes:
    """A Value with a simple_value."""
    return delimited(1, name.encode()) + tag(2, FIXED32) + struct.pack("<f", value)


def metadata(plugin: str) -> bytes:
    return delimited(9, delimited(1, delimited(1, plugin.encode())))


def tensor(name: str, dtype: int, content: bytes, *, shape: tuple[int, ...] = ()) -> bytes:
    """A Value with a tensor: `content` are the fields after its dtype and shape."""
    dims = b"".join(delimited(2, number(1, size)) for size in shape)
    proto = number(1, dtype) + delimited(2, dims) + content
    return delimited(1, name.encode()) + delimited(8, proto)


def scalar(step: int, value: float, name: str = "loss") -> bytes:
    """An Event with one simple_value."""
    return event(summary(simple(name, value)), step=step)


def write(path: Path, *events: bytes) -> Path:
    path.write_bytes(b"".join(map(frame, events)))
    return path
