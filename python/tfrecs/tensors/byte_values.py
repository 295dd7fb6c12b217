"""Byte strings in every form that they are handed in: one, many, or an array of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.checks import encoded_text
from tfrecs._internal.wording import with_article
from tfrecs.errors import SpecError
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor

ByteValues: TypeAlias = (
    bytes | str | Sequence[Any] | _core.Records | BytesArray | npt.NDArray[np.object_ | np.bytes_]
)
Flat: TypeAlias = BytesArray | _core.Records | list[bytes]


def byte_values(values: ByteValues, argument: str) -> tuple[Flat, tuple[int, ...]]:
    """Return byte strings row-major, and the shape that they stand in: () for a single one.

    Raises:
        SpecError: There is something else among them; the error names the argument.
    """
    if isinstance(values, BytesArray):
        return values, values.shape
    if isinstance(values, _core.Records):
        return values, (len(values),)
    if isinstance(values, bytes | str | bytearray | memoryview):
        return [_encoded(values, argument)], ()
    if isinstance(values, RaggedTensor | SparseTensor):
        raise SpecError(
            f"{argument} is {with_article(type(values).__name__)}, which has no shape: "
            "give its values, or parse the feature with a FixedLenFeature"
        )
    if isinstance(values, np.ndarray):
        return _of_array(values, argument)
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        raise SpecError(f"{argument} must be bytes, not {type(values).__name__}")
    items = list(values)
    if any(isinstance(item, list | tuple | np.ndarray | BytesArray) for item in items):
        return _of_array(_nested(items, argument), argument)
    return [_encoded(item, argument) for item in items], (len(items),)


def _nested(items: list[Any], argument: str) -> npt.NDArray[np.object_]:
    uneven = SpecError(f"{argument} has rows of different lengths")
    try:
        array = np.array(items, np.object_)
    except ValueError:
        raise uneven from None
    if any(isinstance(item, list | tuple | np.ndarray) for item in array.flat):
        raise uneven
    return array


def _of_array(array: npt.NDArray[Any], argument: str) -> tuple[list[bytes], tuple[int, ...]]:
    if array.dtype.kind not in "OSU":
        raise SpecError(f"{argument} must be bytes, not an array of {array.dtype}")
    return [_encoded(item, argument) for item in array.ravel().tolist()], array.shape


def _encoded(value: Any, argument: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, str):
        raise SpecError(f"{argument} must be bytes, not {type(value).__name__}")
    return encoded_text(argument, value)


def as_records(values: Flat) -> _core.Records | list[bytes]:
    """Return byte strings as the native functions take them."""
    return values.to_records() if isinstance(values, BytesArray) else values


def lengths_of(values: Flat) -> npt.NDArray[np.int64]:
    """Return the length of each: int64, shape (number of byte strings,)."""
    if isinstance(values, BytesArray):
        return np.diff(values.offsets)
    return np.array([len(value) for value in values], np.int64)


def array_over(memory: _core.Buffer) -> npt.NDArray[np.uint8]:
    """Return the bytes of a native buffer as an array, without a copy."""
    return np.frombuffer(memoryview(memory), np.uint8)  # type: ignore[arg-type, unused-ignore]
