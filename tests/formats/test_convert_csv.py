"""From CSV files to TFRecords: types, missing values, bad rows, encodings."""

import csv
import os
import re
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs.formats import convert_csv
from tfrecs.formats.column_types import ColumnReport


def write(folder: Path, text: str | bytes) -> Path:
    """A file with this text."""
    source = folder / "in.csv"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    return source


def converted(folder: Path, text: str | bytes, **options: Any) -> list[dict[str, Any]]:
    """The Examples that a file with this text becomes."""
    source = write(folder, text)
    report = convert_csv(source, folder / "out", overwrite=True, **options)
    return [
        dict(tfrecs.decode_example(record))
        for path in report.paths
        for record in tfrecs.RecordReader(path)
    ]


def column(folder: Path, *cells: str, **options: Any) -> list[Any]:
    """What a column with these cells becomes; None for a missing value."""
    rows = [f"{i},{cell}" for i, cell in enumerate(cells)]
    examples = converted(folder, "\n".join(["row,x", *rows]), **options)
    return [example.get("x", [None])[0] for example in examples]


def reported(folder: Path, *cells: str, **options: Any) -> tuple[ColumnReport, list[Any]]:
    """What is said of a column with these cells, and what it becomes."""
    rows = [f"{i},{cell}" for i, cell in enumerate(cells)]
    (folder / "in.csv").write_text("\n".join(["row,x", *rows]))
    done = convert_csv(folder / "in.csv", folder / "out", overwrite=True, **options)
    records = [record for path in done.paths for record in tfrecs.RecordReader(path)]
    values = [tfrecs.decode_example(record).get("x", [None])[0] for record in records]
    return done.columns["x"], values


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        ([" 1", "2 "], [1, 2]),
        (["9223372036854775807", "-9223372036854775808"], [2**63 - 1, -(2**63)]),
        (["1", "2.5", ".5", "5.", "1e3", "-25E-2"], [1.0, 2.5, 0.5, 5.0, 1000.0, -0.25]),
        (["1.5", "inf", "-Infinity"], [1.5, float("inf"), float("-inf")]),
        (["1", "", "3", "  "], [1, None, 3, None]),
        (["1.5", "", "2"], [1.5, None, 2.0]),
        (["a", "", " b ", "  "], [b"a", None, b" b ", b"  "]),
        (["1", "x"], [b"1", b"x"]),
        (["", ""], [None, None]),
        (["true", "False"], [b"true", b"False"]),
    ],
)
def test_types(cells: list[str], values: list[Any], tmp_path: Path) -> None:
    # Their repr tells 1 from 1.0.
    assert repr(column(tmp_path, *cells)) == repr(values)


# What a number would not give back.
@pytest.mark.parametrize(
    "cell",
    [
        *("007", "+49", "9223372036854775808", "1e39", "1_000", "٣", "0x10", "1e", "1 000"),
        *("9" * 5000, "-" + "9" * 20, "1e400", "1e99999999999999999999", "3.4028236e38"),
    ],
)
def test_what_a_number_would_lose_stays_a_string(cell: str, tmp_path: Path) -> None:
    assert column(tmp_path, "1", cell) == [b"1", cell.encode()]


@pytest.mark.parametrize("nan", ["NaN", "nan", "-nan", " NAN "])
def test_nan_beside_integers_is_a_missing_feature(nan: str, tmp_path: Path) -> None:
    report, values = reported(tmp_path, "123456789", nan, "", "-3", nan)
    assert repr(values) == repr([123456789, None, None, -3, None])
    assert report == ColumnReport("int64", nans=2)
    assert report.lines("x") == ["column 'x': 2 NaN cells are missing features"]


def test_a_word_that_means_missing_is_no_nan(tmp_path: Path) -> None:
    report, values = reported(tmp_path, "1", "NaN", missing=["NaN"])
    assert (values, report.nans) == ([1, None], 0)


@pytest.mark.parametrize("others", [["1.5"], ["inf"], []])
def test_nan_without_integers_is_a_float(others: list[str], tmp_path: Path) -> None:
    report, values = reported(tmp_path, "NaN", *others)
    assert np.isnan(values[0])
    assert report == ColumnReport("float32")


