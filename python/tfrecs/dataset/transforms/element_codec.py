"""Elements as bytes: a line of JSON, and after it the memory of their arrays.

The line is a tree. Tuples, lists and mappings are objects with one name (`tuple`, `list`, `dict`)
over their parts; None, truth values, numbers and text stand for themselves. Whatever has memory
says how much: `{"array": [dtype, shape]}`, `{"scalar": dtype}`, `{"bytes": n}`, and, of arrays of
byte strings, `{"strings": [shape, n]}`: the int64 offsets of the values, and then their n bytes.
Ragged and sparse tensors are trees of these. The pieces stand one after the other, as the tree
names them. Nothing of it is ever run, so a file of them is as safe to read as any other data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfrecs._internal.wording import counted, with_article
from tfrecs.errors import CorruptRecordError, SpecError
from tfrecs.records.reader import Records
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor


def encode(element: Any) -> bytes:
    r"""Return an element as bytes.

    Raises:
        SpecError: There is something in it that is no array, byte string, number or text.

    Example:
        >>> import numpy as np
        >>> encode((b"ab", np.array([1, 2], np.uint8)))
        b'{"tuple":[{"bytes":2},{"array":["|u1",[2]]}]}\nab\x01\x02'
    """
    pieces: list[Any] = []
    tree = _tree(element, pieces)
    return b"".join([json.dumps(tree, separators=(",", ":")).encode(), b"\n", *pieces])


def _tree(value: Any, pieces: list[Any]) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is bytes:
        pieces.append(value)
        return {"bytes": len(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _array(value, pieces)
    if isinstance(value, Mapping):
        return {"dict": {_name(key): _tree(one, pieces) for key, one in value.items()}}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_tree(one, pieces) for one in value]}
    return _tensor(value, pieces)


def _array(value: Any, pieces: list[Any]) -> Any:
    dtype = value.dtype
    # A type of another library, as bfloat16, is known by its name.
    name = dtype.name if dtype.kind == "V" else dtype.str
    if dtype.hasobject or dtype.names is not None or np.dtype(name) != dtype:
        raise SpecError(f"an array of {dtype} cannot be kept in a file")
    pieces.append(value.tobytes())
    is_scalar = isinstance(value, np.generic)
    return {"scalar": name} if is_scalar else {"array": [name, list(value.shape)]}


def _tensor(value: Any, pieces: list[Any]) -> Any:
    if isinstance(value, BytesArray):
        start, stop = int(value.offsets[0]), int(value.offsets[-1])
        pieces += [
            (value.offsets - start).astype("<i8").tobytes(),
            value.data[start:stop].tobytes(),
        ]
        return {"strings": [list(value.shape), stop - start]}
    if isinstance(value, Records):
        return {"records": _tree(BytesArray.from_values(value.tolist()), pieces)}
    if isinstance(value, RaggedTensor):
        rows = [value.values, value.row_splits, value.missing]
        return {"ragged": [_tree(part, pieces) for part in rows]}
    if isinstance(value, SparseTensor):
        parts = (value.indices, value.values, value.dense_shape)
        return {"sparse": [_tree(part, pieces) for part in parts]}
    raise SpecError(
        f"{with_article(type(value).__name__)} cannot be kept in a file: arrays, "
        "byte strings, numbers and text can, and tuples, lists and dicts of them"
    )


def _name(key: Any) -> str:
    if type(key) is not str:
        raise SpecError(f"a mapping with the key {key!r} cannot be kept in a file: keys are text")
    return key


def decode(record: bytes) -> Any:
    """Return the element that was encoded.

    Raises:
        CorruptRecordError: These are not the bytes of one.

    Example:
        >>> decode(encode({"a": [1, None, (b"x", "y")]}))
        {'a': [1, None, (b'x', 'y')]}
    """
    try:
        line, _, memory = record.partition(b"\n")
        pieces = _Pieces(memory)
        element = pieces.value(json.loads(line))
        pieces.end()
    except MemoryError:
        raise
    except Exception as error:  # of NumPy, JSON or Python, for bytes that anybody may have written
        raise CorruptRecordError(f"this is no element of a cache: {error}") from error
    return element


class _Pieces:
    """The memory after the line, piece by piece."""

    def __init__(self, memory: bytes) -> None:
        self._memory = memory
        self._at = 0
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "array": self._array,
            "bytes": self._bytes,
            "dict": self._dict,
            "list": self._list,
            "ragged": self._ragged,
            "records": self._records,
            "scalar": self._scalar,
            "sparse": self._sparse,
            "strings": self._strings,
            "tuple": self._tuple,
        }

    def value(self, tree: Any) -> Any:
        """Return what a tree says, of the next pieces."""
        if not isinstance(tree, dict):
            return tree
        ((kind, of),) = tree.items()
        return self._kinds[kind](of)

    def end(self) -> None:
        """See that nothing is left."""
        if self._at != len(self._memory):
            raise ValueError(f"what is left: {counted(len(self._memory) - self._at, 'byte')}")

    def _take(self, nbytes: int) -> memoryview:
        piece = memoryview(self._memory)[self._at : self._at + nbytes]
        if nbytes < 0 or len(piece) != nbytes:
            raise ValueError("it ends too early")
        self._at += nbytes
        return piece

    def _array(self, of: Any) -> Any:
        dtype, shape = np.dtype(of[0]), [int(length) for length in of[1]]
        if dtype.hasobject or min(shape, default=0) < 0:
            raise ValueError(f"there are no arrays of {dtype}, {shape}")
        piece = self._take(dtype.itemsize * math.prod(shape))
        # A copy, which is aligned, and can be written to.
        return np.frombuffer(bytearray(piece), np.uint8).view(dtype).reshape(shape)

    def _scalar(self, of: Any) -> Any:
        return self._array([of, []])[()]

    def _bytes(self, of: Any) -> bytes:
        return bytes(self._take(of))

    def _strings(self, of: Any) -> BytesArray:
        shape, nbytes = of
        offsets = self._array(["<i8", [math.prod(shape) + 1]])
        data = self._array(["|u1", [nbytes]])
        if offsets[0] != 0 or offsets[-1] != nbytes or (np.diff(offsets) < 0).any():
            raise ValueError("offsets of byte strings must rise")
        return BytesArray(data, offsets.astype(np.int64, copy=False), shape)

    def _records(self, of: Any) -> Records:
        records: Records = self.value(of).to_records()
        return records

    def _ragged(self, of: Any) -> RaggedTensor:
        values, row_splits, missing = map(self.value, of)
        return RaggedTensor(values, row_splits, missing)

    def _sparse(self, of: Any) -> SparseTensor:
        return SparseTensor(*map(self.value, of))

    def _list(self, of: Any) -> list[Any]:
        return [self.value(one) for one in of]

    def _tuple(self, of: Any) -> tuple[Any, ...]:
        return tuple([self.value(one) for one in of])

    def _dict(self, of: Any) -> dict[str, Any]:
        return {name: self.value(one) for name, one in of.items()}
