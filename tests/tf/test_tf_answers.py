"""`tfrecs.tf` where it once answered otherwise than TensorFlow, without an error."""

import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecs
from tfrecs import tf


@pytest.mark.parametrize("line", ['"', 'a"bc', '"x"y', 'a""', "a\nb", "a\n", '"""', ""])
def test_lines_that_are_not_csv_are_refused(line: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="record 0"):
        tf.io.decode_csv([line], [["d"]])


@pytest.mark.parametrize("columns", [[-1, 0], [0, 0], [1, 0]])
def test_selected_columns_increase(columns: list[int]) -> None:
    with pytest.raises(ValueError, match="select_cols"):
        tf.io.decode_csv(["a,b"], [[""], [""]], select_cols=columns)


@pytest.mark.parametrize("default", [[[["d"]]], [["d", "e"]], [[True]]])
def test_defaults_of_csv_are_single_values(default: list[object]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="record_defaults"):
        tf.io.decode_csv(["a"], default)


def test_csv_is_bytes_with_doubled_quotes() -> None:
    first, second = tf.io.decode_csv([b'"a""b,",\xff'], [[""], [""]])
    assert (first.numpy().tolist(), second.numpy().tolist()) == ([b'a"b,'], [b"\xff"])


@pytest.mark.parametrize("apply", [operator.add, operator.mul, operator.eq, operator.lt])
def test_two_types_are_refused(apply: object) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32 and float32"):
        apply(tf.constant([1]), tf.constant([1.5]))  # type: ignore[operator]


def test_python_values_are_of_the_other_type() -> None:
    made: list[Any] = [tf.constant([1.5]) + 1, 300 + tf.constant([1], tf.int8)]
    made.append(np.array([2.7]) * tf.constant(2))
    assert [one.dtype.name for one in made] == ["float32", "int8", "int32"]
    assert [one.numpy().tolist() for one in made] == [[2.5], [45], [4]]
    with pytest.raises(TypeError, match="int32"):
        tf.constant([1]) - 1.5


def test_integers_are_not_divided_by_zero() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        tf.constant([1]) // 0


def test_one_hot_is_of_the_type_of_its_values() -> None:
    assert tf.one_hot([1], 3, 1, 0).dtype == tf.int32
    assert tf.one_hot([1], 3).dtype == tf.float32
    with pytest.raises(TypeError, match="float32, int32"):
        tf.one_hot([1], 3, 1, 0.5)


def test_where_of_version_1_chooses_rows() -> None:
    ones, zeros = np.ones((2, 2)), np.zeros((2, 2))
    made = tf.compat.v1.where([True, False], ones, zeros), tf.where([True, False], ones, zeros)
    assert [one.numpy().tolist() for one in made] == [[[1, 1], [0, 0]], [[1, 0], [1, 0]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="shapes"):
        tf.compat.v1.where([True, False, True], ones, zeros)


def test_resize_of_version_1_aligns_the_first_pixels() -> None:
    row = np.arange(4, dtype=np.float32).reshape(1, 4, 1)
    resize = tf.compat.v1.image.resize
    assert resize(row, [1, 2]).numpy().ravel().tolist() == [0, 2]
    assert resize(row, [1, 2], align_corners=True).numpy().ravel().tolist() == [0, 3]
    assert tf.image.resize(row, [1, 2]).numpy().ravel().tolist() == [0.5, 2.5]
    assert tf.compat.v1.image.decode_png is tf.image.decode_png


def test_resize_bilinear_of_version_1_takes_pixel_corners() -> None:
    row = np.arange(4, dtype=np.float32).reshape(1, 1, 4, 1)
    resize = tf.compat.v1.image.resize_bilinear
    assert resize(row, [1, 2]).numpy().ravel().tolist() == [0, 2]
    assert resize(row, [1, 2], half_pixel_centers=True).numpy().ravel().tolist() == [0.5, 2.5]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "string"])
