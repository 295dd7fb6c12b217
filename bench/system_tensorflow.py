"""The jobs, done by TensorFlow, in the quickest way that we found; iterating also as documented."""

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from jobs import CORES, GZIP, MEMBERS, Prepare, Steps, Task

VERSION: str = tf.__version__


def dataset(task: Task) -> Any:
    """Return the task's records as a dataset."""
    compression = "GZIP" if task.job.form in {GZIP, MEMBERS} else ""
    records = tf.data.TFRecordDataset(task.paths, compression)
    return records if task.whole else records.take(task.records)


def read(task: Task) -> Steps:
    """TFRecordDataset.batch."""
    batches = dataset(task).batch(task.workload.batch)
    return lambda: batches


def parse(task: Task) -> Steps:
    """TFRecordDataset.batch, parse_example mapped in parallel, prefetch."""
    spec = task.features(TF)
    return prefetched(task, lambda records: tf.io.parse_example(records, spec))


def parse_narrow(task: Task) -> Steps:
    """The same, and tf.cast, sparse values too."""
    spec = task.workload.features(TF)
    dtypes = {name: feature.dtype for name, feature in task.features(TF).items()}

    def parse_and_cast(records: Any) -> Any:
        parsed = tf.io.parse_example(records, spec)
        return {name: tf.cast(value, dtypes[name]) for name, value in parsed.items()}

    return prefetched(task, parse_and_cast)


def parse_sequences(task: Task) -> Steps:
    """TFRecordDataset.batch, parse_sequence_example mapped in parallel, prefetch."""
    context = task.workload.context(TF) if task.workload.context else {}
    lists = task.features(TF)
    return prefetched(task, lambda records: tf.io.parse_sequence_example(records, context, lists))


def prefetched(task: Task, parsed: Callable[[Any], Any]) -> Steps:
    """Map the batches in parallel, ahead of who asks for them.

    With AUTOTUNE the same pipeline takes up to twice as long: it tries other numbers of threads.
    """
    batches = dataset(task).batch(task.workload.batch)
    columns = batches.map(parsed, num_parallel_calls=CORES).prefetch(2 * CORES)
    options = tf.data.Options()
    options.autotune.enabled = False
    columns = columns.with_options(options)
    return lambda: columns


class Typed:
    """One of TensorFlow's feature classes, which takes a type by its name here."""

    TYPES = frozenset({"int64", "float32", "string", "float16", "uint8", "uint16"})

    def __init__(self, feature: Any) -> None:
        self.feature = feature

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Make TensorFlow's own."""
        typed = (tf.as_dtype(arg) if is_type(arg) else arg for arg in args)
        return self.feature(*typed, **options)

    def __getattr__(self, name: str) -> Any:
        """Return what belongs to the class, such as RaggedFeature.RowLengths."""
        return getattr(self.feature, name)


def is_type(argument: Any) -> bool:
    """Whether this is a type's name."""
    return isinstance(argument, str) and argument in Typed.TYPES


class TensorFlow:
    """TensorFlow's feature classes."""

    def __getattr__(self, name: str) -> Typed:
        """Return one."""
        return Typed(getattr(tf.io, name))


TF = TensorFlow()


def iterate(task: Task) -> Steps:
    """TFRecordDataset.as_numpy_iterator."""
    return dataset(task).as_numpy_iterator  # type: ignore[no-any-return]


def iterate_v1(task: Task) -> Steps:
    """tf_record_iterator, deprecated since TensorFlow 1.12, and quicker than what replaces it."""
    return lambda: tf.compat.v1.io.tf_record_iterator(str(task.path))


def sequence(task: Task) -> Steps:
    """TFRecordDataset.as_numpy_iterator, SequenceExample.FromString, lists made of its fields."""
    records = dataset(task)
    return lambda: map(sequence_dicts, records.as_numpy_iterator())


