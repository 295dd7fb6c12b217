"""The workloads' files: seeded generators, and the forms that a file can have.

    python bench/files.py [--scale 0.01] [tab img vec tok rag seq]

makes the files that are not there yet. Each is made in chunks, and every chunk has its own seed: a
smaller file is the beginning of the full one.
"""

import argparse
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tfrecs
from jobs import GZIP, MEMBERS, PLAIN
from tfrecs import _core
from workloads import EVERY, FOLDER, NUMBERS, SEED, STRINGS, WORKLOADS, Workload, wide_names

CHUNK = 256

Make = Callable[[np.random.Generator, int], tfrecs.Records]


def made(workload: Workload, records: int, form: str = PLAIN) -> Path:
    """Return the path of a workload's file, written unless it is there."""
    path = workload.path(records, form)
    if not path.exists() or (form == MEMBERS and is_older_than_we(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        FORMS[form](workload, records, path)
    return path


def is_older_than_we(path: Path) -> bool:
    """Whether this file, which says how we write, was written by an older build."""
    return path.stat().st_mtime < Path(_core.__file__ or "").stat().st_mtime


def write_plain(workload: Workload, records: int, path: Path) -> None:
    """Write records, uncompressed."""
    make = MAKERS[workload.name]
    with tfrecs.RecordWriter(path, "") as out:
        for start in range(0, records, CHUNK):
            random = np.random.default_rng([SEED, start])
            out.write_batch(make(random, CHUNK)[: records - start])


def write_gzip(workload: Workload, records: int, path: Path) -> None:
    """Write the same bytes as TensorFlow compresses them: one member, zlib's level 6."""
    part = path.with_suffix(".part")
    part.write_bytes(gzip.compress(made(workload, records).read_bytes(), 6, mtime=0))
    part.replace(path)


def write_our_gzip(workload: Workload, records: int, path: Path) -> None:
    """Write it as tfrecs does, in many members."""
    plain = made(workload, records)
    with tfrecs.RecordWriter(path, "GZIP") as out, tfrecs.RecordReader(plain) as reader:
        while batch := reader.read_batch(workload.batch):
            out.write_batch(batch)


FORMS: dict[str, Callable[[Workload, int, Path], None]] = {
    PLAIN: write_plain,
    GZIP: write_gzip,
    MEMBERS: write_our_gzip,
}


def make_tab(random: np.random.Generator, rows: int) -> tfrecs.Records:
    """Numbers from 0 to millions, most of them small; strings of 2 to 6 hexadecimal digits."""
    columns: dict[str, object] = {
        name: np.floor(random.lognormal(3, 3, rows)).clip(0, 1e9).astype(np.int64)
        for name in NUMBERS
    }
    for name in STRINGS:
        columns[name] = make_words(random, random.integers(2, 7, rows))
    return tfrecs.encode_batch(columns)


def make_words(random: np.random.Generator, lengths: np.ndarray) -> tfrecs.BytesArray:
    """Random hexadecimal digits, cut into words of these lengths."""
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    data = digits[random.integers(0, 16, lengths.sum(), dtype=np.uint8)]
    return tfrecs.BytesArray(data, splits(lengths))


def splits(lengths: np.ndarray) -> np.ndarray:
    """Return where each of consecutive pieces of these lengths begins, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def make_img(random: np.random.Generator, rows: int) -> tfrecs.Records:
    """Random bytes stand for what an encoder has compressed already."""
    lengths = random.integers(60_000, 160_000, rows)
    pixels = np.frombuffer(random.bytes(int(lengths.sum())), np.uint8)
    columns = {
        "image": tfrecs.BytesArray(pixels, splits(lengths)),
        "label": random.integers(0, 1000, rows),
        "height": random.integers(200, 600, rows),
        "width": random.integers(200, 600, rows),
    }
    return tfrecs.encode_batch(columns)


def make_vec(random: np.random.Generator, rows: int) -> tfrecs.Records:
    """Normal floats; labels are ragged."""
    lengths = random.integers(1, 6, rows)
    labels = tfrecs.RaggedTensor(random.integers(0, 100, lengths.sum()), splits(lengths))
    vectors = random.standard_normal((rows, 1024), np.float32)
    return tfrecs.encode_batch({"vector": vectors, "labels": labels})


def make_tok(random: np.random.Generator, rows: int) -> tfrecs.Records:
    """Ids below 50,257, as of a common tokenizer: varints of mostly three bytes, many of two."""
    return tfrecs.encode_batch({"tokens": random.integers(0, 50_257, (rows, 512))})


def make_rag(random: np.random.Generator, rows: int) -> tfrecs.Records:
    """5 to 50 words; 0 to 8 lists of 0 to 6 weights; 3 to 20 of 10,000 places; 1 to 20 points."""
    words, lists = random.integers(5, 51, rows), random.integers(0, 9, rows)
    places, points = random.integers(3, 21, rows), random.integers(1, 21, rows)
    lengths = random.integers(0, 7, lists.sum())
    weights = np.add.reduceat(np.append(lengths, 0), splits(lists)[:-1]) * (lists > 0)
    # The same step from a random start, modulo 10,000: no place twice in a row, and none in order.
    step = np.arange(places.sum()) - np.repeat(splits(places)[:-1], places)
    index = (np.repeat(random.integers(0, 10_000, rows), places) + 7919 * step) % 10_000
    columns = {
        "words": (random.integers(0, 50_257, words.sum()), words),
        "weights": (random.standard_normal(weights.sum(), np.float32), weights),
        "lengths": (lengths, lists),
        "index": (index, places),
        "value": (random.standard_normal(places.sum(), np.float32), places),
        "points": (random.standard_normal(points.sum() * 3, np.float32), points * 3),
    }
    return tfrecs.encode_batch(
        {
            name: tfrecs.RaggedTensor(values, splits(each))
            for name, (values, each) in columns.items()
        }
    )


def make_seq(random: np.random.Generator, rows: int) -> tfrecs.Records:
    """A user and the number of steps; of each step the item and the state."""
    steps = random.integers(5, 41, rows)
    items = random.integers(0, 100_000, steps.sum())
    states = random.standard_normal((steps.sum(), 16), np.float32)
    return tfrecs.encode_sequence_batch(
        {"user": random.integers(0, 1_000_000, rows), "length": steps},
        {
            "item": tfrecs.RaggedTensor(items, splits(steps)),
            "state": tfrecs.RaggedTensor(states, splits(steps)),
        },
    )


def make_wide(features: int) -> Make:
    """Return what makes records of that many features."""

    def make(random: np.random.Generator, rows: int) -> tfrecs.Records:
        columns: dict[str, object] = {}
        for place, name in enumerate(wide_names(features)):
            if place % 2:
                columns[name] = make_words(random, random.integers(2, 7, rows))
            else:
                columns[name] = random.integers(0, 100_000, rows)
        return tfrecs.encode_batch(columns)

    return make


MAKERS: dict[str, Make] = {
    "tab": make_tab,
    "img": make_img,
    "vec": make_vec,
    "tok": make_tok,
    "rag": make_rag,
    "seq": make_seq,
    "wide4": make_wide(4),
    "wide40": make_wide(40),
    "wide400": make_wide(400),
}


def main() -> None:
    """Make the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(EVERY))
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in options.names or WORKLOADS:
        path = made(EVERY[name], EVERY[name].scaled(options.scale))
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
