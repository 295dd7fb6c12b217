"""Images that look like photographs, and one measurement of decoding them.

    python bench/photos.py tfrecs jpeg build/bench/photos-500.jpeg.tfrecord

prints the time of one pass and a digest of the pixels, as JSON. What is measured is imported in
the function that measures it, so that a process holds nothing else.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from framing import frames
from jobs import CORES
from workloads import FOLDER

BATCH = 50
HEIGHT, WIDTH = 375, 500
JPEG_QUALITY = 96  # about 100 KB
Format = Literal["jpeg", "png"]
FORMATS: tuple[Format, ...] = ("jpeg", "png")

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def photo(seed: int) -> Pixels:
    """Return a picture with large shapes, small ones, and some noise."""
    random = np.random.default_rng(seed)
    picture = random.normal(120, 4, (HEIGHT, WIDTH, 1)) * np.ones(3)
    for cells in (2, 4, 8, 16, 32, 64, 128):
        corners = random.normal(0, 90 / cells**0.75, (cells + 1, cells + 1, 3))
        picture += stretched(stretched(corners, HEIGHT, 0), WIDTH, 1)
    return picture.clip(0, 255).astype(np.uint8)


def stretched(values: Any, length: int, axis: int) -> Any:
    """Return `values` interpolated to this length."""
    places = np.linspace(0, values.shape[axis] - 1, length)
    below = np.minimum(places.astype(int), values.shape[axis] - 2)
    shape = [-1 if axis == each else 1 for each in range(3)]
    part = (places - below).reshape(shape)
    return values.take(below, axis) * (1 - part) + values.take(below + 1, axis) * part


def made(form: Format, count: int) -> Path:
    """Return the path of that many images in this format, written unless it is there."""
    import tfrecs  # noqa: PLC0415 - not where only TensorFlow is measured

    path = FOLDER / f"photos-{count}.{form}.tfrecord"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tfrecs.RecordWriter(path) as out:
            for seed in range(count):
                out.write(tfrecs.encode_image(photo(seed), form, quality=JPEG_QUALITY))
    return path


def examples(count: int) -> Path:
    """Return the path of a file of Examples of that many JPEG images, each with a label."""
    import tfrecs  # noqa: PLC0415 - not where only others are measured

    path = FOLDER / f"photos-{count}.examples.tfrecord"
    if not path.exists():
        with tfrecs.RecordWriter(path) as out:
            for number, image in enumerate(tfrecs.open(made("jpeg", count))):
                out.write(tfrecs.encode_example({"image": image, "label": number}))
    return path


def by_tfrecs(form: str, images: list[bytes]) -> Callable[[], Iterable[Pixels]]:
    """Return what decodes all images in batches."""
    import tfrecs  # noqa: PLC0415 - not where only TensorFlow is measured

    # What TensorFlow does by default.
    fast: dict[str, Any] = {"dct_method": "INTEGER_FAST"} if form == "jpeg" else {}

    def decode() -> Iterable[Pixels]:
        for start in range(0, len(images), BATCH):
            batch = images[start : start + BATCH]
            yield from tfrecs.decode_image(batch, 3, num_threads=CORES, **fast)

    return decode


def by_pillow_alone(_: str, images: list[bytes]) -> Callable[[], Iterable[Pixels]]:
    """Return likewise, as if simplejpeg were not installed."""
    from tfrecs.media import pictures  # noqa: PLC0415 - as above

    vars(pictures)["simplejpeg"] = None
    return by_tfrecs("", images)


def by_tensorflow(form: str, images: list[bytes]) -> Callable[[], Iterable[Pixels]]:
    """Return what decodes all images by tf.data."""
    import tensorflow as tf  # noqa: PLC0415 - not where only tfrecs is measured

    one = {"jpeg": tf.io.decode_jpeg, "png": tf.io.decode_png}[form]
    data = tf.data.Dataset.from_tensor_slices(tf.constant(images))
    data = data.map(lambda file: one(file, channels=3), num_parallel_calls=tf.data.AUTOTUNE)
    return lambda: data


SYSTEMS = {
    "tfrecs": by_tfrecs,
    "tfrecs, Pillow alone": by_pillow_alone,
    "tensorflow": by_tensorflow,
}


def main() -> None:
    """Measure what the command line says."""
    system, form, path = sys.argv[1:]
    with Path(path).open("rb") as file:
        images = list(frames(file))
    decode = SYSTEMS[system](form, images)
    digest = hashlib.sha256(b"".join(np.asarray(image).tobytes() for image in decode()))
    start, cpu = time.perf_counter(), time.process_time()
    count = sum(1 for _ in decode())
    figures = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps({**figures, "count": count, "digest": digest.hexdigest()}))


if __name__ == "__main__":
    main()
