"""`tfrecs.tf` beside TensorFlow where it once answered otherwise without an error."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle.programs import Program, same, write_files


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()


# --- decode_csv ---

CSV_LINES = [
    '"', 'a"bc', '"x"y', '""', '"a""b"', 'a,"b', '"a,b"', '""""', '"""', 'a""', ' "a"', '"a" ',
    '"a\nb"', "a\nb", "a\n", "a\r\n", '"a"\n', "", ",", "\na", ",\n", "a,", '"a",', ",a",
    "a,b\nc,d",
]  # fmt: skip


@pytest.mark.parametrize("line", CSV_LINES)
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("quotes", [True, False], ids=["quotes", "none"])
def test_quotes_and_newlines_of_csv(line: str, columns: int, quotes: bool) -> None:
    defaults = [["d"]] * columns
    same(lambda tf: tf.io.decode_csv([line], defaults, use_quote_delim=quotes))


def test_random_lines_of_csv() -> None:
    draw = random.Random(26)
    for _ in range(500):
        line = "".join(draw.choices('ab",\n\r" ', k=draw.randrange(8)))
        how: dict[str, Any] = {
            "use_quote_delim": draw.random() < 0.8,
            "field_delim": draw.choice(',,,;"a'),
        }
        count = draw.randrange(1, 4)
        same(csv_of(line, count, **how))
        same(csv_of(line, 1, select_cols=[draw.randrange(3)]))


def csv_of(line: str, columns: int, **how: Any) -> Program:
    return lambda tf: tf.io.decode_csv([line], [["d"]] * columns, **how)


@pytest.mark.parametrize(
    "selected", [[-1, 0], [0, 0], [1, 0], [0, 2], [2], [5], [0], [0, 1, 2], [0, 5]], ids=str
)
def test_selected_columns_of_csv(selected: list[int]) -> None:
    defaults = [["d"]] * len(selected)
    same(lambda tf: tf.io.decode_csv(["a,1,2.5"], defaults, select_cols=selected))


CSV_OTHERS: dict[str, Program] = {
    "selected, of another number": lambda tf: tf.io.decode_csv("a,b", ["", ""], select_cols=[0]),
    "quote after the selected": lambda tf: tf.io.decode_csv('a,"b"c', [""], select_cols=[0]),
    "quote before the selected": lambda tf: tf.io.decode_csv('"b"c,a', [""], select_cols=[1]),
    "two defaults": lambda tf: tf.io.decode_csv("7", [["d", "e"]]),
    "rank 2": lambda tf: tf.io.decode_csv("7", [[["d"]]]),
    "rank 2 of numpy": lambda tf: tf.io.decode_csv("7", [np.array([[3]])]),
    "bool": lambda tf: tf.io.decode_csv("7", [True]),
    "float16": lambda tf: tf.io.decode_csv("7", [np.array(1, np.float16)]),
    "no delimiter": lambda tf: tf.io.decode_csv("7", [""], field_delim=""),
    "two delimiters": lambda tf: tf.io.decode_csv("7", [""], field_delim=";;"),
    "no byte": lambda tf: tf.io.decode_csv("7", [""], field_delim="é"),
    "number": lambda tf: tf.io.decode_csv([1], [""]),
    "bytes": lambda tf: tf.io.decode_csv([b"\xff,\xfe"], ["", ""]),
}


@pytest.mark.parametrize("program", CSV_OTHERS.values(), ids=CSV_OTHERS)
def test_arguments_of_csv(program: Program) -> None:
    same(program)


CSV_NUMBERS = [
    "1_000", "٣", "0x10", "0x1p3", "0X1.8P1", " 7 ", "+7", "--1", "7.0", "1e3", "inf", "nan",
    "1e400", "1e-46", "2147483648", "-2147483649", "9223372036854775808", "0b1", "007", "1d5", ".",
    "1e", "-nan",
    "1.00000005960464477539062500000001", "1.000000059604644775390625", "3.4028235677973366e38",
]  # fmt: skip


@pytest.mark.parametrize("text", CSV_NUMBERS)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_numbers_of_csv(text: str, dtype: str) -> None:
    def program(tf: Any) -> Any:
        (column,) = tf.io.decode_csv([text], [np.array([1], dtype)])
        return [column.dtype.name, repr(column.numpy().tolist())]

    same(program)
