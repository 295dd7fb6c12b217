"""encode_batch from everything that speaks Arrow: each row is what encode_example makes of it."""

import datetime as dt
import decimal
import subprocess
import sys
from typing import Any

import needs
import numpy as np
import pytest

import tfrecs
from tfrecs import decode_example, encode_batch

pa = needs.optional("pyarrow")


def rows_of(records: tfrecs.Records) -> list[dict[str, Any]]:
    return [decode_example(record) for record in records]


def expected(column: list[Any]) -> list[dict[str, Any]]:
    """Row by row, nulls being missing."""
    return [decode_example(tfrecs.encode_example({"a": value})) for value in column]


INTS = [1, None, -2, 3, 0]
UINTS = [1, None, 2, 3, 0]
FLOATS = [0.5, None, -2.0, float("inf"), 0.0]
TEXTS = ["a", None, "", "éé", "a long string that is not inlined"]
BYTES = [b"a", None, b"", b"\xff\0", b"long bytes that are not inlined"]
FIXED = [b"ab", None, b"cd", b"\0\0", b"ef"]
LISTS = [[1, 2], None, [], [3], [4, 5, 6]]
PAIRS = [[1, 2], None, [3, 4], [5, 6], [7, 8]]
NAMES = [["a", "b"], None, [], ["c"], ["d"]]

