"""Programs written for TensorFlow, of any of its versions, with `tfrecs.tf` beside TensorFlow."""

import gzip
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle.programs import Program, same, write_files


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()


def numbers(tf: Any, *args: int) -> Any:
    return tf.data.Dataset.range(*args)


def in_graph(program: Program) -> Program:
    """Run a program where TensorFlow 1's code ran: in a graph."""

    def run(tf: Any) -> Any:
        with tf.compat.v1.Graph().as_default():
            return program(tf)

    return run


# --- Datasets ---


def unlabelled(tf: Any, count: int = 3) -> Any:
    return numbers(tf, count).map(lambda x: (x, None))


def shuffled(tf: Any, dataset: Any) -> Any:
    return sorted(one.numpy() for one in dataset.shuffle(dataset.cardinality()))


def drawn(tf: Any, weights: Any, **how: Any) -> Any:
    datasets = [numbers(tf, 3), numbers(tf, 10, 13)]
    return list(tf.data.Dataset.sample_from_datasets(datasets, weights, **how))


def weight_rows(tf: Any, *rows: list[float]) -> Any:
    return tf.data.Dataset.from_tensor_slices(list(rows))


def one_shot(tf: Any, dataset: Any) -> Any:
    return tf.compat.v1.data.make_one_shot_iterator(dataset)