def test_zeros_and_ones(dtype: str) -> None:
    zeros = tf.zeros([1, 2], dtype)
    assert (zeros.dtype.name, zeros.shape.as_list()) == (dtype, [1, 2])
    assert not any(zeros.numpy().ravel().tolist())
    if dtype != "string":
        assert tf.ones([2], dtype).numpy().tolist() == [1, 1]


def test_a_python_function_gives_one_value_or_a_list() -> None:
    one = tf.py_function(lambda: [5], [], tf.int64)
    assert (one.shape.as_list(), int(one)) == ([], 5)
    several = tf.py_function(lambda: [5, 6], [], [tf.int64, tf.int64])
    assert [int(it) for it in several] == [5, 6]


def test_values_are_moved_as_numpy_moves_them() -> None:
    rows = np.arange(6).reshape(2, 3)
    assert tf.reshape(rows, [3, -1]).numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"6 values.* \[4\]"):
        tf.reshape(rows, [4])
    assert tf.reverse(rows, [1]).numpy().tolist() == [[2, 1, 0], [5, 4, 3]]
    assert tf.boolean_mask(rows, [False, True]).numpy().tolist() == [[3, 4, 5]]
    assert tf.pad([1, 2], [[1, 2]]).numpy().tolist() == [0, 1, 2, 0, 0]


def test_cast_keeps_what_is_of_the_type_already() -> None:
    given = tf.constant([1, 2], tf.int64)
    assert tf.cast(given, tf.int64) is given
    assert tf.cast([1.9, -1.9], tf.int32).numpy().tolist() == [1, -1]
    sparse = tf.cast(tf.sparse.SparseTensor([[1]], [2.5], [3]), tf.int64)
    assert (sparse.values.numpy().tolist(), sparse.dense_shape.numpy().tolist()) == ([2], [3])
    with pytest.raises(tf.errors.UnimplementedError, match="string"):
        tf.cast([b"1"], tf.int64)


def test_shapes_of_unknown_rank_are_equal() -> None:
    unknown = tf.TensorShape(None)
    assert unknown == tf.TensorShape(None)
    assert unknown != tf.TensorShape([1])
    assert unknown != [1]
    assert tf.TensorShape([1]) != unknown


def test_types_of_numpy_function_are_checked_in_datasets_only() -> None:
    def call(number: Any) -> Any:
        return tf.numpy_function(lambda _: np.int32(7), [number], tf.int64)

    assert (call(0).dtype, int(call(0))) == (tf.int32, 7)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"int32.*int64"):
        list(tf.data.Dataset.range(1).map(call))
    assert int(call(0)) == 7


def passes(counts: list[int]) -> Any:
    """Return a dataset of a generator whose passes have that many elements, then none."""
    left = iter(counts)
    return tf.data.Dataset.from_generator(lambda: iter(range(next(left, 0))), tf.int32, ())


def test_repeat_goes_on_after_empty_passes() -> None:
    elements = passes([0, 0, 1, 0, 2, 0]).repeat(6)
    assert [int(one) for one in elements] == [0, 0, 1]
    assert list(passes([0, 1]).repeat()) == []  # or there would be no end


def test_sparse_values_out_of_map_are_sparse() -> None:
    value = tf.compat.v1.SparseTensorValue([[0]], [7], [2])
    (made,) = tf.data.Dataset.range(2).map(lambda _: value).batch(2)
    assert made.indices.numpy().tolist() == [[0, 0], [1, 0]]
    assert made.dense_shape.numpy().tolist() == [2, 2]


def test_cardinality_of_infinite_and_unknown() -> None:
    endless = tf.data.Dataset.range(2).repeat()
    unknown = tf.data.Dataset.range(5).filter(lambda n: n > 1)
    mixed = [
        endless.concatenate(unknown),
        unknown.concatenate(endless),
        unknown.repeat(),
        tf.data.Dataset.sample_from_datasets([endless, unknown]),
        endless.batch(2).unbatch(),
    ]
    assert [int(one.cardinality()) for one in mixed] == [tf.data.INFINITE_CARDINALITY] * 5
    assert int(tf.data.Dataset.zip((endless, unknown)).cardinality()) == -2
    assert int(unknown.repeat().take(4).cardinality()) == 4


