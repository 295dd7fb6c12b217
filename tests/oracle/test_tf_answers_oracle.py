"""`tfrecs.tf` beside TensorFlow where it once answered otherwise without an error."""

import operator
import random
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as theirs  # noqa: ICN001 - either one is called tf in programs

import tfrecs.tf
from oracle.programs import Program, outcome, plain, same, write_files


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


# --- Types of operands ---

TYPES = (
    "bool int8 uint8 int32 int64 uint16 uint64 float16 bfloat16 float32 float64 complex64 string"
)
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.ge,
    operator.eq,
    operator.ne,
    operator.and_,
    operator.or_,
    operator.xor,
]
PYTHON = [2, 1.5, 2.0, True, 1j, 300, [1, 2], [1.5, 2.5], np.int32(2), np.float64(1.5), None]


def of_type(tf: Any, dtype: str) -> Any:
    if dtype == "string":
        return tf.constant([b"a", b"b"])
    return tf.cast(tf.constant([1, 2]), dtype)


def array_of_type(dtype: str) -> Any:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return np.array([1, 2]).astype(kind)


def is_refused(program: Program) -> bool:
    """Whether both refuse a program, whatever class of error each raises."""
    made, wanted = outcome_or_error(program, tfrecs.tf), outcome_or_error(program, theirs)
    if wanted == "error" or made == "error":
        assert made == wanted
        return True
    return False


def outcome_or_error(program: Program, tf: Any) -> Any:
    try:
        return plain(program(tf))
    except Exception:  # noqa: BLE001 - errors of any class
        return "error"


@pytest.mark.parametrize("apply", OPERATORS)
def test_types_of_two_tensors(apply: Any) -> None:
    for left, right in product(TYPES.split(), repeat=2):
        if apply is operator.mul and "bool" in (left, right) and left != right:
            continue  # TensorFlow takes any number for a truth value there; here it is an error

        def program(tf: Any, left: str = left, right: str = right) -> Any:
            return apply(of_type(tf, left), of_type(tf, right))

        assert is_refused(program) or repr(outcome(program, tfrecs.tf)) == repr(
            outcome(program, theirs)
        )


@pytest.mark.parametrize("apply", OPERATORS)
def test_types_of_tensors_and_arrays(apply: Any) -> None:
    dtypes = [dtype for dtype in TYPES.split() if dtype not in ("string", "bool")]
    for left, right in product(dtypes, repeat=2):
        array = array_of_type(right)

        def after(tf: Any, left: str = left, array: Any = array) -> Any:
            return apply(of_type(tf, left), array)

        def before(tf: Any, left: str = left, array: Any = array) -> Any:
            return apply(array, of_type(tf, left))

        for program in (after, before):
            assert is_refused(program) or outcome(program, tfrecs.tf) == outcome(program, theirs)


@pytest.mark.parametrize("apply", OPERATORS)
def test_types_of_tensors_and_python_values(apply: Any) -> None:
    dtypes = [dtype for dtype in TYPES.split() if dtype not in ("bool", "complex64")]
    for dtype, value in product(dtypes, PYTHON):
        if apply is operator.pow and dtype in ("float16", "bfloat16"):
            continue  # of which the last digits differ
        if apply is operator.mul and dtype == "string":
            continue  # which TensorFlow repeats, as NumPy repeats objects, if the other is NumPy's

        def after(tf: Any, dtype: str = dtype, value: Any = value) -> Any:
            return apply(of_type(tf, dtype), value)

        def before(tf: Any, dtype: str = dtype, value: Any = value) -> Any:
            return apply(value, of_type(tf, dtype))

        for program in (after, before):
            assert is_refused(program) or outcome(program, tfrecs.tf) == outcome(program, theirs)


FUNCTIONS = (
    "add subtract multiply divide maximum minimum equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or"
)


@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_types_of_functions_of_two_values(name: str) -> None:
    values: list[Any] = [*PYTHON, np.array([1.5, 2.5]), np.array([1, 2], np.uint8)]
    for dtype, value in product(("bool", "int32", "int64", "float32", "string"), values):
        is_array = hasattr(value, "dtype")
        if dtype == "bool" and name == "divide" and is_array:
            continue  # TensorFlow divides truth values if one is NumPy's; here it is an error

        def after(tf: Any, dtype: str = dtype, value: Any = value) -> Any:
            return getattr(tf, name)(of_type(tf, dtype), value)

        def before(tf: Any, dtype: str = dtype, value: Any = value) -> Any:
            return getattr(tf, name)(value, of_type(tf, dtype))

        for program in (after, before):
            assert is_refused(program) or outcome(program, tfrecs.tf) == outcome(program, theirs)


MIXED: dict[str, Program] = {
    "two tensors": lambda tf: tf.constant([1]) + tf.constant([1.5]),
    "two integers": lambda tf: tf.constant([1]) + tf.constant([1], tf.int64),
    "equal": lambda tf: tf.constant([1]) == tf.constant([1.0]),
    "less": lambda tf: tf.constant([1]) < tf.constant([1.0]),
    "quotient": lambda tf: tf.constant([1]) / tf.constant([1.0]),
    "a float": lambda tf: tf.constant([1]) + 1.5,
    "shapes": lambda tf: tf.constant([1, 2]) + tf.constant([1, 2, 3]),
    "equal shapes": lambda tf: tf.constant([1, 2]) == tf.constant([1, 2, 3]),
    "by zero": lambda tf: tf.constant([1, 2]) // tf.constant([1, 0]),
    "rest by zero": lambda tf: tf.constant([1, 2]) % 0,
    "negative power": lambda tf: tf.constant([2]) ** -1,
    "negative of unsigned": lambda tf: -tf.constant([2], tf.uint8),
    "vectors": lambda tf: tf.matmul(tf.constant([1.0]), tf.constant([1.0])),
    "bool for float": lambda tf: tf.constant(True, tf.float32),
    "bool for int8": lambda tf: tf.constant(True, tf.int8),
    "int for bool": lambda tf: tf.constant(1, tf.bool),
    "mixed bools": lambda tf: tf.constant([True, 1.5]),
    "maximum": lambda tf: tf.maximum(tf.constant(1), tf.constant(1.5)),
}


