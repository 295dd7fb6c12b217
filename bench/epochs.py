"""An epoch as a training loop takes it: `epochs.py ROAD FILE RECORDS`.

Prints the seconds of a pass, how many records it gave, and the most memory held, as JSON; one whole
pass comes before it. What is measured is imported in its function.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from jobs import CORES
from measure import peak_rss
from passes import as_arrays
from workloads import EVERY

BATCH = 256
BUFFER = 10_000
PHOTOS = 32
SIDE = 224

Epoch = Iterable[Any]


def _vectors(path: Path, shuffle: dict[str, Any], **options: Any) -> Epoch:
    import tfrecs  # noqa: PLC0415 - not where only others are measured

    tfrecs.open(path)
    ds = tfrecs.Dataset(path, EVERY["vec"].features(tfrecs), **options)
    epoch: Epoch = ds.shuffle(1, **shuffle).batch(BATCH).to_torch_loader()
    return epoch


def by_index(path: Path) -> Epoch:
    """Shuffle all records, to_torch_loader."""
    return _vectors(path, {})


def by_index_mapped(path: Path) -> Epoch:
    """The same with memory_map."""
    return _vectors(path, {}, memory_map=True)


def by_buffer(path: Path) -> Epoch:
    """Shuffle records as far as a buffer reaches, to_torch_loader."""
    return _vectors(path, {"buffer_size": BUFFER})


def vahidk(path: Path, workers: int) -> Epoch:
    """Return vahidk's dataset in a DataLoader; its file has no index, so one worker reads all."""
    import torch  # noqa: PLC0415 - as above
    from tfrecord.torch.dataset import TFRecordDataset  # noqa: PLC0415 - as above

    dataset = TFRecordDataset(
        str(path),
        None,
        {"vector": "float", "labels": "int"},
        shuffle_queue_size=BUFFER,
        transform=lambda row: row["vector"],  # its labels are as many as they are: no batch of them
    )
    loader: Epoch = torch.utils.data.DataLoader(dataset, BATCH, num_workers=workers)
    return loader


def vahidk_here(path: Path) -> Epoch:
    """Vahidk's dataset in a DataLoader, in this process."""
    return vahidk(path, 0)


def vahidk_worker(path: Path) -> Epoch:
    """The same in a worker."""
    return vahidk(path, 1)


def tensorflow(path: Path) -> Epoch:
    """TFRecordDataset.shuffle.batch, parse_example mapped in parallel, to NumPy."""
    import tensorflow as tf  # noqa: PLC0415 - as above

    spec = EVERY["vec"].features(tf.io)
    ds = tf.data.TFRecordDataset(str(path)).shuffle(BUFFER, seed=1).batch(BATCH)
    ds = ds.map(lambda some: tf.io.parse_example(some, spec), num_parallel_calls=CORES)
    return _Numpy(ds.prefetch(2 * CORES))


class _Numpy:
    """A tf.data.Dataset as arrays."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __iter__(self) -> Iterator[Any]:
        return as_arrays(self._dataset)


def photos(path: Path) -> Epoch:
    """Shuffle, decode_images to 224 x 224, to_torch_loader."""
    import tfrecs  # noqa: PLC0415 - as above

    ds = tfrecs.Dataset(path, _photo_features(tfrecs)).shuffle(1).batch(PHOTOS)
    decoded = ds.decode_images("image", size=(SIDE, SIDE), channels=3)
    epoch: Epoch = decoded.to_torch_loader()
    return epoch


def _photo_features(io: Any) -> dict[str, Any]:
    return {"image": io.FixedLenFeature([], "string"), "label": io.FixedLenFeature([], "int64")}


def photos_tensorflow(path: Path) -> Epoch:
    """TFRecordDataset.shuffle, decode_jpeg and resize mapped in parallel, batch, to NumPy."""
    import tensorflow as tf  # noqa: PLC0415 - as above

    def decoded(record: Any) -> Any:
        row = tf.io.parse_single_example(record, _photo_features(tf.io))
        pixels = tf.io.decode_jpeg(row["image"], channels=3)
        return tf.cast(tf.image.resize(pixels, (SIDE, SIDE)), tf.uint8), row["label"]

    ds = tf.data.TFRecordDataset(str(path)).shuffle(BUFFER, seed=1)
    ds = ds.map(decoded, num_parallel_calls=tf.data.AUTOTUNE).batch(PHOTOS)
    return _Numpy(ds.prefetch(tf.data.AUTOTUNE))


def photos_pillow(path: Path) -> Epoch:
    """Vahidk's dataset, decoded and resized by Pillow in a DataLoader's workers."""
    import torch  # noqa: PLC0415 - as above
    from tfrecord.tools.tfrecord2idx import create_index  # noqa: PLC0415 - as above
    from tfrecord.torch.dataset import TFRecordDataset  # noqa: PLC0415 - as above

    index = path.with_suffix(".idx")
    create_index(str(path), str(index))  # with it the workers divide the file
    dataset = TFRecordDataset(
        str(path),
        str(index),
        {"image": "byte", "label": "int"},
        transform=_by_pillow,
        shuffle_queue_size=PHOTOS,
    )
    loader: Epoch = torch.utils.data.DataLoader(
        dataset, PHOTOS, num_workers=CORES, persistent_workers=True
    )
    return loader


def _by_pillow(row: dict[str, Any]) -> tuple[Any, Any]:
    import numpy as np  # noqa: PLC0415 - as above
    from PIL import Image  # noqa: PLC0415 - as above

    image = Image.open(BytesIO(row["image"])).convert("RGB").resize((SIDE, SIDE))
    return np.asarray(image), row["label"]


VECTORS: dict[str, tuple[str, Callable[[Path], Epoch]]] = {
    "to_torch_loader, index": ("torch", by_index),
    "to_torch_loader, index, mapped": ("torch", by_index_mapped),
    "to_torch_loader, buffer": ("torch", by_buffer),
    "vahidk, DataLoader": ("torch", vahidk_here),
    "vahidk, DataLoader, a worker": ("torch", vahidk_worker),
    "tensorflow, buffer, NumPy": ("tensorflow", tensorflow),
}
IMAGES: dict[str, tuple[str, Callable[[Path], Epoch]]] = {
    "to_torch_loader": ("torch", photos),
    "tensorflow, NumPy": ("tensorflow", photos_tensorflow),
    "vahidk, Pillow in workers": ("torch", photos_pillow),
}


def main() -> None:
    """Measure a pass; another one comes before."""
    road, path, records = sys.argv[1:]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    _, epoch = (VECTORS | IMAGES)[road]
    batches = epoch(Path(path))
    steps = sum(1 for _ in batches)
    begin = time.perf_counter()
    if sum(1 for _ in batches) != steps or steps < int(records) // BATCH:
        raise SystemExit(f"{road}: {steps} batches of {records} records")
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "records": int(records), "megabytes": peak_rss() / 1e6}))


if __name__ == "__main__":
    main()