DATASETS: dict[str, Program] = {
    "prefetch None": lambda tf: list(numbers(tf, 3).prefetch(None)),
    "prefetch None, batched": lambda tf: list(numbers(tf, 3).prefetch(buffer_size=None).batch(2)),
    "shuffle files of unknown cardinality": lambda tf: shuffled(
        tf, tf.data.TFRecordDataset("ex.tfrecord")
    ),
    "shuffle what a filter leaves": lambda tf: shuffled(tf, numbers(tf, 9).filter(lambda n: n > 3)),
    "shuffle nothing, unknown": lambda tf: list(
        numbers(tf, 0).shuffle(tf.data.UNKNOWN_CARDINALITY)
    ),
    "shuffle unknown, again": lambda tf: sorted(map(int, numbers(tf, 3).shuffle(-2).repeat(2))),
    "cardinality of a shuffle": lambda tf: numbers(tf, 3).shuffle(-2).cardinality(),
    "shuffle without end": lambda tf: numbers(tf, 3).shuffle(-1),
    "shuffle below": lambda tf: numbers(tf, 3).shuffle(-3),
    "a weight of 0": lambda tf: drawn(tf, [1.0, 0.0]),
    "a weight of 0 first": lambda tf: drawn(tf, [0.0, 1.0]),
    "weights of 0 alone": lambda tf: drawn(tf, [0.0, 0.0]),
    "a weight below 0": lambda tf: drawn(tf, [-1.0, 1.0]),
    "a weight that is none": lambda tf: drawn(tf, [float("nan"), 1.0]),
    "a weight of 0, to the first end": lambda tf: drawn(tf, [0.0, 1.0], stop_on_empty_dataset=True),
    "integers for weights": lambda tf: drawn(tf, [0, 1]),
    "too few weights": lambda tf: drawn(tf, [1.0]),
    "nothing to draw from": lambda tf: tf.data.Dataset.sample_from_datasets([]),
    "cardinality with a weight of 0": lambda tf: tf.data.Dataset.sample_from_datasets(
        [numbers(tf, 3), numbers(tf, 4)], [0.0, 1.0]
    ).cardinality(),
    "weights by turns": lambda tf: drawn(tf, weight_rows(tf, [1.0, 0.0], [0.0, 1.0]).repeat()),
    "weights that end": lambda tf: drawn(tf, weight_rows(tf, [1.0, 0.0], [0.0, 1.0])),
    "weights of what has ended": lambda tf: drawn(
        tf, weight_rows(tf, *[[1.0, 0.0]] * 4, [0.0, 1.0])
    ),
    "weights, to the first end": lambda tf: drawn(
        tf, weight_rows(tf, *[[1.0, 0.0]] * 9), stop_on_empty_dataset=True
    ),
    "weights in a dataset": lambda tf: sorted(
        map(int, drawn(tf, tf.data.Dataset.from_tensors([0.5, 0.5]).repeat()))
    ),
    "no label": unlabelled,
    "no label, first": lambda tf: list(numbers(tf, 2).map(lambda x: (None, x))),
    "no label in a dict": lambda tf: list(numbers(tf, 2).map(lambda x: {"a": x, "b": None})),
    "no label, deeper": lambda tf: list(numbers(tf, 2).map(lambda x: (x, (None, {"k": None})))),
    "no label, batched": lambda tf: list(unlabelled(tf).batch(2)),
    "no label, mapped": lambda tf: list(unlabelled(tf).map(lambda x, y: (x + 1, y))),
    "no label, asked for": lambda tf: list(unlabelled(tf).map(lambda x, y: x if y is None else 0)),
    "no label, filtered": lambda tf: list(unlabelled(tf).filter(lambda x, y: x > 0)),
    "no label, unbatched": lambda tf: list(unlabelled(tf).batch(2).unbatch()),
    "no label, cached": lambda tf: list(unlabelled(tf).cache()),
    "no label, in a file": lambda tf: list(unlabelled(tf).cache("kept")),
    "no label, enumerated": lambda tf: list(unlabelled(tf).enumerate()),
    "no label, in parallel": lambda tf: list(
        numbers(tf, 3).map(lambda x: (x, None), num_parallel_calls=2)
    ),
    "no label, zipped": lambda tf: list(tf.data.Dataset.zip((unlabelled(tf), numbers(tf, 2)))),
    "no label, as numpy": lambda tf: list(unlabelled(tf).as_numpy_iterator()),
    "no label of a tensor": lambda tf: list(tf.data.Dataset.from_tensors((1, None))),
    "padded bfloat16": lambda tf: list(
        numbers(tf, 1, 4).map(lambda n: tf.cast(tf.range(n), tf.bfloat16)).padded_batch(2)
    ),
    "padded bfloat16 with a value": lambda tf: list(
        numbers(tf, 1, 4)
        .map(lambda n: tf.cast(tf.range(n), tf.bfloat16))
        .padded_batch(2, padding_values=tf.constant(1.5, tf.bfloat16))
    ),
    "one shot": lambda tf: one_shot(tf, numbers(tf, 3)).get_next().numpy(),
    "one shot, two": lambda tf: [
        (it := one_shot(tf, numbers(tf, 3))).get_next().numpy(),
        it.get_next().numpy(),
    ],
    "one shot of a batch": lambda tf: one_shot(tf, numbers(tf, 4).batch(2)).get_next().numpy(),
    "one shot, to the end": lambda tf: [
        (it := one_shot(tf, numbers(tf, 1))).get_next().numpy(),
        it.get_next().numpy(),
    ],
    "one shot of a sum": lambda tf: (one_shot(tf, numbers(tf, 3)).get_next() + 1).numpy(),
    "next": lambda tf: iter(numbers(tf, 2)).next(),
    "next, and next": lambda tf: [(it := iter(numbers(tf, 2))).next(), next(it)],
}


# --- Shapes ---

