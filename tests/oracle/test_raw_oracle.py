"""decode_raw beside TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tfrecs
from oracle.cases import randomly

TYPES = [
    *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "complex64", "complex128", "bool", "bfloat16"),
]
# TensorFlow cuts and pads for these only.
PADDED = set(TYPES) - {"bool", "complex64", "complex128", "float16"}

REFUSALS = (tf.errors.InvalidArgumentError, TypeError, ValueError)


def decoded(values: Any, name: str, **options: Any) -> Any:
    """What both make of it: type, shape and bytes, or that both refuse."""
    try:
        expected: Any = tf.io.decode_raw(values, getattr(tf, name), **options).numpy()
    except REFUSALS:
        expected = None
    try:
        found = tfrecs.decode_raw(values, name, **options)
    except (tfrecs.ParseError, tfrecs.SpecError):
        found = None
    assert (found is None) == (expected is None)
    if found is None:
        return None
    if name == "bool":  # ours has only zeros and ones
        expected = expected.view(np.uint8) != 0
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()
    return found


def arrays(elements: st.SearchStrategy[bytes]) -> st.SearchStrategy[Any]:
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
    return hnp.arrays(object, shapes, elements=elements)


def of_length(length: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=length, max_size=length)


@randomly(3)
@given(st.data(), st.sampled_from(TYPES), st.booleans(), st.sampled_from([0, 16, 32, 48]))
def test_equal_lengths(data: st.DataObject, name: str, little: bool, length: int) -> None:
    values = data.draw(arrays(of_length(length)))
    found = decoded(values, name, little_endian=little)
    assert found is not None
    same = tfrecs.decode_raw(tfrecs.BytesArray.from_values(values.ravel()), name, little)
    assert same.tobytes() == found.tobytes()


@randomly(3)
@given(arrays(st.binary(max_size=5)), st.sampled_from(TYPES), st.booleans())
def test_any_lengths(values: Any, name: str, little: bool) -> None:
    decoded(values, name, little_endian=little)


@randomly(3)
@given(
    arrays(st.binary(max_size=20)),
    st.sampled_from(sorted(PADDED)),
    st.booleans(),
    st.integers(-2, 24),
)
def test_fixed_length(values: Any, name: str, little: bool, length: int) -> None:
    decoded(values, name, little_endian=little, fixed_length=length)


@pytest.mark.parametrize("name", ["uint32", "uint64", "string", "qint8", "resource"])
@pytest.mark.parametrize("length", [None, 8])
def test_types_that_tensorflow_has_not(name: str, length: int | None) -> None:
    with pytest.raises(REFUSALS):
        tf.io.decode_raw([b"12345678"], getattr(tf, name), fixed_length=length)
    if name.startswith("uint"):
        expected = np.frombuffer(b"12345678", name)[None]
        assert (tfrecs.decode_raw([b"12345678"], name, fixed_length=length) == expected).all()
        return
    with pytest.raises(tfrecs.SpecError, match="not in the list of allowed values"):
        tfrecs.decode_raw([b"12345678"], name, fixed_length=length)


@pytest.mark.parametrize("name", sorted(set(TYPES) - PADDED))
def test_types_that_tensorflow_does_not_pad(name: str) -> None:
    with pytest.raises((*REFUSALS, tf.errors.NotFoundError)):
        tf.io.decode_raw([b"1"], getattr(tf, name), fixed_length=16)
    assert tfrecs.decode_raw([b"1"], name, fixed_length=16).view(np.uint8)[0, 1:].sum() == 0


@pytest.mark.parametrize(
    "out_type",
    [
        *(tf.uint8, np.uint8, "uint8", np.dtype("uint8"), bool, float, "float", "half", "double"),
        *(tf.float32, tf.bfloat16, np.dtype("<i2"), np.complex64, int, "int", None, "bogus", ">i2"),
    ],
    ids=repr,
)
def test_names_of_types(out_type: Any) -> None:
    data = [bytes(range(16))]
    try:
        expected = tf.io.decode_raw(data, out_type).numpy()
    except REFUSALS:
        with pytest.raises(tfrecs.SpecError):
            tfrecs.decode_raw(data, out_type)
        return
    found = tfrecs.decode_raw(data, out_type)
    assert found.dtype == expected.dtype
    if found.dtype != np.bool_:
        assert found.tobytes() == expected.tobytes()


def test_a_byte_order_is_refused() -> None:
    """TensorFlow takes the type and forgets the order."""
    order = np.dtype(">i2")
    assert tf.io.decode_raw([b"\0\1"], order).numpy().tolist() == [[256]]
    with pytest.raises(tfrecs.SpecError, match="little_endian=False"):
        tfrecs.decode_raw([b"\0\1"], order)


@pytest.mark.parametrize(
    "values",
    [
        *([], b"", "é", [b"ab", "cd"], [[b"ab"], [b"cd"]], [[], []], np.zeros((2, 0), "S1")),
        *(np.array([b"a\0b\0", b"abc"]), np.array(["ab", "cd"]), ([b"a"], [b"b"])),
        *(3, None, [b"a", None], [b"a", 3], [[b"a"], [b"b", b"c"]], {b"a": 1}, np.zeros(3)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("length", [None, 3])
def test_inputs(values: Any, length: int | None) -> None:
    decoded(values, "uint8", fixed_length=length)


@pytest.mark.parametrize("length", [0, -1, -2, 3, 2.0, [4]])
def test_lengths(length: Any) -> None:
    assert decoded([b"1234"], "int16", fixed_length=length) is None
