"""Batches as DataFrames: every value is there, text where it is asked for, scalars as scalars."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

pa = needs.optional("pyarrow")
pd = needs.optional("pandas")
pl = needs.optional("polars")

LIBRARIES = ["pandas", "polars", "arrow"]


def frame(batch: tfrecs.Batch, library: str, text: Any = False) -> Any:
    return getattr(batch, f"to_{library}")(text=text)


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a table of any of the libraries, as plain Python values."""
    if isinstance(table, pa.Table):
        rows = table.to_pylist()
    else:
        rows = table.to_dict("records") if isinstance(table, pd.DataFrame) else table.to_dicts()
    return [{name: plain(value) for name, value in row.items()} for row in rows]


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(one) for one in value]
    if type(value).__module__.startswith("polars"):
        return plain(value.to_list())
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


SPEC: dict[str, Any] = {
    "n": tfrecs.FixedLenFeature([], "int64", -1),
    "x": tfrecs.FixedLenFeature([], "float32", 0.5),
    "s": tfrecs.FixedLenFeature([], "string", ""),
    "t": tfrecs.FixedLenFeature([], "string", "é"),
    "pair": tfrecs.FixedLenFeature([2], "int64", [1, 2]),
    "words": tfrecs.FixedLenFeature([2], "string", ["ä", "b"]),
    "list": tfrecs.VarLenFeature("int64"),
    "tags": tfrecs.VarLenFeature("string"),
}
INT64 = st.integers(-(2**63), 2**63 - 1)
WORD = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "n": INT64,
            "x": st.floats(width=32, allow_nan=False),
            "s": st.binary(max_size=3),
            "t": WORD,
            "pair": st.lists(INT64, min_size=2, max_size=2),
            "words": st.lists(WORD, min_size=2, max_size=2),
            "list": st.lists(INT64, min_size=1, max_size=3),
            "tags": st.lists(WORD, min_size=1, max_size=3),
        },
    ),
    max_size=6,
)


def expected(row: dict[str, Any]) -> dict[str, Any]:
    defaults = {name: getattr(one, "default_value", None) for name, one in SPEC.items()}
    found = defaults | row
    found["s"] = found["s"] or b""
    return found


@given(rows=ROWS)
def test_every_value_is_there(rows: list[dict[str, Any]]) -> None:
    batch = tfrecs.decode_batch([tfrecs.encode_example(row) for row in rows], SPEC)
    for library in LIBRARIES:
        table = frame(batch, library, ["t", "words", "tags"])
        assert rows_of(table) == [expected(row) for row in rows], library
        assert list(table.column_names if library == "arrow" else table.columns) == list(SPEC)


@given(rows=ROWS)
def test_a_dataset_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    records = [tfrecs.encode_example(row) for row in rows]
    for batch in tfrecs.Dataset(records, SPEC).batch(9) if records else ():
        for library in LIBRARIES:
            table = frame(batch, library, ["t", "words", "tags"])
            assert rows_of(table) == [expected(row) for row in rows], library


def one_row(**features: Any) -> tfrecs.Batch:
    return tfrecs.decode_batch([tfrecs.encode_example(features)])


def scalars(**columns: list[Any]) -> tfrecs.Batch:
    """A batch whose columns are single values."""
    kinds = {int: "int64", float: "float32", str: "string", bytes: "string"}
    spec = {
        name: tfrecs.FixedLenFeature([], kinds[type(values[0])]) for name, values in columns.items()
    }
    return tfrecs.decode_batch(tfrecs.encode_batch(columns), spec)


def test_scalars_are_plain_columns() -> None:
    batch = scalars(n=[2**63 - 1, -(2**63)], x=[0.5, 1.5], s=["a", "b"])
    assert batch.to_pandas().dtypes.astype(str).tolist() == ["int64", "float32", "object"]
    text = batch.to_pandas(text=True)
    assert text.dtypes["s"] == pd.Series(["a"], dtype="str").dtype
    assert text.to_dict("list") == {"n": [2**63 - 1, -(2**63)], "x": [0.5, 1.5], "s": ["a", "b"]}
    assert [str(kind) for kind in batch.to_polars(True).dtypes] == ["Int64", "Float32", "String"]
    assert batch.to_polars()["s"].dtype == pl.Binary
    kinds = [str(kind) for kind in batch.to_arrow(text=["s"]).schema.types]
    assert kinds == ["int64", "float", "large_string"]
    assert batch.to_arrow()["n"].chunk(0).buffers()[1].address == batch["n"].ctypes.data


def test_without_features_every_column_is_of_lists() -> None:
    for library in LIBRARIES:
        table = frame(one_row(n=1, s="x"), library, text=True)
        assert rows_of(table) == [{"n": [1], "s": ["x"]}]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("dtype", "value"),
    [("bool", 1), ("bfloat16", 0.5), ("float16", 0.5), ("uint8", 200), ("float64", 0.5)],
)
def test_other_types(library: str, dtype: str, value: Any) -> None:
    needs.optional("ml_dtypes")
    features: dict[str, Any] = {
        "one": tfrecs.FixedLenFeature([], dtype),
        "two": tfrecs.FixedLenFeature([1, 2], dtype),
        "list": tfrecs.VarLenFeature(dtype),
        "text": tfrecs.VarLenFeature("string"),
    }
    record = tfrecs.encode_example({"one": value, "two": [value] * 2, "list": [value] * 3})
    batch = tfrecs.decode_batch([record, record], features)
    row = {"one": value, "two": [[value] * 2], "list": [value] * 3, "text": None}
    table = frame(batch, library, text=["text"])
    assert rows_of(table) == [row, row]
    assert type(rows_of(table)[0]["one"]) is (bool if dtype == "bool" else type(value))


