"""The jobs, done by TensorFlow, in the quickest way that we found; iterating also as documented."""

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from jobs import Prepare, Steps, Task

VERSION: str = tf.__version__
AUTOTUNE = tf.data.AUTOTUNE


def dataset(task: Task) -> Any:
    """Return the task's records as a dataset."""
    records = tf.data.TFRecordDataset(str(task.path))
    return records if task.whole else records.take(task.records)


def read(task: Task) -> Steps:
    """TFRecordDataset.batch."""
    batches = dataset(task).batch(task.workload.batch)
    return lambda: batches


def parse(task: Task) -> Steps:
    """TFRecordDataset.batch, parse_example mapped in parallel, prefetch."""
    spec = tf_features(task.workload.features)
    return prefetched(task, lambda records: tf.io.parse_example(records, spec))


def parse_narrow(task: Task) -> Steps:
    """The same, and tf.cast, sparse values too."""
    spec = tf_features(task.workload.features)
    dtypes = {name: feature.dtype for name, feature in (task.workload.narrow or {}).items()}

    def parse_and_cast(records: Any) -> Any:
        parsed = tf.io.parse_example(records, spec)
        return {name: tf.cast(value, dtypes[name]) for name, value in parsed.items()}

    return prefetched(task, parse_and_cast)


def parse_sequences(task: Task) -> Steps:
    """TFRecordDataset.batch, parse_sequence_example mapped in parallel, prefetch."""
    context = tf_features(task.workload.context or {})
    lists = tf_features(task.workload.features)
    return prefetched(task, lambda records: tf.io.parse_sequence_example(records, context, lists))


def prefetched(task: Task, parsed: Callable[[Any], Any]) -> Steps:
    """Map the batches in parallel, ahead of who asks for them."""
    columns = dataset(task).batch(task.workload.batch).map(parsed, AUTOTUNE).prefetch(AUTOTUNE)
    return lambda: columns


def tf_features(features: dict[str, Any]) -> dict[str, Any]:
    """Return TensorFlow's own feature classes for ours."""
    return {name: tf_feature(feature) for name, feature in features.items()}


def tf_feature(feature: Any) -> Any:
    """Return TensorFlow's own feature, or partition, for ours: the fields have the same names."""
    fields = feature._asdict()
    for name in {"dtype", "row_splits_dtype"} & fields.keys():
        fields[name] = tf.as_dtype(fields[name])
    if "partitions" in fields:
        fields["partitions"] = [
            getattr(tf.io.RaggedFeature, type(partition).__name__)(*partition)
            for partition in fields["partitions"]
        ]
    return getattr(tf.io, type(feature).__name__)(**fields)


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
    each = task.workload.batch

    def steps() -> Iterator[None]:
        with tf.io.TFRecordWriter(str(task.scratch)) as out:
            for start in range(0, len(records), each):
                for record in records[start : start + each]:
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
    return lambda: (feature_dict(parsed_example(record)) for record in records)


def parsed_example(record: bytes) -> Any:
    """Return the map of features of a serialized Example."""
    return tf.train.Example.FromString(record).features.feature


JOBS: dict[str, Prepare] = {
    "read": read,
    "parse": parse,
    "parse-narrow": parse_narrow,
    "parse-kinds": parse,
    "parse-sequences": parse_sequences,
    "iterate": iterate,
    "iterate-v1": iterate_v1,
    "sequence": sequence,
    "write": write,
    "encode": encode,
    "decode": decode,
}


def plain(output: Any) -> Any:
    """Return an output in Python's own types."""
    if isinstance(output, tf.RaggedTensor):
        return output.to_list() if output.ragged_rank > 1 else plain(output.to_sparse())
    match output:
        case tf.sparse.SparseTensor():
            return [plain(part) for part in (output.indices, output.values, output.dense_shape)]
        case tf.Tensor():
            return output.numpy().tolist()
        case dict():
            return {name: plain(value) for name, value in output.items()}
        case tuple():
            return tuple(map(plain, output))
    return output