SHAPES: dict[str, Callable[[Any], Any]] = {
    "a list": lambda shape: shape([1]) + [2],  # noqa: RUF005 - that is what is tested
    "to a list": lambda shape: [2] + shape([1]),  # noqa: RUF005
    "a tuple": lambda shape: shape([1]) + (2,),  # noqa: RUF005
    "to a tuple": lambda shape: (2,) + shape([1]),  # noqa: RUF005
    "a shape": lambda shape: shape([1]) + shape([None]),
    "nothing known": lambda shape: shape([1]) + None,
    "to nothing known": lambda shape: None + shape([1]),
    "a number": lambda shape: shape([1]) + 3,
    "to an unknown shape": lambda shape: shape(None) + [2],  # noqa: RUF005
    "an unknown shape": lambda shape: shape([1]) + shape(None),
    "text": lambda shape: shape([1]) + "a",
    "no dimensions": lambda shape: shape([1]) + [],  # noqa: RUF005
    "an array": lambda shape: shape([1]) + np.array([2]),
    "concatenate": lambda shape: shape([1]).concatenate([2]),
    "merge_with": lambda shape: shape([1, None]).merge_with([None, 2]),
    "merge_with another": lambda shape: shape([1, None]).merge_with([3, 2]),
    "with_rank": lambda shape: shape(None).with_rank(2),
    "with_rank of another": lambda shape: shape([1]).with_rank(2),
    "with_rank_at_least": lambda shape: shape([1]).with_rank_at_least(2),
    "with_rank_at_most": lambda shape: shape([1]).with_rank_at_most(2),
    "is_compatible_with": lambda shape: shape([1, None]).is_compatible_with([1, 3]),
    "assert_is_compatible_with": lambda shape: shape([1]).assert_is_compatible_with([2]),
    "assert_has_rank": lambda shape: shape([1]).assert_has_rank(2),
    "assert_is_fully_defined": lambda shape: shape([None]).assert_is_fully_defined(),
    "dims": lambda shape: shape(None).dims,
    "None": lambda shape: shape(None) == None,  # noqa: E711 - as people write it
    "below 0": lambda shape: shape([-1]),
    "of text": lambda shape: shape(["a"]),
    "of floats": lambda shape: shape([1.5]),
    "of NumPy's": lambda shape: shape([np.int32(3)]),
}


# --- Python functions ---


def less(x: Any, y: Any) -> Any:
    """Return the difference."""
    return x - y


PYTHON: dict[str, Program] = {
    "in map": lambda tf: list(numbers(tf, 2).map(tf.py_function(Tout=tf.int64)(lambda x: x * 2))),
    "in map, two": lambda tf: list(
        numbers(tf, 2).map(tf.py_function(Tout=[tf.int64, tf.float32])(lambda x: (x * 2, 1.5)))
    ),
    "called": lambda tf: tf.py_function(Tout=tf.int32)(less)(tf.constant(5), 2),
    "its name": lambda tf: tf.py_function(Tout=tf.int32)(less).__name__,
    "by name": lambda tf: tf.py_function(Tout=tf.int32)(less)(x=5, y=2),
    "for what it does": lambda tf: tf.py_function(Tout=[])(lambda x: None)(1),
    "no type": lambda tf: tf.py_function()(less)(1, 2),
    "no type, called": lambda tf: tf.py_function(less, [1, 2]),
    "no arguments": lambda tf: tf.py_function(less, Tout=tf.int32),
    "arrays in map": lambda tf: list(
        numbers(tf, 2).map(tf.numpy_function(Tout=tf.int64)(lambda x: x * 2))
    ),
    "arrays": lambda tf: tf.numpy_function(Tout=tf.int32, stateful=False)(less)(
        tf.constant(5), tf.constant(2)
    ),
}


# --- Files ---


def written(tf: Any, mode: str, what: Any) -> Any:
    Path("out").write_bytes(b"before")
    with tf.io.gfile.GFile("out", mode) as out:
        made = out.write(what)
    return [made, Path("out").read_bytes()]


def of_lines(tf: Any, read: Callable[[Any], Any], mode: str = "r") -> Any:
    Path("out").write_bytes(b"a\nb\r\nc")
    return read(tf.io.gfile.GFile("out", mode))


GFILES: dict[str, Program] = {
    **{
        f"{mode} {what!r}": lambda tf, mode=mode, what=what: written(tf, mode, what)  # type: ignore[misc]
        for mode in ("w", "wb", "a", "ab", "w+", "r+")
        for what in ("aä\n", b"a\n\xff", "")
    },
    "read": lambda tf: of_lines(tf, lambda file: [file.read(3), file.tell(), file.read()]),
    "read bytes": lambda tf: of_lines(tf, lambda file: [file.read(3), file.read()], "rb"),
    "lines": lambda tf: of_lines(tf, list),
    "lines of bytes": lambda tf: of_lines(tf, lambda file: file.readlines(), "rb"),
    "size and name": lambda tf: of_lines(tf, lambda file: [file.size(), file.name, file.mode]),
    "seek": lambda tf: of_lines(tf, lambda file: [file.seek(2), file.read(1)], "rb"),
    "write to what is read": lambda tf: of_lines(tf, lambda file: file.write("x")),
    "read what is written": lambda tf: of_lines(tf, lambda file: file.read(), "w"),
    "another mode": lambda tf: of_lines(tf, lambda file: file.read(), "x"),
    "none there": lambda tf: tf.io.gfile.GFile("none").read(),
}


