"""`from tfrecs import tf` beside TensorFlow: one import changed, the same results.

Each program is a function of `tf`. Values are compared with their types and shapes, errors by their
classes.
"""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as theirs  # noqa: ICN001 - either one is called tf in programs

import tfrecs.tf

Program = Callable[[Any], Any]


def write_files() -> None:
    """Write the files that the programs read to the working directory."""
    tf = tfrecs.tf
    for shard, count in enumerate((2, 3, 1, 2)):
        with tf.io.TFRecordWriter(f"raw-{shard}.tfrecord") as out:
            for record in range(count):
                out.write(b"%d%d" % (shard, record))
    for name, options in {"ex.tfrecord": None, "ex.tfrecord.gz": "GZIP", "ex.z": "ZLIB"}.items():
        with tf.io.TFRecordWriter(name, options) as out:
            for number in range(10):
                out.write(example(tf, number))
    with tf.io.TFRecordWriter("seq.tfrecord") as out:
        for number in range(5):
            out.write(sequence(tf, number))
    Path("lines.txt").write_bytes(b"a,1\r\nb,2\n\nc,3")
    Path("fixed.bin").write_bytes(b"HDaabbccF")
    Path("lines.txt.gz").write_bytes(gzip.compress(b"x\ny\n"))
    whole = Path("ex.tfrecord").read_bytes()
    Path("cut.tfrecord").write_bytes(whole[:-5])
    Path("flipped.tfrecord").write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])


def example(tf: Any, number: int) -> bytes:
    train = tf.train
    features = {
        "id": train.Feature(int64_list=train.Int64List(value=[number])),
        "raw": train.Feature(bytes_list=train.BytesList(value=[bytes([number]) * 4])),
        "floats": train.Feature(float_list=train.FloatList(value=[0.5] * (number % 3))),
        "pair": train.Feature(float_list=train.FloatList(value=[number, -number])),
        "rows": train.Feature(int64_list=train.Int64List(value=range(2 * (number % 2)))),
    }
    message = train.Example(features=train.Features(feature=features))
    made: bytes = message.SerializeToString()
    return made


def sequence(tf: Any, number: int) -> bytes:
    train = tf.train
    steps = [train.Feature(int64_list=train.Int64List(value=[step])) for step in range(number)]
    words = [train.Feature(bytes_list=train.BytesList(value=[b"w"] * n)) for n in range(number)]
    lists = {
        "steps": train.FeatureList(feature=steps),
        "words": train.FeatureList(feature=words),
    }
    context = {"id": train.Feature(int64_list=train.Int64List(value=[number]))}
    message = train.SequenceExample(
        context=train.Features(feature=context),
        feature_lists=train.FeatureLists(feature_list=lists),
    )
    made: bytes = message.SerializeToString()
    return made


# --- What is compared ---


def plain(value: Any) -> Any:
    """A value of either side as Python's own, with its type and shape."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in sorted(value.items())}
    if hasattr(value, "dense_shape"):
        return ["sparse", *map(plain, (value.indices, value.values, value.dense_shape))]
    if hasattr(value, "ragged_rank"):
        return ["ragged", value.to_list()]
    return [plain(one) for one in value] if isinstance(value, tuple | list) else plain_one(value)


def plain_one(value: Any) -> Any:
    if not hasattr(value, "dtype"):
        return value
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    name = "string" if array.dtype.kind in "OS" else array.dtype.name
    if hasattr(value, "numpy"):
        assert value.dtype.name == name
        assert tuple(value.shape) == array.shape
    return [name, list(array.shape), array.tolist()]


def outcome(program: Program, tf: Any) -> Any:
    """What comes of a program: its result, or a set of the classes that its error has."""
    try:
        return plain(program(tf))
    except Exception as error:  # noqa: BLE001 - errors are what is compared
        kinds = {
            name: getattr(tf.errors, name) for name in dir(tf.errors) if name.endswith("Error")
        }
        kinds |= {"TypeError": TypeError, "ValueError": ValueError}
        found = {name for name, kind in kinds.items() if isinstance(error, kind)} - {"OpError"}
        assert found, repr(error)
        return found


def same(program: Program) -> None:
    """Ours is of the same class; that it is also a ValueError, or of `tf.errors`, does not harm."""
    made, wanted = outcome(program, tfrecs.tf), outcome(program, theirs)
    if isinstance(wanted, set):
        assert isinstance(made, set)
        assert wanted <= made
    else:
        assert made == wanted, (made, wanted)


def spec_of(tf: Any) -> dict[str, Any]:
    return {
        "id": tf.io.FixedLenFeature([], tf.int64),
        "raw": tf.io.FixedLenFeature([], tf.string),
        "floats": tf.io.VarLenFeature(tf.float32),
        "pair": tf.io.FixedLenFeature([2], tf.float32),
    }
