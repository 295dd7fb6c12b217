"""parse_tensor and serialize_tensor beside the protobuf runtime and a plain reading of its message.

TensorFlow is the judge of the same in oracle/test_tensors_oracle.py.
"""

from typing import Any

import needs
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tfrecs
from tfrecs import BytesArray

needs.optional("google.protobuf")

import tensor_protos as protos  # noqa: E402  # needs protobuf
from google.protobuf.message import DecodeError  # noqa: E402

NUMBERS = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
SMALL = [kind.name for kind in protos.KINDS if "float" in kind.name or "int4" in kind.name]
SMALL = [name for name in SMALL if name not in NUMBERS]


def message_of(name: str, dims: list[int], **fields: Any) -> Any:
    kind = next(kind for kind in protos.KINDS if kind.name == name)
    message = protos.TensorProto(dtype=kind.number, **fields)
    message.tensor_shape.SetInParent()
    for dim in dims:
        message.tensor_shape.dim.add(size=dim)
    return message


def bits(array: Any) -> tuple[Any, ...]:
    """Shape and memory of an array, whatever its type; of byte strings, the values."""
    if isinstance(array, BytesArray) or array.dtype == np.object_:
        return array.shape, array.tolist()
    return array.shape, array.tobytes()


# ---------------------------------------------------------------- reading


@given(protos.messages())
def test_what_protobuf_writes_is_read(message: Any) -> None:
    kind, expected = protos.read(message)
    if kind.name not in NUMBERS:
        needs.optional("ml_dtypes")
    found = tfrecs.parse_tensor(message.SerializeToString(), kind.name)
    assert bits(found) == bits(expected)
    if kind is not protos.STRING:
        assert isinstance(found, np.ndarray)
        assert found.dtype.name == (kind.memory if kind.name.startswith("q") else kind.name)
    assert bits(tfrecs.parse_tensor(message.SerializeToString())) == bits(expected)


@given(protos.mutants() | st.binary(max_size=40))
def test_any_bytes_are_read_as_protobuf_does_or_refused(data: bytes) -> None:
    try:
        _, expected = protos.read(protos.TensorProto.FromString(data))
    except (DecodeError, protos.RefusedError):
        with pytest.raises(tfrecs.ParseError):
            tfrecs.parse_tensor(data)
        return
    assert bits(tfrecs.parse_tensor(data)) == bits(expected)


SAMPLES = [
    message_of("float32", [2, 3], tensor_content=np.arange(6, dtype=np.float32).tobytes()),
    message_of("float32", [2, 3], float_val=[1, 2]),
    message_of("complex64", [3], scomplex_val=[1, 2, 3, 4]),
    message_of("int16", [4], int_val=[1, -2, 300]),
    message_of("uint64", [2], uint64_val=[1, 2**64 - 1]),
    message_of("string", [3], string_val=[b"a", b"bc"]),
    message_of("string", [2], tensor_content=b"\1\2abc"),
    message_of("bool", [2], bool_val=[True]),
    message_of("int4", [2], int_val=[-8]),
    message_of("float16", [2], half_val=[15360]),
]


@pytest.mark.parametrize("message", SAMPLES, ids=lambda message: str(message.dtype))
def test_every_cut_and_every_flip(message: Any) -> None:
    data = message.SerializeToString()
    cuts = [data[:end] for end in range(len(data))]
    flips = [
        data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
        for place in range(len(data))
        for bit in range(8)
    ]
    for damaged in cuts + flips:
        try:
            _, expected = protos.read(protos.TensorProto.FromString(damaged))
        except (DecodeError, protos.RefusedError):
            with pytest.raises(tfrecs.ParseError):
                tfrecs.parse_tensor(damaged)
        else:
            assert bits(tfrecs.parse_tensor(damaged)) == bits(expected)


@pytest.mark.parametrize("kind", protos.KINDS, ids=lambda kind: kind.name)
def test_no_values_are_zeros(kind: protos.Kind) -> None:
    if kind.name not in NUMBERS:
        needs.optional("ml_dtypes")
    found = tfrecs.parse_tensor(message_of(kind.name, [2, 1]).SerializeToString(), kind.name)
    zero = b"" if kind is protos.STRING else 0
    assert found.shape == (2, 1)
    assert found.tolist() == [[zero], [zero]]


def test_the_last_value_repeats() -> None:
    data = message_of("int32", [2, 3], int_val=[1, 2]).SerializeToString()
    assert tfrecs.parse_tensor(data).tolist() == [[1, 2, 2], [2, 2, 2]]
    data = message_of("string", [3], string_val=[b"a", b"bc"]).SerializeToString()
    assert tfrecs.parse_tensor(data).tolist() == [b"a", b"bc", b"bc"]


