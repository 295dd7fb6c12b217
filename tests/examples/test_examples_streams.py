"""Rows one after the other: what is kept from one to the next never shows.

decode_example remembers the names of the records before, encode_example keeps its memory; each has
short ways for what is usual. The judge, row by row, is protobuf's format in plain Python.
"""

import gc
import math
import struct
import threading
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import reference_wire as wire
import strategies
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

# Some are longer than what is remembered, some differ only in the middle or at their ends.
NAMES = (
    *("", "a", "b", "é", "日本", "a\0", "num_1", "num_2", "num_10", "nul_10"),
    *("x" * 127, "x" * 128, "x" * 129, "y" + "x" * 127, "x" * 60 + "y" + "x" * 60, "x" * 500),
)


def floats(bits: int) -> float:
    """The float of these bits, every NaN the same."""
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return math.nan if math.isnan(value) else value


def readable(features: wire.Decoded) -> str:
    """Features as text, in which NaN equals NaN and 1 is not 1.0."""
    rows = {
        key.decode(): [floats(value) if kind == "float32" else value for value in values]
        for key, (kind, values) in features.items()
    }
    return repr(rows)


def expected(record: bytes) -> str | None:
    """What decode_example returns, as text, or None if it refuses the record."""
    before = wire.long_varints.count
    try:
        features = readable(wire.decode(record))
    except (wire.MalformedError, UnicodeDecodeError):
        return None
    return features if wire.long_varints.count == before else None


def found(record: bytes) -> str | None:
    try:
        features = tfrecs.decode_example(record, unknown_fields="ignore")
    except tfrecs.ParseError:
        return None
    for values in features.values():  # as anybody may, with what is theirs
        values.append(b"mine")  # type: ignore[arg-type]
    text = repr({name: values[:-1] for name, values in features.items()})
    features.clear()
    features["mine"] = [1]
    return text


@st.composite
def entries(draw: st.DrawFn, name: str) -> bytes:
    """A map entry, usual or not."""
    dtype = draw(st.sampled_from([*strategies.DTYPES, *strategies.DTYPES, None]))
    values = draw(st.lists(strategies.VALUES[dtype], max_size=3)) if dtype else []
    feature = draw(strategies.features(dtype, values, odd=draw(st.booleans())))
    return draw(strategies.entries(name.encode(), feature, odd=draw(st.booleans()))).data


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Records of a few shapes, which change now and then: names go, come, swap and come twice."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))
    pool = {name: draw(st.lists(entries(name), min_size=1, max_size=3)) for name in names}
    random: Random = draw(st.randoms(use_true_random=False))
    shape, records = names, []
    for change in draw(st.lists(st.sampled_from("=====-+~!^"), min_size=3, max_size=30)):
        shape = changed(shape, names, change, random)
        features = b"".join(random.choice(pool[name]) for name in shape)
        record = wire.delimited(1, features)
        cut = random.randrange(len(record)) if change == "!" else len(record)
        records.append(record[:cut])
    return records


def changed(shape: Sequence[str], names: Sequence[str], change: str, random: Random) -> list[str]:
    """The shape of the next record."""
    place = random.randrange(len(shape) + 1)
    if change == "-":
        return [*shape[:place], *shape[place + 1 :]]
    if change == "+":
        return [*shape[:place], random.choice(names), *shape[place:]]
    if change == "~":
        return [*shape[place:], *shape[:place]]
    return list(names if change == "^" else shape)


@given(records=streams())
def test_a_stream_of_records_whose_names_change(records: list[bytes]) -> None:
    for record in records:
        assert found(record) == expected(record)
        # A SequenceExample's context is read the same way, and remembers the same names.
        wanted = expected(record)
        if wanted is not None:
            context, _ = tfrecs.decode_sequence_example(record, unknown_fields="ignore")
            assert context.keys() == names_in(record)


def names_in(record: bytes) -> set[str]:
    return {key.decode() for key in wire.decode(record)}


