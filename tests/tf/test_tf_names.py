"""`from tfrecs import tf`: values, names that are not there, and errors."""

import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecs
from tfrecs import tf


@pytest.mark.parametrize(
    ("where", "name", "hint"),
    [
        (tf, "kears", "import keras"),
        (tf, "Variable", "Keras"),
        (tf, "constnat", "tf.constant"),
        (tf, "TFRecordRaeder", "tf.TFRecordReader"),
        (tf.io, "parse_singel_example", "tf.io.parse_single_example"),
        (tf.train, "shufle_batch", "tf.train.shuffle_batch"),
        (tf.train, "Exmaple", "tf.train.Example"),
        (tf.data, "TFRecordDatasets", "tf.data.TFRecordDataset"),
        (tf.data.experimental, "make_batched_feature_dataset", "make_batched_features_dataset"),
        (tf.python_io, "tf_record_iter", "tf_record_iterator"),
        (tf.data.experimental, "TFRecordWriter", "'TFRecordWriter': tf.io.TFRecordWriter"),
        (tf.data.experimental, "TFRecordWriters", "'TFRecordWriters': tf.io.TFRecordWriter"),
        (tf, "percentile", "numpy.percentile"),
        (tf.math, "cumsum", "numpy.cumsum"),
        (tf, "linalg", "numpy.linalg"),
        (tf, "tpu", "docs/compatibility.md"),
        (tf.data.Dataset.range(1), "element_spec", "next(iter(dataset))"),
        (tf.image, "resize_images", "tf.image.resize"),
        (tf.sparse, "to_denses", "tf.sparse.to_dense"),
        (tf.compat, "as_byte", "tf.compat.as_bytes"),
        (tf.io.gfile, "globb", "tf.io.gfile.glob"),
        (tf.data.Dataset.range(1), "padded_batches", "padded_batch"),
        (tf, "zzzzzz", "docs/compatibility.md"),
    ],
)
def test_a_name_that_is_not_there_says_which_is_nearest(where: Any, name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(hint)):
        getattr(where, name)


def test_nearest_names_of_a_dataset_are_public() -> None:
    with pytest.raises(AttributeError, match=r"nearest is tf\.data\.Dataset\.padded_batch$"):
        tf.data.Dataset.range(1).padded_batche  # noqa: B018


# What code around TFRecords uses, as docs/compatibility.md has it.
PROMISED = [
    "constant",
    "reshape",
    "cast",
    "float32",
    "float64",
    "int32",
    "int64",
    "string",
    "uint8",
    "bool",
    "sparse.to_dense",
    "train.Example",
    "train.Features",
    "train.Feature",
    "train.BytesList",
    "train.FloatList",
    "train.Int64List",
    "train.SequenceExample",
    "train.FeatureList",
    "train.FeatureLists",
    "io.TFRecordWriter",
    "io.TFRecordOptions",
    "io.FixedLenFeature",
    "io.VarLenFeature",
    "io.SparseFeature",
    "io.FixedLenSequenceFeature",
    "io.RaggedFeature",
    "io.parse_example",
    "io.parse_single_example",
    "io.parse_sequence_example",
    "io.parse_single_sequence_example",
    "io.decode_raw",
    "io.parse_tensor",
    "io.serialize_tensor",
    "io.decode_jpeg",
    "io.decode_png",
    "io.decode_image",
    "io.encode_jpeg",
    "io.encode_png",
    "io.read_file",
    "io.write_file",
    "io.gfile.glob",
    "io.matching_files",
    "python_io.TFRecordWriter",
    "python_io.tf_record_iterator",
    "python_io.TFRecordOptions",
    "python_io.TFRecordCompressionType",
    "data.TFRecordDataset",
    "data.TextLineDataset",
    "data.FixedLengthRecordDataset",
    "data.AUTOTUNE",
    "data.Dataset.from_tensor_slices",
    "data.Dataset.list_files",
    "data.Dataset.interleave",
    "data.Dataset.map",
    "data.Dataset.filter",
    "data.Dataset.batch",
    "data.Dataset.padded_batch",
    "data.Dataset.unbatch",
    "data.Dataset.shuffle",
    "data.Dataset.repeat",
    "data.Dataset.take",
    "data.Dataset.skip",
    "data.Dataset.shard",
    "data.Dataset.zip",
    "data.Dataset.enumerate",
    "data.Dataset.prefetch",
    "data.Dataset.cache",
    "data.Dataset.as_numpy_iterator",
    "data.Dataset.cardinality",
    "data.experimental.make_batched_features_dataset",
    "errors.DataLossError",
    "errors.InvalidArgumentError",
    "errors.OutOfRangeError",
    "errors.NotFoundError",
    "FixedLenFeature",
    "VarLenFeature",
    "FixedLenSequenceFeature",
    "parse_single_example",
    "parse_example",
    "parse_single_sequence_example",
    "decode_raw",
    "TFRecordReader",
    "TextLineReader",
    "FixedLengthRecordReader",
    "WholeFileReader",
    "train.string_input_producer",
    "FIFOQueue",
    "FIFOQueue.enqueue",
    "FIFOQueue.enqueue_many",
    "FIFOQueue.dequeue",
    "FIFOQueue.dequeue_many",
    "FIFOQueue.close",
    "train.QueueRunner",
    "train.QueueRunner.create_threads",
    "train.Coordinator",
    "train.Coordinator.should_stop",
    "train.Coordinator.request_stop",
    "train.Coordinator.join",
    "train.start_queue_runners",
    "train.batch",
    "train.shuffle_batch",
    "Session",
    "InteractiveSession",
    "Session.run",
    "reset_default_graph",
    "gfile.Exists",
    "gfile.Glob",
    "gfile.FastGFile",
    "__version__",
]