@pytest.mark.parametrize("program", MIXED.values(), ids=MIXED)
def test_mixed_types_are_refused(program: Program) -> None:
    same(program)


def test_mixed_types_are_refused_in_map() -> None:
    def program(tf: Any) -> Any:
        numbers = tf.data.Dataset.range(2)
        return list(numbers.map(lambda n: n + tf.cast(n, tf.float32)))

    assert is_refused(program)


# --- one_hot and where ---

ONE_HOT: dict[str, dict[str, Any]] = {
    "nothing": {},
    "ints": {"on_value": 1, "off_value": 0},
    "floats": {"on_value": 1.0, "off_value": 0.0},
    "on": {"on_value": 2},
    "off": {"off_value": 2},
    "mixed": {"on_value": 1, "off_value": 0.5},
    "bools": {"on_value": True, "off_value": False},
    "one bool": {"on_value": True},
    "strings": {"on_value": "a", "off_value": "b"},
    "one string": {"on_value": "a"},
    "numpy": {"on_value": np.int64(1), "off_value": np.int64(0)},
    "on, of a type": {"on_value": 2, "dtype": "int64"},
    "ints as floats": {"on_value": 1, "off_value": 0, "dtype": "float32"},
    "float as int": {"on_value": 1.5, "dtype": "int32"},
    "bool": {"dtype": "bool"},
    "string": {"dtype": "string"},
    "uint8": {"dtype": "uint8"},
    "arrays": {"on_value": [1, 2], "off_value": [0, 0]},
    **{f"axis {axis}": {"axis": axis} for axis in (0, 1, 2, -2)},
}


@pytest.mark.parametrize("how", ONE_HOT.values(), ids=ONE_HOT)
@pytest.mark.parametrize("indices", [[1], 1, [[0, 2], [1, -1]], np.array([5], np.uint8)], ids=str)
def test_one_hot(indices: Any, how: dict[str, Any]) -> None:
    same(lambda tf: tf.one_hot(indices, 3, **how))


CONDITIONS: dict[str, Any] = {
    "two": [True, False],
    "three": [True, False, True],
    "whole": [[True, False, True], [False, True, False]],
    "one": True,
    "row": [[True, False, True]],
    "column": [[True], [False]],
    "ints": [1, 0],
}
WHOLE = np.arange(1, 7).reshape(2, 3)
CHOICES: dict[str, Any] = {
    "matrices": (WHOLE, -WHOLE),
    "vectors": (WHOLE[0], -WHOLE[0]),
    "columns": (WHOLE[:, 0], -WHOLE[:, 0]),
    "cubes": (WHOLE.reshape(2, 3, 1), -WHOLE.reshape(2, 3, 1)),
    "single": (1, 2),
    "shapes": (WHOLE, -WHOLE[0]),
    "types": (WHOLE, WHOLE.astype(np.float32)),
    "matrix and number": (WHOLE, 0),
    "one": (WHOLE, None),
}


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_where_of_both_versions(condition: Any, choice: Any) -> None:
    same(lambda tf: tf.where(condition, *choice))
    same(lambda tf: tf.compat.v1.where(condition, *choice))
    same(lambda tf: [tf.where([condition]), tf.compat.v1.where([condition])])


# --- resize of TensorFlow 1 ---

PIXELS = np.random.default_rng(0).integers(0, 256, (2, 5, 7, 3)).astype(np.uint8)


@pytest.mark.parametrize("size", [(3, 4), (10, 14), (5, 7), (9, 3), (1, 1), (2, 20)], ids=str)
@pytest.mark.parametrize("corners", [False, True], ids=["", "corners"])
def test_resize_of_version_1(size: tuple[int, int], corners: bool) -> None:
    how = {"align_corners": corners}
    for method in (0, 1, "bilinear", "nearest"):
        same(resizing("resize", PIXELS, size, method, **how))
        same(resizing("resize_images", PIXELS[0], size, method, **how))
    for name in ("resize_bilinear", "resize_nearest_neighbor"):
        same(resizing(name, PIXELS, size, **how))
        same(resizing(name, PIXELS, size, half_pixel_centers=True, **how))


def resizing(name: str, *args: Any, **how: Any) -> Program:
    return lambda tf: getattr(tf.compat.v1.image, name)(*args, **how)


def test_resize_of_random_sizes() -> None:
    draw = np.random.default_rng(26)
    for _ in range(60):
        height, width, *size = draw.integers(1, 40, 4).tolist()
        pixels = (draw.random((height, width, 2)) * 255).astype(np.float32)
        for corners, method in product((False, True), (0, 1)):
            same(resizing("resize", pixels, size, method, corners))
        same(resizing("resize_bilinear", pixels[None], size, half_pixel_centers=True))
