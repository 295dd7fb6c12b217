"""decode_batch and Batch: the columns are right, are views, and other libraries take them."""

import gc
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs import BytesArray, FixedLenFeature, RaggedTensor, VarLenFeature

pa = needs.optional("pyarrow")

INT64 = st.integers(-(2**63), 2**63 - 1)
VALUES = {"i": INT64, "f": st.floats(width=32, allow_nan=False), "b": st.binary(max_size=5)}
EXAMPLES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            name: st.lists(values, min_size=1, max_size=3) for name, values in VALUES.items()
        },
    ),
    max_size=6,
)


def encoded(rows: list[dict[str, Any]]) -> list[bytes]:
    return [tfrecs.encode_example(row) for row in rows]


@given(rows=EXAMPLES)
def test_without_a_spec(rows: list[dict[str, list[Any]]]) -> None:
    for records in (encoded(rows), tfrecs.Records(encoded(rows))):
        batch = tfrecs.decode_batch(records)
        names = list(dict.fromkeys(name for row in rows for name in row))
        assert (list(batch), batch.num_rows, len(batch)) == (names, len(rows), len(names))
        for name, column in batch.items():
            assert isinstance(column, RaggedTensor)
            assert column.tolist() == [row.get(name) for row in rows]


@given(rows=EXAMPLES)
def test_there_and_back(rows: list[dict[str, list[Any]]]) -> None:
    batch = tfrecs.decode_batch(encoded(rows))
    for columns in (batch, dict(batch), pa.record_batch(batch), pa.table(batch)):
        if columns or not rows:
            found = [tfrecs.decode_example(record) for record in tfrecs.encode_batch(columns)]
            assert found == rows


SPEC: dict[str, FixedLenFeature | VarLenFeature] = {
    "x": FixedLenFeature([2, 2], "float32"),
    "n": FixedLenFeature([], "int64", default_value=-1),
    "s": FixedLenFeature([2], "string", default_value=["p", "q"]),
    "v": VarLenFeature("int64"),
}
ROWS: list[dict[str, Any]] = [
    {"x": [1.0, 2.0, 3.0, 4.0], "n": 5, "s": ["a", "bc"], "v": [1, 2]},
    {"x": [5.0, 6.0, 7.0, 8.0], "unasked": "?"},
    {"x": [0.0] * 4, "v": [3]},
]


def test_with_a_spec() -> None:
    batch = tfrecs.decode_batch(encoded(ROWS), SPEC)
    assert list(batch) == ["x", "n", "s", "v"]
    x, n, s, v = batch.values()
    assert isinstance(x, np.ndarray)
    assert isinstance(n, np.ndarray)
    assert isinstance(s, BytesArray)
    assert isinstance(v, RaggedTensor)
    assert (x.shape, n.shape) == ((3, 2, 2), (3,))
    assert x.dtype == np.float32
    assert n.dtype == np.int64
    assert x.tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[0, 0], [0, 0]]]
    assert n.tolist() == [5, -1, -1]
    assert s.tolist() == [[b"a", b"bc"], [b"p", b"q"], [b"p", b"q"]]
    assert v.tolist() == [[1, 2], None, [3]]
    assert "unasked" not in batch
    with pytest.raises(KeyError):
        batch["unasked"]


def test_no_records() -> None:
    batch = tfrecs.decode_batch([], SPEC)
    assert (batch.num_rows, len(batch)) == (0, 4)
    for name, shape in {"x": (0, 2, 2), "n": (0,), "s": (0, 2)}.items():
        column = batch[name]
        assert not isinstance(column, RaggedTensor)
        assert column.shape == shape
    assert batch["v"].tolist() == []
    assert len(tfrecs.encode_batch(batch)) == 0
    assert pa.record_batch(batch).num_rows == 0
    nothing = tfrecs.decode_batch([])
    assert (nothing.num_rows, len(nothing), list(nothing)) == (0, 0, [])


def test_records_without_features() -> None:
    batch = tfrecs.decode_batch([b"", b"", b""])
    assert (batch.num_rows, len(batch)) == (3, 0)
    assert pa.record_batch(batch).num_rows == 3
    assert list(tfrecs.encode_batch(batch)) == [b"", b"", b""]


def test_features_that_never_have_a_value() -> None:
    batch = tfrecs.decode_batch(encoded([{"a": []}, {"b": 1}]))
    assert batch["a"].tolist() == [None, None]
    assert pa.record_batch(batch).column("a").null_count == 2
    assert [tfrecs.decode_example(r) for r in tfrecs.encode_batch(batch)] == [{}, {"b": [1]}]


def test_two_kinds_of_one_feature() -> None:
    with pytest.raises(tfrecs.ParseError, match="Data types don't match") as caught:
        tfrecs.decode_batch(encoded([{"a": 1}, {}, {"a": "x"}]))
    assert (caught.value.feature, caught.value.record) == ("a", 2)


def test_what_are_no_records() -> None:
    for wrong in (b"bytes", "text", 5, None, [1], ["a"], [None]):
        with pytest.raises(TypeError):  # noqa: PT011 - several texts
            tfrecs.decode_batch(wrong)  # type: ignore[arg-type]


