"""SparseFeature, FixedLenSequenceFeature and dtypes: the results that TensorFlow gives."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs import (
    BytesArray,
    FixedLenFeature,
    FixedLenSequenceFeature,
    ParseError,
    RaggedFeature,
    SparseFeature,
    SparseTensor,
    VarLenFeature,
    parse_example,
    parse_single_example,
)


def encoded(rows: list[dict[str, Any]]) -> list[bytes]:
    return [tfrecs.encode_example(row) for row in rows]


def parts(sparse: SparseTensor) -> tuple[list[Any], list[Any], list[int]]:
    assert sparse.indices.dtype == sparse.dense_shape.dtype == np.int64
    assert sparse.indices.shape == (len(sparse.values), len(sparse.dense_shape))
    return sparse.indices.tolist(), sparse.values.tolist(), sparse.dense_shape.tolist()


# ---------------------------------------------------------------- SparseFeature

ONE = SparseFeature("i", "v", "float32", 5)


def sparse(rows: list[dict[str, Any]], feature: SparseFeature = ONE) -> Any:
    found = parse_example(encoded(rows), {"s": feature})["s"]
    for row in rows[:1]:
        single = parse_single_example(tfrecs.encode_example(row), {"s": feature})["s"]
        indices, values, shape = parts(single)
        first = [index[1:] for index in found.indices.tolist() if index[0] == 0]
        assert (indices, values) == (first, found.values.tolist()[: len(first)])
        assert shape == found.dense_shape.tolist()[1:]
    return parts(found)


def test_values_stand_at_their_indices_in_order() -> None:
    rows: list[dict[str, Any]] = [{"i": [3, 1], "v": [1.0, 2.0]}, {}, {"i": [0], "v": [3.0]}]
    assert sparse(rows) == ([[0, 1], [0, 3], [2, 0]], [2.0, 1.0, 3.0], [3, 5])
    unsorted = ONE._replace(already_sorted=True)
    assert sparse(rows, unsorted) == ([[0, 3], [0, 1], [2, 0]], [1.0, 2.0, 3.0], [3, 5])


def test_several_indices() -> None:
    rows: list[dict[str, Any]] = [{"i": [3, 1, 3], "j": [1, 0, 0], "v": ["a", "b", "c"]}, {}]
    feature = SparseFeature(["i", "j"], "v", "string", [5, 6])
    expected = ([[0, 1, 0], [0, 3, 0], [0, 3, 1]], [b"b", b"c", b"a"], [2, 5, 6])
    assert sparse(rows, feature) == expected
    assert sparse(rows, SparseFeature(("j", "i"), "v", "string", (6, 5)))[0] == [
        [0, 0, 1],
        [0, 0, 3],
        [0, 1, 3],
    ]


def test_indices_are_not_looked_at() -> None:
    row = {"i": [7, -1, 7], "v": [1.0, 2.0, 3.0]}
    assert sparse([row]) == ([[0, -1], [0, 7], [0, 7]], [2.0, 1.0, 3.0], [1, 5])
    assert sparse([row], ONE._replace(size=-1))[2] == [1, -1]
    assert sparse([row], SparseFeature(["i"], "v", float, np.array([9]).tolist()))[2] == [1, 9]


def test_indices_beside_a_feature_of_their_own() -> None:
    records = encoded([{"i": [3, 1], "v": [1.0, 2.0]}])
    found = parse_example(records, {"i": VarLenFeature("int64"), "s": ONE})
    assert found["i"].values.tolist() == [3, 1]
    found = parse_example(records, {"i": SparseFeature("i", "i", "int64", 5)})
    assert parts(found["i"]) == ([[0, 1], [0, 3]], [1, 3], [1, 5])


def test_no_records_and_no_values() -> None:
    assert sparse([]) == ([], [], [0, 5])
    assert sparse([{}, {"i": [], "v": []}]) == ([], [], [2, 5])
    empty = parse_example([], {"s": SparseFeature(["i", "j"], "v", "int64", [5, 6])})["s"]
    assert (empty.indices.shape, empty.dense_shape.tolist()) == ((0, 3), [0, 5, 6])


def test_every_value_has_its_index() -> None:
    """TensorFlow compares the totals only, and then values stand in other records' rows."""
    records = encoded([{"i": [1, 2], "v": [1.0]}, {"i": [3], "v": [2.0, 3.0]}])
    with pytest.raises(ParseError, match=r"2 indices \(feature 'i'\) and 1 value ") as caught:
        parse_example(records, {"s": ONE}, ["first", "second"])
    assert (caught.value.record, caught.value.feature) == (0, "s")
    assert str(caught.value).startswith('record 0: Name: first, feature "s": 2 indices')
    two = SparseFeature(["i", "j"], "v", "float32", [5, 6])
    with pytest.raises(ParseError, match=r"0 indices \(feature 'j'\) and 2 values \(feature 'v'\)"):
        parse_single_example(tfrecs.encode_example({"i": [1, 2], "v": [1.0, 2.0]}), {"s": two})


