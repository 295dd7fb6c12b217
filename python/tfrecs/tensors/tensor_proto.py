"""Arrays as byte strings: `tf.io.serialize_tensor` and `tf.io.parse_tensor`."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.checks import UNREACHED
from tfrecs._internal.wording import with_article
from tfrecs.errors import ParseError, SpecError
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor
from tfrecs.tensors.byte_values import ByteValues, array_over, as_records, byte_values
from tfrecs.tensors.dtypes import numpy_dtype, type_name

_MAX_BYTES = 2**31 - 1  # of a protobuf message


def serialize_tensor(tensor: Any, dtype: npt.DTypeLike | None = None) -> bytes:
    """Write an array as the bytes of a `TensorProto`, to be put into a bytes feature.

    The bytes are those of `tf.io.serialize_tensor`. Python's own numbers become int32 (or int64,
    where one needs it), float32, complex128 and bool, as they do in TensorFlow.

    Args:
        tensor: A NumPy array of numbers or bool (also of the types of ml_dtypes), an array of byte
            strings (BytesArray, or NumPy's; str becomes UTF-8), or a number, a string, or nested
            lists.
        dtype: A type that `tensor` is converted to if that loses nothing, by name: also one of
            TensorFlow's quantised types, such as "qint8" for an int8 array. None keeps its own.

    Raises:
        SpecError: `tensor` has another type, is masked or ragged, or is larger than a protobuf
            message can be (2 GiB).

    Example:
        >>> import numpy as np, tfrecs
        >>> data = tfrecs.serialize_tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
        >>> tfrecs.parse_tensor(data, "float32").tolist()
        [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    array = _array(tensor)
    name = None if dtype is None else type_name(dtype, "dtype")
    if isinstance(array, BytesArray) or array.dtype.kind in "OSU":
        return _serialized_strings(array, name)
    return _serialized_numbers(array, name)


def parse_tensor(
    serialized: ByteValues, out_type: npt.DTypeLike | None = None, *, max_bytes: int | None = None
) -> npt.NDArray[Any] | BytesArray:
    """Read the array in the bytes of a `TensorProto`; of many, which are alike, one array.

    As `tf.io.parse_tensor`, which takes one.

    Args:
        serialized: One byte string, or many: a BytesArray of any shape, Records, nested lists, a
            NumPy array of objects. All must hold arrays of one shape and type.
        out_type: The type of the array, which must be the one that was written; None takes what was
            written. Quantised types ("qint8") give plain integers.
        max_bytes: The most memory that the result may take. A `TensorProto` can say that one value
            fills the rest of its shape, so that a few bytes announce any size; without this, the
            limit is 32 times the bytes of `serialized`, and 1 MB.

    Returns:
        An array of shape (*shape of serialized, *shape of an array); of byte strings a BytesArray.

    Raises:
        SpecError: There is no such type, or neither an array nor `out_type` to say what it is.
        ParseError: A byte string is no array, or one of another type, another shape than the first
            one's, with too many values, or with more repeated ones than the limit allows.

    Example:
        >>> import numpy as np, tfrecs
        >>> vectors = [tfrecs.serialize_tensor(np.full(3, n, np.int16)) for n in range(2)]
        >>> tfrecs.parse_tensor(vectors, "int16")
        array([[0, 0, 0],
               [1, 1, 1]], dtype=int16)
    """
    name = None if out_type is None else type_name(out_type, "out_type")
    values, dims = byte_values(serialized, "serialized")
    if name is None and 0 in dims:
        raise SpecError("there is no tensor that says its type: give out_type")
    limit = _checked_limit(max_bytes)
    found, shape, memory, offsets = _core.parse_tensors(as_records(values), name, limit)
    data = array_over(memory)
    try:
        if offsets is not None:
            return BytesArray(data, array_over(offsets).view(np.int64), (*dims, *shape))
        return data.view(numpy_dtype(found)).reshape((*dims, *shape))
    except ValueError as error:
        raise ParseError(f"NumPy has no array of shape {[*dims, *shape]}: {error}") from None


def _checked_limit(max_bytes: Any) -> int | None:
    if max_bytes is None:
        return None
    if not isinstance(max_bytes, int | np.integer) or isinstance(max_bytes, bool) or max_bytes < 0:
        raise SpecError(f"max_bytes must be a number of bytes, not {max_bytes!r}")
    return min(int(max_bytes), UNREACHED)


def _array(tensor: Any) -> npt.NDArray[Any] | BytesArray:
    if isinstance(tensor, BytesArray):
        return tensor
    if isinstance(tensor, RaggedTensor | SparseTensor | np.ma.MaskedArray):
        raise SpecError(
            f"{with_article(type(tensor).__name__)} is no dense array: make it one first"
        )
    if isinstance(tensor, np.ndarray | np.generic) or hasattr(tensor, "__array__"):
        return np.asarray(tensor)
    if tensor is None or isinstance(tensor, dict | set | frozenset):
        raise SpecError(f"{with_article(type(tensor).__name__)} is no array")
    return _of_python(tensor)


def _of_python(values: Any) -> npt.NDArray[Any]:
    """Make an array of a scalar or nested lists, with TensorFlow's types."""
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise SpecError(f"these nested lists are no array: {error}") from None
    if array.dtype.kind == "O" and not all(isinstance(item, bytes | str) for item in array.flat):
        kinds = sorted({type(item).__name__ for item in array.flat})
        raise SpecError(
            f"tensor is made of {' and '.join(kinds)}: it can hold numbers of at most 64 bits, or "
            "strings"
        )
    if array.dtype.kind in "OSU":
        return np.asarray(values, np.object_)  # NumPy's own strings lose trailing zeros
    if array.dtype.kind == "f":
        is_numpy = isinstance(_first(values), np.ndarray | np.floating)
        return array if is_numpy else _narrowed(array)
    limits = np.iinfo(np.int32)
    if (
        array.dtype.kind == "i"
        and limits.min <= array.min(initial=0) <= array.max(initial=0) <= limits.max
    ):
        return array.astype(np.int32)
    return array


def _first(values: Any) -> Any:
    while isinstance(values, list | tuple) and values:
        values = values[0]
    return values


def _narrowed(array: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float32)
    if (np.isinf(narrow) & np.isfinite(array)).any():
        raise SpecError("a value does not fit float32, TensorFlow's type for Python's floats")
    return narrow


def _serialized_strings(array: npt.NDArray[Any] | BytesArray, name: str | None) -> bytes:
    if name not in {None, "bytes"}:
        raise SpecError(f"an array of byte strings cannot be written as {name}")
    flat, shape = byte_values(array, "tensor")
    records = as_records(flat)
    _check_size(records.nbytes if isinstance(records, _core.Records) else sum(map(len, records)))
    return _core.serialize_strings(list(shape), records)


def _serialized_numbers(array: npt.NDArray[Any], name: str | None) -> bytes:
    if name is not None:
        dtype = numpy_dtype(name)
        if name == "bytes" or not np.can_cast(array.dtype, dtype, "safe"):
            raise SpecError(
                f"an array of {array.dtype} cannot be written as {name} without loss: convert it "
                "with astype first"
            )
        array = array.astype(dtype, copy=False)
    _check_size(array.nbytes)
    header = _core.tensor_header(name or array.dtype.name, list(array.shape), array.nbytes)
    if array.dtype.byteorder not in "<=|" or sys.byteorder == "big":
        array = array.astype(array.dtype.newbyteorder("<"))
    return b"".join((header, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data))


def _check_size(size: int) -> None:
    if size > _MAX_BYTES:
        raise SpecError(
            f"a tensor of {size} bytes is larger than a protobuf message, 2 GiB, can be"
        )