def test_a_shape_comes_in_parts_and_need_not_be_known() -> None:
    parts = (
        message_of("int8", [2]).SerializeToString() + message_of("int8", [3]).SerializeToString()
    )
    assert tfrecs.parse_tensor(parts).shape == (2, 3)
    message = message_of("int8", [], int_val=[7])
    message.tensor_shape.unknown_rank = True
    assert tfrecs.parse_tensor(message.SerializeToString()).shape == ()


def test_results_are_writable() -> None:
    data = tfrecs.serialize_tensor(np.zeros(3, np.float32))
    found = tfrecs.parse_tensor(data)
    assert isinstance(found, np.ndarray)
    assert found.flags.writeable
    assert found.flags.aligned


# ---------------------------------------------------------------- many

ARRAYS = st.sampled_from(NUMBERS).flatmap(
    lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=0, min_side=0, max_side=4))
)


@given(ARRAYS, st.integers(1, 4))
def test_many_are_one_array(array: npt.NDArray[Any], count: int) -> None:
    tensors = [tfrecs.serialize_tensor(np.roll(array, n)) for n in range(count)]
    expected = np.stack([np.roll(array, n) for n in range(count)])
    for form in (tensors, tfrecs.Records(tensors), BytesArray.from_values(tensors)):
        found = tfrecs.parse_tensor(form, array.dtype)
        assert isinstance(found, np.ndarray)
        assert found.dtype == array.dtype
        assert bits(found) == bits(expected)


def test_many_stand_as_their_bytes_stood() -> None:
    tensors = [tfrecs.serialize_tensor(np.full((2,), n, np.int8)) for n in range(6)]
    found = tfrecs.parse_tensor(BytesArray.from_values(tensors).reshape(2, 3))
    assert found.tolist() == [[[0, 0], [1, 1], [2, 2]], [[3, 3], [4, 4], [5, 5]]]
    strings = [tfrecs.serialize_tensor([b"a" * n, b"x"]) for n in range(3)]
    assert tfrecs.parse_tensor(strings).tolist() == [[b"", b"x"], [b"a", b"x"], [b"aa", b"x"]]


def test_none_at_all() -> None:
    assert bits(tfrecs.parse_tensor([], "int16")) == ((0,), b"")
    assert isinstance(tfrecs.parse_tensor([], "string"), BytesArray)
    with pytest.raises(tfrecs.SpecError, match="no tensor that says its type: give out_type"):
        tfrecs.parse_tensor([])


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (np.zeros(3, np.int8), r"the tensor's shape \[3\] is not that of the first, \[2\]"),
        (np.zeros((1, 2), np.int8), r"shape \[1,2\] is not that of the first, \[2\]"),
        (
            np.zeros(2, np.uint8),
            r"Type mismatch between parsed tensor \(uint8\) and dtype \(int8\)",
        ),
    ],
)
def test_many_must_be_alike(other: npt.NDArray[Any], text: str) -> None:
    tensors = [np.zeros(2, np.int8), np.ones(2, np.int8), other]
    for dtype in (None, "int8"):
        with pytest.raises(tfrecs.ParseError, match=f"^record 2: .*{text}$") as caught:
            tfrecs.parse_tensor([tfrecs.serialize_tensor(tensor) for tensor in tensors], dtype)
        assert caught.value.record == 2


# ---------------------------------------------------------------- writing


@given(ARRAYS)
def test_arrays_are_read_by_protobuf_and_by_us(array: npt.NDArray[Any]) -> None:
    for form in (array, array.T, array.astype(array.dtype.newbyteorder(">"))):
        data = tfrecs.serialize_tensor(form)
        message = protos.TensorProto.FromString(data)
        expected = form.astype(form.dtype.newbyteorder("="))
        assert bits(protos.read(message)[1]) == bits(expected)
        assert message.SerializeToString(deterministic=True) == data
        assert bits(tfrecs.parse_tensor(data, form.dtype)) == bits(expected)


@pytest.mark.parametrize("name", SMALL)
def test_types_of_ml_dtypes_come_back(name: str) -> None:
    dtype = np.dtype(getattr(needs.optional("ml_dtypes"), name))
    array = np.array([[0, 1, 2], [3, 1, 0]]).astype(dtype)
    found = tfrecs.parse_tensor(tfrecs.serialize_tensor(array), dtype)
    assert isinstance(found, np.ndarray)
    assert found.dtype == dtype
    assert bits(found) == bits(array)