@given(
    rows=st.lists(
        st.lists(st.tuples(st.integers(-2, 3), st.integers(0, 2), st.integers()), max_size=5),
        max_size=4,
    )
)
def test_sorted_as_python_sorts(rows: list[list[tuple[int, int, int]]]) -> None:
    numbered = [[(i, j, place) for place, (i, j, _) in enumerate(row)] for row in rows]
    records = encoded(
        [dict(zip("ijv", map(list, zip(*row, strict=True)), strict=False)) for row in numbered]
    )
    found = parse_example(records, {"s": SparseFeature(["i", "j"], "v", "int64", [4, 3])})["s"]
    expected = [(r, *cell) for r, row in enumerate(numbered) for cell in sorted(row)]
    assert found.indices.tolist() == [[r, i, j] for r, i, j, _ in expected]
    assert found.values.tolist() == [value for *_, value in expected]


# ---------------------------------------------------------------- FixedLenSequenceFeature

E = "é".encode()
SEQUENCES: list[tuple[Any, list[Any], Any, Any]] = [
    ("int64", [[1, 2], [3], []], None, [[1, 2], [3, 0], [0, 0]]),
    ("int64", [[1, 2], [3], []], -1, [[1, 2], [3, -1], [-1, -1]]),
    ("int64", [[1, 2], [3, 4]], -1, [[1, 2], [3, 4]]),
    ("float32", [[0.5], []], [[np.inf]], [[0.5], [np.inf]]),
    ("float64", [[0.5], []], 0.1, [[0.5], [float(np.float32(0.1))]]),
    ("string", [["ab", "c"], ["d"]], None, [[b"ab", b"c"], [b"d", b""]]),
    ("string", [["ab", "c"], ["d"], []], "é", [[b"ab", b"c"], [b"d", E], [E, E]]),
    ("uint8", [[255], []], 7, [[255], [7]]),
    ("bool", [[1, 0], []], True, [[True, False], [True, True]]),
]


@pytest.mark.parametrize(("dtype", "rows", "default", "expected"), SEQUENCES)
def test_sequences_are_padded(dtype: Any, rows: list[Any], default: Any, expected: Any) -> None:
    spec = {"a": FixedLenSequenceFeature([], dtype, True, default)}
    found = parse_example(encoded([{"a": row} for row in rows]), spec)["a"]
    assert found.tolist() == expected
    single = parse_single_example(tfrecs.encode_example({"a": rows[0]}), spec)["a"]
    assert single.tolist() == expected[0][: len(rows[0])]


