"""encode_example and decode_example: what a person has at hand goes in; protobuf is the judge."""

import math
import struct
from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tfrecs

needs.optional("google.protobuf")

INT64 = st.integers(-(2**63), 2**63 - 1)
FLOAT32 = st.floats(width=32)
TEXT = st.text()
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "int64": INT64 | st.booleans() | st.sampled_from([2**63 - 1, -(2**63)]),
    "float": FLOAT32 | st.sampled_from([math.nan, math.inf, -math.inf, -0.0]),
    "bytes": st.binary() | TEXT,
}
# NumPy's own, in both byte orders; a value of theirs has one meaning as a feature.
DTYPES: dict[str, list[str]] = {
    "int64": ["?", "i1", "i2", ">i2", "i4", ">i4", "i8", ">i8", "u1", "u2", ">u2", "u4", ">u4"],
    "float": ["f2", ">f2", "f4", ">f4"],
}


@st.composite
def values(draw: st.DrawFn) -> tuple[str, Any, list[Any]]:
    """A kind, a value of that kind in some form, and the list that it means."""
    kind = draw(st.sampled_from(sorted(SCALARS)))
    if kind in DTYPES and draw(st.booleans()):
        dtype = np.dtype(draw(st.sampled_from(DTYPES[kind])))
        array = draw(hnp.arrays(dtype, st.integers(0, 5)))
        form = draw(st.sampled_from(["array", "strided", "reversed", "items", "read-only"]))
        if form == "strided":
            array = array[::2]
        elif form == "reversed":
            array = array[::-1]
        elif form == "read-only":
            array.flags.writeable = False
        plain = array.astype(np.int64 if kind == "int64" else np.float64).tolist()
        return kind, list(array) if form == "items" else array, plain
    items = draw(st.lists(SCALARS[kind], max_size=5))
    if len(items) == 1 and draw(st.booleans()):
        return kind, items[0], items
    return kind, draw(st.sampled_from([list, tuple]))(items), items


def plain(kind: str, items: list[Any]) -> list[Any]:
    if kind == "bytes":
        return [item.encode() if isinstance(item, str) else item for item in items]
    return [int(item) if kind == "int64" else float(item) for item in items]


def bits(items: list[Any]) -> list[Any]:
    """Floats by their bits, so that NaN equals itself."""
    return [struct.pack("<f", item) if isinstance(item, float) else item for item in items]


def expected(mapping: Mapping[str, tuple[str, Any, list[Any]]]) -> dict[str, list[Any]]:
    return {name: bits(plain(kind, items)) for name, (kind, _, items) in mapping.items()}


def by_protobuf(record: bytes) -> dict[str, list[Any]]:
    features = tfrecs.Example.FromString(record).features.feature
    return {
        name: bits(list(getattr(feature, feature.WhichOneof("kind") or "int64_list").value))
        for name, feature in features.items()
    }


mappings = st.dictionaries(TEXT, values(), max_size=5)


@given(mapping=mappings, sort_keys=st.booleans())
def test_what_comes_out_is_what_went_in(
    mapping: dict[str, tuple[str, Any, list[Any]]], sort_keys: bool
) -> None:
    given = {name: value for name, (_, value, _) in mapping.items()}
    record = tfrecs.encode_example(given, sort_keys=sort_keys)
    assert by_protobuf(record) == expected(mapping)
    decoded = tfrecs.decode_example(record)
    assert {name: bits(items) for name, items in decoded.items()} == expected(mapping)
    assert list(decoded) == (sorted(given) if sort_keys else list(given))
    assert all(type(item) in {int, float, bytes} for items in decoded.values() for item in items)


@given(mapping=mappings)
def test_sorted_bytes_are_protobufs_deterministic_ones(
    mapping: dict[str, tuple[str, Any, list[Any]]],
) -> None:
    record = tfrecs.encode_example({k: v for k, (_, v, _) in mapping.items()}, sort_keys=True)
    again = tfrecs.Example.FromString(record).SerializeToString(deterministic=True)
    # A feature whose list is empty has a list; protobuf keeps that too.
    assert len(again) == len(record)
    assert by_protobuf(again) == by_protobuf(record)
    assert record == tfrecs.encode_example(
        {k: mapping[k][1] for k in reversed(mapping)}, sort_keys=True
    )