@pytest.mark.parametrize(
    "number", [2**24 + 1, -(2**24) - 1, 2**24 + 3, 2**53, 2**53 + 1, 123456789, 2**63 - 1]
)
@pytest.mark.parametrize("other", ["1.5", "-inf", "1e3", "-0"])
def test_an_integer_that_float32_cannot_hold_keeps_text(
    number: int, other: str, tmp_path: Path
) -> None:
    report, values = reported(tmp_path, "1", str(number), other)
    if number == int(np.float32(number)):
        assert report == ColumnReport("float32")
        assert values == [1.0, float(number), float(other)]
        return
    assert values == [b"1", str(number).encode(), other.encode()]
    assert report == ColumnReport("string", too_large=number)
    (line,) = report.lines("x")
    assert str(number) in line
    assert "--type x=float32" in line
    rounded, values = reported(tmp_path, "1", str(number), other, types={"x": "float32"})
    assert values == [1.0, float(np.float32(number)), float(other)]
    assert rounded.changed == 1


@pytest.mark.parametrize("number", [2**24, -(2**24), 2**24 + 2, 10**10, 2**62])
def test_an_integer_that_float32_holds_does_not(number: int, tmp_path: Path) -> None:
    report, values = reported(tmp_path, str(number), "0.5")
    assert (report, values) == (ColumnReport("float32"), [float(number), 0.5])


@pytest.mark.parametrize(
    ("cell", "change"),
    [
        ("0.1", 0.0),
        ("0.10", 0.0),
        ("1e-1", 0.0),
        ("3.14159", 0.0),
        ("0.100000001490116119384765625", 0.0),  # what float32 has for 0.1
        ("0.10000000149011612", 6.2e-17),  # what float64 prints of that
        ("-87.62519214", 1.6e-08),
        ("0.30000000000000004", 3.9e-08),
        ("1e-50", 1.0),
        ("1e-400", 1.0),
        ("-0.0", 0.0),
        # Python's Decimal refuses the first, and takes the second for 0 when it subtracts.
        ("1e-999999999999999999999", 1.0),
        ("-0.01e-99999999", 1.0),
        ("0e-999999999999999999999", 0.0),
        ("0.00e999999999999999999999", 0.0),
        ("3.4028235e38", 0.0),
        ("-340282346638528859811704183484516925440.0", 0.0),
        ("3.40282350e38", 0.0),
        ("3.4028234e38", 1.9e-08),
    ],
)
def test_values_that_float32_changes_are_counted(cell: str, change: float, tmp_path: Path) -> None:
    report, _ = reported(tmp_path, "0.5", cell, cell)
    assert report.type == "float32"
    assert report.changed == (2 if change else 0)
    assert report.largest_change == pytest.approx(change, rel=0.1)


def test_rows_that_are_skipped_are_not_counted(tmp_path: Path) -> None:
    text = "x,n\n0.123456789,1\n0.123456789,z\n"
    (tmp_path / "in.csv").write_text(text)
    done = convert_csv(tmp_path / "in.csv", tmp_path / "out", types={"n": int}, on_error="skip")
    assert done.columns["x"].changed == 1


def test_types_can_be_given(tmp_path: Path) -> None:
    text = "a,b,c\n1,2,3\n"
    (example,) = converted(tmp_path, text, types={"a": str, "b": "float32"})
    assert example == {"a": [b"1"], "b": [2.0], "c": [3]}
    assert isinstance(example["b"][0], float)


def test_a_cell_that_is_not_of_its_given_type(tmp_path: Path) -> None:
    text = "a\n1\nx\n3\n"
    with pytest.raises(
        tfrecs.ParseError, match=r"in.csv: line 3: column 'a': 'x' is not an int64"
    ) as e:
        converted(tmp_path, text, types={"a": int})
    assert (e.value.record, e.value.feature) == (1, "a")
    kept = converted(tmp_path, text, types={"a": int}, on_error="skip")
    assert kept == [{"a": [1]}, {"a": [3]}]


@pytest.mark.parametrize(
    ("given_type", "cell"),
    [
        ("int64", str(2**63)),
        ("int64", "9" * 5000),
        ("float32", "1e39"),
        ("float32", "-1e400"),
        ("float32", "9" * 5000),
    ],
)
def test_a_number_out_of_range(given_type: str, cell: str, tmp_path: Path) -> None:
    with pytest.raises(tfrecs.ParseError, match="line 2: column 'x'"):
        converted(tmp_path, f"x\n{cell}\n", types={"x": given_type})


def test_words_can_mean_missing(tmp_path: Path) -> None:
    assert column(tmp_path, "1", "NA", " NA", "-", missing=["NA", "-"]) == [1, None, None, None]
    assert column(tmp_path, "a", "NA", missing=["NA"]) == [b"a", None]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1", "line 3: has 1 cell, but there are 2 columns"),
        ("1,2,3", "line 3: has 3 cells, but there are 2 columns"),
        ('1,"2" 3', "line 3: "),
        ('1,"2', "line 3: opens a quote that is never closed"),
    ],
)
def test_bad_rows(row: str, reason: str, tmp_path: Path) -> None:
    text = f"a,b\n1,2\n{row}\n"
    with pytest.raises(tfrecs.ParseError, match=reason):
        converted(tmp_path, text)
    assert not (tmp_path / "out").exists()
    (tmp_path / "in.csv").write_text(text)
    report = convert_csv(tmp_path / "in.csv", tmp_path / "out", on_error="skip")
    assert report.written == 1
    ((path, why),) = [(skipped.path, skipped.reason) for skipped in report.skipped]
    assert path == str(tmp_path / "in.csv")
    assert why.startswith(reason)