@pytest.mark.parametrize("library", LIBRARIES)
def test_text_is_what_is_valid(library: str) -> None:
    values: dict[str, list[Any]] = {
        "text": ["é", "", "日本"],
        "bytes": [b"a", b"\xff", b""],
        "halves": [b"\xc3", b"\xa9", b""],  # together they are é
        "begins": ["a", b"\xa9", ""],
        "n": [1, 2, 3],
    }
    batch = scalars(**values)
    assert rows_of(frame(batch, library, text=True)) == [
        {
            name: one if name in ("text", "n") else bytes(one, "ascii") if one in ("a", "") else one
            for name, one in zip(values, row, strict=True)
        }
        for row in zip(*values.values(), strict=True)
    ]
    for name, row in (("bytes", 1), ("halves", 0), ("begins", 1)):
        with pytest.raises(tfrecs.SpecError, match=f"'{name}': .*row {row} is not valid UTF-8"):
            frame(batch, library, text=[name])
    for names in ("text", ["text"], ("text",), {"text"}):
        assert rows_of(frame(batch, library, text=names))[0] == rows_of(
            frame(batch, library, text=True)
        )[0] | {"bytes": b"a"}
    with pytest.raises(tfrecs.SpecError, match="text= names 'none', and the columns are"):
        frame(batch, library, text=["text", "none"])
    with pytest.raises(tfrecs.SpecError, match="'n': text= names it, and it holds numbers"):
        frame(batch, library, text="n")


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_row_of_a_list_is_named(library: str) -> None:
    rows: list[dict[str, Any]] = [{"t": ["a", "b"]}, {}, {"t": ["c", "d", b"\xff"]}]
    batch = tfrecs.decode_batch([tfrecs.encode_example(row) for row in rows])
    with pytest.raises(tfrecs.SpecError, match="row 2 is not valid"):
        frame(batch, library, text=["t"])
    batch = tfrecs.decode_batch(
        [tfrecs.encode_example({"t": ["a", "b"]}), tfrecs.encode_example({"t": ["c", b"\xff"]})],
        {"t": tfrecs.FixedLenFeature([2], "string")},
    )
    with pytest.raises(tfrecs.SpecError, match="row 1 is not valid"):
        frame(batch, library, text=["t"])


@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_is_a_table_too(library: str) -> None:
    empty = tfrecs.decode_batch([], SPEC)
    assert rows_of(frame(empty, library, text=True)) == []
    assert len(frame(empty, library).columns) == len(SPEC)
    kinds = frame(empty, library, ["t"])["t"]
    assert (
        str(kinds.type if library == "arrow" else kinds.dtype).lower().endswith(("str", "string"))
    )
    assert len(frame(tfrecs.decode_batch([b"", b""]), "pandas")) == 2


@pytest.mark.parametrize("make", [pd.DataFrame, np.asarray, np.array])
def test_what_takes_a_batch_for_a_list_of_names_is_refused(make: Any) -> None:
    batch = one_row(n=1, s="x")
    with pytest.raises(TypeError, match=r"a Batch is a table.*to_pandas\(\)"):
        make(batch)
    spec = {"n": tfrecs.FixedLenFeature([], "int64")}
    (parsed,) = tfrecs.Dataset([tfrecs.encode_example({"n": 1})], spec).batch(2)
    with pytest.raises(TypeError, match="a Batch is a table"):
        make(parsed)


def test_what_reads_arrow_still_does() -> None:
    batch = one_row(n=1, s="x")
    assert pa.table(batch).to_pylist() == [{"n": [1], "s": [b"x"]}]
    assert pl.DataFrame(batch.columns).to_dicts() == [{"n": [1], "s": [b"x"]}]


@pytest.mark.parametrize(
    ("library", "method"),
    [("pandas", "to_pandas"), ("polars", "to_polars"), ("pyarrow", "to_arrow")],
)
def test_a_missing_library_is_named(
    monkeypatch: pytest.MonkeyPatch, library: str, method: str
) -> None:
    monkeypatch.delitem(sys.modules, f"tfrecs.integrations.{library}", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    extra = method.removeprefix("to_")
    with pytest.raises(ModuleNotFoundError, match=rf'pip install "tfrecs\[{extra}\]"'):
        getattr(one_row(n=1), method)()


def test_to_pandas_needs_no_pyarrow(tmp_path: Path) -> None:
    script = """if True:
        import sys
        sys.modules["pyarrow"] = None
        import tfrecs
        record = tfrecs.encode_example({"s": "x", "n": [1, 2]})
        batch = tfrecs.decode_batch([record], {"s": tfrecs.FixedLenFeature([], "string")})
        assert batch.to_pandas(text=True).to_dict("list") == {"s": ["x"]}
    """
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