@pytest.mark.parametrize(("name", "stored"), [("qint8", "int8"), ("quint16", "uint16")])
def test_quantised_types(name: str, stored: str) -> None:
    data = tfrecs.serialize_tensor(np.array([1, 2], stored), name)
    found = tfrecs.parse_tensor(data, name)
    assert isinstance(found, np.ndarray)
    assert found.dtype == stored
    with pytest.raises(tfrecs.ParseError, match="Type mismatch"):
        tfrecs.parse_tensor(data, stored)


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_strings(values: list[bytes]) -> None:
    objects = np.empty(len(values), np.object_)
    objects[:] = values
    for form in (BytesArray.from_values(values), objects):
        data = tfrecs.serialize_tensor(form)
        message = protos.TensorProto.FromString(data)
        assert list(message.string_val) == values
        assert tfrecs.parse_tensor(data, "string").tolist() == values
    assert tfrecs.parse_tensor(tfrecs.serialize_tensor("é")).tolist() == "é".encode()


def test_python_values_have_the_types_of_tensorflow() -> None:
    cases: list[tuple[Any, str]] = [
        (1, "int32"), ([2**31 - 1], "int32"), (2**31, "int64"), ([1, -(2**31) - 1], "int64"),
        (1.5, "float32"), ([1, 2.5], "float32"), ([], "float32"), (True, "bool"),
        (1j, "complex128"), ([np.float64(1)], "float64"), ([np.int64(1)], "int32"),
    ]  # fmt: skip
    for value, dtype in cases:
        found = tfrecs.parse_tensor(tfrecs.serialize_tensor(value), dtype)
        assert found.tolist() == value
    assert tfrecs.parse_tensor(tfrecs.serialize_tensor([1, 2], "int64")).tolist() == [1, 2]


def test_every_length_of_a_dimension() -> None:
    """Sizes that take one byte more, and those before."""
    for size in (0, 1, 127, 128, 16383, 16384, 2**21):
        data = tfrecs.serialize_tensor(np.zeros((size, 0), np.int8))
        assert [dim.size for dim in protos.TensorProto.FromString(data).tensor_shape.dim] == [
            size,
            0,
        ]
        assert tfrecs.parse_tensor(data).shape == (size, 0)


# ---------------------------------------------------------------- memory


# That they take none in being refused, crates/core/tests/tensors.rs holds.
@pytest.mark.parametrize("name", ["bool", "float32", "int8", "string", "complex128"])
@pytest.mark.parametrize("dims", [[2**21], [2**40], [2**20, 2**20], [2**62], [2**62, 2**62, 0]])
def test_a_few_bytes_announce_no_memory(name: str, dims: list[int]) -> None:
    data = message_of(name, dims).SerializeToString()
    text = r"more than the limit of|larger than any memory|than there can be"
    for serialized in (data, [data] * 3):
        with pytest.raises(tfrecs.ParseError, match=text):
            tfrecs.parse_tensor(serialized)


def test_the_limit() -> None:
    data = message_of("float32", [1000, 1000], float_val=[0.5]).SerializeToString()
    limit = 32 * len(data) + 1_000_000
    text = f"^the values would take 4000000 bytes, more than the limit of {limit}: if that many"
    with pytest.raises(tfrecs.ParseError, match=text):
        tfrecs.parse_tensor(data)
    assert tfrecs.parse_tensor(data, max_bytes=4_000_000).tolist() == [[0.5] * 1000] * 1000
    with pytest.raises(tfrecs.ParseError, match="more than the limit of 3999999"):
        tfrecs.parse_tensor(data, max_bytes=3_999_999)
    strings = message_of("string", [100], string_val=[b"x" * 100_000]).SerializeToString()
    with pytest.raises(tfrecs.ParseError, match="more than the limit of"):
        tfrecs.parse_tensor(strings)
    found = tfrecs.parse_tensor(strings, max_bytes=30_000_000)
    assert found.tolist() == [b"x" * 100_000] * 100


# ---------------------------------------------------------------- errors