def test_sequences_of_arrays() -> None:
    records = encoded([{"a": [1, 2]}, {}, {"a": [3, 4, 5, 6]}])
    found = parse_example(records, {"a": FixedLenSequenceFeature([2, 1], "int64", True, 9)})["a"]
    pad = [[9], [9]]
    assert found.tolist() == [[[[1], [2]], pad], [pad, pad], [[[3], [4]], [[5], [6]]]]
    texts = encoded([{"a": ["a", "b"]}, {"a": ["c", "d", "e", "f"]}])
    strings = parse_example(texts, {"a": FixedLenSequenceFeature(2, "string", True)})["a"]
    assert isinstance(strings, BytesArray)
    assert strings.tolist() == [[[b"a", b"b"], [b"", b""]], [[b"c", b"d"], [b"e", b"f"]]]


def test_sequences_that_nobody_has() -> None:
    for dtype in ("int64", "string"):
        spec = {"a": FixedLenSequenceFeature([2, 3], dtype, True, None)}
        assert parse_example([b"", b""], spec)["a"].shape == (2, 0, 2, 3)
        assert parse_example([], spec)["a"].shape == (0, 0, 2, 3)
        assert parse_single_example(b"", spec)["a"].shape == (0, 2, 3)


def test_sequences_that_are_no_multiple() -> None:
    spec = {"a": FixedLenSequenceFeature([2], "int64", True)}
    with pytest.raises(ParseError, match="multiple") as caught:
        parse_example(encoded([{"a": [1, 2]}, {"a": [1, 2, 3]}]), spec, ["x", "y"])
    assert (caught.value.record, caught.value.feature) == (1, "a")
    assert "Name: y" in str(caught.value)


def test_padding_keeps_every_bit() -> None:
    spec = {"a": FixedLenSequenceFeature([], "float32", True, -0.0)}
    found: Any = parse_example(encoded([{"a": [1.0]}, {}]), spec)["a"]
    assert np.signbit(found).tolist() == [[False], [True]]


def test_padding_beyond_memory() -> None:
    """Short records beside a long one: what it takes is known only after all are read."""
    records = [tfrecs.encode_example({"a": np.zeros(2**24, np.int64)}), *[b""] * 2**21]
    with pytest.raises(ParseError, match=f"no memory to pad {len(records)} records") as caught:
        parse_example(records, {"a": FixedLenSequenceFeature([], "int64", True)})
    assert (caught.value.record, caught.value.feature) == (0, "a")


# ---------------------------------------------------------------- dtypes