def sequence_dicts(record: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the context and the feature lists of a SequenceExample as dicts of lists."""
    message = tf.train.SequenceExample.FromString(record)
    lists = message.feature_lists.feature_list
    steps = {name: [values(step) for step in lists[name].feature] for name in lists}
    return feature_dict(message.context.feature), steps


def feature_dict(features: Any) -> dict[str, Any]:
    """Return a map of features as a dict of lists."""
    return {name: values(feature) for name, feature in features.items()}


def values(feature: Any) -> list[Any]:
    """Return the values of a feature as a list."""
    kind = feature.WhichOneof("kind")
    return list(getattr(feature, kind).value) if kind else []


def ready_records(task: Task) -> list[bytes]:
    """Return the task's records, read before the clock starts."""
    return list(tf.compat.v1.io.tf_record_iterator(str(task.path)))[: task.records]


def write(task: Task) -> Steps:
    """TFRecordWriter.write."""
    records = ready_records(task)
    return written(task, lambda start, stop: records[start:stop])


def write_columns(task: Task) -> Steps:
    """Build tf.train.Example of every row, SerializeToString, TFRecordWriter.write."""
    rows = [feature_dict(parsed_example(record)) for record in ready_records(task)]
    names = list(rows[0])
    columns = [[row[name][0] for row in rows] for name in names]

    def encoded(start: int, stop: int) -> Iterator[bytes]:
        for row in zip(*(column[start:stop] for column in columns), strict=True):
            yield example_bytes({name: [value] for name, value in zip(names, row, strict=True)})

    return written(task, encoded)


def written(task: Task, records: Callable[[int, int], Any]) -> Steps:
    """Write the records, each step a batch of them."""
    options = tf.io.TFRecordOptions("GZIP" if task.scratch.suffix == ".gz" else "")
    each = task.workload.batch

    def steps() -> Iterator[None]:
        with tf.io.TFRecordWriter(str(task.scratch), options) as out:
            for start in range(0, task.records, each):
                for record in records(start, min(start + each, task.records)):
                    out.write(record)
                yield

    return steps


def encode(task: Task) -> Steps:
    """Build tf.train.Example from a dict of lists, SerializeToString."""
    rows = [feature_dict(parsed_example(record)) for record in ready_records(task)]
    return lambda: map(example_bytes, rows)


def example_bytes(row: dict[str, list[Any]]) -> bytes:
    """Build and serialize an Example."""
    features = {name: tf_train_feature(values) for name, values in row.items()}
    example = tf.train.Example(features=tf.train.Features(feature=features))
    serialized: bytes = example.SerializeToString()
    return serialized


def tf_train_feature(values: list[Any]) -> Any:
    """Build a Feature of the kind that the first value has."""
    match values[0]:
        case int():
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        case float():
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def decode(task: Task) -> Steps:
    """Example.FromString, lists made of its fields."""
    records = ready_records(task)
    return lambda: map(example, records)


def parsed_example(record: bytes) -> Any:
    """Return the map of features of a serialized Example."""
    return tf.train.Example.FromString(record).features.feature


def example(record: bytes) -> dict[str, Any]:
    """Return a serialized Example as a dict of lists."""
    return feature_dict(parsed_example(record))


JOBS: dict[str, Prepare] = {
    "read": read,
    "parse": parse,
    "project": parse,
    "parse-narrow": parse_narrow,
    "parse-kinds": parse,
    "parse-sequences": parse_sequences,
    "iterate": iterate,
    "iterate:v1": iterate_v1,
    "sequence": sequence,
    "decode": decode,
    "encode": encode,
    "write": write,
    "write-columns": write_columns,
    "gzip-read": read,
    "gzip-parse": parse,
    "gzips-read": read,
    "gzips-parse": parse,
    "gzip-write": write,
}


def plain(output: Any, task: Task) -> Any:
    """Return an output in Python's own types."""
    if isinstance(output, tf.RaggedTensor):
        return output.to_list() if output.ragged_rank > 1 else plain(output.to_sparse(), task)
    match output:
        case tf.sparse.SparseTensor():
            parts = (output.indices, output.values, output.dense_shape)
            return [plain(part, task) for part in parts]
        case tf.Tensor():
            return output.numpy().tolist()
        case dict():
            return {name: plain(value, task) for name, value in output.items()}
        case tuple():
            return tuple(plain(part, task) for part in output)
    return output
