"""A pass over a workload as training takes it: `passes.py ROAD WORKLOAD FILE RECORDS`.

Prints the seconds of one pass, how many records it gave, and the most memory held, as JSON. The
file's index, where there is one, was made before. What is measured is imported in its function.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from jobs import CORES
from measure import peak_rss
from workloads import EVERY, Workload

BATCH = 1024
BUFFER = 10_000

Pass = Callable[[], Iterable[Any]]


def ours(workload: Workload, path: Path, **options: Any) -> Any:
    """Return the workload as a Dataset with an index."""
    import tfrecs  # noqa: PLC0415 - not where only TensorFlow is measured

    tfrecs.open(path)
    return tfrecs.Dataset(path, workload.features(tfrecs), **options)


def in_order(workload: Workload, path: Path) -> Pass:
    """Dataset.batch."""
    ds = ours(workload, path).batch(BATCH)
    return lambda: map(dict, ds)


def shuffled(workload: Workload, path: Path) -> Pass:
    """All records shuffled by the index."""
    ds = ours(workload, path).shuffle(1).batch(BATCH)
    return lambda: map(dict, ds)


def shuffled_mapped(workload: Workload, path: Path) -> Pass:
    """The same with memory_map."""
    ds = ours(workload, path, memory_map=True).shuffle(1).batch(BATCH)
    return lambda: map(dict, ds)


def buffered(workload: Workload, path: Path) -> Pass:
    """Records shuffled as far as a buffer reaches."""
    ds = ours(workload, path).shuffle(1, buffer_size=BUFFER).batch(BATCH)
    return lambda: map(dict, ds)


def made(workload: Workload, path: Path) -> Pass:
    """make_batched_features_dataset."""
    import tfrecs  # noqa: PLC0415 - as above

    tfrecs.open(path)
    ds = tfrecs.make_batched_features_dataset(
        str(path), BATCH, workload.features(tfrecs), num_epochs=1, shuffle_buffer_size=BUFFER
    )
    return lambda: map(dict, ds)


def as_arrays(dataset: Any) -> Iterator[Any]:
    """Yield the elements of a tf.data.Dataset as NumPy arrays.

    Its own as_numpy_iterator takes a second for a sparse tensor of 1,024 rows.
    """
    import tensorflow as tf  # noqa: PLC0415 - not where only tfrecs is measured

    for element in dataset:
        yield [part.numpy() for part in tf.nest.flatten(element, expand_composites=True)]


def tensorflow_buffered(workload: Workload, path: Path) -> Pass:
    """TFRecordDataset.shuffle.batch, parse_example mapped in parallel, to NumPy."""
    import tensorflow as tf  # noqa: PLC0415 - not where only tfrecs is measured

    spec = workload.features(tf.io)
    ds = tf.data.TFRecordDataset(str(path)).shuffle(BUFFER, seed=1).batch(BATCH)
    ds = ds.map(lambda some: tf.io.parse_example(some, spec), num_parallel_calls=CORES)
    ds = ds.prefetch(2 * CORES)
    return lambda: as_arrays(ds)


def tensorflow_made(workload: Workload, path: Path) -> Pass:
    """tf.data.experimental.make_batched_features_dataset, to NumPy."""
    import tensorflow as tf  # noqa: PLC0415 - as above

    ds = tf.data.experimental.make_batched_features_dataset(
        str(path),
        BATCH,
        workload.features(tf.io),
        num_epochs=1,
        shuffle_buffer_size=BUFFER,
        reader_num_threads=CORES,
        parser_num_threads=CORES,
    )
    return lambda: as_arrays(ds)


ROADS: dict[str, Callable[[Workload, Path], Pass]] = {
    "in order": in_order,
    "shuffled": shuffled,
    "shuffled, mapped": shuffled_mapped,
    "buffer": buffered,
    "make_batched_features_dataset": made,
    "tensorflow: buffer": tensorflow_buffered,
    "tensorflow: make_batched_features_dataset": tensorflow_made,
}


def main() -> None:
    """Measure a pass; the first batches of another one come before."""
    road, name, path, records = sys.argv[1:]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    go = ROADS[road](EVERY[name], Path(path))
    list(islice(go(), 3))
    begin = time.perf_counter()
    steps = sum(1 for _ in go())
    seconds = time.perf_counter() - begin
    if steps != -(-int(records) // BATCH):
        raise SystemExit(f"{road}: {steps} batches of {records} records")
    print(json.dumps({"seconds": seconds, "records": int(records), "megabytes": peak_rss() / 1e6}))


if __name__ == "__main__":
    main()