INTEGERS = {
    np.dtype(name): (int(np.iinfo(name).min), min(int(np.iinfo(name).max), 2**63 - 1))
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


@pytest.mark.parametrize(("dtype", "limits"), INTEGERS.items(), ids=map(str, INTEGERS))
def test_integers_of_every_width(dtype: np.dtype[Any], limits: tuple[int, int]) -> None:
    check_dtype(dtype, list(limits), [limits[0] - 1, limits[1] + 1])


@pytest.mark.parametrize(
    ("dtype", "values", "outside"),
    [
        (bool, [0, 1], [2, -1]),
        (np.bool_, [0, 1], [2, -1]),
        (np.float16, [0.5, -65504.0, np.inf], [65520.0, -1e30]),
        (np.float64, [0.1, 1e-45, -np.inf], []),
        ("bfloat16", [0.5, 1.0e38, np.inf], [3.4e38]),
        (ml_dtypes.bfloat16, [0.5], []),
        ("float16", [0.1], []),
    ],
)
def test_other_numbers(dtype: Any, values: list[Any], outside: list[Any]) -> None:
    check_dtype(dtype, values, outside)


def check_dtype(dtype: Any, values: list[Any], outside: list[Any]) -> None:
    """Every kind of feature gives this dtype, and refuses what does not fit it."""
    is_float = isinstance(values[0], float)
    size = len(values)
    made = np.array(values, np.float32 if is_float else None)
    expected = made.astype(ml_dtypes.bfloat16 if "bfloat16" in str(dtype) else dtype)
    features: dict[str, Any] = {
        "FixedLen": FixedLenFeature([size], dtype),
        "VarLen": VarLenFeature(dtype),
        "Sparse": SparseFeature("i", "a", dtype, size),
        "Ragged": RaggedFeature(dtype),
        "Sequence": FixedLenSequenceFeature([], dtype, True),
    }
    row = {"a": values, "i": list(range(size))}
    for kind, feature in features.items():
        name = "s" if kind == "Sparse" else "a"
        found = parse_example(encoded([row]), {name: feature})[name]
        array = np.asarray(
            found.flat_values if kind == "Ragged" else getattr(found, "values", found)
        )
        assert array.dtype == expected.dtype
        assert array.ravel().tobytes() == expected.tobytes()
        for value in outside:
            if not is_float and not -(2**63) <= value < 2**63:
                continue
            wrong = encoded([row, {**row, "a": [value] * size}])
            with pytest.raises(ParseError, match="does not fit") as caught:
                parse_example(wrong, {name: feature})
            assert (caught.value.record, caught.value.feature) == (1, "a")


def test_defaults_of_every_width() -> None:
    for dtype, (low, high) in INTEGERS.items():
        found = parse_example([b""], {"a": FixedLenFeature([2], dtype, [low, high])})["a"]
        assert (found.dtype, found.tolist()) == (dtype, [[low, high]])
    for name, value in (("float16", 0.1), ("float64", 0.1), ("bfloat16", 1e30), ("bool", True)):
        found = parse_example([b""], {"a": FixedLenFeature([], name, value)})["a"]
        wire = np.float32(value) if name != "bool" else value
        assert found.dtype.name == name
        assert found.tolist() == np.array([wire]).astype(found.dtype).tolist()


# ---------------------------------------------------------------- errors


def test_an_error_names_the_file(tmp_path: Path) -> None:
    with tfrecs.RecordWriter(tmp_path / "a.tfrecord") as out:
        for row in ({}, {"i": [1], "v": [1.0, 2.0]}):
            out.write(tfrecs.encode_example(row))
    records = tfrecs.RecordReader(tmp_path / "a.tfrecord").read_batch(9)
    with pytest.raises(ParseError) as caught:
        parse_example(records[1:], {"s": ONE}, ["n"])
    error = caught.value
    assert (error.path, error.record, error.feature) == (str(tmp_path / "a.tfrecord"), 1, "s")
    assert error.offset == 16
    place = f'{tmp_path / "a.tfrecord"}: record 1 at byte 16: Name: n, feature "s": '
    assert str(error) == place + error.reason


@pytest.mark.parametrize("names", [["a"], "a", ["a", "b", "c"]])
def test_names_are_as_many_as_records(names: Any) -> None:
    with pytest.raises(tfrecs.SpecError, match="Expected names have the same shape as serialized"):
        parse_example([b"", b""], {"a": VarLenFeature("int64")}, names)


@pytest.mark.parametrize("names", [["n"], np.array(["n"]), np.array([b"n"], object), [b"n"]])
def test_forms_of_names(names: Any) -> None:
    with pytest.raises(ParseError, match="record 0: Name: n, "):
        parse_example([b""], {"a": FixedLenFeature([], "int64")}, names)


def test_what_are_no_records_and_no_names() -> None:
    spec = {"a": VarLenFeature("int64")}
    nonsense: list[Any] = [None, 3, np.array(1.5), {"a": 1}, "text"]
    for serialized in nonsense:
        with pytest.raises(tfrecs.SpecError, match=r"serialized is bytes.*, not "):
            parse_example(serialized, spec)
    wrong: Any = 5
    with pytest.raises(tfrecs.SpecError, match=r"names of records are str, .*, not int"):
        parse_example([b""], spec, wrong)


def test_names_of_a_single_example() -> None:
    spec = {"a": FixedLenFeature([], "int64")}
    for parse in (parse_example, parse_single_example):
        with pytest.raises(ParseError, match="Name: n, "):
            parse(b"", spec, "n")
        with pytest.raises(tfrecs.SpecError, match=r"name.shape=\[1\], serialized.shape=\[\]"):
            parse(b"", spec, ["n"])
    with pytest.raises(tfrecs.SpecError, match="must be a scalar, got 1 record"):
        parse_single_example([b""], spec)