TYPES: list[tuple[Any, list[Any]]] = [
    *((kind, INTS) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    *((kind, UINTS) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
    *((kind, FLOATS) for kind in (pa.float16(), pa.float32(), pa.float64())),
    (pa.bool_(), [True, None, False, True, False]),
    *((kind, TEXTS) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((kind, BYTES) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())),
    (pa.binary(2), FIXED),
    (pa.null(), [None] * 5),
    *((kind, LISTS) for kind in (pa.list_(pa.int32()), pa.large_list(pa.int64()))),
    (pa.list_(pa.float64()), [[0.5], None, [], [1.5, 2.5], [0.0]]),
    (pa.list_(pa.bool_()), [[True], None, [], [False, True], [True]]),
    *((pa.list_(kind), NAMES) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    (pa.list_(pa.binary(1)), [[b"a"], None, [], [b"b", b"c"], [b"d"]]),
    *((pa.list_(kind, 2), PAIRS) for kind in (pa.int8(), pa.int64(), pa.uint64())),
    (pa.list_(pa.string(), 1), [["a"], None, ["b"], ["c"], ["d"]]),
    (pa.list_(pa.int64(), 0), [[], None, [], [], []]),
    *((pa.dictionary(index, pa.string()), TEXTS) for index in (pa.int8(), pa.uint32(), pa.int64())),
    (pa.dictionary(pa.int16(), pa.int64()), INTS),
    (pa.dictionary(pa.int16(), pa.float64()), FLOATS),
    (pa.list_(pa.dictionary(pa.int8(), pa.string())), NAMES),
]


def typed(kind: Any, values: list[Any]) -> Any:
    if pa.types.is_float16(kind):
        values = [None if value is None else np.float16(value) for value in values]
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


@pytest.mark.parametrize(("kind", "values"), TYPES, ids=lambda part: str(part)[:40])
def test_every_type(kind: Any, values: list[Any]) -> None:
    array, wanted = typed(kind, values), expected(values)
    table = pa.table({"a": array})
    assert rows_of(encode_batch(table)) == wanted
    assert rows_of(encode_batch(table.to_batches()[0])) == wanted
    assert (
        rows_of(encode_batch(pa.RecordBatchReader.from_batches(table.schema, table.to_batches())))
        == wanted
    )
    for begin in range(6):
        for length in range(6 - begin):
            part = table.slice(begin, length)
            assert rows_of(encode_batch(part)) == wanted[begin : begin + length]
            sliced = pa.table({"a": array.slice(begin, length)})
            assert rows_of(encode_batch(sliced)) == wanted[begin : begin + length]
    chunks = pa.chunked_array([array, array.slice(0, 0), array.slice(2), array.slice(1, 2)])
    assert rows_of(encode_batch(pa.table({"a": chunks}))) == wanted + wanted[2:] + wanted[1:3]


@pytest.mark.parametrize("depth", [2, 3])
def test_fixed_size_lists_of_fixed_size_lists(depth: int) -> None:
    kind, value = pa.int64(), 1
    values: Any = value
    for _ in range(depth):
        kind, values = pa.list_(kind, 2), [values, values]
    table = pa.table({"a": pa.array([values, None, values], kind)})
    assert rows_of(encode_batch(table)) == [{"a": [1] * 2**depth}, {}, {"a": [1] * 2**depth}]
    assert rows_of(encode_batch(table.slice(1))) == [{}, {"a": [1] * 2**depth}]


def test_several_columns_keep_their_order() -> None:
    table = pa.table({"z": [1, 2], "a": ["x", None], "m": [[0.5], []]})
    rows = rows_of(encode_batch(table))
    assert rows == [{"z": [1], "a": [b"x"], "m": [0.5]}, {"z": [2], "m": []}]
    assert [list(row) for row in rows] == [["z", "a", "m"], ["z", "m"]]


@pytest.mark.parametrize("rows", [0, 3])
def test_tables_without_rows_or_columns(rows: int) -> None:
    assert len(encode_batch(pa.table({"a": pa.array([1] * rows, pa.int64())}))) == rows
    empty = pa.table({"a": [1] * rows}).select([])
    assert list(encode_batch(empty)) == [b""] * empty.num_rows


REFUSED: list[tuple[Any, list[Any], str]] = [
    (pa.uint64(), [1, 2**63], "int64"),
    (pa.float64(), [1.0, 1e39], "float32"),
    (pa.list_(pa.uint64()), [[1], [2**63]], "int64"),
    (pa.date32(), [dt.date(2020, 1, 1)], "cannot be a feature"),
    (pa.timestamp("us"), [dt.datetime(2020, 1, 1)], "cannot be a feature"),  # noqa: DTZ001
    (pa.duration("s"), [dt.timedelta(1)], "cannot be a feature"),
    (pa.time32("s"), [dt.time(1)], "cannot be a feature"),
    (pa.decimal128(5, 2), [decimal.Decimal("1.5")], "cast it"),
    (pa.struct([("x", pa.int64())]), [{"x": 1}], "each of its fields"),
    (pa.map_(pa.string(), pa.int64()), [{"x": 1}], "cannot be a feature"),
    (pa.list_(pa.list_(pa.int64())), [[[1], [2, 3]]], "flatten"),
    (pa.list_(pa.list_(pa.int64(), 2)), [[[1, 2]]], "flatten"),
    (pa.list_(pa.list_(pa.int64()), 1), [[[1, 2]]], "flatten"),
    (pa.list_(pa.int64()), [[1], [1, None]], "null"),
    (pa.list_(pa.string(), 2), [["a", None]], "null"),
    (pa.list_(pa.list_(pa.int64(), 2), 2), [[[1, 2], None]], "null"),
]


@pytest.mark.parametrize(("kind", "values", "why"), REFUSED, ids=lambda part: str(part)[:40])
def test_what_is_refused(kind: Any, values: list[Any], why: str) -> None:
    table = pa.table({"fine": [0] * len(values), "größe": pa.array(values, kind)})
    with pytest.raises(tfrecs.SpecError, match=why) as caught:
        encode_batch(table)
    assert caught.value.feature == "größe"


def test_what_a_null_hides_does_not_matter() -> None:
    """Whatever stands where nothing is."""
    mask = np.array([False, True])
    hidden = pa.array(np.array([1, 2**63], np.uint64), mask=mask)
    assert rows_of(encode_batch(pa.table({"a": hidden}))) == [{"a": [1]}, {}]
    hidden = pa.array(np.array([1.0, 1e300]), mask=mask)
    assert rows_of(encode_batch(pa.table({"a": hidden}))) == [{"a": [1.0]}, {}]


def test_the_row_of_an_error_counts_over_all_chunks() -> None:
    chunks = pa.chunked_array([[[1], [2]], [[3], [4, None]]])
    with pytest.raises(tfrecs.SpecError) as caught:
        encode_batch(pa.table({"a": chunks}))
    assert (caught.value.feature, caught.value.record) == ("a", 3)


def test_two_columns_of_one_name_are_refused() -> None:
    """In an Example only the last of them would count."""
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(tfrecs.SpecError, match="a") as caught:
        encode_batch(table)
    assert caught.value.feature == "a"


def test_an_array_that_is_no_table() -> None:
    with pytest.raises(tfrecs.SpecError, match="table"):
        encode_batch(pa.array([1, 2]))
    structs = pa.array([{"a": 1}, {"a": 2}])
    assert rows_of(encode_batch(structs)) == [{"a": [1]}, {"a": [2]}]


def test_a_stream_that_fails() -> None:
    def batches() -> Any:
        yield pa.record_batch({"a": [1]})
        raise OSError("the disk is gone")

    stream = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())
    with pytest.raises(tfrecs.Error, match="the disk is gone"):
        encode_batch(stream)


NESTED = """
import sys
import pyarrow as pa, tfrecs

def nested(levels):
    column = pa.array([1])
    for _ in range(levels):
        column = pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column)
    return column

column = nested(int(sys.argv[1]))
table = pa.table({"deep": column})
for given in (
    table, table.to_batches()[0], table.to_reader(), {"deep": column}, {"deep": table["deep"]}
):
    for encode in (tfrecs.encode_batch, tfrecs.encode_sequence_batch):
        try:
            encode(given)
        except (tfrecs.SpecError, TypeError) as error:
            print(str(error)[:80])
"""


@pytest.mark.parametrize("levels", [65, 66, 1000, 4000])
def test_columns_nested_deeply_are_refused(levels: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NESTED, str(levels)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == 10
    assert lines[0] == 'feature "deep": an Arrow column nested more than 64 levels deep'


def test_arrow_arrays_as_columns_of_a_mapping() -> None:
    """They are read, or refused; but not as something else."""
    for column in (pa.array([1, None]), pa.chunked_array([[1], [None]])):
        try:
            records = encode_batch({"a": column})
        except tfrecs.SpecError as error:
            assert error.feature == "a"
        else:
            assert rows_of(records) == [{"a": [1]}, {}]


# ---------------------------------------------------------------- other libraries

TABLE: dict[str, list[Any]] = {
    "int": [1, 2, 3],
    "float": [0.5, 1.5, -2.0],
    "text": ["a", "", "é"],
    "list": [[1, 2], [], [3]],
    "bool": [True, False, True],
}
ROWS = [
    decode_example(tfrecs.encode_example({name: column[n] for name, column in TABLE.items()}))
    for n in range(3)
]


def test_polars() -> None:
    pl = needs.optional("polars")
    frame = pl.DataFrame(TABLE)
    assert rows_of(encode_batch(frame)) == ROWS
    assert rows_of(encode_batch(frame[1:])) == ROWS[1:]
    assert rows_of(encode_batch(pl.concat([frame, frame], rechunk=False))) == ROWS * 2
    odd = pl.DataFrame(
        {
            "category": pl.Series(["a", None, "a"], dtype=pl.Categorical),
            "enum": pl.Series(["x", "y", None], dtype=pl.Enum(["x", "y"])),
            "array": pl.Series([[1, 2], [3, 4], None], dtype=pl.Array(pl.Int16, 2)),
            "bytes": [b"\xff", None, b""],
        }
    )
    assert rows_of(encode_batch(odd)) == [
        {"category": [b"a"], "enum": [b"x"], "array": [1, 2], "bytes": [b"\xff"]},
        {"enum": [b"y"], "array": [3, 4]},
        {"category": [b"a"], "bytes": [b""]},
    ]


def test_a_column_of_nothing_in_polars() -> None:
    pl = needs.optional("polars")
    frame = pl.DataFrame({"a": [1, 2], "b": [None, None]})
    # Polars hands its null type over in a form that is not Arrow's; the error has the remedy.
    with pytest.raises(tfrecs.SpecError, match="a column without any value: drop it, or cast it"):
        encode_batch(frame)
    fixed = frame.with_columns(b=pl.col("b").cast(pl.Int64))
    assert rows_of(encode_batch(fixed)) == [{"a": [1]}, {"a": [2]}]


def test_pandas() -> None:
    pd = needs.optional("pandas")
    frame = pd.DataFrame(TABLE)
    assert rows_of(encode_batch(frame)) == ROWS
    assert rows_of(encode_batch(frame.iloc[1:].reset_index(drop=True))) == ROWS[1:]
    odd = pd.DataFrame(
        {
            "category": pd.Categorical(["a", None, "a"]),
            "nullable": pd.array([1, None, 3], "Int64"),
            "objects": ["x", None, "y"],
        }
    )
    assert rows_of(encode_batch(odd)) == [
        {"category": [b"a"], "nullable": [1], "objects": [b"x"]},
        {},
        {"category": [b"a"], "nullable": [3], "objects": [b"y"]},
    ]


def test_series_in_a_mapping() -> None:
    for name in ("pandas", "polars"):
        series = needs.optional(name).Series
        table = {key: series(column) for key, column in TABLE.items()}
        assert rows_of(encode_batch(table)) == ROWS, name


def test_duckdb() -> None:
    duckdb = needs.optional("duckdb")
    relation = duckdb.sql("select i, i::varchar as s, [i, i] as l from range(5000) t(i)")
    assert rows_of(encode_batch(relation)) == [
        {"i": [i], "s": [b"%d" % i], "l": [i, i]} for i in range(5000)
    ]
    relation = duckdb.sql("select null::int as a, 1.5::double as b, 'x'::blob as c")
    assert rows_of(encode_batch(relation)) == [{"b": [1.5], "c": [b"x"]}]
