"""Functions of `tfrecs.tf` beside TensorFlow's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as theirs  # noqa: ICN001 - either one is called tf in programs

import tfrecs.tf
from oracle.programs import Program, example, same, spec_of, write_files


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()


OPS: dict[str, Program] = {
    "constant": lambda tf: [tf.constant(value) for value in (1, 1.5, True, "a", b"b", [[1], [2]])],
    "large": lambda tf: tf.constant([2**31 - 1, -(2**31)]),
    "constant of type": lambda tf: tf.constant([1, 2], tf.float64, shape=(2, 1)),
    "filled": lambda tf: tf.constant(7, shape=[2, 2]),
    "of numpy": lambda tf: tf.constant(np.arange(3, dtype=np.uint8)),
    "not an int": lambda tf: tf.constant(1.5, tf.int32),
    "not a number": lambda tf: tf.constant("a", tf.int32),
    "cast": lambda tf: [tf.cast([1.9, -1.9], tf.int32), tf.cast([0, 2], tf.bool)],
    "cast strings": lambda tf: tf.cast("1", tf.int32),
    "parts": lambda tf: [
        tf.gather([[1, 2], [3, 4], [5, 6]], [2, 0]),
        tf.gather([[1, 2], [3, 4]], tf.constant([[0], [1]]), axis=1),
        tf.reverse([[1, 2], [3, 4]], [0]),
        tf.reverse(tf.constant(["a", "b"]), axis=[-1]),
        tf.boolean_mask([[1, 2], [3, 4]], [False, True]),
        tf.tile([1, 2], [2]),
        tf.tile([[1.5], [2.5]], [1, 3]),
        tf.pad([[1, 2]], [[0, 1], [1, 0]]),
        tf.pad([1.5], [[1, 1]], constant_values=-1),
        tf.ensure_shape(tf.zeros([2, 3]), [None, 3]),
    ],
    "no such part": lambda tf: tf.ensure_shape(tf.zeros([2, 3]), [3, None]),
    "numbers": lambda tf: [
        tf.clip_by_value([1, 5, 9], 2, 6),
        tf.clip_by_value(tf.constant([0.5, 1.5]), 0, 1),
        tf.round([0.5, 1.5, -2.5]),
        tf.math.floor([1.5, -1.5]),
        tf.math.log([1.0]),
        tf.math.reduce_sum([1, 2]),
        tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]),
    ],
    "csv that is too large": lambda tf: tf.io.decode_csv("99999999999", [[0]]),
    "a png without channels": lambda tf: tf.io.encode_png(np.zeros((2, 2), np.uint8)),
    "folders": lambda tf: [
        tf.io.gfile.makedirs("one/two"),
        tf.io.gfile.mkdir("one"),
        tf.io.gfile.join("a", "b", "c.txt"),
        [[top, sorted(folders), files] for top, folders, files in tf.io.gfile.walk("one")],
    ],
    "reshape": lambda tf: tf.reshape(tf.range(6), [2, -1]),
    "reshape wrongly": lambda tf: tf.reshape(tf.range(6), [4, 2]),
    "arithmetic": lambda tf: [
        tf.constant([1.0, 2.0]) * 2 - 1,
        1 / tf.constant(4.0),
        tf.constant(7) // 2,
        tf.constant(7) % 4,
        -tf.constant(3),
        tf.constant(2) ** 3,
        tf.constant("a") + "b",
    ],
    "arithmetic with what is no tensor": lambda tf: [
        tf.constant([1.0, 2.0]) - [0.5, 0.25],
        [1, 2] * tf.constant([1.0, 2.0]),
        tf.constant([1.0, 2.0]) * np.array([0.5, 2.0]),
        np.float64(2) * tf.constant(2.0),
        tf.constant([1, 2]) + np.array([1, 2]),
        tf.maximum(tf.constant([1.0, 3.0]), 2),
        tf.add(tf.constant([1, 2], tf.int64), 1),
        tf.stack([tf.constant([1.0, 2.0]), [3, 4]]),
        tf.concat([tf.constant([1], tf.int64), [2]], 0),
    ],
    "a fraction and an int": lambda tf: tf.constant([1, 2]) * 2.5,
    "quotients of integers": lambda tf: [
        *(tf.constant([7, 2], kind) / 2 for kind in (tf.uint8, tf.int16, tf.int32, tf.int64)),
        255 / tf.constant(2, tf.uint8),
        tf.divide(tf.constant([7, 2], tf.uint8), 255),
        tf.divide(tf.constant([7.0]), 2),
    ],
    "lists of numbers of numpy": lambda tf: [
        tf.constant([np.float64(1.5), 2.0]),
        tf.constant([2.0, np.float64(1.5)]),
        tf.constant([np.zeros(2), np.ones(2)]),
        tf.constant([np.int64(1)]),
        tf.constant([np.uint8(1)]),
        tf.constant([np.float16(1)]),
    ],
    "text that ends with zeros": lambda tf: tf.constant(["a\0", "b"]),
    "text and bytes": lambda tf: tf.constant(["a", b"\xff"]),
    "text and numbers": lambda tf: tf.constant(["a", 1]),
    "axes": lambda tf: [
        tf.transpose([[1, 2]], perm=[1, 0]),
        tf.transpose(a=[[1, 2]]),
        tf.squeeze([[[1, 2]]], axis=[0, 1]),
        tf.squeeze([[1]], []),
        tf.zeros_like(["a"]),
        tf.zeros_like([1.5], dtype=tf.int32),
    ],
    "shown": lambda tf: [str(tf.zeros([2, 2])), repr(tf.zeros([2, 2])), str(tf.constant(["a"]))],
    "comparison": lambda tf: [
        tf.constant(["a", "b"]) == ["a", "c"],
        tf.constant([1, 2]) == [1, 3],
        tf.constant([1, 2]) != tf.constant([1, 3]),
        tf.constant("a") == b"a",
        tf.constant([1.5]) < 2,
        tf.equal(1, 1),
    ],
    "index": lambda tf: [tf.range(6)[1], tf.range(6)[2:4], tf.reshape(tf.range(6), [2, 3])[:, 1]],
    "python": lambda tf: [
        int(tf.constant(3)),
        float(tf.constant(1.5)),
        bool(tf.constant(False)),
        len(tf.constant([1, 2])),
        f"{tf.constant(3)} {tf.constant(1.25):.1f}",
        [int(one) for one in tf.constant([4, 5])],
    ],
    "shapes": lambda tf: [
        tf.zeros([2, 3]).shape.as_list(),
        tf.zeros([2, 3]).shape == [2, 3],
        tf.zeros([2, 3]).shape.rank,
        tf.zeros([2, 3]).shape.num_elements(),
        list(tf.zeros([2, 3]).get_shape()),
        tf.shape(tf.zeros([2, 3])),
        tf.size(tf.zeros([2, 3])),
        tf.rank(tf.zeros([2, 3])),
    ],
    "dtypes": lambda tf: [
        tf.constant(1).dtype == tf.int32,
        tf.int64.name,
        tf.as_dtype("float32").name,
        tf.as_dtype(np.int16).name,
        tf.float32.is_floating,
        tf.uint8.max,
        tf.int64.size,
        tf.int64 == np.int64,
        str(tf.string),
        repr(tf.bool),
    ],
    "text": lambda tf: [
        str(tf.constant([1, 2])),
        repr(tf.constant([1, 2])),
        str(tf.constant("a")),
        repr(tf.constant("a")),
        repr(tf.constant(1.5)),
        repr(tf.constant(True)),
    ],
    "other": lambda tf: [
        tf.expand_dims([1, 2], 0),
        tf.expand_dims([1, 2], axis=-1),
        tf.squeeze([[1], [2]]),
        tf.stack([[1, 2], [3, 4]]),
        tf.concat([[1], [2, 3]], 0),
        tf.one_hot([0, 2], 3),
        tf.one_hot(1, depth=3, dtype=tf.int32),
        tf.transpose([[1, 2], [3, 4]]),
        tf.reduce_sum([1, 2]),
        tf.reduce_mean([[1.0, 2.0], [3.0, 4.0]], axis=0),
        tf.reduce_max([1, 5, 2]),
        tf.argmax([1, 5, 2]),
        tf.maximum([1, 5], 3),
        tf.range(1, 7, 2),
        tf.range(3.0),
        tf.range(0),
        tf.fill([2], 5),
        tf.ones([2], tf.int64),
        tf.zeros([], tf.string),
        tf.where([True, False], 1, 2),
        tf.slice([1, 2, 3], [1], [-1]),
    ],
    "sparse": lambda tf: [
        tf.sparse.to_dense(tf.sparse.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2])),
        tf.sparse.to_dense(tf.sparse.SparseTensor([[0, 1]], ["a"], [1, 2]), default_value="z"),
    ],
    "raw": lambda tf: [
        tf.io.decode_raw(b"\1\0\2\0", tf.int16),
        tf.io.decode_raw([b"\1\0", b"\2\0"], tf.uint8),
        tf.io.decode_raw(b"\0\1", tf.int16, little_endian=False),
    ],
    "raw wrongly": lambda tf: tf.io.decode_raw(b"\1\0\2", tf.int16),
    "tensors": lambda tf: tf.io.parse_tensor(
        tf.io.serialize_tensor(tf.constant([[1.5, 2.5]])), tf.float32
    ),
    "tensors of strings": lambda tf: tf.io.parse_tensor(
        tf.io.serialize_tensor(tf.constant(["a", "bc"])), tf.string
    ),
    "serialized": lambda tf: tf.io.serialize_tensor(tf.constant([1, 2])),
    "tensors of another type": lambda tf: tf.io.parse_tensor(
        tf.io.serialize_tensor(tf.constant([1])), tf.float32
    ),
    "files": lambda tf: [
        tf.io.write_file("folder/in/it", "text"),
        tf.io.read_file("folder/in/it"),
        tf.io.matching_files("raw-*"),
        sorted(tf.io.gfile.glob("raw-*")),
        tf.io.gfile.exists("nothing"),
        tf.io.gfile.isdir("folder"),
    ],
    "missing file": lambda tf: tf.io.read_file("nothing"),
    "csv": lambda tf: tf.io.decode_csv('1,"a,b",', [0, "", 2.5]),
    "csv, wrong": lambda tf: tf.io.decode_csv("1,2", [0]),
    "csv, no number": lambda tf: tf.io.decode_csv("x", [0]),
    "csv, required": lambda tf: tf.io.decode_csv("", [tf.constant([], tf.int32)]),
    "parse one": lambda tf: tf.io.parse_single_example(example(tf, 4), spec_of(tf)),
    "parse some": lambda tf: tf.io.parse_example([example(tf, 4), example(tf, 5)], spec_of(tf)),
    "parse nothing": lambda tf: tf.io.parse_single_example(example(tf, 4), {}),
    "as bytes": lambda tf: [
        tf.compat.as_bytes("ä"),
        tf.compat.as_text(b"a"),
        tf.compat.as_str("a"),
    ],
    "scaled": lambda tf: [
        tf.image.convert_image_dtype(np.array([0, 128, 255], np.uint8), tf.float32),
        tf.image.convert_image_dtype(np.array([0.0, 0.5, 1.0], np.float32), tf.uint8),
        tf.image.convert_image_dtype(np.array([0, 255], np.uint8), tf.uint16),
        tf.image.convert_image_dtype(np.array([0, 65535], np.uint16), tf.uint8),
    ],
    "nearest": lambda tf: tf.image.resize(np.arange(60).reshape(4, 5, 3), [3, 7], "nearest"),
    "png": lambda tf: tf.io.decode_png(
        tf.io.encode_png(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)), channels=1
    ),
    "jpeg": lambda tf: tf.io.decode_image(
        tf.io.encode_jpeg(np.full((8, 8, 3), 77, np.uint8)), channels=3
    ).shape.as_list(),
    "no image": lambda tf: tf.io.decode_image(b"nothing"),
    "reduce": lambda tf: tf.data.Dataset.range(5).reduce(np.int64(0), lambda x, y: x + y),
}


def written(tf: Any) -> Any:
    options = tf.io.TFRecordOptions(compression_type="GZIP", compression_level=3)
    with tf.io.TFRecordWriter("out.gz", options) as out:
        out.write(b"a")
        out.write("text")
    return [record.numpy() for record in tf.data.TFRecordDataset("out.gz", "GZIP")]


OPS["written"] = written


@pytest.mark.parametrize("name", OPS)
def test_functions_are_the_same(name: str) -> None:
    same(OPS[name])


@pytest.mark.parametrize("shape", [(4, 6), (9, 3), (7, 7), (1, 1)])
def test_images_are_resized_alike(shape: tuple[int, int]) -> None:
    pixels = np.random.default_rng(1).integers(0, 255, (7, 5, 3)).astype(np.float32)
    ours = tfrecs.tf.image.resize(pixels, shape).numpy()
    wanted = theirs.image.resize(pixels, shape).numpy()
    assert ours.shape == wanted.shape
    np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-4)
