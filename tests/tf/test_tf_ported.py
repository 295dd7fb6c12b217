"""Code written for TensorFlow that `from tfrecs import tf` must run."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfrecs import tf


def numbers(*args: int) -> Any:
    return tf.data.Dataset.range(*args)


def drawn(weights: Any, **how: Any) -> list[int]:
    made = tf.data.Dataset.sample_from_datasets([numbers(3), numbers(10, 13)], weights, **how)
    return [int(one) for one in made]


def weight_rows(*rows: list[float]) -> Any:
    return tf.data.Dataset.from_tensor_slices(list(rows))


def test_prefetch_of_no_size() -> None:
    assert list(map(int, numbers(3).prefetch(None))) == [0, 1, 2]


def test_shuffle_of_unknown_cardinality() -> None:
    kept = numbers(100).filter(lambda n: n > 3)
    made = [int(n) for n in kept.shuffle(kept.cardinality(), seed=1)]
    assert sorted(made) == list(range(4, 100))
    assert made != sorted(made)


def test_shuffle_of_files_of_unknown_cardinality(tmp_path: Path) -> None:
    name = str(tmp_path / "records")
    with tf.io.TFRecordWriter(name) as out:
        for n in range(50):
            out.write(b"%d" % n)
    files = tf.data.TFRecordDataset(name)
    made = [one.numpy() for one in files.shuffle(files.cardinality(), seed=1)]
    assert sorted(made, key=int) == [b"%d" % n for n in range(50)]


def test_weights_of_0_are_never_drawn() -> None:
    assert drawn([1.0, 0.0]) == [0, 1, 2]
    assert drawn([0.0, 1.0]) == [10, 11, 12]
    assert drawn([0.0, 0.0]) == []
    with pytest.raises(TypeError, match="int32"):
        drawn([0, 1])


def test_weights_from_a_dataset() -> None:
    by_turns = weight_rows([1.0, 0.0], [0.0, 1.0])
    assert drawn(by_turns.repeat()) == [0, 10, 1, 11, 2, 12]
    assert drawn(by_turns) == [0, 10]
    first = weight_rows(*[[1.0, 0.0]] * 9, [0.0, 1.0])
    assert drawn(first) == [0, 1, 2, 10]
    assert drawn(first, stop_on_empty_dataset=True) == [0, 1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="above 0"):
        drawn(weight_rows([0.0, 0.0]))


def test_a_dataset_of_weights_resumes_at_each_element() -> None:
    rows = weight_rows(*np.random.default_rng(0).random((20, 2)).tolist())

    def begun() -> Any:
        datasets = [numbers(9), numbers(10, 19)]
        return iter(tf.data.Dataset.sample_from_datasets(datasets, rows, seed=3).plan)

    whole = list(begun())
    for number in range(len(whole) + 1):
        before, after = begun(), begun()
        assert [next(before) for _ in range(number)] == whole[:number]
        after.load_state_dict(before.state_dict())
        assert list(after) == whole[number:]


def test_no_label() -> None:
    pairs = numbers(3).map(lambda x: (x, None))
    assert [(int(x), y) for x, y in pairs] == [(0, None), (1, None), (2, None)]
    assert [(x.numpy().tolist(), y) for x, y in pairs.batch(2)] == [([0, 1], None), ([2], None)]
    assert [int(x) for x, _ in pairs.batch(2).unbatch()] == [0, 1, 2]
    with pytest.raises(TypeError, match="None"):
        list(numbers(1).map(lambda x: None))


def test_next_of_an_iterator() -> None:
    iterator = iter(numbers(2))
    assert [int(iterator.next()), int(iterator.next())] == [0, 1]
    with pytest.raises(StopIteration):
        iterator.next()


def test_padded_bfloat16() -> None:
    rows = numbers(1, 4).map(lambda n: tf.cast(tf.range(n), tf.bfloat16))
    made = [one.numpy().tolist() for one in rows.padded_batch(2)]
    assert made == [[[0, 0], [0, 1]], [[0, 1, 2]]]
    padding = tf.constant(1.5, tf.bfloat16)
    first = next(iter(rows.padded_batch(2, padding_values=padding)))
    assert (first.dtype, first.numpy().tolist()) == (tf.bfloat16, [[0, 1.5], [0, 1]])


def test_shapes_are_added() -> None:
    shape = tf.zeros([2, 3]).shape
    for made in (shape + [4], shape + (4,), shape + 4, shape.concatenate([4])):  # noqa: RUF005
        assert isinstance(made, tf.TensorShape)
        assert made.as_list() == [2, 3, 4]
    assert ([None] + shape).as_list() == [None, 2, 3]  # noqa: RUF005
    assert (shape + None).rank is None
    assert shape.merge_with([None, 3]) == [2, 3]
    with pytest.raises(ValueError, match="not compatible"):
        shape.merge_with([3, 3])


def test_decorated_functions() -> None:
    @tf.py_function(Tout=[tf.int64, tf.string])  # type: ignore[untyped-decorator]
    def named(number: Any) -> Any:
        """Return a number and its name."""
        return number * 2, str(int(number))

    @tf.numpy_function(Tout=tf.int64)  # type: ignore[untyped-decorator]
    def squared(number: Any) -> Any:
        return number**2

    assert (named.__name__, named.__doc__) == ("named", "Return a number and its name.")
    made = [(int(n), name.numpy()) for n, name in numbers(2).map(named)]
    assert made == [(0, b"0"), (2, b"1")]
    assert [int(n) for n in numbers(3).map(squared)] == [0, 1, 4]
    with pytest.raises(TypeError, match="Tout"):
        tf.py_function()(named)


@pytest.mark.parametrize("mode", ["w", "wb", "a", "ab", "w+"])
def test_gfile_takes_text_and_bytes(tmp_path: Path, mode: str) -> None:
    with tf.io.gfile.GFile(tmp_path / "out", mode) as out:
        out.write("ä\n")
        out.write(b"\xff")
    assert (tmp_path / "out").read_bytes() == "ä\n".encode() + b"\xff"


def test_gfile_seeks(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"abcdef")
    with tf.io.gfile.GFile(tmp_path / "in", "rb") as file:
        found = []
        for place in [(2,), (0,), (1, 1), (-1, 2), (3, 0)]:
            file.seek(*place)
            found.append((file.tell(), file.read(1)))
    assert found == [(2, b"c"), (0, b"a"), (2, b"c"), (5, b"f"), (3, b"d")]


def test_gfile_reads(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\r\nb")
    assert tf.io.gfile.GFile(path).read() == "a\r\nb"
    assert list(tf.io.gfile.GFile(path, "rb")) == [b"a\n", b"b"]
    with pytest.raises(tf.errors.PermissionDeniedError):
        tf.io.gfile.GFile(path).write("x")
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode"):
        tf.io.gfile.GFile(path, "x")


def test_keywords_of_version_1() -> None:
    rows = tf.constant([[1, 2], [3, 4]])
    assert tf.reduce_sum(rows, reduction_indices=1, keep_dims=True).numpy().tolist() == [[3], [7]]
    assert tf.squeeze(rows[:1], squeeze_dims=[0]).numpy().tolist() == [1, 2]
    assert tf.expand_dims(rows, dim=0).shape == [1, 2, 2]
    assert tf.argmax(rows, dimension=1).numpy().tolist() == [1, 1]
    assert tf.decode_raw(bytes=b"ab", out_type=tf.uint8).numpy().tolist() == [97, 98]
    with pytest.raises(ValueError, match="both 'keep_dims' and 'keepdims'"):
        tf.reduce_sum(rows, keepdims=True, keep_dims=False)
    with pytest.raises(ValueError, match="both 'dimension' and 'axis'"):
        tf.argmax(rows, 0, dimension=1)


def until_now(iterator: Any) -> list[bytes]:
    found = []
    try:
        found.extend(iterator)
    except tf.errors.DataLossError:
        found.append(b"loss")
    return found


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_a_file_that_grows_is_read_on(tmp_path: Path, kind: str) -> None:
    path, more = tmp_path / "grows", tmp_path / "more"
    for name, records in ((path, [b"a", b"b"]), (more, [b"c"])):
        with tf.io.TFRecordWriter(str(name), kind) as out:
            for record in records:
                out.write(record)
    options = tf.io.TFRecordOptions(kind)
    iterator = tf.compat.v1.io.tf_record_iterator(str(path), options)
    assert (until_now(iterator), until_now(iterator)) == ([b"a", b"b"], [])
    for _ in range(2):
        with path.open("ab") as out:
            out.write(more.read_bytes())
        assert (until_now(iterator), until_now(iterator)) == ([b"c"], [])


@pytest.mark.parametrize("missing", range(1, 22))
def test_a_torn_record_is_read_when_it_is_complete(tmp_path: Path, missing: int) -> None:
    path = tmp_path / "torn"
    with tf.io.TFRecordWriter(str(path)) as out:
        out.write(b"first")
        out.write(b"second")
    whole = path.read_bytes()
    path.write_bytes(whole[:-missing])
    iterator = tf.python_io.tf_record_iterator(str(path))
    assert (until_now(iterator), until_now(iterator)) == ([b"first", b"loss"], [b"loss"])
    path.write_bytes(whole)
    assert until_now(iterator) == [b"second"]


def test_a_bmp_without_a_palette_is_grey() -> None:
    def bmp(height: int, rows: bytes) -> bytes:
        head = b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54)
        return head + struct.pack("<IiiHHIIiiII", 40, 3, height, 1, 8, 0, 8, 0, 0, 0, 0) + rows

    rows = bytes([1, 2, 3, 0, 4, 5, 6, 0])
    for decode in (tf.io.decode_bmp, tf.io.decode_image):
        assert decode(bmp(2, rows)).numpy().tolist() == [[[4], [5], [6]], [[1], [2], [3]]]
        assert decode(bmp(-2, rows)).numpy().tolist() == [[[1], [2], [3]], [[4], [5], [6]]]
        assert decode(bmp(1, rows[:4]), channels=3).numpy().tolist() == [
            [[1] * 3, [2] * 3, [3] * 3]
        ]
        with pytest.raises(tf.errors.InvalidArgumentError):
            decode(bmp(2, rows[:-2]))


def test_one_shot_iterators_without_a_session() -> None:
    iterator = tf.compat.v1.data.make_one_shot_iterator(numbers(5))
    first, second = iterator.get_next(), iterator.get_next()
    assert [second.numpy(), first.numpy(), first.numpy()] == [1, 0, 0]
    assert int(iterator.get_next()) == 2
    assert (iterator.get_next() + 1).numpy() == 4
    assert bool(iterator.get_next() > 3)
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next().numpy()
    pairs = tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"]))
    number, name = tf.compat.v1.data.make_one_shot_iterator(pairs).get_next()
    assert (number.numpy(), name.numpy()) == (1, b"a")


def test_static_shapes() -> None:
    given = tf.placeholder(tf.float32, [None, 4])
    assert tf.reshape(given, [-1, 2, 2]).shape.as_list() == [None, 2, 2]
    assert tf.reshape(given, [tf.shape(given)[0], 2, 2]).get_shape() == [None, 2, 2]
    assert tf.reshape(given, [8]).dtype == tf.float32
    assert tf.shape(given).shape == [2]
    assert tf.shape(given)[0].dtype == tf.int32
    assert tf.shape(given)[0].shape == []


def test_sequences_in_a_list_of_tensors() -> None:
    features = {"id": tf.io.FixedLenFeature([], tf.int64, default_value=7)}
    context, _, _ = tf.io.parse_sequence_example([tf.constant(b""), b""], features)
    assert context["id"].numpy().tolist() == [7, 7]
