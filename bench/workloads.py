"""The workloads: what is in their files, and what to parse from them.

This file and those that measure import nothing but the standard library, so that a process that
measures another system holds nothing of ours. So a specification is a function of the module whose
feature classes are wanted: `tfrecs`, `tf.io` or whatever has the same names.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("BENCH_FOLDER") or Path(__file__).parent.parent / "build" / "bench")
SEED = 2  # in the files' names: another one when a generator changes

Spec = dict[str, Any]
MakeSpec = Callable[[Any], Spec]


@dataclass(frozen=True)
class Workload:
    """A kind of file.

    Attributes:
        name: Its short name.
        title: What is in it.
        records: How many records the whole file has.
        batch: How many records are read at a time.
        features: What to parse; of SequenceExamples the feature lists.
        narrow: The same, with other types of numbers, where that makes sense.
        context: What to parse of a SequenceExample's context; None for Examples.
        projection: The features of a projection.
    """

    name: str
    title: str
    records: int
    batch: int
    features: MakeSpec
    narrow: MakeSpec | None = None
    context: MakeSpec | None = None
    projection: tuple[str, ...] = ()

    def scaled(self, scale: float) -> int:
        """Return the number of records at this scale, two batches at least."""
        return min(self.records, max(2 * self.batch, round(self.records * scale)))

    def path(self, records: int, form: str = "") -> Path:
        """Return the path of the file with that many records, in this form (see `files.py`)."""
        return FOLDER / f"{self.name}-{records}-seed{SEED}.tfrecord{form}"


NUMBERS = [f"num_{i}" for i in range(14)]
STRINGS = [f"cat_{i}" for i in range(26)]


def tab(io: Any) -> Spec:
    """Tables: 40 features a record, 14 numbers and 26 short strings."""
    number, string = io.FixedLenFeature([], "int64"), io.FixedLenFeature([], "string")
    return {**dict.fromkeys(NUMBERS, number), **dict.fromkeys(STRINGS, string)}


def img(io: Any) -> Spec:
    """Images: bytes that do not compress, a label and the two sizes."""
    number = io.FixedLenFeature([], "int64")
    names = ("label", "height", "width")
    return {"image": io.FixedLenFeature([], "string"), **dict.fromkeys(names, number)}


def vec(io: Any) -> Spec:
    """Vectors: 1,024 floats and one to five labels."""
    vector = io.FixedLenFeature([1024], "float32")
    return {"vector": vector, "labels": io.VarLenFeature("int64")}


def narrow_vec(io: Any) -> Spec:
    """The same, as smaller types."""
    vector = io.FixedLenFeature([1024], "float16")
    return {"vector": vector, "labels": io.VarLenFeature("uint8")}


def tok(io: Any) -> Spec:
    """Tokens: 512 ids."""
    return {"tokens": io.FixedLenFeature([512], "int64")}


def narrow_tok(io: Any) -> Spec:
    """The same, as a smaller type."""
    return {"tokens": io.FixedLenFeature([512], "uint16")}


def rag(io: Any) -> Spec:
    """Ragged, nested, sparse and padded features."""
    lengths = (io.RaggedFeature.RowLengths("lengths"),)
    return {
        "words": io.RaggedFeature("int64"),
        "weights": io.RaggedFeature("float32", "weights", lengths),
        "places": io.SparseFeature("index", "value", "float32", 10_000),
        "points": io.FixedLenSequenceFeature([3], "float32", allow_missing=True),
    }


def seq(io: Any) -> Spec:
    """Sequences: the feature lists of SequenceExamples of 5 to 40 steps."""
    return {
        "item": io.FixedLenSequenceFeature([], "int64"),
        "state": io.FixedLenSequenceFeature([16], "float32"),
    }


def seq_context(io: Any) -> Spec:
    """And their context."""
    return dict.fromkeys(("user", "length"), io.FixedLenFeature([], "int64"))


def wide_names(features: int) -> list[str]:
    """Return the names of that many features."""
    return [f"feature_{i:03}" for i in range(features)]


def wide(features: int) -> MakeSpec:
    """Return the features: numbers and short strings by turns."""

    def spec(io: Any) -> Spec:
        kinds = [io.FixedLenFeature([], dtype) for dtype in ("int64", "string")]
        return {name: kinds[i % 2] for i, name in enumerate(wide_names(features))}

    return spec


TWO_OF_TAB = (NUMBERS[7], STRINGS[13])

# What the table shows.
WORKLOADS = {
    workload.name: workload
    for workload in [
        Workload(
            "tab",
            "14 int64 and 26 short bytes features",
            200_000,
            1024,
            tab,
            projection=TWO_OF_TAB,
        ),
        Workload("img", "60 to 160 KB of bytes, a label, two sizes", 4_000, 64, img),
        Workload("vec", "1,024 floats and a short label list", 50_000, 1024, vec, narrow_vec),
        Workload("tok", "512 token ids", 50_000, 1024, tok, narrow_tok),
        Workload("rag", "ragged, nested, sparse, padded features", 50_000, 1024, rag),
        Workload(
            "seq", "5 to 40 steps of one id and 16 floats", 20_000, 256, seq, context=seq_context
        ),
    ]
}
# What only bench/growth.py uses; the values together are as many in each.
WIDE = {
    f"wide{count}": Workload(
        f"wide{count}", f"{count} features", 4_000_000 // count, 1024, wide(count)
    )
    for count in (4, 40, 400)
}
EVERY = {**WORKLOADS, **WIDE}
