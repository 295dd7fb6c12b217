"""decode_raw: each byte string is what NumPy reads in the same memory."""

import struct
from collections.abc import Sequence
from typing import Any

import needs
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs import BytesArray

NUMBERS = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
SMALL = [
    *("bfloat16", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz"),
]


def written_to(values: list[bytes]) -> BytesArray:
    """A BytesArray with memory that can be written to, as a decoded batch has."""
    array = BytesArray.from_values(values)
    return BytesArray(array.data.copy(), array.offsets)


def forms(values: list[bytes]) -> dict[str, Any]:
    """The same byte strings in every form in which they are handed in."""
    objects = np.empty(len(values), np.object_)
    objects[:] = values
    return {
        "list": values,
        "tuple": tuple(values),
        "generator": iter(values),
        "Records": tfrecs.Records(values),
        "BytesArray": BytesArray.from_values(values),
        "writable": written_to(values),
        "slice": written_to([b"x", *values, b"y"])[1:-1],
        "object array": objects,
        "memoryviews": [memoryview(value) for value in values],
    }


def expected(values: Sequence[bytes], dtype: str, *, little: bool) -> npt.NDArray[Any]:
    order = np.dtype(dtype).newbyteorder("<" if little else ">")
    rows = [np.frombuffer(value, order) for value in values]
    if dtype == "bool":
        rows = [np.frombuffer(value, np.uint8) != 0 for value in values]
    return np.array(rows, dtype).reshape(len(values), -1 if values else 0)


def check(found: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> None:
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()
    assert found.flags.writeable
    assert found.flags.aligned
    assert found.flags.c_contiguous


@given(st.data(), st.sampled_from(NUMBERS), st.booleans(), st.integers(0, 3))
def test_equal_lengths(data: st.DataObject, dtype: str, little: bool, count: int) -> None:
    size = np.dtype(dtype).itemsize * count
    values = data.draw(st.lists(st.binary(min_size=size, max_size=size), min_size=1, max_size=4))
    for form, given_values in forms(values).items():
        found = tfrecs.decode_raw(given_values, dtype, little)
        check(found, expected(values, dtype, little=little))
        assert form


@given(
    st.lists(st.binary(max_size=20), max_size=4),
    st.sampled_from(NUMBERS),
    st.booleans(),
    st.integers(1, 3),
)
def test_fixed_length(values: list[bytes], dtype: str, little: bool, count: int) -> None:
    length = np.dtype(dtype).itemsize * count
    cut = [value[:length].ljust(length, b"\0") for value in values]
    wanted = expected(cut, dtype, little=little).reshape(len(values), count)
    for given_values in forms(values).values():
        check(tfrecs.decode_raw(given_values, dtype, little, length), wanted)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (4,), (2, 2), (2, 1, 2), (0, 3), (3, 0)])
def test_every_shape_of_input(shape: tuple[int, ...]) -> None:
    values = [struct.pack("<hh", n, -n) for n in range(int(np.prod(shape)))]
    objects = np.empty(len(values), np.object_)
    objects[:] = values
    numbers = np.array([[n, -n] for n in range(len(values))], np.int16)
    last = 2 if values else 0
    for given_values in (
        BytesArray.from_values(values).reshape(shape),
        written_to(values).reshape(shape),
        objects.reshape(shape),
    ):
        check(tfrecs.decode_raw(given_values, "int16"), numbers.reshape((*shape, last)))
        padded = tfrecs.decode_raw(given_values, "int16", True, 6)
        assert padded.shape == (*shape, 3)
        pair = tfrecs.decode_raw(given_values, "int16", shape=(2, 1))
        assert pair.shape == (*shape, 2, 1)
        assert pair.tobytes() == numbers.tobytes()


def test_one_value() -> None:
    for value in (b"\1\0\2\0", bytearray(b"\1\0\2\0"), memoryview(b"\1\0\2\0"), "\1\0\2\0"):
        assert tfrecs.decode_raw(value, "int16").tolist() == [1, 2]
    assert tfrecs.decode_raw(b"", "int16").shape == (0,)
    assert tfrecs.decode_raw(b"\1\2", "uint8", shape=2).tolist() == [1, 2]
    assert tfrecs.decode_raw(b"\1\2", "uint8", shape=np.array([2, 1])).tolist() == [[1], [2]]
    assert tfrecs.decode_raw(b"\1", "uint8", shape=()).shape == ()