# --- TensorFlow 1 ---


def growing(tf: Any) -> Any:
    config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    config.device_count["GPU"] = 0
    config.graph_options.optimizer_options.global_jit_level = tf.compat.v1.OptimizerOptions.ON_1
    return config


def computed(tf: Any) -> Any:
    with tf.compat.v1.Session(config=growing(tf)) as session:
        return session.run(tf.constant(1) + 1)


CONFIGS: dict[str, Program] = {
    "allow_growth": lambda tf: growing(tf).gpu_options.allow_growth,
    "allow_growth, unset": lambda tf: tf.compat.v1.ConfigProto().gpu_options.allow_growth,
    "device_count": lambda tf: dict(growing(tf).device_count),
    "GPUOptions": lambda tf: (
        tf.compat.v1.ConfigProto(
            gpu_options=tf.compat.v1.GPUOptions(per_process_gpu_memory_fraction=0.25)
        ).gpu_options.per_process_gpu_memory_fraction
    ),
    "of a session": in_graph(computed),
    "no such field": lambda tf: hasattr(tf.compat.v1.ConfigProto(), "allow_groth"),
    "no such argument": lambda tf: tf.compat.v1.ConfigProto(allow_groth=True),
}

READERS = ["FixedLengthRecordReader", "IdentityReader", "TFRecordReader", "TextLineReader"]
BODY = b"HHabcdefghijF"
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "GZIP": gzip.compress,
    "ZLIB": zlib.compress,
    "": bytes,
}
# record, hop, header, footer
HOPS = [(4, 2, 2, 1), (2, 4, 2, 1), (3, 1, 0, 0), (2, 5, 0, 3), (20, 1, 0, 0), (2, 2, 2, 1)]


def hopped(tf: Any, encoding: str, sizes: tuple[int, ...]) -> Any:
    Path("packed").write_bytes(PACKED[encoding](BODY))
    record, hop, header, footer = sizes
    v1 = tf.compat.v1
    queue = v1.train.string_input_producer(["packed"], num_epochs=1)
    reader = v1.FixedLengthRecordReader(
        record, header, footer, hop_bytes=hop, encoding=encoding or None
    )
    found, pair = [], reader.read(queue)
    with v1.Session() as session:
        session.run(v1.local_variables_initializer())
        threads = v1.train.start_queue_runners(session, coord := v1.train.Coordinator())
        try:
            while True:
                found.append(list(session.run(pair)))
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
    return found


def matrix(tf: Any) -> Any:
    return tf.constant([[1.0, 2.0], [3.0, 4.0]])