@pytest.mark.parametrize("name", PROMISED)
def test_what_is_promised_is_there(name: str) -> None:
    found: Any = tf
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None


@pytest.mark.parametrize(
    "module", [tf, tf.io, tf.data, tf.python_io, tf.sparse, tf.image, tf.errors, tf.compat]
)
def test_every_listed_name_is_there(module: Any) -> None:
    assert len(module.__all__) == len(set(module.__all__))
    for name in module.__all__:
        getattr(module, name)


def test_tensorflow_1_is_listed_too() -> None:
    assert {"Session", "TFRecordReader", "FixedLenFeature", "constant"} <= set(dir(tf))
    assert {"Example", "Coordinator", "shuffle_batch"} <= set(dir(tf.train))
    assert tf.compat.v1.FixedLenFeature is tf.io.FixedLenFeature is tfrecs.FixedLenFeature


def test_queues_are_loaded_when_they_are_asked_for() -> None:
    text = "import sys; from tfrecs import tf; tf.io; print('tfrecs.tf.queues' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_nothing_but_the_way_knows_the_queues() -> None:
    package = Path(tfrecs.__file__).parent
    files = [path for path in package.rglob("*.py") if "queues" not in path.parts]
    knowing = [path.name for path in files if "tf.queues" in path.read_text()]
    assert knowing == ["leaf.py"]


# --- Values ---


def test_a_value_is_an_array_to_numpy() -> None:
    value = tf.constant([[1, 2], [3, 4]])
    assert np.asarray(value).tolist() == [[1, 2], [3, 4]]
    assert np.sum(value) == 10
    assert np.array(value, np.float64).dtype == np.float64
    added: Any = np.arange(2) + tf.constant([1, 1])
    assert isinstance(added, tf.Tensor)
    assert added.numpy().tolist() == [1, 2]
    assert tfrecs.encode_example({"a": value.numpy().ravel()})


@pytest.mark.parametrize("given", [b"raw", "text", [b"a", b"bc"], 5, 1.5, True, [[1.0]]])
def test_a_value_is_pickled(given: Any) -> None:
    value = tf.constant(given)
    again = pickle.loads(pickle.dumps(value))
    assert repr(again) == repr(value)


def test_byte_strings() -> None:
    value = tf.constant("ä")
    assert value.numpy() == "ä".encode() == bytes(value)
    assert (value == "ä", value == b"x", value != "x") == (True, False, True)
    assert tf.constant(["a", "b"]).numpy().tolist() == [b"a", b"b"]
    with pytest.raises(TypeError, match="no byte string"):
        bytes(tf.constant(3))


def test_what_a_single_value_is_not() -> None:
    with pytest.raises(TypeError, match="scalar"):
        iter(tf.constant(1))
    with pytest.raises(TypeError, match="len"):
        len(tf.constant(1))
    with pytest.raises(TypeError, match="unhashable"):
        hash(tf.constant(1))
    with pytest.raises(ValueError, match="not compatible"):
        tf.constant([1, 2]).set_shape([3])
    tf.constant([1, 2]).set_shape([None])


def test_a_value_that_is_not_computed_says_so() -> None:
    queue = tf.train.string_input_producer(["a"])
    value = queue.dequeue()
    for use in (bool, iter, np.asarray, lambda it: it.numpy(), int):
        with pytest.raises(TypeError, match="yet"):
            use(value)
    assert (value.shape, value.dtype) == ([], tf.string)
    made = value + "b"
    assert made.shape == []
    with pytest.raises(ValueError, match="not compatible"):
        made.set_shape([2])
    assert hash(value) is not None
    tf.reset_default_graph()