def test_bools_are_zeros_and_ones() -> None:
    found = tfrecs.decode_raw(bytes(range(256)), "bool")
    assert found.view(np.uint8).tolist() == [0] + [1] * 255


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("little", [True, False])
def test_types_of_ml_dtypes(name: str, little: bool) -> None:
    dtype = np.dtype(getattr(needs.optional("ml_dtypes"), name))
    data = bytes(range(256))
    found = tfrecs.decode_raw([data], name, little)
    ordered = data if little else np.frombuffer(data, f">u{dtype.itemsize}").astype("<u2").tobytes()
    wanted = np.frombuffer(ordered if dtype.itemsize == 2 else data, dtype)[None]
    check(found, wanted)
    check(tfrecs.decode_raw([data], dtype, little), wanted)


# ---------------------------------------------------------------- arrays beside their shape

shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)


@given(st.lists(shapes, max_size=5), st.sampled_from(["uint8", "int16", "float64"]), st.booleans())
def test_a_shape_for_each(each: list[tuple[int, ...]], dtype: str, little: bool) -> None:
    arrays = [
        np.arange(place, place + np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
        for place, shape in enumerate(each)
    ]
    order = np.dtype(dtype).newbyteorder("<" if little else ">")
    for values in forms([array.astype(order).tobytes() for array in arrays]).values():
        if not each:
            continue  # no shapes are one shape: ()
        found = tfrecs.decode_raw(values, dtype, little, shape=each)
        assert isinstance(found, list)
        for array, wanted in zip(found, arrays, strict=True):
            check(array, wanted)


def test_shapes_from_a_batch() -> None:
    images = [np.full((n, 2, 3), n, np.uint8) for n in (1, 3, 2)]
    records = [
        tfrecs.encode_example({"image": image.tobytes(), "shape": image.shape}) for image in images
    ]
    spec = {
        "image": tfrecs.FixedLenFeature([], "string"),
        "shape": tfrecs.FixedLenFeature([3], "int64"),
    }
    batch = tfrecs.parse_example(records, spec)
    ragged = tfrecs.decode_batch(records)
    for shape in (batch["shape"], ragged["shape"], [image.shape for image in images]):
        found = tfrecs.decode_raw(batch["image"], "uint8", shape=shape)
        assert all((a == b).all() for a, b in zip(found, images, strict=True))


def test_equal_shapes_give_a_list_too() -> None:
    """What comes back depends on the arguments' kinds, not on their values."""
    found = tfrecs.decode_raw([b"ab", b"cd"], "uint8", shape=np.array([[2], [2]]))
    assert [array.tolist() for array in found] == [[97, 98], [99, 100]]
    assert tfrecs.decode_raw(BytesArray.from_values([]), "uint8", shape=np.zeros((0, 3), int)) == []


# ---------------------------------------------------------------- memory


def test_what_lies_right_is_not_copied() -> None:
    values = written_to([bytes(8), bytes(8)])
    numbers = tfrecs.decode_raw(values, "int32")
    numbers[1, 0] = 1
    assert values[1] == b"\1" + bytes(7)
    assert np.shares_memory(tfrecs.decode_raw(values, "uint8", shape=(2, 4)), values.data)


def test_what_does_not_lie_right_is_copied() -> None:
    values = written_to([b"x", *[bytes(8)] * 2])[1:]  # at an odd address
    frozen = BytesArray.from_values([bytes(8)] * 2)
    for array in (values, frozen, frozen[:1]):
        numbers = tfrecs.decode_raw(array, "int64")
        assert not np.shares_memory(numbers, array.data)
        numbers[:] = 1
        assert array[0] == bytes(8)
    assert not np.shares_memory(tfrecs.decode_raw(written_to([b"ab"]), "int16", False), values.data)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("form", forms([]))
def test_different_lengths(form: str) -> None:
    with pytest.raises(tfrecs.ParseError) as caught:
        tfrecs.decode_raw(forms([b"abcd", b"abcd", b"ab", b""])[form], "int16")
    assert caught.value.record == 2
    assert str(caught.value) == (
        "record 2: DecodeRaw requires input strings to all be the same size, but element 2 has "
        "size 2 != 4"
    )


@pytest.mark.parametrize("form", forms([]))
def test_parts_of_a_number(form: str) -> None:
    text = "Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16"
    with pytest.raises(tfrecs.ParseError, match=f"^record 0: {text}$"):
        tfrecs.decode_raw(forms([b"abc", b"abc"])[form], "int16")
    with pytest.raises(tfrecs.ParseError, match=f"^record 1: {text}$"):
        tfrecs.decode_raw(forms([b"ab", b"abc"])[form], "int16", shape=[(1,), (1,)])


def test_one_value_has_no_number() -> None:
    with pytest.raises(tfrecs.ParseError, match=r"^Input to DecodeRaw has length 3"):
        tfrecs.decode_raw(b"abc", "int16")


def test_misfitting_shapes() -> None:
    text = r"each byte string has 4 values of uint8, but shape \(3,\) takes 3"
    with pytest.raises(tfrecs.ParseError, match=text):
        tfrecs.decode_raw([b"abcd"], "uint8", shape=3)
    text = r"^record 1: it has 2 values of int16, but shape \(1, 1\) takes 1$"
    with pytest.raises(tfrecs.ParseError, match=text) as caught:
        tfrecs.decode_raw([b"ab", b"abcd"], "int16", shape=[[1], [1, 1]])
    assert caught.value.record == 1
    huge = (2**40, 2**40)
    with pytest.raises(tfrecs.ParseError, match="takes"):
        tfrecs.decode_raw([b"abcd"], "uint8", shape=huge)
    with pytest.raises(tfrecs.ParseError, match="takes"):
        tfrecs.decode_raw([b"abcd"], "uint8", shape=[huge])


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (3, {}, "input_bytes must be bytes, not int"),
    (None, {}, "input_bytes must be bytes, not NoneType"),
    ({b"a": 1}, {}, "input_bytes must be bytes, not dict"),
    ([b"a", 3], {}, "input_bytes must be bytes, not int"),
    ([[b"a"], [b"a", b"b"]], {}, "input_bytes has rows of different lengths"),
    (np.zeros(3), {}, "input_bytes must be bytes, not an array of float64"),
    ("\ud800", {}, "input_bytes cannot be encoded as UTF-8"),
    (tfrecs.RaggedTensor.from_rows([[b"a"]]), {}, "input_bytes is a RaggedTensor"),
    ([b"a"], {"out_type": int}, "out_type <class 'int'> is not the name of one type"),
    ([b"a"], {"out_type": "i4,i4"}, "out_type 'i4,i4' is not the name of one type"),
    ([b"a"], {"fixed_length": 2**70}, "fixed_length .* is too large"),
    ([b"a"], {"out_type": None}, "out_type None is not the name"),
    (
        [b"a"],
        {"out_type": "bogus"},
        "out_type 'bogus' is not in the list of allowed values: bfloat",
    ),
    ([b"a"], {"out_type": "string"}, "out_type 'bytes' is not in the list"),
    ([b"a"], {"out_type": "int4"}, "out_type 'int4' is not in the list"),
    ([b"a"], {"out_type": "longdouble"}, "not in the list of allowed values"),
    ([b"a"], {"out_type": ">i2"}, "give that as little_endian=False"),
    ([b"a"], {"out_type": np.dtype(">f8")}, "give that as little_endian=False"),
    ([b"a"], {"little_endian": 4}, "little_endian must be True or False, not 4"),
    ([b"a"], {"fixed_length": 0}, r"fixed_length \(0\) must be greater than zero"),
    ([b"a"], {"fixed_length": -2}, r"fixed_length \(-2\) must be greater than zero"),
    (
        [b"a"],
        {"fixed_length": 3},
        r"fixed_length \(3\) must be a multiple of the size of out_type \(2",
    ),
    ([b"a"], {"fixed_length": 2.0}, "fixed_length must be an int, not float"),
    ([b"a"], {"fixed_length": True}, "fixed_length must be an int, not bool"),
    ([b"a"], {"fixed_length": 2**62}, "there is no memory for 1 value of fixed_length"),
    ([b"a"], {"shape": -1}, "has a negative dimension"),
    ([b"a"], {"shape": "12"}, "is no shape, and no sequence of shapes"),
    ([b"a"], {"shape": (1.0,)}, "is no shape, and no sequence of shapes"),
    ([b"a"], {"shape": (None, 1)}, "is no shape, and no sequence of shapes"),
    ([b"a"], {"shape": [(1,), (1,)]}, r"there are 2 shapes, and byte strings of shape \(1,\)"),
    (b"a", {"shape": [(1,)]}, r"there are 1 shapes, and byte strings of shape \(\)"),
    ([b"a"], {"shape": [(1,)], "fixed_length": 2}, "fixed_length makes no sense with a shape for"),
]


@pytest.mark.parametrize(("values", "options", "text"), WRONG, ids=lambda value: str(value)[:30])
def test_wrong_use(values: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=text):
        tfrecs.decode_raw(values, **{"out_type": "int16", **options})