@given(data=st.data(), every=st.integers(1, 3))
def test_single_bytes_that_change(data: st.DataObject, every: int) -> None:
    """The same record again and again, sometimes damaged: the next one is as ever."""
    name = st.sampled_from(NAMES)
    row = data.draw(st.dictionaries(name, st.lists(st.integers(0, 300), max_size=3), min_size=1))
    record = tfrecs.encode_example(row)
    for place in range(0, len(record), max(1, len(record) // 20)):
        damaged = bytearray(record)
        damaged[place] ^= 1 << (place % 8)
        for one in [record] * every + [bytes(damaged)]:
            assert found(one) == expected(one)


def test_names_that_come_twice() -> None:
    """All records of three entries with two names, three times, and then the beginning of one."""
    entries = {name: wire.delimited(1, wire.delimited(1, name.encode())) for name in "ab"}
    for shape in product("ab", repeat=3):
        whole = [entries[name] for name in shape]
        for part in (whole[:1], whole[:2], whole[1:], whole):
            for features in (whole, whole, whole, part):
                record = wire.delimited(1, b"".join(features))
                assert found(record) == expected(record)


def test_more_names_than_are_remembered() -> None:
    for count in (500, 600, 1023, 1024, 1025, 3000):
        rows = [{f"name {i}": [i + step] for i in range(count)} for step in range(4)]
        rows[2] = dict(reversed(rows[2].items()))
        for row in rows:
            decoded = tfrecs.decode_example(tfrecs.encode_example(row))
            assert decoded == row
            assert list(decoded) == list(row)


def test_names_are_not_kept_for_ever() -> None:
    records = [
        tfrecs.encode_example({f"{i} {j}" + "n" * length: 1 for j in range(20)})
        for i in range(10)
        for length in (0, 100, 100_000)
    ]
    tracemalloc.start()
    try:
        for record in records:
            tfrecs.decode_example(record)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 500_000
    finally:
        tracemalloc.stop()


def test_records_are_decoded_while_one_is_decoded() -> None:
    """The garbage collector runs whenever a list is made, and what it calls decodes as well."""
    rows = [{f"{shape}{i}": [i, str(i).encode()][:1] for i in range(9)} for shape in "aab"]
    records = [tfrecs.encode_example(row) for row in rows]
    inner: list[bool] = []

    def collected(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            inner.append(tfrecs.decode_example(records[len(inner) % 3]) == rows[len(inner) % 3])

    thresholds = gc.get_threshold()
    gc.callbacks.append(collected)
    try:
        gc.set_threshold(1)
        outer = [tfrecs.decode_example(records[i % 3]) for i in range(300)]
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(collected)
    assert outer == [rows[i % 3] for i in range(300)]
    assert inner
    assert all(inner)


def test_each_thread_remembers_its_own() -> None:
    faults = []

    def decode(own: int) -> None:
        rows = [{f"{name}{own}": [own, i] for name in "abc"[: 1 + i % 3]} for i in range(50)]
        decoded = [tfrecs.decode_example(tfrecs.encode_example(row)) for row in rows * 20]
        if decoded != rows * 20:
            faults.append(own)

    threads = [threading.Thread(target=decode, args=(own,)) for own in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


# ---------------------------------------------------------------- encoding

INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 63).map(lambda bits: 2**bits)
FORMS = ("list", "tuple", "array", "strided", "scalars", "big-endian", "read-only", "object")
DTYPES = {
    "int64": ["i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "q", "l", "i"],
    "float32": ["f4", "f8", "f2", "g"],
}


@st.composite
def numbers(draw: st.DrawFn) -> tuple[str, list[Any], Any]:
    """A dtype, values, and the form in which they are handed in."""
    kind = draw(st.sampled_from(["int64", "float32"]))
    dtype = np.dtype(draw(st.sampled_from(DTYPES[kind])))
    size = draw(st.integers(0, 5) | st.integers(60, 200))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    if kind == "float32":
        values = (random.standard_normal(size) * 10).astype(dtype)
    else:
        bits = random.integers(0, min(8 * dtype.itemsize, 63), size, dtype=np.int64)
        values = (random.integers(-1, 2, size) * (1 << bits) + random.integers(0, 2, size)).astype(
            dtype
        )
        values[values.astype(object) > 2**63 - 1] = 0
    plain = [float(value) if kind == "float32" else int(value) for value in values]
    return kind, plain, in_form(draw(st.sampled_from(FORMS)), values, plain)


def in_form(form: str, values: Any, plain: list[Any]) -> Any:
    if form in {"list", "tuple"}:
        return {"list": list, "tuple": tuple}[form](plain)
    if form == "scalars":
        return list(values)
    if form == "strided":
        return np.repeat(values, 2)[::2]
    if form == "big-endian":
        return values.astype(values.dtype.newbyteorder(">"))
    if form == "object":
        return values.astype(object)
    values.flags.writeable = form != "read-only"
    return values


@given(row=st.dictionaries(st.sampled_from(NAMES), numbers(), max_size=4))
def test_numbers_in_every_form_are_the_same_bytes(
    row: dict[str, tuple[str, list[Any], Any]],
) -> None:
    features: dict[bytes, wire.Feature] = {}
    for name, (kind, values, form) in row.items():
        bits = [struct.unpack("<I", struct.pack("<f", value))[0] for value in values]
        # Python's lists of nothing have no kind; arrays of nothing have that of their type.
        has_kind = values or (isinstance(form, np.ndarray) and form.dtype != object)
        shown = bits if kind == "float32" else values
        features[name.encode()] = (kind if has_kind else None, shown)
    record = tfrecs.encode_example({name: form for name, (_, _, form) in row.items()})
    assert wire.decode(record) == features
    if features:
        assert record == wire.encode(features)


class Surprise(Sequence[int]):
    """An array by its own method, which does what it wants first."""

    def __init__(self, does: Any) -> None:
        self.does = does

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> Any:
        raise IndexError(index)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.does()
        return np.array([1, 2])


def test_rows_are_encoded_while_one_is_encoded() -> None:
    inside = []

    def encode() -> None:
        inside.append(tfrecs.encode_example({"inside": ["b"] * 9, "more": 2.5}))

    row = {"a": 1, "surprise": Surprise(encode), "z": "z"}
    for _ in range(3):
        record = tfrecs.encode_example(row)
        assert tfrecs.decode_example(record) == {"a": [1], "surprise": [1, 2], "z": [b"z"]}
    record = tfrecs.encode_sequence_example(row, {"steps": [1, Surprise(encode), [3]]})
    assert tfrecs.decode_sequence_example(record)[1] == {"steps": [[1], [1, 2], [3]]}
    assert all(
        tfrecs.decode_example(one) == {"inside": [b"b"] * 9, "more": [2.5]} for one in inside
    )


def test_a_mapping_that_its_own_values_change() -> None:
    row: dict[str, Any] = {"a": 1, "c": 3}
    row["b"] = Surprise(row.clear)
    row["d"] = 4
    record = tfrecs.encode_example(row)
    assert tfrecs.decode_example(record) == {"a": [1], "c": [3], "b": [1, 2], "d": [4]}
    assert row == {}


@pytest.mark.parametrize("bad", [2**63, object(), [1, "a"], "\ud800", [[1]], 1e300])
def test_nothing_is_left_of_a_row_that_failed(bad: Any) -> None:
    with pytest.raises(tfrecs.SpecError):
        tfrecs.encode_example({"good": [1] * 100, "bad": bad})
    assert tfrecs.decode_example(tfrecs.encode_example({"x": [1.5]})) == {"x": [1.5]}
    with pytest.raises(tfrecs.SpecError):
        tfrecs.encode_sequence_example({"good": 1}, {"fine": [1, 2], "bad": [[1], bad]})
    record = tfrecs.encode_sequence_example({"x": 1}, {"y": [2]})
    assert tfrecs.decode_sequence_example(record) == ({"x": [1]}, {"y": [[2]]})


def test_large_rows_and_small_ones() -> None:
    for size in (10, 127, 128, 16_383, 16_384, 300_000, 3_000_000, 5):
        row = {"image": b"x" * size, "label": 1, "text": "é" * size}
        wanted = {"image": [row["image"]], "label": [1], "text": [("é" * size).encode()]}
        assert tfrecs.decode_example(tfrecs.encode_example(row)) == wanted
        record = tfrecs.encode_sequence_example(row, {"steps": [b"x" * size] * 2})
        assert tfrecs.decode_sequence_example(record)[1] == {"steps": [[b"x" * size]] * 2}


class Lying(dict[str, Any]):
    """A dict whose items are others than it holds."""

    def items(self) -> Any:
        return [("a", 1), ("b", "two")]


class Narrow(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __getitem__(self, name: str) -> Any:
        return {"b": "two", "a": 1}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(["a", "b"])

    def __len__(self) -> int:
        return 2


@pytest.mark.parametrize("mapping", [Lying(c=3), Narrow(), MappingProxyType({"a": 1, "b": "two"})])
def test_mappings_go_by_their_own_items(mapping: Mapping[str, Any]) -> None:
    record = tfrecs.encode_example({"a": 1, "b": "two"})
    assert tfrecs.encode_example(mapping) == record
    assert tfrecs.encode_example(mapping, sort_keys=True) == record


class Backwards(str):
    """Text that sorts the other way."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str(self) > str(other)


def test_names_sort_as_python_sorts_them() -> None:
    names = ["\U00010000", "\uffff", "é", "z", "Z", "", "z\0"]
    record = tfrecs.encode_example(dict.fromkeys(names, 1), sort_keys=True)
    assert list(tfrecs.decode_example(record)) == sorted(names)
    mapping: dict[str, int] = {Backwards(name): 1 for name in names}
    record = tfrecs.encode_example(mapping, sort_keys=True)
    assert list(tfrecs.decode_example(record)) == sorted(names, reverse=True)
    with pytest.raises(TypeError, match="not supported between"):
        tfrecs.encode_example({"a": 1, 1: 1}, sort_keys=True)  # type: ignore[dict-item]
