"""Everything that reads files, each as a function from a folder of data to a comparable answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import tfrecs
from tfrecs import tf

SPEC: Any = {"n": tfrecs.FixedLenFeature([], "int64"), "x": tfrecs.VarLenFeature("float32")}


def records(count: int, size: int) -> list[bytes]:
    """Examples that differ, and that no compression makes much smaller."""
    random = np.random.default_rng(size)
    return [
        tfrecs.encode_example({"n": n, "x": [0.5] * (n % 3), "noise": random.bytes(size)})
        for n in range(count)
    ]


# Of each kind a file for every way that it is read: windows full of small records, a read for each
# header of large ones, and members and blocks of compressed streams.
CONTENTS: dict[str, tuple[str, int, int]] = {
    "small": ("a.tfrecord", 1500, 200),
    "large": ("a.tfrecord", 25, 40_000),
    "gzip": ("a.tfrecord.gz", 1500, 200),
    "zlib": ("a.tfrecord.zz", 40, 10_000),
}


def make_data(folder: Path, kind: str) -> None:
    """Write what the operations read."""
    name, count, size = CONTENTS[kind]
    with tfrecs.RecordWriter(folder / name) as out:
        for record in records(count, size):
            out.write(record)


def _plain(element: Any) -> Any:
    """An element as what can be compared."""
    if isinstance(element, tfrecs.Batch):
        return {name: _plain(element[name]) for name in element}
    if isinstance(element, dict):
        return {name: _plain(one) for name, one in element.items()}
    if isinstance(element, tuple | list):
        return [_plain(one) for one in element]
    if isinstance(element, tfrecs.SparseTensor):
        return [element.indices.tolist(), element.values.tolist(), element.dense_shape.tolist()]
    return element.tolist() if hasattr(element, "tolist") else element


def _all(elements: Iterable[Any]) -> list[Any]:
    return [_plain(element) for element in elements]


def _in_order(elements: Iterable[Any]) -> list[Any]:
    return sorted(_all(elements), key=repr)


def _file(folder: Path) -> Path:
    (found,) = [path for path in folder.iterdir() if path.name.startswith("a.tfrecord")]
    return found


def _opened(folder: Path, **options: Any) -> tfrecs.IndexedRecords:
    return tfrecs.open(_file(folder), **options)


def _some(folder: Path) -> list[bytes]:
    with _opened(folder) as found:
        return [found[n] for n in (0, len(found) - 1, 7)]


def _batched(folder: Path) -> list[Any]:
    reader, found = tfrecs.RecordReader(_file(folder)), []
    while len(batch := reader.read_batch(100)):
        found += batch.tolist()
    return found


def _ranges(folder: Path) -> list[Any]:
    planned = tfrecs.plan_ranges(_file(folder), 3)
    return [list(tfrecs.read_range(one)) for one in planned]


def _salvaged(folder: Path) -> list[Any]:
    salvage = tfrecs.salvage(_file(folder))
    return [list(salvage), salvage.lost_regions]


def _repaired(folder: Path) -> list[Any]:
    target = folder.parent / "work" / "out.tfrecord"
    report = tfrecs.repair(_file(folder), target)
    return [report.records, target.read_bytes()]


def _verified(folder: Path) -> list[Any]:
    report = tfrecs.verify(_file(folder))
    if report.errors:
        raise report.errors[0]
    return [(file.records, file.path) for file in report.files]


def _built(folder: Path) -> list[Any]:
    return tfrecs.build_index(_file(folder))


def _sharded(folder: Path) -> list[Any]:
    return [_all(tfrecs.Dataset(_file(folder)).shard(2, part)) for part in range(2)]


def _resumed(folder: Path) -> list[Any]:
    ds = tfrecs.Dataset(_file(folder), SPEC).shuffle(1).batch(64)
    first = iter(ds)
    next(first)
    again = iter(ds)
    again.load_state_dict(first.state_dict())
    return _all(again)


def _cached(folder: Path) -> list[Any]:
    ds = tfrecs.Dataset(_file(folder)).cache(folder.parent / "work" / "cache")
    return [_all(ds), _all(ds)]


def _tf_reader(folder: Path) -> list[Any]:
    codec = {".gz": "GZIP", ".zz": "ZLIB"}.get(_file(folder).suffix, "")
    return [one.numpy() for one in tf.data.TFRecordDataset(str(_file(folder)), codec)]


def _tf_iterator(folder: Path) -> list[Any]:
    kind = {".gz": 2, ".zz": 1}.get(_file(folder).suffix, 0)
    options = tf.io.TFRecordOptions(kind)
    return list(tf.compat.v1.io.tf_record_iterator(str(_file(folder)), options))


def _dataset(folder: Path, **options: Any) -> tfrecs.Dataset:
    return tfrecs.Dataset(_file(folder), **options)


OPERATIONS: dict[str, Callable[[Path], Any]] = {
    "RecordReader": lambda folder: list(tfrecs.RecordReader(_file(folder))),
    "read_batch": _batched,
    "count": lambda folder: tfrecs.count(_file(folder)),
    "count of a folder": tfrecs.count,
    "verify": _verified,
    "open": lambda folder: list(_opened(folder)),
    "open, some": _some,
    "open, slices": lambda folder: _all(_opened(folder)[::-1]),
    "open, memory_map": lambda folder: list(_opened(folder, memory_map=True)),
    "build_index": _built,
    "ranges": _ranges,
    "salvage": _salvaged,
    "repair": _repaired,
    "Dataset": lambda folder: _all(_dataset(folder)),
    "Dataset.batch": lambda folder: _all(_dataset(folder).batch(64)),
    "parsed": lambda folder: _all(_dataset(folder, features=SPEC)),
    "parsed batches": lambda folder: _all(_dataset(folder, features=SPEC).batch(64)),
    "shuffle": lambda folder: _all(_dataset(folder).shuffle(3)),
    "shuffle, parsed batches": lambda folder: _all(
        _dataset(folder, features=SPEC).shuffle(3).batch(64)
    ),
    "shuffle with a buffer": lambda folder: _all(_dataset(folder).shuffle(3, 100)),
    "shard": _sharded,
    "filter": lambda folder: _all(
        _dataset(folder, features=SPEC).filter(tfrecs.col("n") % 2 == 0).batch(64)
    ),
    "with_keys": lambda folder: _all(_dataset(folder).with_keys()),
    "skip": lambda folder: _all(_dataset(folder).skip(20)),
    "repeat": lambda folder: _all(_dataset(folder).repeat(2).batch(300)),
    "on_corrupt": lambda folder: _all(_dataset(folder, on_corrupt="skip")),
    "on_corrupt, batches": lambda folder: _all(_dataset(folder, on_corrupt="skip").batch(64)),
    "prefetch": lambda folder: _all(_dataset(folder).map(len).prefetch(4)),
    "interleave": lambda folder: _all(
        tfrecs.Dataset.list_files(_file(folder)).interleave(tfrecs.Dataset)
    ),
    "resume": _resumed,
    "cache": _cached,
    "batched features": lambda folder: _all(
        tfrecs.make_batched_features_dataset(
            _file(folder), 64, SPEC, num_epochs=1, shuffle_seed=1, reader_num_threads=2
        )
    ),
    "tf.data": _tf_reader,
    "tf_record_iterator": _tf_iterator,
}
