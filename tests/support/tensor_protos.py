"""TensorProto for tests: the message for the protobuf runtime, a plain reading, and strategies.

The descriptor is put together here by hand, in a pool of its own; nothing of the package is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import strategies as st

_Field = descriptor_pb2.FieldDescriptorProto
_MANY, _ONE = _Field.LABEL_REPEATED, _Field.LABEL_OPTIONAL

_MESSAGES: dict[str, dict[str, tuple[int, int, int]]] = {
    "Dim": {"size": (1, _Field.TYPE_INT64, _ONE), "name": (2, _Field.TYPE_STRING, _ONE)},
    "Shape": {"dim": (2, _Field.TYPE_MESSAGE, _MANY), "unknown_rank": (3, _Field.TYPE_BOOL, _ONE)},
    "TensorProto": {
        "dtype": (1, _Field.TYPE_INT32, _ONE),
        "tensor_shape": (2, _Field.TYPE_MESSAGE, _ONE),
        "version_number": (3, _Field.TYPE_INT32, _ONE),
        "tensor_content": (4, _Field.TYPE_BYTES, _ONE),
        "float_val": (5, _Field.TYPE_FLOAT, _MANY),
        "double_val": (6, _Field.TYPE_DOUBLE, _MANY),
        "int_val": (7, _Field.TYPE_INT32, _MANY),
        "string_val": (8, _Field.TYPE_BYTES, _MANY),
        "scomplex_val": (9, _Field.TYPE_FLOAT, _MANY),
        "int64_val": (10, _Field.TYPE_INT64, _MANY),
        "bool_val": (11, _Field.TYPE_BOOL, _MANY),
        "dcomplex_val": (12, _Field.TYPE_DOUBLE, _MANY),
        "half_val": (13, _Field.TYPE_INT32, _MANY),
        "uint32_val": (16, _Field.TYPE_UINT32, _MANY),
        "uint64_val": (17, _Field.TYPE_UINT64, _MANY),
        "float8_val": (18, _Field.TYPE_BYTES, _ONE),
    },
}
_TYPES = {"dim": ".tensors.Dim", "tensor_shape": ".tensors.Shape"}


def _message_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="tensors.proto", package="tensors", syntax="proto3"
    )
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, (number, kind, label) in fields.items():
            described.field.add(
                name=name, number=number, type=kind, label=label, type_name=_TYPES.get(name)
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensors.TensorProto"))


TensorProto = _message_class()


@dataclass(frozen=True)
class Kind:
    """A type of tensor: its number, how its memory looks, and the field of its single values."""

    number: int
    name: str
    memory: str  # NumPy's name of a type of the same size
    field: str
    limits: tuple[int, int] | None = None  # of the integers that stand for a value
    bits: int = 8  # of a byte, that count


def _integers(number: int, name: str, bits: int, memory: str, *, field: str = "int_val") -> Kind:
    signed = name.lstrip("q").startswith("int")
    half = 2 ** (bits - 1)
    limits = (-half, half - 1) if signed else (0, 2 * half - 1)
    return Kind(number, name, memory, field, limits, min(bits, 8))


KINDS = [
    Kind(1, "float32", "float32", "float_val"),
    Kind(2, "float64", "float64", "double_val"),
    _integers(3, "int32", 32, "int32"),
    _integers(4, "uint8", 8, "uint8"),
    _integers(5, "int16", 16, "int16"),
    _integers(6, "int8", 8, "int8"),
    Kind(7, "string", "", "string_val"),
    Kind(8, "complex64", "complex64", "scomplex_val"),
    _integers(9, "int64", 64, "int64", field="int64_val"),
    Kind(10, "bool", "bool", "bool_val"),
    _integers(11, "qint8", 8, "int8"),
    _integers(12, "quint8", 8, "uint8"),
    _integers(13, "qint32", 32, "int32"),
    _integers(14, "bfloat16", 16, "uint16", field="half_val"),
    _integers(15, "qint16", 16, "int16"),
    _integers(16, "quint16", 16, "uint16"),
    _integers(17, "uint16", 16, "uint16"),
    Kind(18, "complex128", "complex128", "dcomplex_val"),
    _integers(19, "float16", 16, "uint16", field="half_val"),
    _integers(22, "uint32", 32, "uint32", field="uint32_val"),
    _integers(23, "uint64", 64, "uint64", field="uint64_val"),
    *(
        Kind(24 + place, name, "uint8", "float8_val")
        for place, name in enumerate(
            [
                *("float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz"),
                *("float8_e4m3b11fnuz", "float8_e5m2fnuz"),
            ]
        )
    ),
    _integers(29, "int4", 4, "int8"),
    _integers(30, "uint4", 4, "uint8"),
    _integers(31, "int2", 2, "int8"),
    _integers(32, "uint2", 2, "uint8"),
    Kind(33, "float4_e2m1fn", "uint8", "float8_val", bits=4),
]
MOST_VALUES = 2**16  # of the tests' arrays
BY_NUMBER = {kind.number: kind for kind in KINDS}
STRING = BY_NUMBER[7]


class RefusedError(Exception):
    """A message is not what it should be, with the reason in one word."""


def read(message: Any) -> tuple[Kind, Any]:
    """The kind, and the values: an array of `kind.memory`, or an object array of bytes."""
    kind = BY_NUMBER.get(message.dtype)
    dims = tuple(dim.size for dim in message.tensor_shape.dim)
    if math.prod(max(dim, 0) for dim in dims) > MOST_VALUES:
        raise RefusedError("size")
    if kind is None:
        raise RefusedError("dtype")
    width = 8 if kind is STRING else np.dtype(kind.memory).itemsize
    if min(dims, default=0) < 0 or math.prod(dim for dim in dims if dim) * width >= 2**63:
        raise RefusedError("shape")
    size = math.prod(dims)
    if not size and message.tensor_content:
        raise RefusedError("count")
    flat = _strings(message, size) if kind is STRING else _numbers(message, kind, size)
    try:
        return kind, flat.reshape(dims)
    except ValueError:
        raise RefusedError("shape") from None


def _filled(values: list[Any], size: int, zero: Any) -> list[Any]:
    if len(values) > size:
        raise RefusedError("count")
    return values + [values[-1] if values else zero] * (size - len(values))


def _strings(message: Any, size: int) -> npt.NDArray[Any]:
    array = np.empty(size, np.object_)
    if message.tensor_content:
        array[:] = _split(message.tensor_content, size)
    else:
        array[:] = _filled(list(message.string_val), size, b"")
    return array


def _split(content: bytes, size: int) -> list[bytes]:
    lengths = []
    for _ in range(size):
        length = shift = 0
        while content:
            byte, content = content[0], content[1:]
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        else:
            raise RefusedError("content")
        lengths.append(length)
    if sum(lengths) != len(content):
        raise RefusedError("content")
    ends = np.cumsum([0, *lengths])
    return [content[start:end] for start, end in pairwise(ends)]


def _numbers(message: Any, kind: Kind, size: int) -> npt.NDArray[Any]:
    dtype = np.dtype(kind.memory)
    if content := message.tensor_content:
        if len(content) != size * dtype.itemsize or (kind.name == "bool" and max(content) > 1):
            raise RefusedError("content")
        return _normal(np.frombuffer(content, dtype), kind)
    values = list(getattr(message, kind.field))
    if dtype.kind == "c":
        if len(values) % 2:
            raise RefusedError("odd")
        part = np.dtype(f"f{dtype.itemsize // 2}")
        values = list(np.array(values, part).view(dtype))
    if kind.limits and any(not kind.limits[0] <= value <= kind.limits[1] for value in values):
        raise RefusedError("range")
    return _normal(np.array(_filled(values, size, 0), dtype), kind)


def _normal(array: npt.NDArray[Any], kind: Kind) -> npt.NDArray[Any]:
    """Values of a few bits: of a byte only those count, and the others say the same or nothing."""
    if kind.bits == 8:
        return array
    unused = 8 - kind.bits
    plain = array.view(np.uint8) & (0xFF >> unused)
    value = ((array << unused) >> unused).view(np.uint8)
    if ((array.view(np.uint8) != plain) & (array.view(np.uint8) != value)).any():
        raise RefusedError("range")
    return value.view(array.dtype)


# ---------------------------------------------------------------- strategies

_INTEGERS = st.sampled_from([0, 1, -1, 7, 8, 127, 128, 255, 256, 65535, 65536])
_FLOATS: dict[str, Any] = {
    "float_val": st.floats(width=32, allow_nan=False),
    "scomplex_val": st.floats(width=32, allow_nan=False),
    "double_val": st.floats(allow_nan=False),
    "dcomplex_val": st.floats(allow_nan=False),
}


def _value(kind: Kind, *, fits: bool) -> st.SearchStrategy[Any]:
    if kind.field in _FLOATS:
        found: st.SearchStrategy[Any] = _FLOATS[kind.field]
        return found
    if kind.field == "bool_val":
        return st.booleans()
    if kind.field == "string_val":
        return st.binary(max_size=5)
    if kind.field == "float8_val":
        return st.integers(0, 2**kind.bits - 1 if fits else 255)
    assert kind.limits is not None
    if fits or kind.field in {"int64_val", "uint32_val", "uint64_val"}:
        return st.integers(*kind.limits)
    return _INTEGERS | st.integers(-(2**31), 2**31 - 1)


@st.composite
def messages(draw: Callable[..., Any], *, sound: bool = True) -> Any:
    """A message: one that `read` takes if it is sound, else one that is often not quite right."""
    kind = draw(st.sampled_from(KINDS))
    dims = draw(st.lists(st.integers(0, 4), max_size=3))
    size = math.prod(dims)
    parts = 2 if kind.memory.startswith("complex") else 1
    if not sound:
        dims = draw(st.just(dims) | st.lists(st.sampled_from([0, 1, 2, -1, 2**31, 2**62])))
    message = TensorProto(dtype=kind.number)
    if dims or draw(st.booleans()):
        message.tensor_shape.SetInParent()
    for dim in dims:
        message.tensor_shape.dim.add(size=dim)
    as_memory = kind is not STRING and draw(st.booleans())
    if as_memory:
        values = draw(
            st.lists(_value(kind, fits=True), min_size=size * parts, max_size=size * parts)
        )
        message.tensor_content = content_of(kind, values)
    if not as_memory or (not sound and draw(st.booleans())):
        most = size * parts + (0 if sound else draw(st.integers(0, 2)))
        values = draw(st.lists(_value(kind, fits=sound), max_size=most))
        _put(message, kind, values[: len(values) // parts * parts] if sound else values)
    if not sound:
        message.version_number = draw(st.sampled_from([0, 0, 7]))
        message.tensor_shape.unknown_rank = draw(st.booleans())
    return message


def content_of(kind: Kind, values: list[Any]) -> bytes:
    """The memory of an array of these values."""
    if kind.memory.startswith("complex"):
        return np.array(values, f"f{np.dtype(kind.memory).itemsize // 2}").tobytes()
    return np.array(values, kind.memory).tobytes()


def _put(message: Any, kind: Kind, values: list[Any]) -> None:
    if kind.field == "float8_val":
        message.float8_val = bytes(values)
    else:
        getattr(message, kind.field).extend(values)


@st.composite
def mutants(draw: Callable[..., Any]) -> bytes:
    """A message with some of its bytes changed, or with another one after it."""
    data = bytearray(draw(messages(sound=False)).SerializeToString())
    for _ in range(draw(st.integers(0, 3))):
        at, how = draw(st.integers(0, len(data))), draw(st.integers(0, 4))
        piece = draw(st.binary(min_size=1, max_size=3))
        if how == 0:
            data[at : at + len(piece)] = piece
        elif how == 1:
            data[at:at] = piece
        elif how == 2:
            del data[at : at + len(piece)]
        elif how == 3:
            del data[at:]
        else:
            data += draw(messages(sound=False)).SerializeToString()
    return bytes(data)