KEYWORDS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        f"{name} {sorted(how)}": lambda tf, x, name=name, how=how: getattr(tf, name)(x, **how)  # type: ignore[misc]
        for name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min")
        for how in (
            {"axis": 0, "keep_dims": True},
            {"reduction_indices": 1},
            {"reduction_indices": [1], "keep_dims": True},
            {"axis": 0, "reduction_indices": 1},
            {"keepdims": True, "keep_dims": False},
            {"axis": 1, "keep_dims": False},
        )
    },
    "reduce_all": lambda tf, x: tf.reduce_all(x > 1, 0, keep_dims=True),
    "reduce_any": lambda tf, x: tf.reduce_any(x > 1, reduction_indices=1),
    "squeeze": lambda tf, x: tf.squeeze(tf.zeros([1, 2, 1]), squeeze_dims=[0]),
    "squeeze, both": lambda tf, x: tf.squeeze(tf.zeros([1, 2, 1]), axis=[0], squeeze_dims=[2]),
    "expand_dims": lambda tf, x: tf.expand_dims(x, dim=0),
    "expand_dims, both": lambda tf, x: tf.expand_dims(x, axis=0, dim=0),
    "expand_dims, none": lambda tf, x: tf.expand_dims(x),
    "expand_dims, too far": lambda tf, x: tf.expand_dims(x, 5),
    "argmax": lambda tf, x: tf.argmax(x, dimension=1),
    "argmax, both": lambda tf, x: tf.argmax(x, axis=0, dimension=1),
    "argmax, none": lambda tf, x: tf.argmax(x),
    "zeros_like": lambda tf, x: tf.zeros_like(tensor=x, optimize=False),
    "ones_like": lambda tf, x: tf.ones_like(tensor=x, dtype=tf.int32, optimize=True),
    "decode_raw": lambda tf, x: tf.decode_raw(bytes=b"ab", out_type=tf.uint8),
    "convert_to_tensor": lambda tf, x: tf.convert_to_tensor([1], preferred_dtype=tf.int32),
    "tile": lambda tf, x: tf.tile(input=x, multiples=[1, 2]),
    "matmul": lambda tf, x: tf.matmul(a=x, b=x, transpose_b=True),
    **{
        name: lambda tf, x, name=name: getattr(tf, name)(x=x)  # type: ignore[misc]
        for name in ("abs", "sqrt", "round")
    },
    "identity": lambda tf, x: tf.identity(input=x),
}


@pytest.mark.parametrize("call", KEYWORDS.values(), ids=KEYWORDS)
def test_keywords_of_version_1_are_the_same(call: Callable[[Any, Any], Any]) -> None:
    same(lambda tf: call(tf.compat.v1, matrix(tf)))


@pytest.mark.parametrize("program", DATASETS.values(), ids=DATASETS)
def test_datasets_are_the_same(program: Program) -> None:
    same(program if program is not unlabelled else lambda tf: list(unlabelled(tf)))


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
def test_shapes_are_the_same(make: Callable[[Any], Any]) -> None:
    same(lambda tf: repr(make(tf.TensorShape)))


@pytest.mark.parametrize("program", PYTHON.values(), ids=PYTHON)
def test_python_functions_are_the_same(program: Program) -> None:
    same(program)


def after_growth(tf: Any, kind: str, missing: int) -> Any:
    """Read a file to its end, append to it, and read on."""
    with tf.io.TFRecordWriter("grows", kind) as out:
        out.write(b"first")
    start = len(Path("grows").read_bytes())
    whole = Path("grows").read_bytes() * 2
    Path("grows").write_bytes(whole[: len(whole) - missing])
    options = tf.io.TFRecordOptions(kind)
    iterator = tf.compat.v1.io.tf_record_iterator("grows", options)
    found: list[Any] = []
    for content in (None, None, whole, None, whole + whole[:start]):
        if content is not None:
            Path("grows").write_bytes(content)
        try:
            found.append(next(iterator, "end"))
        except tf.errors.DataLossError:
            found.append("loss")
    return found


@pytest.mark.parametrize(("kind", "missing"), [("", 0), ("", 1), ("", 4), ("", 8), ("GZIP", 0)])
def test_files_that_grow_are_the_same(kind: str, missing: int) -> None:
    same(lambda tf: after_growth(tf, kind, missing))


def bmp(height: int, rows: bytes, depth: int = 8) -> bytes:
    head = b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54)
    return head + struct.pack("<IiiHHIIiiII", 40, 3, height, 1, depth, 0, 8, 0, 0, 0, 0) + rows


@pytest.mark.parametrize("height", [1, 2, -2])
@pytest.mark.parametrize("channels", [0, 3, 4])
@pytest.mark.parametrize("name", ["decode_bmp", "decode_image"])
def test_grey_bmps_are_the_same(name: str, channels: int, height: int) -> None:
    data = bmp(height, bytes([1, 2, 3, 0, 4, 5, 6, 0][: 4 * abs(height)]))
    same(lambda tf: getattr(tf.io, name)(data, channels=channels))
    same(lambda tf: getattr(tf.io, name)(data[:-1], channels=channels))