def test_sparse_and_ragged_values() -> None:
    record = tfrecs.encode_example({"a": [1, 2, 3], "b": [1, 2, 3], "n": [2, 1]})
    partition = tf.io.RaggedFeature.RowLengths("n")
    spec = {
        "a": tf.io.VarLenFeature(tf.int64),
        "r": tf.io.RaggedFeature(tf.int64, "b", [partition]),
    }
    made = tf.io.parse_example([record, record], spec)
    assert made["a"].values.numpy().tolist() == [1, 2, 3] * 2
    assert made["a"].shape == [2, 3]
    assert tf.sparse.to_dense(made["a"]).shape.as_list() == [2, 3]
    assert made["r"].to_list() == [[[1, 2], [3]]] * 2
    assert made["r"][0].to_list() == [[1, 2], [3]]
    assert made["r"].to_tensor(-1).numpy()[0].tolist() == [[1, 2], [3, -1]]
    assert (len(made["r"]), made["r"].ragged_rank) == (2, 2)
    assert made["r"].row_lengths().numpy().tolist() == [2, 2]
    assert made["r"].to_sparse().dense_shape.numpy().tolist() == [2, 2, 2]
    assert "tf.RaggedTensor" in repr(made["r"])


def test_functions_that_are_decorated() -> None:
    @tf.function
    def one(x: Any) -> Any:
        return x + 1

    @tf.function(jit_compile=True)
    def two(x: Any) -> Any:
        return x + 2

    assert (int(one(tf.constant(1))), int(two(tf.constant(1)))) == (2, 3)
    assert tf.executing_eagerly()


# --- Errors ---


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (tfrecs.CorruptRecordError, tf.errors.DataLossError),
        (tfrecs.TruncatedFileError, tf.errors.DataLossError),
        (tfrecs.NotTFRecordError, tf.errors.DataLossError),
        (tfrecs.ParseError, tf.errors.InvalidArgumentError),
        (tfrecs.SpecError, tf.errors.InvalidArgumentError),
        (tfrecs.StateError, tf.errors.FailedPreconditionError),
        (tfrecs.LimitError, tf.errors.ResourceExhaustedError),
        (tfrecs.OutOfMemoryError, tf.errors.ResourceExhaustedError),
    ],
)
def test_our_errors_are_theirs(ours: Any, theirs: Any) -> None:
    error = ours("text", path="file", record=3)
    assert isinstance(error, theirs)
    assert (error.message, error.path, error.record) == ("text", "file", 3)
    assert error.error_code == theirs.error_code
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.record) == (ours, "text", 3)


def test_errors_of_files(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError) as missing:
        tf.io.read_file(tmp_path / "missing")
    assert isinstance(missing.value, FileNotFoundError)
    assert missing.value.errno == 2
    with pytest.raises(tf.errors.FailedPreconditionError):
        tf.io.read_file(tmp_path)
    (tmp_path / "there").touch()
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.io.gfile.copy(tmp_path / "there", tmp_path / "there")


def test_an_error_as_tensorflow_makes_it() -> None:
    error = tf.errors.OutOfRangeError(None, None, "the end")
    assert (str(error), error.message, error.error_code, error.op) == (
        "the end",
        "the end",
        11,
        None,
    )
    assert str(tf.errors.OpError()) == ""


# --- Files ---


def test_what_is_written_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    out = tf.io.TFRecordWriter(str(path))
    assert path.exists()
    out.write(b"one")
    out.flush()
    assert list(tf.python_io.tf_record_iterator(path)) == [b"one"]
    out.write(tf.constant("two"))
    del out
    assert list(tf.python_io.tf_record_iterator(path)) == [b"one", b"two"]


@pytest.mark.parametrize("options", [None, "GZIP", "ZLIB", 2, tf.io.TFRecordOptions("ZLIB")])
def test_compressions(tmp_path: Path, options: Any) -> None:
    path = str(tmp_path / "a")
    with tf.python_io.TFRecordWriter(path, options) as out:
        out.write(b"record")
    kind = tf.io.TFRecordOptions.get_compression_type_string(options)
    assert tfrecs.RecordReader(path).compression_type == kind
    assert list(tf.python_io.tf_record_iterator(path, options)) == [b"record"]
    assert tf.python_io.TFRecordCompressionType.GZIP == 2


def test_a_compression_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="BZ2"):
        tf.io.TFRecordWriter(str(tmp_path / "a"), "BZ2")


def test_folders(tmp_path: Path) -> None:
    gfile = tf.io.gfile
    gfile.makedirs(tmp_path / "a" / "b")
    gfile.mkdir(tmp_path / "c")
    with gfile.GFile(tmp_path / "c" / "d", "w") as out:
        out.write("text")
    gfile.rename(tmp_path / "c" / "d", tmp_path / "e")
    assert gfile.listdir(tmp_path) == ["a", "c", "e"]
    gfile.remove(tmp_path / "e")
    gfile.rmtree(tmp_path / "a")
    assert gfile.glob([str(tmp_path / "*")]) == [str(tmp_path / "c")]
    with pytest.raises(tf.errors.NotFoundError):
        gfile.GFile(tmp_path / "nothing").read()
    assert tf.gfile.Exists(tmp_path / "c")
