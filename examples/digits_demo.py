"""The main job, on real input: images → sharded TFRecords → a classifier trained from them.

The 1,797 handwritten digits that scikit-learn ships are written out as a folder of PNG files, a
sub-folder a class, because that is what people have. From there on it is what you would do with a
folder of your own:

    python examples/digits_demo.py [WORKING_FOLDER]
"""

import shutil
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

import tfrecs
from tfrecs import convert_images

SPLIT = {"train": 0.8, "test": 0.2}
SHARDS = {"train": 4, "test": 1}
SPEC = {
    "image/encoded": tfrecs.FixedLenFeature([], "string"),
    "image/class/label": tfrecs.FixedLenFeature([], "int64"),
}
EPOCHS = 10
BATCH = 64
REPEATED = 50
WANTED_ACCURACY = 0.93


def main(folder: Path) -> int:
    """Run every step; return the exit code."""
    photos, out = folder / "photos", folder / "tfrecords"
    write_photos(photos)
    convert(photos, out)
    look_inside(out)
    classifier = train(out)
    measure(out)
    accuracy = test(classifier, out)
    print(f"  held-out accuracy {accuracy:.4f} (at least {WANTED_ACCURACY} wanted)")
    print(f"\nThe files stay, to look into: tfrecs head {out}")
    return 0 if accuracy >= WANTED_ACCURACY else 1


def step(number: int, text: str) -> None:
    """Print a heading."""
    print(f"\n{number}. {text}")


def size_of(*paths: Path) -> str:
    """Return how large files are together."""
    return f"{sum(path.stat().st_size for path in paths):,} bytes"


def write_photos(folder: Path) -> None:
    """Write the digits out as photos/<class>/<number>.png."""
    digits = load_digits()
    shutil.rmtree(folder, ignore_errors=True)
    for number, (pixels, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        path = folder / str(label) / f"{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((pixels * 255 / 16).astype(np.uint8)).save(path)
    step(1, f"{len(digits.target):,} handwritten digits as PNG files")
    print(f"  {folder}/0/ … {folder}/9/, {size_of(*folder.glob('*/*.png'))}")


def convert(photos: Path, out: Path) -> None:
    """Convert the folder to TFRecords; every image is decoded once to see that it is whole."""
    step(2, "convert the folder to sharded TFRecords, split 80 : 20 in every class")
    start = time.perf_counter()
    report = convert_images(
        photos, out, split=SPLIT, num_shards=SHARDS, compression_type="GZIP", overwrite=True
    )
    seconds = time.perf_counter() - start
    print(f"  {report.written:,} examples, {len(report.skipped)} skipped, in {seconds:.2f} s")
    print(f"  {report.written / seconds:,.0f} images a second, read, checked and written")
    print(f"\n  {out}/")
    for path in report.paths:
        name = Path(path).name
        print(f"  {name:34} {tfrecs.count(path):5,} records {size_of(Path(path)):>14}")


def look_inside(out: Path) -> None:
    """Check every file, and show the first example."""
    step(3, "check them, and look inside")
    report = tfrecs.verify(out / "*.tfrecord.gz")
    print(f"  {report.records:,} records in {len(report.files)} files; sound: {report.ok}\n")
    with tfrecs.RecordReader(report.files[-1].path) as reader:
        example = tfrecs.decode_example(next(reader))
    for name, values in example.items():
        shown = ", ".join(map(repr, values))
        print(f"  {name:18} {shown if len(shown) < 56 else shown[:55] + '…'}")


def batches(pattern: Path) -> tfrecs.Dataset:
    """Describe the parsed batches of the files that match; iterating reads them, on all cores."""
    return tfrecs.Dataset(pattern, SPEC).batch(BATCH)


def pixels_of(batch: tfrecs.Batch) -> npt.NDArray[np.float64]:
    """Decode a batch of PNG files: an array of shape (batch, 64), from 0 to 1."""
    images = tfrecs.decode_image(batch["image/encoded"], channels=1)
    return np.stack([image.ravel() for image in images]) / 255


def train(out: Path) -> SGDClassifier:
    """Train a linear classifier straight from the batches."""
    step(4, f"train from the batches, {EPOCHS} epochs")
    # Averaging steadies it: at least 0.944 on each of 15 random folds, 0.911 without.
    classifier = SGDClassifier(loss="log_loss", average=True, random_state=0)
    start = time.perf_counter()
    examples = 0
    for _ in range(EPOCHS):
        for batch in batches(out / "train-*"):
            labels = batch["image/class/label"]
            classifier.partial_fit(pixels_of(batch), labels, classes=range(10))
            examples += batch.num_rows
    seconds = time.perf_counter() - start
    print(f"  {examples:,} examples in {seconds:.2f} s, {examples / seconds:,.0f} a second")
    return classifier


def measure(out: Path) -> None:
    """Time writing, and reading into columns, without the images' own work."""
    files = sorted(out.iterdir())
    records = [record for path in files for record in tfrecs.RecordReader(path)] * REPEATED
    path = out.parent / "repeated.tfrecord"
    start = time.perf_counter()
    with tfrecs.RecordWriter(path) as writer:
        writer.write_batch(tfrecs.Records(records))
    written = time.perf_counter()
    rows = sum(batch.num_rows for batch in batches(path))
    read = time.perf_counter()
    step(5, f"the records {REPEATED} times over in one uncompressed file, {size_of(path)}")
    print(f"  written: {len(records) / (written - start):11,.0f} records a second")
    print(f"  read:    {rows / (read - written):11,.0f} records a second, verified, into columns")
    path.unlink()


def test(classifier: SGDClassifier, out: Path) -> float:
    """Return the fraction of the held-out examples that the classifier gets right."""
    right = total = 0
    for batch in batches(out / "test-*"):
        right += int((classifier.predict(pixels_of(batch)) == batch["image/class/label"]).sum())
        total += batch.num_rows
    step(6, f"test on the {total} examples that were held out")
    return right / total


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/digits")))