def test_columns_are_made_once_and_outlive_the_batch() -> None:
    batch = tfrecs.decode_batch(encoded(ROWS), SPEC)
    x, s, v = batch["x"], batch["s"], batch["v"]
    assert batch["x"] is x
    table = pa.record_batch(batch)
    del batch
    gc.collect()
    assert x.tolist()[1] == [[5, 6], [7, 8]]
    assert (s.tolist()[0], v.tolist()) == ([b"a", b"bc"], [[1, 2], None, [3]])
    assert table.column("n").to_pylist() == [5, -1, -1]


def test_repr() -> None:
    text = repr(tfrecs.decode_batch(encoded(ROWS), SPEC))
    lines = text.splitlines()
    assert "3 rows, 4 columns" in lines[0]
    assert [line.split(":")[0].strip() for line in lines[1:]] == list(SPEC)
    assert repr(tfrecs.decode_batch([])).startswith("Batch of 0 rows")


# ---------------------------------------------------------------- other libraries


def table_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What ROWS are under SPEC, in Arrow's terms."""
    return [
        {
            "x": [row["x"][:2], row["x"][2:]],
            "n": row.get("n", -1),
            "s": [text.encode() for text in row.get("s", ["p", "q"])],
            "v": row.get("v"),
        }
        for row in rows
    ]


def test_pyarrow() -> None:
    batch = tfrecs.decode_batch(encoded(ROWS), SPEC)
    for table in (pa.record_batch(batch), pa.table(batch), pa.RecordBatchReader.from_stream(batch)):
        whole = table.read_all() if hasattr(table, "read_all") else table
        whole.validate(full=True)
        assert whole.to_pylist() == table_rows(ROWS)
    assert pa.schema(batch).names == list(SPEC)


def test_single_columns() -> None:
    batch = tfrecs.decode_batch(encoded(ROWS), SPEC)
    assert pa.array(batch["s"]).to_pylist() == [row["s"] for row in table_rows(ROWS)]
    assert pa.array(batch["v"]).to_pylist() == [[1, 2], None, [3]]
    strings = BytesArray.from_values(["x", "a", "b"])
    for part in (strings, strings[1:], strings[[2, 0]], strings[:0]):
        array = pa.array(part)
        array.validate(full=True)
        assert array.to_pylist() == part.tolist()
    made = RaggedTensor.from_rows([[1], None, [2, 3], []])
    for rows in (made, made[1:], made[:0], RaggedTensor.from_rows([["a"], ["b", "c"]])):
        array = pa.array(rows)
        array.validate(full=True)
        assert array.to_pylist() == rows.tolist()


def test_bytes_arrays_of_more_dimensions() -> None:
    array = BytesArray.from_values([b"%d" % n for n in range(8)])
    for shape in ((4, 2), (2, 2, 2), (8, 1), (2, 4)):
        shaped = array.reshape(shape)
        assert pa.array(shaped).to_pylist() == shaped.tolist()
        assert pa.array(shaped[1:]).to_pylist() == shaped[1:].tolist()


def test_polars() -> None:
    pl = needs.optional("polars")
    frame = pl.DataFrame(tfrecs.decode_batch(encoded(ROWS), SPEC))
    assert frame.to_dicts() == table_rows(ROWS)
    back = tfrecs.decode_batch(tfrecs.encode_batch(frame), SPEC)
    assert pa.record_batch(back).to_pylist() == table_rows(ROWS)


def test_pandas() -> None:
    pd = needs.optional("pandas")
    flat = {name: feature for name, feature in SPEC.items() if name == "n"}
    batch = tfrecs.decode_batch(encoded(ROWS), flat)
    frame = pd.DataFrame.from_arrow(batch) if hasattr(pd.DataFrame, "from_arrow") else None
    if frame is None:
        frame = pa.table(batch).to_pandas()
    assert frame["n"].tolist() == [5, -1, -1]
    assert list(tfrecs.encode_batch(frame)) == list(tfrecs.encode_batch(batch))


def test_duckdb() -> None:
    duckdb = needs.optional("duckdb")
    batch = tfrecs.decode_batch(encoded(ROWS), SPEC)
    found = duckdb.sql("select sum(n), count(v), max(s[1]) from batch").fetchall()
    assert found == [(3, 2, b"p")]
    assert batch.num_rows == 3


# ---------------------------------------------------------------- without copying


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_nothing_is_copied() -> None:
    batch = tfrecs.decode_batch(encoded(ROWS), SPEC)
    table = pa.record_batch(batch)
    x, n, s, v = (batch[name] for name in SPEC)
    assert isinstance(s, BytesArray)
    assert isinstance(v, RaggedTensor)
    assert table.column("n").buffers()[1].address == address(n)
    assert table.column("x").values.values.buffers()[1].address == address(x)
    leaf = table.column("s").values
    assert [b.address for b in leaf.buffers()[1:]] == [address(s.offsets), address(s.data)]
    assert table.column("v").buffers()[1].address == address(v.row_splits)
    assert table.column("v").values.buffers()[1].address == address(v.values)
    assert pa.array(s).values.buffers()[2].address == address(s.data)
    assert pa.array(v).values.buffers()[1].address == address(v.values)
    assert address(np.asarray(x)) == address(x)


def test_columns_are_writable_and_aligned() -> None:
    batch = tfrecs.decode_batch(encoded(ROWS), SPEC)
    x, n = batch["x"], batch["n"]
    assert isinstance(x, np.ndarray)
    assert isinstance(n, np.ndarray)
    for array in (x, n):
        assert array.flags.c_contiguous
        assert array.flags.aligned
        assert array.flags.writeable