@given(record=mappings.map(lambda m: tfrecs.encode_example({k: v for k, (_, v, _) in m.items()})))
def test_decoding_what_protobuf_wrote(record: bytes) -> None:
    theirs = tfrecs.Example.FromString(record).SerializeToString()
    found = {name: bits(items) for name, items in tfrecs.decode_example(theirs).items()}
    assert found == by_protobuf(theirs)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (5, [5]),
        (True, [1]),
        (np.bool_(True), [1]),
        (np.int8(-3), [-3]),
        (np.uint64(2**63 - 1), [2**63 - 1]),
        (-(2**63), [-(2**63)]),
        (np.float16(1.5), [1.5]),
        (np.float64(0.1), [float(np.float32(0.1))]),
        (1e-60, [0.0]),
        (np.array(7), [7]),
        (np.array(2.5, ">f8"), [2.5]),
        (np.array([True, False]), [1, 0]),
        (np.array([1, 2], np.uint64), [1, 2]),
        (np.arange(6)[::2], [0, 2, 4]),
        (np.arange(6).reshape(2, 3)[:, 1], [1, 4]),
        (np.array([]), []),
        ([], []),
        ((), []),
        ("é", ["é".encode()]),
        (b"\0\xff", [b"\0\xff"]),
        (bytearray(b"a"), [b"a"]),
        pytest.param(memoryview(b"a"), [b"a"], id="memoryview(b'a')"),
        (np.str_("a"), [b"a"]),
        (np.bytes_(b"a"), [b"a"]),
        (["a", b"b", bytearray(b"c")], [b"a", b"b", b"c"]),
        (np.array(["a", "bc"]), [b"a", b"bc"]),
        (np.array([b"a", b"bc"]), [b"a", b"bc"]),
        (np.array(["a", b"bc"], object), [b"a", b"bc"]),
        ([np.int8(1), 2, np.array(3), True], [1, 2, 3, 1]),
        ([np.float32(1), 2.0], [1.0, 2.0]),
        (tfrecs.BytesArray.from_values(["a", "b"]), [b"a", b"b"]),
    ],
    ids=repr,
)
def test_what_a_value_can_be(value: Any, meaning: list[Any]) -> None:
    decoded = tfrecs.decode_example(tfrecs.encode_example({"a": value}))
    assert decoded == {"a": meaning}
    assert [type(item) for item in decoded["a"]] == [type(item) for item in meaning]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_nan_and_infinity(kind: type) -> None:
    for value in (kind("nan"), np.array([kind("inf"), kind("-inf")])):
        (found,) = tfrecs.decode_example(tfrecs.encode_example({"a": value})).values()
        np.testing.assert_array_equal(found, np.ravel(value).astype(float))


