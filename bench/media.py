"""Decoding images, by tfrecs and by TensorFlow in turn: `python bench/media.py --help`.

500 images of 500 x 375 pixels that look like photographs, as JPEG and as PNG. tfrecs decodes them
in batches; TensorFlow by tf.data's map with num_parallel_calls=AUTOTUNE. Each measurement is a
process of its own, in which everything was decoded once before the clock starts. Fails if the
pixels differ. "cpu" is the processors' time, all threads together.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

import tfrecs

FOLDER = Path(__file__).parent.parent / "build" / "bench"
COUNT, BATCH = 500, 50
HEIGHT, WIDTH = 375, 500
JPEG_QUALITY = 96  # about 100 KB
FORMATS: tuple[Literal["jpeg", "png"], ...] = ("jpeg", "png")

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


def path_of(form: str) -> Path:
    """Return the path of the images in this format."""
    return FOLDER / f"photos-{COUNT}.{form}.tfrecord"


def make() -> None:
    """Write the files that are not there."""
    missing = [form for form in FORMATS if not path_of(form).exists()]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for form in missing:
        with tfrecs.RecordWriter(path_of(form)) as out:
            for seed in range(COUNT):
                out.write(tfrecs.encode_image(photo(seed), form, quality=JPEG_QUALITY))


def by_tfrecs(form: str, threads: int) -> Callable[[], Iterable[Pixels]]:
    """Return what decodes all images in batches."""
    records = tfrecs.RecordReader(path_of(form)).read_batch(COUNT)
    # What TensorFlow does by default.
    fast: dict[str, Any] = {"dct_method": "INTEGER_FAST"} if form == "jpeg" else {}

    def decode() -> Iterable[Pixels]:
        for start in range(0, COUNT, BATCH):
            batch = records[start : start + BATCH]
            yield from tfrecs.decode_image(batch, 3, num_threads=threads, **fast)

    return decode


def by_pillow_alone(form: str, threads: int) -> Callable[[], Iterable[Pixels]]:
    """Return likewise, as if simplejpeg were not installed."""
    from tfrecs.media import pictures  # noqa: PLC0415 - not where only TensorFlow is measured

    vars(pictures)["simplejpeg"] = None
    records = tfrecs.RecordReader(path_of(form)).read_batch(COUNT)

    def decode() -> Iterable[Pixels]:
        for start in range(0, COUNT, BATCH):
            yield from tfrecs.decode_image(records[start : start + BATCH], 3, num_threads=threads)

    return decode


def by_tensorflow(form: str, _: int) -> Callable[[], Iterable[Pixels]]:
    """Return what decodes all images by tf.data."""
    import tensorflow as tf  # noqa: PLC0415 - not where only tfrecs is measured

    one = {"jpeg": tf.io.decode_jpeg, "png": tf.io.decode_png}[form]
    files = tf.constant(tfrecs.RecordReader(path_of(form)).read_batch(COUNT).tolist())
    data = tf.data.Dataset.from_tensor_slices(files)
    data = data.map(lambda file: one(file, channels=3), num_parallel_calls=tf.data.AUTOTUNE)
    return lambda: data


SYSTEMS = {
    "tfrecs": by_tfrecs,
    "tfrecs, Pillow alone": by_pillow_alone,
    "tensorflow": by_tensorflow,
}


def measure(system: str, form: str, threads: int) -> None:
    """Print the time of one pass and a digest of the first pixels, as JSON."""
    decode = SYSTEMS[system](form, threads)
    digest = hashlib.sha256(b"".join(np.asarray(image).tobytes() for image in decode()))
    start, cpu = time.perf_counter(), time.process_time()
    count = sum(1 for _ in decode())
    figures = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps({**figures, "count": count, "digest": digest.hexdigest()}))


def measured(system: str, form: str, threads: int) -> dict[str, Any]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--measure", system, form, "--threads", str(threads)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure every system on every format, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="processes for each figure")
    parser.add_argument("--threads", type=int, default=2, help="threads of tfrecs")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[*SYSTEMS])
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        system, form = options.measure
        measure(system, form, options.threads)
        return
    make()
    for form in FORMATS:
        runs: dict[str, list[dict[str, Any]]] = {system: [] for system in options.systems}
        for _ in range(options.runs):
            for system, found in runs.items():
                found.append(measured(system, form, options.threads))
        digests = {run["digest"] for name in runs if "alone" not in name for run in runs[name]}
        if len(digests) > 1:
            raise SystemExit(f"{form}: the pixels differ")
        size = path_of(form).stat().st_size / COUNT / 1000
        print(f"{form}: {COUNT} images of {HEIGHT} x {WIDTH} pixels, {size:.0f} KB each")
        for system, found in runs.items():
            times = [run["seconds"] for run in found]
            cpu = statistics.median(run["cpu"] for run in found)
            seconds = statistics.median(times)
            print(
                f"  {system:22} {seconds:.3f} s ({min(times):.3f} to {max(times):.3f}), "
                f"cpu {cpu:.3f} s, {COUNT / seconds:,.0f} images/s"
            )


if __name__ == "__main__":
    main()
