"""encode_batch from NumPy and Python: each row is what encode_example makes of that row."""

import struct
import threading
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tfrecs
from tfrecs import BytesArray, RaggedTensor, decode_example, encode_batch, encode_example

INTS = ["?", "i1", "i2", ">i2", "i4", ">i4", "i8", ">i8", "u1", "u2", ">u2", "u4", ">u4"]
FLOATS = ["f2", ">f2", "f4", ">f4"]
TEXTS = ["S3", "U3", ">U2"]


def bits(items: list[Any]) -> list[Any]:
    return [struct.pack("<f", item) if isinstance(item, float) else item for item in items]


def rows_of(records: tfrecs.Records) -> list[dict[str, list[Any]]]:
    return [{k: bits(v) for k, v in decode_example(record).items()} for record in records]


def objects(items: list[Any]) -> Any:
    array = np.empty(len(items), np.object_)
    array[:] = items
    return array


@st.composite
def columns(draw: st.DrawFn, rows: int) -> tuple[Any, list[Any]]:
    """A column of `rows` rows, and what each row is for encode_example."""
    form = draw(st.sampled_from(["array", "bytes", "ragged", "lists", "scalars", "objects"]))
    if form == "array":
        dtype = np.dtype(draw(st.sampled_from(INTS + FLOATS + TEXTS)))
        shape = (rows, *draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)))
        if dtype.kind == "U":
            letters = st.text("aé日", max_size=dtype.itemsize // 4)
            array = draw(hnp.arrays(dtype, shape, elements=letters))
        else:
            array = draw(hnp.arrays(dtype, shape))
        if draw(st.booleans()):
            array = np.ascontiguousarray(array[::-1])[::-1]
        if draw(st.booleans()):
            array = np.asfortranarray(array)
        return array, [row.ravel() if np.ndim(row) else row for row in array]
    if form == "bytes":
        each = draw(st.integers(0, 2))
        flat = draw(st.lists(st.binary(max_size=3), min_size=rows * each, max_size=rows * each))
        strings = BytesArray.from_values([b"x", *flat])[1:].reshape(rows, each)
        return strings, [flat[n * each : (n + 1) * each] for n in range(rows)]
    values = draw(
        st.sampled_from([st.integers(-(2**63), 2**63 - 1), st.floats(width=32), st.binary()])
    )
    if form == "scalars":
        items = draw(st.lists(values, min_size=rows, max_size=rows))
        return items, items
    lists = st.lists(values, min_size=1, max_size=3)
    items = draw(st.lists(st.none() | lists, min_size=rows, max_size=rows))
    if form == "ragged":
        return RaggedTensor.from_rows([[1] if items[:1] == [b""] else None, *items])[1:], items
    if form == "objects":
        return objects(items), items
    return items, items


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, dict[str, tuple[Any, list[Any]]]]:
    rows = draw(st.integers(0, 4))
    return rows, draw(st.dictionaries(st.text(), columns(rows), min_size=1, max_size=4))


@given(table=tables())
def test_row_by_row(table: tuple[int, dict[str, tuple[Any, list[Any]]]]) -> None:
    rows, given_columns = table
    records = encode_batch({name: column for name, (column, _) in given_columns.items()})
    expected = [
        encode_example({name: values[n] for name, (_, values) in given_columns.items()})
        for n in range(rows)
    ]
    assert rows_of(records) == rows_of(tfrecs.Records(expected))


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, "u8", ">u8", "f8", ">f8", "g"])
def test_every_number_type(dtype: str) -> None:
    array = np.array([[0, 1], [1, 1]]).astype(dtype)
    records = encode_batch({"a": array, "b": array[:, 0], "c": array[::-1, ::-1]})
    kind = float if np.dtype(dtype).kind == "f" else int
    rows = [decode_example(record) for record in records]
    assert rows == [{"a": [0, 1], "b": [0], "c": [1, 1]}, {"a": [1, 1], "b": [1], "c": [1, 0]}]
    assert {type(item) for row in rows for items in row.values() for item in items} == {kind}


def test_the_extremes() -> None:
    ints = [2**63 - 1, -(2**63), 0]
    floats = [np.nan, np.inf, -0.0]
    records = encode_batch(
        {"i": np.array(ints), "f": np.array(floats), "u": np.array([2**63 - 1] * 3, np.uint64)}
    )
    rows = [decode_example(record) for record in records]
    assert [row["i"] for row in rows] == [[n] for n in ints]
    assert [bits(row["f"]) for row in rows] == [bits([value]) for value in floats]
    assert [row["u"] for row in rows] == [[2**63 - 1]] * 3


