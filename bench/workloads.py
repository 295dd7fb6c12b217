"""The six workloads: seeded generators, the files they fill, and what to parse from them.

    python bench/workloads.py [--scale 0.01] [tab img vec tok rag seq]

makes the files that are not there yet. Each is made in chunks, and every chunk has its own seed: a
smaller file is the beginning of the full one.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tfrecs

FOLDER = Path(__file__).parent.parent / "build" / "bench"
SEED = 2  # in the files' names: another one when a generator changes
CHUNK = 256

Make = Callable[[np.random.Generator, int], tfrecs.Records]
Spec = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """A kind of file.

    Attributes:
        name: Its short name.
        title: What is in it.
        records: How many records the whole file has.
        batch: How many records are read at a time.
        make: Makes so many records with this source of randomness.
        features: What to parse; of SequenceExamples the feature lists.
        narrow: The same, with other types of numbers, where that makes sense.
        context: What to parse of a SequenceExample's context; None for Examples.
    """

    name: str
    title: str
    records: int
    batch: int
    make: Make
    features: Spec
    narrow: Spec | None = None
    context: Spec | None = None

    def scaled(self, scale: float) -> int:
        """Return the number of records at this scale, two batches at least."""
        return min(self.records, max(2 * self.batch, round(self.records * scale)))

    def path(self, records: int) -> Path:
        """Return the path of the file with so many records."""
        return FOLDER / f"{self.name}-{records}-seed{SEED}.tfrecord"

    def write(self, records: int) -> Path:
        """Write the file with so many records, unless it is there."""
        path = self.path(records)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with tfrecs.RecordWriter(path) as out:
                for start in range(0, records, CHUNK):
                    random = np.random.default_rng([SEED, start])
                    out.write_batch(self.make(random, CHUNK)[: records - start])
        return path


# --- Tables: 40 features a record, 14 numbers and 26 short strings ---

NUMBERS = [f"num_{i}" for i in range(14)]
STRINGS = [f"cat_{i}" for i in range(26)]


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


# --- Images: 60 to 160 KB that do not compress, a label and the two sizes ---


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


# --- Vectors: 1,024 floats and one to five labels; tokens: 512 ids ---


def make_vec(random: np.random.Generator, rows: int) -> tfrecs.Records:
    """Normal floats; labels are ragged."""
    lengths = random.integers(1, 6, rows)
    labels = tfrecs.RaggedTensor(random.integers(0, 100, lengths.sum()), splits(lengths))
    vectors = random.standard_normal((rows, 1024), np.float32)
    return tfrecs.encode_batch({"vector": vectors, "labels": labels})


def make_tok(random: np.random.Generator, rows: int) -> tfrecs.Records:
    """Ids below 50,257, as of a common tokenizer: varints of mostly three bytes, many of two."""
    return tfrecs.encode_batch({"tokens": random.integers(0, 50_257, (rows, 512))})


# --- Ragged, nested, sparse and padded features ---


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


# --- Sequences: SequenceExamples of 5 to 40 steps, each of one id and 16 floats ---


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


INT, STRING = tfrecs.FixedLenFeature([], "int64"), tfrecs.FixedLenFeature([], "string")
TAB: Spec = {**dict.fromkeys(NUMBERS, INT), **dict.fromkeys(STRINGS, STRING)}
IMG: Spec = {"image": STRING, "label": INT, "height": INT, "width": INT}
VEC: Spec = {
    "vector": tfrecs.FixedLenFeature([1024], "float32"),
    "labels": tfrecs.VarLenFeature("int64"),
}
NARROW_VEC: Spec = {
    "vector": tfrecs.FixedLenFeature([1024], "float16"),
    "labels": tfrecs.VarLenFeature("uint8"),
}
TOK: Spec = {"tokens": tfrecs.FixedLenFeature([512], "int64")}
NARROW_TOK: Spec = {"tokens": tfrecs.FixedLenFeature([512], "uint16")}
LENGTHS = (tfrecs.RaggedFeature.RowLengths("lengths"),)
RAG: Spec = {
    "words": tfrecs.RaggedFeature("int64"),
    "weights": tfrecs.RaggedFeature("float32", "weights", LENGTHS),
    "places": tfrecs.SparseFeature("index", "value", "float32", 10_000),
    "points": tfrecs.FixedLenSequenceFeature([3], "float32", allow_missing=True),
}
SEQ: Spec = {
    "item": tfrecs.FixedLenSequenceFeature([], "int64"),
    "state": tfrecs.FixedLenSequenceFeature([16], "float32"),
}

WORKLOADS = {
    workload.name: workload
    for workload in [
        Workload("tab", "14 int64 and 26 short bytes features", 200_000, 1024, make_tab, TAB),
        Workload("img", "60 to 160 KB of bytes, a label, two sizes", 4_000, 64, make_img, IMG),
        Workload(
            "vec", "1,024 floats and a short label list", 50_000, 1024, make_vec, VEC, NARROW_VEC
        ),
        Workload("tok", "512 token ids", 50_000, 1024, make_tok, TOK, NARROW_TOK),
        Workload("rag", "ragged, nested, sparse, padded features", 50_000, 1024, make_rag, RAG),
        Workload(
            "seq",
            "5 to 40 steps of one id and 16 floats",
            20_000,
            256,
            make_seq,
            SEQ,
            context={"user": INT, "length": INT},
        ),
    ]
}


def main() -> None:
    """Make the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*WORKLOADS, []], default=list(WORKLOADS))
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    for name in options.names:
        workload = WORKLOADS[name]
        path = workload.write(workload.scaled(options.scale))
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