def test_one_iterator_writes_a_cache(tmp_path: Path) -> None:
    kept = tf.data.Dataset.range(3).cache(str(tmp_path / "kept"))
    first, second = iter(kept), iter(kept)
    assert int(next(first)) == 0
    with pytest.raises(tf.errors.AlreadyExistsError, match="kept"):
        next(second)
    assert [int(one) for one in first] == [1, 2]
    assert [int(one) for one in kept] == [0, 1, 2]


def outcomes(elements: Any) -> list[Any]:
    """Return what an iterator gives: numbers, and the names of the classes of errors."""
    given: list[Any] = []
    for _ in range(10):
        try:
            given.append(int(next(elements)))
        except StopIteration:
            break
        except tf.errors.OpError as error:
            given.append(type(error).__mro__[0].__name__)
    return given


def fails_at_1(error: Exception) -> Any:
    def function(number: Any) -> Any:
        if int(number) == 1:
            raise error
        return number

    return lambda n: tf.py_function(function, [n], tf.int64)


@pytest.mark.parametrize(
    "change",
    [
        lambda ds, f: ds.map(f),
        lambda ds, f: ds.map(f, 2),
        lambda ds, f: ds.map(f).prefetch(2),
        lambda ds, f: ds.map(f).map(lambda n: n),
        lambda ds, f: ds.map(f).filter(lambda n: True),
        lambda ds, f: ds.map(f).batch(1).unbatch(),
        lambda ds, f: ds.flat_map(lambda n: tf.data.Dataset.from_tensors(f(n))),
    ],
)
def test_elements_after_one_that_fails(change: Any) -> None:
    numbers = tf.data.Dataset.range(4)
    made = outcomes(iter(change(numbers, fails_at_1(ValueError("no")))))
    assert made == [0, "InvalidArgumentError", 2, 3]


def test_pairs_stay_together_after_one_that_fails() -> None:
    failing = tf.data.Dataset.range(4).map(fails_at_1(KeyError("no")))
    pairs = tf.data.Dataset.zip((failing, tf.data.Dataset.range(4)))
    assert outcomes(iter(pairs.map(lambda one, other: one * 10 + other))) == [
        0,
        "UnknownError",
        22,
        33,
    ]
    numbered = failing.enumerate().map(lambda number, one: number * 10 + one)
    assert outcomes(iter(numbered)) == [0, "UnknownError", 22, 33]


def test_records_after_one_that_is_no_example(tmp_path: Path) -> None:
    path = str(tmp_path / "some.tfrecord")
    with tf.io.TFRecordWriter(path) as out:
        for number in range(4):
            out.write(b"\xff" if number == 1 else tfrecs.encode_example({"id": number}))
    spec = {"id": tf.io.FixedLenFeature([], tf.int64)}
    parsed = tf.data.TFRecordDataset(path).map(lambda r: tf.io.parse_single_example(r, spec))
    assert [int(one["id"]) for one in values(iter(parsed))] == [0, 2, 3]


def values(elements: Any) -> Any:
    """Yield the elements that do not fail."""
    while True:
        try:
            yield next(elements)
        except StopIteration:
            return
        except tf.errors.InvalidArgumentError:
            continue


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (TypeError(), "InvalidArgumentError"),
        (MemoryError(), "ResourceExhaustedError"),
        (NotImplementedError(), "UnimplementedError"),
        (OSError(), "UnknownError"),
    ],
    ids=str,
)
def test_errors_of_python_functions_are_of_tf(error: Exception, name: str) -> None:
    def generate() -> Any:
        yield 0
        raise error

    assert outcomes(iter(tf.data.Dataset.range(2).map(fails_at_1(error)))) == [0, name]
    elements = tf.data.Dataset.from_generator(generate, tf.int32, ())
    assert outcomes(iter(elements)) == [0, name]


def test_types_know_their_kind() -> None:
    kinds = [(one.is_bool, one.is_integer, one.is_floating) for one in (tf.bool, tf.int8, tf.half)]
    assert kinds == [(True, False, False), (False, True, False), (False, False, True)]