MIXED = "holds one kind"
RANGE = "out of range|does not fit"
REFUSED: list[Any] = [
    ([1, 1.5], MIXED),
    ([1.5, 1], MIXED),
    ([1, "a"], MIXED),
    (["a", 1.0], MIXED),
    ([np.int64(1), np.float32(1)], MIXED),
    ([True, "a"], MIXED),
    (2**63, RANGE),
    (-(2**63) - 1, RANGE),
    ([1, 10**30], RANGE),
    (np.uint64(2**63), RANGE),
    (np.array([2**63], np.uint64), RANGE),
    (1e39, RANGE),
    ([0.0, -1e300], RANGE),
    (np.float64(1e39), RANGE),
    (np.array([1e39]), RANGE),
    ([[1], [2]], "flat"),
    ([1, [2]], "flat"),
    (((1,),), "flat"),
    ([np.arange(2), np.arange(2)], "list|array"),
    (np.eye(2), "shape"),
    (np.zeros((1, 1, 1)), "shape"),
    (np.array(["a"])[None], "shape"),
    ([None], "holds None"),
    ([1, None], "holds None|one kind"),
    pytest.param(object(), "object", id="object()"),
    (range(3), "range"),
    ({"a": 1}, "dict"),
    ({1, 2}, "set"),
    (1j, "complex"),
    (np.complex64(1), "complex"),
    (np.array([1j]), "complex"),
    (np.datetime64("2020-01-01"), "datetime64"),
    (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
    (np.timedelta64(1, "s"), "timedelta64"),
    pytest.param(np.array([object()]), "object", id="array([object()])"),
    (np.array([1, "a"], object), MIXED),
    (np.array([(1, 2)], "i4,i4"), "cannot be a feature"),
]


@pytest.mark.parametrize(("value", "why"), REFUSED, ids=repr)
def test_what_a_value_cannot_be(value: Any, why: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=why) as caught:
        tfrecs.encode_example({"fine": 1, "größe": value})
    assert caught.value.feature == "größe"
    assert "größe" in str(caught.value)
    with pytest.raises(tfrecs.SpecError, match=why) as caught:
        tfrecs.encode_sequence_example(None, {"steps": [1, value]})
    assert caught.value.feature == "steps"


def test_none_is_a_missing_feature() -> None:
    record = tfrecs.encode_example({"a": None, "b": 1})
    assert tfrecs.decode_example(record) == {"b": [1]}
    assert tfrecs.encode_example({"a": None}) == tfrecs.encode_example({}) == b""


def test_numpys_variable_length_strings() -> None:
    if not hasattr(np.dtypes, "StringDType"):
        needs.missing("a NumPy with StringDType")
    array = np.array(["a", "bcd"], np.dtypes.StringDType())
    assert tfrecs.decode_example(tfrecs.encode_example({"a": array})) == {"a": [b"a", b"bcd"]}


@pytest.mark.parametrize("value", ["\ud800", ["fine", "\ud800"], np.array(["\ud800"], object)])
def test_text_that_is_no_unicode_is_refused(value: Any) -> None:
    with pytest.raises(tfrecs.SpecError, match=r"surrogate|UTF-8|utf-8") as caught:
        tfrecs.encode_example({"a": value})
    assert caught.value.feature == "a"


def test_a_name_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(tfrecs.SpecError, match=r"surrogate|UTF-8|utf-8"):
        tfrecs.encode_example({"\ud800": 1})


@pytest.mark.parametrize("mapping", [{1: 1}, {b"a": 1}, {None: 1}])
def test_a_name_is_text(mapping: Any) -> None:
    with pytest.raises(tfrecs.SpecError, match="name must be str"):
        tfrecs.encode_example(mapping)


@pytest.mark.parametrize("mapping", [None, [("a", 1)], "a", 5])
def test_a_mapping_is_asked_for(mapping: Any) -> None:
    with pytest.raises((TypeError, tfrecs.SpecError), match=r"apping|dict"):
        tfrecs.encode_example(mapping)


def test_any_mapping_will_do() -> None:
    record = tfrecs.encode_example({"b": 1, "a": "x"})
    for kind in (OrderedDict, MappingProxyType):
        assert tfrecs.encode_example(kind({"b": 1, "a": "x"})) == record
    assert tfrecs.encode_example({"a": "x", "b": 1}) != record
    in_order = tfrecs.encode_example({"a": "x", "b": 1}, sort_keys=True)
    assert tfrecs.encode_example(MappingProxyType({"b": 1, "a": "x"}), sort_keys=True) == in_order


def test_sorting_does_not_compare_values() -> None:
    mapping = {"b": np.arange(3), "a": np.arange(3)}
    assert list(tfrecs.decode_example(tfrecs.encode_example(mapping, sort_keys=True))) == ["a", "b"]


@given(record=st.binary(max_size=60))
@example(record=b"\xff" * 20)
def test_any_bytes_decode_or_are_refused(record: bytes) -> None:
    for decode in (tfrecs.decode_example, tfrecs.decode_sequence_example):
        try:
            decode(record)
        except tfrecs.ParseError as error:
            assert error.reason


@given(mapping=mappings.filter(any), data=st.data())
def test_damaged_examples_as_protobuf_judges(
    mapping: dict[str, tuple[str, Any, list[Any]]], data: st.DataObject
) -> None:
    mapping.pop("", None)
    record = tfrecs.encode_example({name: value for name, (_, value, _) in mapping.items()})
    place = data.draw(st.integers(0, len(record) - 1))
    damaged = bytearray(record)
    damaged[place] ^= data.draw(st.integers(1, 255))
    try:
        theirs = by_protobuf(bytes(damaged))
    except Exception:  # noqa: BLE001 - protobuf's runtimes raise different ones
        reject()  # what is stricter in protobuf: test_wire of the oracle
    found = tfrecs.decode_example(bytes(damaged), unknown_fields="ignore")
    # For an unknown field, protobuf's Python sets the map entry aside: docs/compatibility.md.
    for name, items in theirs.items():
        assert bits(found.pop(name)) == items
    assert len(found) <= 1