def test_missing_rows() -> None:
    table = {
        "list": [[1], None, []],
        "scalar": [1, None, 3],
        "text": ["a", None, "c"],
        "object": np.array(["a", None, b"c"], object),
        "ragged": RaggedTensor.from_rows([["x"], None, ["y", "z"]]),
        "nothing": [None, None, None],
    }
    rows = [decode_example(record) for record in encode_batch(table)]
    assert rows == [
        {"list": [1], "scalar": [1], "text": [b"a"], "object": [b"a"], "ragged": [b"x"]},
        {},
        {"list": [], "scalar": [3], "text": [b"c"], "object": [b"c"], "ragged": [b"y", b"z"]},
    ]


def test_nothing_at_all() -> None:
    assert len(encode_batch({})) == 0
    assert len(encode_batch({"a": [], "b": np.zeros((0, 3)), "c": BytesArray.from_values([])})) == 0


WRONG: dict[str, tuple[Any, str]] = {
    "too large": ([2**63, 0], r"int64|range"),
    "too small": ([-(2**63) - 1, 0], r"int64|range"),
    "far too large": ([2**64, 10**30], r"int64|range"),
    "too large beside negative": ([2**63, -1], r"int64|range"),
    "too large in a list": ([[2**63], [0]], r"int64|range"),
    "uint64": (np.array([2**63, 0], np.uint64), "int64"),
    "float": (np.array([1e39, 0]), "float32"),
    "float in a list": ([[1e39], [0.0]], "float32"),
    "complex": (np.array([1j, 0]), "complex"),
    "dates": (np.array(["2020-01-01", "2020-01-02"], "M8[D]"), "datetime64"),
    "objects": ([object(), object()], "object"),
    "object array": (np.array([object(), object()]), "object"),
    "records": (np.zeros(2, "i4,f4"), "cannot be a feature"),
    "a scalar": (np.int64(5), "scalar"),
    "a number": (5, "int|scalar|column"),
    "text": ("ab", "str|column"),
    "bytes": (b"ab", "bytes|column"),
    "mixed": (["a", 1], "kind"),
    "mixed the other way": ([1, "a"], "kind"),
    "mixed bytes": ([b"a", 1.5], "kind"),
    "mixed numbers": ([1, 2.5], "kind"),
    "mixed within": ([[1, "a"], [2]], "kind"),
    "mixed between": ([[1], ["a"]], "kind"),
    "mixed lists of numbers": ([[1], [2.5]], "kind"),
    "mixed objects": (np.array(["a", 7], object), "kind"),
    "mixed with none": ([None, "a", 7][1:], "kind"),
    "nested": ([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "flat|shape|nested"),
    "nested unevenly": ([[1, [2]], [3]], "flat|shape|nested|list"),
    "none within": ([[1, None], [2]], "None"),
}


@pytest.mark.parametrize("name", WRONG)
def test_columns_that_make_no_sense(name: str) -> None:
    column, why = WRONG[name]
    with pytest.raises(tfrecs.SpecError, match=why) as caught:
        encode_batch({"größe": column})
    assert caught.value.feature == "größe"


def test_arrays_in_a_list_are_flattened_or_refused() -> None:
    """Two rows of four values each; half of them must not get lost."""
    try:
        records = encode_batch({"a": [np.arange(4).reshape(2, 2), np.arange(4, 8).reshape(2, 2)]})
    except tfrecs.SpecError as error:
        assert error.feature == "a"
    else:
        assert rows_of(records) == [{"a": [0, 1, 2, 3]}, {"a": [4, 5, 6, 7]}]


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_other_bytes_are_bytes(kind: Any) -> None:
    records = encode_batch({"a": [kind(b"ab"), kind(b"cd")], "b": [b"x", kind(b"yz")]})
    assert rows_of(records) == [{"a": [b"ab"], "b": [b"x"]}, {"a": [b"cd"], "b": [b"yz"]}]


def test_masked_values_are_missing_or_refused() -> None:
    masked = np.ma.MaskedArray([1, 99], mask=[False, True])
    try:
        records = encode_batch({"a": masked})
    except tfrecs.SpecError as error:
        assert error.feature == "a"
    else:
        assert rows_of(records) == [{"a": [1]}, {}]


def test_numpys_variable_length_strings() -> None:
    if not hasattr(np.dtypes, "StringDType"):
        needs.missing("a NumPy with StringDType")
    records = encode_batch({"a": np.array(["a", "bcd"], np.dtypes.StringDType())})
    assert rows_of(records) == [{"a": [b"a"]}, {"a": [b"bcd"]}]


def test_names() -> None:
    table: Any = {1: [1, 2]}
    with pytest.raises(tfrecs.SpecError, match="name"):
        encode_batch(table)
    assert rows_of(encode_batch({"": [1], "日本": [2]})) == [{"": [1], "日本": [2]}]


@pytest.mark.parametrize("table", [{"a": [1, 2], "b": [1]}, {"a": [], "b": np.zeros((1, 0))}])
def test_columns_of_different_lengths(table: dict[str, Any]) -> None:
    with pytest.raises(tfrecs.SpecError, match="different lengths"):
        encode_batch(table)


@pytest.mark.parametrize("table", [None, 5, "abc", [1, 2], [("a", [1])], np.zeros(3)])
def test_what_is_no_table(table: Any) -> None:
    with pytest.raises(tfrecs.SpecError, match="mapping"):
        encode_batch(table)


def test_ragged_columns_whose_parts_disagree() -> None:
    values = np.arange(3)
    for splits in ([0, 4], [0, 2, 1], [-1, 2], [1, 9]):
        with pytest.raises((tfrecs.SpecError, TypeError), match=r"row_splits|consistent|offset"):
            encode_batch({"a": RaggedTensor(values, np.array(splits))})
    missing = np.array([True])
    with pytest.raises(tfrecs.SpecError, match=r"consistent|missing"):
        encode_batch({"a": RaggedTensor(values, np.array([0, 1, 3]), missing)})


def test_bytes_columns_whose_parts_disagree() -> None:
    data = np.frombuffer(b"abc", np.uint8)
    for offsets in ([0, 4], [0, 2, 1], [-1, 2]):
        with pytest.raises((tfrecs.SpecError, TypeError), match=r"offset|consistent"):
            encode_batch({"a": BytesArray(data, np.array(offsets))})


def test_written_and_read_again(tmp_path: Any) -> None:
    table = {
        "x": np.random.default_rng(0).normal(size=(1000, 3)).astype("f4"),
        "n": np.arange(1000),
    }
    with tfrecs.RecordWriter(tmp_path / "a") as out:
        out.write_batch(encode_batch(table))
    spec = {"x": tfrecs.FixedLenFeature([3], "float32"), "n": tfrecs.FixedLenFeature([], "int64")}
    batch = tfrecs.decode_batch(tfrecs.RecordReader(tmp_path / "a").read_batch(10**4), spec)
    np.testing.assert_array_equal(batch["x"], table["x"])
    np.testing.assert_array_equal(batch["n"], table["n"])


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize(
    "part",
    [
        slice(None),
        slice(300, 900),
        slice(5, 5),
        slice(None, None, 2),
        slice(None, None, -1),
        [3, 1],
    ],
)
def test_batches_are_written_as_their_records_are(
    tmp_path: Any, compression: str, part: Any
) -> None:
    table = {
        "n": np.arange(1000) ** 3,
        "s": [str(n) * (n % 50) for n in range(1000)],
        "e": [[]] * 1000,
    }
    records = encode_batch(table)[part]
    for name, parts in (("batch", [records]), ("ones", [[record] for record in records])):
        with tfrecs.RecordWriter(tmp_path / name, compression) as out:
            out.write(b"before")
            for some in parts:
                out.write_batch(some)
            out.write_batch(encode_batch({"a": [None, 1]}))
            assert out.num_records == 3 + len(records)
    assert (tmp_path / "batch").read_bytes() == (tmp_path / "ones").read_bytes()
    assert list(tfrecs.RecordReader(tmp_path / "batch", compression))[1:-2] == list(records)


def test_columns_that_change_while_they_are_encoded() -> None:
    """Numbers between one and ten bytes long, changed by another thread without the GIL."""
    numbers = np.zeros(200_000, np.int64)
    lists = np.zeros((2_000, 100), np.int64)
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            for value in (0, -1, 1 << 40):
                numbers.fill(value)
                lists.fill(value)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            for column in (numbers, lists):
                try:
                    records = encode_batch({"a": column})
                except tfrecs.StateError as error:
                    assert "changed while they were encoded" in str(error)
                else:
                    assert len(records) == len(column)
    finally:
        done.set()
        thread.join()


def test_arrays_are_encoded_as_they_are_when_they_are_encoded() -> None:
    numbers, data = np.arange(3), np.frombuffer(b"abc", np.uint8).copy()
    strings = BytesArray(data, np.arange(4))
    records = encode_batch({"n": numbers, "s": strings})
    numbers[:], data[:] = 9, 0
    assert [decode_example(record) for record in records] == [
        {"n": [n], "s": [s]} for n, s in enumerate([b"a", b"b", b"c"])
    ]
