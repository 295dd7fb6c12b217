"""serialize_tensor and parse_tensor beside TensorFlow's, on sound, odd and broken messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tensor_protos
import tensorflow as tf
from google.protobuf.message import DecodeError
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tensor_protos import BY_NUMBER, KINDS, Kind, RefusedError, messages, mutants
from tensorflow.python.framework import dtypes

import tfrecs
from oracle.cases import randomly

# Of what TensorFlow reads, we refuse what loses values: more of them than the shape takes, parts of
# complex numbers that are left over, integers that do not fit the type.
LOSSES = {"count", "odd", "range"}
SERIALIZED = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


def memory(array: Any) -> tuple[Any, ...]:
    """What must be the same of two arrays: every bit."""
    if isinstance(array, tfrecs.BytesArray):
        return "bytes", array.shape, array.ravel().tolist()
    if isinstance(array, bytes):  # of which NumPy would drop trailing NULs
        return "bytes", (), [array]
    array = np.asarray(array)
    if array.dtype.kind in "OS":
        return "bytes", array.shape, array.ravel().tolist()
    if array.dtype.name in {"int4", "uint4", "int2", "uint2", "float4_e2m1fn"}:
        return array.dtype.name, array.shape, array.ravel().astype(np.float32).tolist()
    return array.dtype.name, array.shape, array.tobytes()


def theirs(data: bytes, kind: Kind) -> Any:
    """TensorFlow's array, or None where it refuses, or NumPy has no such array."""
    try:
        return memory(tf.io.parse_tensor(data, getattr(dtypes, kind.name)).numpy())
    except (tf.errors.InvalidArgumentError, ValueError):
        return None


def ours(data: bytes, kind: Kind, max_bytes: int | None = None) -> Any:
    try:
        return memory(tfrecs.parse_tensor(data, kind.name, max_bytes=max_bytes))
    except tfrecs.ParseError:
        return None


def compare(data: bytes) -> None:
    """The same array, or refused by both; but for what is in LOSSES, which only we refuse."""
    try:
        message = tensor_protos.TensorProto.FromString(data)
    except DecodeError:
        for kind in KINDS[:2]:
            assert theirs(data, kind) is None
            assert ours(data, kind) is None
        return
    kind = BY_NUMBER.get(message.dtype, KINDS[0])
    reason = ""
    try:
        tensor_protos.read(message)
    except RefusedError as refused:
        reason = str(refused)
    found = ours(data, kind)
    if reason == "size":  # TensorFlow is not asked: it would try to find the memory
        assert found is None
        return
    if reason in LOSSES:
        assert found is None
    else:
        assert found == theirs(data, kind)


@randomly(4)
@given(messages())
def test_sound_messages(message: Any) -> None:
    data = message.SerializeToString()
    compare(data)
    kind = BY_NUMBER[message.dtype]
    assert ours(data, kind) is not None
    assert memory(tfrecs.parse_tensor(data)) == ours(data, kind)


@randomly(2)
@given(mutants())
def test_broken_messages(data: bytes) -> None:
    compare(data)


@randomly(10)
@given(messages(sound=False))
def test_odd_messages(message: Any) -> None:
    compare(message.SerializeToString())


@pytest.mark.parametrize("wanted", KINDS, ids=lambda kind: kind.name)
def test_only_the_type_that_was_written(wanted: Kind) -> None:
    for kind in KINDS:
        data = tensor_protos.TensorProto(dtype=kind.number).SerializeToString()
        assert (ours(data, wanted) is None) == (kind != wanted)
        assert (theirs(data, wanted) is None) == (kind != wanted)


# ---------------------------------------------------------------- serialize_tensor


def check_serialized(tensor: Any) -> None:
    expected = tf.io.serialize_tensor(tensor).numpy()
    data = tfrecs.serialize_tensor(tensor)
    assert data == expected
    assert memory(tfrecs.parse_tensor(data)) == memory(tf.convert_to_tensor(tensor).numpy())


ARRAYS = st.sampled_from(SERIALIZED).flatmap(
    lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
)


@randomly(6)
@given(ARRAYS)
def test_arrays(array: npt.NDArray[Any]) -> None:
    check_serialized(array)
    check_serialized(array.T)
    check_serialized(array.astype(array.dtype.newbyteorder(">")))


@randomly(20)
@given(hnp.arrays("float32", hnp.array_shapes(min_dims=0, min_side=0)))
def test_bfloat16(array: npt.NDArray[Any]) -> None:
    with np.errstate(over="ignore"):
        check_serialized(array.astype(tf.bfloat16.as_numpy_dtype))


@randomly(20)
@given(hnp.arrays(object, hnp.array_shapes(min_dims=0, min_side=0), elements=st.binary(max_size=9)))
def test_strings(array: npt.NDArray[Any]) -> None:
    check_serialized(array)


SCALARS = [
    st.booleans(),
    st.integers(-(2**33), 2**33),
    st.integers(-(2**31), 2**31 - 1),
    st.floats(width=32),
    st.complex_numbers(),
    st.text(),
    st.binary(),
]


@randomly(10)
@given(
    st.sampled_from(SCALARS).flatmap(
        lambda scalar: (
            scalar | st.lists(scalar) | st.lists(st.lists(scalar, min_size=2, max_size=2))
        )
    )
)
def test_python_values(values: Any) -> None:
    # TensorFlow remembers scalars, and takes the one zero for the other.
    assume(isinstance(values, str | bytes | list) or values != 0)
    check_serialized(values)


@pytest.mark.parametrize(
    "tensor",
    [
        *([1, 2.5], [[]], [], (1, 2), range(3), 2**31, -(2**31) - 1, [1, 2**31], True, 1j),
        *([np.float64(1)], [np.int64(1)], [np.int8(1)], np.float64(1), np.int64(1)),
        *([np.array([1.0, 2.0])], [np.array([1, 2])], np.array(["é", "b"]), ["a", b"b"]),
    ],
    ids=repr,
)
def test_types_of_python_values(tensor: Any) -> None:
    check_serialized(tensor)


@pytest.mark.parametrize(
    "tensor",
    [
        *(None, [1, None], {1: 2}, [b"a", [b"b"]], [[1], [1, 2]], 2**70, 1e300),
        *(np.array([1, 2], object), np.array([1], "M8[D]"), np.array([1], np.longdouble)),
    ],
    ids=repr,
)
def test_no_tensors(tensor: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        tf.io.serialize_tensor(tensor)
    with pytest.raises(tfrecs.SpecError):
        tfrecs.serialize_tensor(tensor)


@randomly(10)
@given(ARRAYS, st.lists(st.integers(1, 3), max_size=3))
def test_make_tensor_proto(array: npt.NDArray[Any], shape: list[int]) -> None:
    """The other writer, which leaves out what repeats."""
    for proto in [
        tf.make_tensor_proto(array),
        tf.make_tensor_proto(array.ravel()[:1], shape=shape),
    ]:
        data = proto.SerializeToString()
        expected = tf.make_ndarray(proto)
        compare(data)
        assert memory(tfrecs.parse_tensor(data, max_bytes=10**6)) == memory(expected)