BROKEN: list[tuple[Any, str]] = [
    (b"", "this is no tensor: it has no dtype"),
    (b"junk", "broken protobuf message"),
    (b"\x08\x63", "there is no tensor of dtype 99"),
    (b"\x08\x14", "the tensor holds a resource or a variant"),
    (message_of("int8", [-1]), r"the tensor's shape \[-1\] has a negative dimension"),
    (message_of("int8", [2**62, 2**62]), r"shape \[\d+,\d+\] is larger than any memory"),
    (message_of("int8", [1] * 255), "the tensor's shape has more than 254 dimensions"),
    (message_of("int8", [1] * 100), "NumPy has no array of shape"),
    (message_of("int16", [2], tensor_content=b"abc"), "tensor_content has 3 bytes, and the shape"),
    (message_of("bool", [1], tensor_content=b"\2"), "bools that are neither 0 nor 1"),
    (message_of("int8", [2], int_val=[1, 2, 3]), r"has 3 values, and its shape \[2\] takes 2"),
    (message_of("string", [0], string_val=[b""]), r"has 1 value, and its shape \[0\] takes 0"),
    (message_of("int8", [1], int_val=[128]), "the value 128 does not fit its dtype, int8"),
    (
        message_of("uint4", [1], tensor_content=b"\x10"),
        "the value 16 does not fit its dtype, uint4",
    ),
    (message_of("complex64", [1], scomplex_val=[1]), "1 numbers for values of complex64"),
    (
        message_of("string", [2], tensor_content=b"\1\1a"),
        r"is not \[2\] lengths and the bytes of that",
    ),
    (b"\x08\x01\x32\x09" + bytes(9), "a packed double list is no multiple of 8"),
    (b"\x08\x01\x12\x05\x12\x03\x12\x01\xff", "the name of a dimension is not UTF-8"),
]


@pytest.mark.parametrize(("message", "text"), BROKEN, ids=[text[:30] for _, text in BROKEN])
def test_broken_tensors(message: Any, text: str) -> None:
    data = message if isinstance(message, bytes) else message.SerializeToString()
    with pytest.raises(tfrecs.ParseError, match=text):
        tfrecs.parse_tensor(data)


def test_another_type() -> None:
    data = tfrecs.serialize_tensor(np.zeros(2, np.float32))
    text = r"^Type mismatch between parsed tensor \(float32\) and dtype \(int32\)$"
    with pytest.raises(tfrecs.ParseError, match=text):
        tfrecs.parse_tensor(data, "int32")


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (3, {}, "serialized must be bytes, not int"),
    ([b"", None], {}, "serialized must be bytes, not NoneType"),
    (b"", {"out_type": int}, "out_type <class 'int'> is not the name of one type"),
    (b"", {"out_type": "bogus"}, "there is no tensor of dtype bogus"),
    (b"", {"max_bytes": -1}, "max_bytes must be a number of bytes, not -1"),
    (b"", {"max_bytes": "1"}, "max_bytes must be a number of bytes, not '1'"),
]


@pytest.mark.parametrize(("serialized", "options", "text"), WRONG)
def test_wrong_use_of_parse_tensor(serialized: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=text):
        tfrecs.parse_tensor(serialized, **options)


NO_TENSORS: list[tuple[Any, Any, str]] = [
    (None, None, "None is no array"),
    ({"a": 1}, None, "a dict is no array"),
    (np.ma.masked_array([1], [True]), None, "a MaskedArray is no dense array"),
    (tfrecs.RaggedTensor.from_rows([[1]]), None, "a RaggedTensor is no dense array"),
    ([[1], [1, 2]], None, "these nested lists are no array"),
    ([1, None], None, "tensor is made of NoneType and int"),
    (2**70, None, "made of int: it can hold numbers of at most 64 bits"),
    (1e300, None, "does not fit float32"),
    (np.zeros(1, "M8[D]"), None, r"there is no tensor of dtype datetime64\[D\]"),
    (np.zeros(1, np.longdouble), None, "there is no tensor of dtype float128|longdouble"),
    (np.zeros(1, [("a", "i4")]), None, "there is no tensor of dtype void32"),
    (np.zeros(1, np.int64), "int32", "cannot be written as int32 without loss"),
    (np.zeros(1), "string", "an array of float64 cannot be written as bytes"),
    ([b"a"], "int8", "an array of byte strings cannot be written as int8"),
    (np.zeros(1), "bogus", "there is no type 'bogus'"),
    (np.broadcast_to(np.int8(0), 2**31), None, "larger than a protobuf message, 2 GiB, can be"),
]


@pytest.mark.parametrize(("tensor", "dtype", "text"), NO_TENSORS, ids=[n[2] for n in NO_TENSORS])
def test_wrong_use_of_serialize_tensor(tensor: Any, dtype: Any, text: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=text):
        tfrecs.serialize_tensor(tensor, dtype)