def test_lines_count_through_cells_of_several_lines(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.ParseError, match="line 6: has 1 cell,"):
        converted(tmp_path, 'a,b\n"1\n\n2",x\n\n3\n')


def test_bytes_that_are_no_text_are_a_bad_row(tmp_path: Path) -> None:
    text = b"a\nfine\n\xff\xfe\n"
    with pytest.raises(tfrecs.ParseError, match="line 3: is not utf-8"):
        converted(tmp_path, text)
    assert converted(tmp_path, text, on_error="skip") == [{"a": [b"fine"]}]
    assert converted(tmp_path, text, encoding="latin-1")[1] == {"a": ["ÿþ".encode()]}


def test_encodings(tmp_path: Path) -> None:
    text = "größe\n日本\n"
    expected = [{"größe": ["日本".encode()]}]
    assert converted(tmp_path, text.encode("utf-8-sig")) == expected
    assert converted(tmp_path, text.encode("utf-16"), encoding="utf-16") == expected
    with pytest.raises(tfrecs.ParseError, match=r"line 1: .* name its encoding"):
        converted(tmp_path, text.encode("utf-16"))
    with pytest.raises(tfrecs.SpecError, match="no encoding 'klingon'"):
        converted(tmp_path, text, encoding="klingon")


def test_text_that_ends_in_the_middle_of_a_character(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.ParseError, match="is not utf-16 text"):
        converted(tmp_path, "a\nbc\n".encode("utf-16")[:-1], encoding="utf-16")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b,a\n1,2,3\n", "line 1: two columns are named 'a'"),
        ('a,"b\n1,2\n', "line 1: opens a quote"),
    ],
)
def test_bad_headers(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(tfrecs.ParseError, match=reason):
        converted(tmp_path, text, on_error="skip")


def test_a_column_without_a_name_is_numbered(tmp_path: Path) -> None:
    assert converted(tmp_path, ", b \n0,1\n") == [{"column_1": [0], "b": [1]}]


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    assert converted(tmp_path, "a,b\n") == []


def test_delimiters(tmp_path: Path) -> None:
    assert converted(tmp_path, "a;b\n1,5;2\n", delimiter=";") == [{"a": [b"1,5"], "b": [2]}]
    (tmp_path / "in.tsv").write_text("a\tb\n1\t2\n")
    (path,) = convert_csv(tmp_path / "in.tsv", tmp_path / "tabs").paths
    assert tfrecs.decode_example(next(tfrecs.RecordReader(path))) == {"a": [1], "b": [2]}


def test_large_cells_and_the_limit_of_others(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    assert converted(tmp_path, f"a\n{'x' * 300_000}\n") == [{"a": [b"x" * 300_000]}]
    assert csv.field_size_limit() == limit


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nope\.csv"):
        convert_csv(tmp_path / "nope.csv", tmp_path / "out")
    with pytest.raises(IsADirectoryError):
        convert_csv(tmp_path, tmp_path / "out")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(tfrecs.SpecError, match="has to be read twice"):
        convert_csv(tmp_path / "pipe.csv", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_types_of_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.SpecError, match=r"types names \['b'\]"):
        converted(tmp_path, "a\n1\n", types={"b": int})


def test_splits_are_exact_and_the_seed_chooses(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("n\n" + "\n".join(map(str, range(1000))))

    def split(seed: int) -> list[list[int]]:
        report = convert_csv(
            tmp_path / "in.csv",
            tmp_path / "out",
            split={"train": 0.9, "test": 0.1},
            seed=seed,
            overwrite=True,
        )
        return [
            [
                record_n
                for record in tfrecs.RecordReader(path)
                for record_n in map(int, tfrecs.decode_example(record)["n"])
            ]
            for path in report.paths
        ]

    train, test = split(0)
    assert (len(train), len(test)) == (900, 100)
    assert sorted(train + test) == list(range(1000))
    assert train == sorted(train)
    assert split(0) == [train, test]
    assert split(1) != [train, test]


def test_the_offered_option_can_be_typed_into_a_shell(tmp_path: Path) -> None:
    done = convert_csv(write(tmp_path, "it's me,b\n16777217,1\n1.5,2\n"), tmp_path / "out")
    (line,) = done.columns["it's me"].lines("it's me")
    words = shlex.split(line.partition("; ")[2].removesuffix(" rounds it"))
    assert words == ["--type", "it's me=float32"]


CELLS = st.from_regex(r"-?[0-9]{0,20}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,25})?", fullmatch=True)


@given(cells=st.lists(CELLS, min_size=1, max_size=5))
def test_no_number_breaks_the_conversion(
    cells: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cells")
    report, values = reported(folder, *cells)
    changed = 0
    for cell, value in zip(cells, values, strict=True):
        if not cell.strip():
            assert value is None
        elif report.type == "string":
            assert value == cell.encode()
        elif report.type == "int64":
            assert value == int(cell)
        else:
            assert value == np.float32(float(cell))
            changed += not any(_is_exactly(cell, one) for one in (value, str(np.float32(value))))
    assert report.changed == changed


def _is_exactly(cell: str, value: float | str) -> bool:
    """Whether two decimals are one number; no exponent is too large for it."""
    return _normal(cell) == _normal(value if isinstance(value, str) else f"{value:.1100f}")


def _normal(text: str) -> tuple[bool, str, int]:
    """The sign, the digits without zeros around them, and the exponent of the last of them."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, decimals = mantissa.removeprefix("-").partition(".")
    digits = (whole + decimals).lstrip("0")
    kept = digits.rstrip("0")
    power = int(exponent or 0) - len(decimals) + len(digits) - len(kept)
    return (text.startswith("-") and kept != "", kept, power if kept else 0)


FLOATS = st.floats(width=32, allow_nan=False)
TEXTS = st.text(st.characters(codec="utf-8")).filter(lambda text: text != "")
COLUMNS = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": FLOATS,
    "text": TEXTS,
}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | values for name, values in COLUMNS.items()}),
    min_size=1,
    max_size=20,
)


@given(rows=ROWS)
def test_round_trip(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("csv")
    with (folder / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*COLUMNS], quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
    types = {"int": int, "float": float, "text": str}
    (path,) = convert_csv(folder / "in.csv", folder / "out", types=types).paths
    found = [tfrecs.decode_example(record) for record in tfrecs.RecordReader(path)]
    expected = [
        {
            name: [value.encode() if isinstance(value, str) else value]
            for name, value in row.items()
            if value is not None
        }
        for row in rows
    ]
    assert found == expected


NUMBERS = (
    st.integers(-(2**63) - 2, 2**63 + 2).map(str)
    | st.integers(2**24 - 2, 2**24 + 4).map(str)
    | st.decimals(allow_nan=False, allow_infinity=False).map(str)
    | st.floats(allow_nan=False).map(str)
    | st.sampled_from(["nan", "inf", "-0", "0.1", "1.0", ""])
)


@given(
    cells=st.lists(
        st.from_regex(r"\A[-+ 0-9.eE]{0,6}\Z") | st.sampled_from(["nan", "inf", "x"]) | TEXTS,
        min_size=1,
        max_size=8,
    )
    | st.lists(NUMBERS, min_size=1, max_size=6)
)
def test_every_value_survives(cells: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the type, a cell means the same in the Example as in the file, or is counted."""
    folder = tmp_path_factory.mktemp("csv")
    with (folder / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([["x"], *([cell] for cell in cells)])
    done = convert_csv(folder / "in.csv", folder / "out")
    (path,) = done.paths
    examples = [tfrecs.decode_example(record) for record in tfrecs.RecordReader(path)]
    kinds = {type(example["x"][0]) for example in examples if "x" in example}
    assert len(kinds) <= 1
    nans = changed = 0
    for cell, example in zip(cells, examples, strict=True):
        value = example["x"][0] if "x" in example else None
        if value is None:
            nans += bool(cell.strip())
            assert not cell.strip() or cell.strip().lower().lstrip("-") == "nan"
        elif isinstance(value, bytes):
            assert value == cell.encode()
        elif isinstance(value, int):
            assert str(value) == cell.strip()
        elif np.isfinite(value):
            exact = Fraction(cell.strip())
            assert value == np.float32(float(cell))
            changed += exact not in (Fraction(value), Fraction(str(np.float32(value))))
            assert value == exact or re.search(r"[.eE]", cell)
        else:
            np.testing.assert_equal(value, float(cell))
    report = done.columns["x"]
    assert (report.nans, report.changed) == (nans, changed)
    assert report.type == {frozenset([int]): "int64", frozenset([float]): "float32"}.get(
        frozenset(kinds), "string"
    )