def ragged_records(tf: Any) -> Any:
    train = tf.train
    records = []
    for n in range(5):
        features = {
            "rows": train.Feature(int64_list=train.Int64List(value=range(2 * n))),
            "lengths": train.Feature(int64_list=train.Int64List(value=[n, n])),
        }
        example = train.Example(features=train.Features(feature=features))
        records.append(example.SerializeToString())
    return tf.data.Dataset.from_tensor_slices(records)


def ragged(tf: Any, *names: str) -> Any:
    feature = tf.io.RaggedFeature
    made = {
        "lengths": feature.RowLengths("lengths"),
        "two": feature.UniformRowLength(2),
        "one": feature.UniformRowLength(1),
    }
    spec = {"x": feature(tf.int64, value_key="rows", partitions=[made[name] for name in names])}
    return ragged_records(tf).map(lambda record: tf.io.parse_single_example(record, spec))


RAGGED: dict[str, Program] = {
    "lengths": lambda tf: list(ragged(tf, "lengths").batch(2)),
    "a uniform length": lambda tf: list(ragged(tf, "two").batch(2)),
    "two levels": lambda tf: list(ragged(tf, "lengths", "one").batch(2)),
    "a uniform level first": lambda tf: list(ragged(tf, "two", "lengths").batch(2)),
    "no partitions": lambda tf: list(ragged(tf).batch(2)),
    "dropped": lambda tf: list(ragged(tf, "lengths").batch(2, drop_remainder=True)),
    "twice": lambda tf: list(ragged(tf, "lengths").batch(2).batch(2)),
    "unbatched": lambda tf: list(ragged(tf, "lengths").batch(2).unbatch()),
    "in tuples": lambda tf: list(ragged(tf, "lengths").map(lambda one: (one["x"], 1)).batch(3)),
}


@pytest.mark.parametrize("program", RAGGED.values(), ids=RAGGED)
def test_ragged_batches_are_the_same(program: Program) -> None:
    same(program)


def sequences(tf: Any, records: Any) -> Any:
    lists = {
        "steps": tf.io.FixedLenSequenceFeature([], tf.int64),
        "words": tf.io.VarLenFeature(tf.string),
    }
    return tf.io.parse_sequence_example(records, {"id": tf.io.FixedLenFeature([], tf.int64)}, lists)


SEQUENCES: dict[str, Program] = {
    "a list in map": lambda tf: list(
        tf.data.TFRecordDataset("seq.tfrecord").map(lambda one: sequences(tf, [one]))
    ),
    "a tuple in map": lambda tf: list(
        tf.data.TFRecordDataset("seq.tfrecord").map(lambda one: sequences(tf, (one, one)))
    ),
    "a list": lambda tf: sequences(tf, list(tf.data.TFRecordDataset("seq.tfrecord"))),
    "a list with bytes": lambda tf: sequences(
        tf, [next(iter(tf.data.TFRecordDataset("seq.tfrecord"))), b""]
    ),
}


@pytest.mark.parametrize("program", SEQUENCES.values(), ids=SEQUENCES)
def test_sequences_in_lists_are_the_same(program: Program) -> None:
    same(program)


@pytest.mark.parametrize("program", GFILES.values(), ids=GFILES)
def test_files_are_the_same(program: Program) -> None:
    same(program)


@pytest.mark.parametrize("program", CONFIGS.values(), ids=CONFIGS)
def test_configurations_are_the_same(program: Program) -> None:
    same(program)


@pytest.mark.parametrize("name", READERS)
def test_readers_have_the_same_base(name: str) -> None:
    same(lambda tf: issubclass(getattr(tf.compat.v1, name), tf.compat.v1.ReaderBase))


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("sizes", HOPS)
def test_records_that_overlap_are_the_same(encoding: str, sizes: tuple[int, ...]) -> None:
    same(in_graph(lambda tf: hopped(tf, encoding, sizes)))
