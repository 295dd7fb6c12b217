"""Messages and reprs agree in number and article, and no text uses words of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import REPO

import tfrecs
from tfrecs.media.batches import DecodedBatch
from tfrecs.tensors import BytesArray

# Counts before nouns that do not fit each other.
MISFIT = re.compile(
    r"(?<![\w.,])1 (?:columns|rows|values|records|bytes|files|shards|entries|elements|regions)\b"
    r"|(?<![\w.,])(?:0|2) (?:column|row|value|record|byte|file|shard|entry|element|region)\b"
    r"|\ba (?:int|object|array|ndarray|NoneType)\b|\ban? None"
)


# Words that nobody else in the field uses, in code, comments, docs and tests.
DIALECT = re.compile(
    r"manieth|[Oo]f the operating system[.,;]"
    r"|(?:^|[.!?:] |//[/!]? |# |\"\"\")Who(?:ever)? \w+"
    r"|\bso many\b|\b[Gg]o(?:es)? on\b|\b\w*[Bb]ehind\w*",
    re.MULTILINE,
)
# "Behind" means "after" in the dialect; what is left behind, and what is behind a function, is not.
IDIOM = re.compile(
    r"\b(?:leav\w*|left|stay\w*)\b[^.;]{0,60}?\bbehind\b|left_behind\w*|leaves_no_thread_behind"
    r"|(?:library|rules) behind|behind_the_writers_back"
)
FOLDERS = ["python", "crates", "tests", "bench", "examples", "docs"]
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "fuzz/README.md"]


def sources() -> list[Path]:
    found = [
        path
        for folder in FOLDERS
        for suffix in ("py", "pyi", "rs", "md")
        for path in (REPO / folder).rglob(f"*.{suffix}")
    ]
    return sorted({*found, *(REPO / page for page in PAGES)} - {Path(__file__)})


def test_the_dialect_is_found() -> None:
    texts = ["every so manieth", "# Who reads waits.", "Of the operating system.", "x. Who is"]
    texts += ["so many bytes", "one behind the other", "it goes on"]
    for text in texts:
        assert DIALECT.search(text), text
    assert not DIALECT.search("the operating system refused; those who read wait")


def test_no_text_is_in_the_dialect() -> None:
    found = {
        str(path.relative_to(REPO)): matches
        for path in sources()
        if (matches := DIALECT.findall(IDIOM.sub("", path.read_text())))
    }
    assert found == {}


def texts_of(count: int, folder: Path) -> Iterator[str]:
    """The reprs of things that hold `count` of everything, and messages about them."""
    names = [f"n{i}" for i in range(count)]
    yield repr(tfrecs.decode_batch([tfrecs.encode_example(dict.fromkeys(names, 1))] * count))
    ragged = tfrecs.RaggedTensor.from_row_lengths(np.arange(count), [count])
    yield repr(tfrecs.decode_batch([tfrecs.encode_example({"a": [1] * count})] * 2))
    yield repr(tfrecs.decode_batch([b""] * count + [tfrecs.encode_example({"a": [1, 2]})]))
    yield repr(ragged)
    yield repr(tfrecs.SparseTensor(np.zeros((count, 1), int), np.zeros(count), [9]))
    yield repr(DecodedBatch(np.zeros(count), np.zeros(count, int), ()))
    path = folder / f"{count}.tfrecord"
    with tfrecs.RecordWriter(path) as writer:
        writer.write_batch([b"x"] * count)
        yield repr(writer)
    records = tfrecs.open(path)
    yield repr(records)
    yield raised(lambda: records.locate(count))
    yield raised(lambda: records.sample(9))
    yield raised(lambda: BytesArray.from_values([b"x"] * count)[9])
    batch = tfrecs.Records([b"x"] * count)
    yield repr(batch)
    yield raised(lambda: batch[count])
    yield raised(lambda: records[count])
    yield raised(lambda: tfrecs.parse_tensor(tensor_with(count, 5), "int64"))
    yield raised(lambda: tfrecs.parse_tensor(tensor_with(5, count), "int64"))
    yield raised(lambda: tfrecs.encode_sequence_batch({"a": np.zeros(count)}, {"b": [[]] * 3}))
    with tfrecs.RecordWriter(folder / "long") as writer:
        writer.write(b"x" * (count or 1))
    yield raised(lambda: list(tfrecs.RecordReader(folder / "long", max_record_bytes=0)))
    if count:
        yield repr(tfrecs.Dataset([b"x"] * count))
    if count != 2:
        spec = {"a": tfrecs.FixedLenFeature([2], "int64", [0] * count)}
        yield raised(lambda: tfrecs.parse_example([b""], spec))


def tensor_with(values: int, elements: int) -> bytes:
    """A TensorProto of int64 of a shape, with other values than it takes."""
    shape = bytes([0x12, 4, 0x12, 2, 0x08, elements])
    return b"\x08\x09" + shape + b"\x22" + bytes([8 * values + 1]) + bytes(8 * values + 1)


def raised(call: Callable[[], Any]) -> str:
    with pytest.raises((IndexError, tfrecs.Error)) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_nouns_agree_with_their_counts(count: int, tmp_path: Path) -> None:
    texts = list(texts_of(count, tmp_path))
    assert [text for text in texts if MISFIT.search(text)] == []


REFUSED: dict[str, Callable[[], Any]] = {
    "an object in an example": lambda: tfrecs.encode_example({"a": [object()]}),
    "an object in a batch": lambda: tfrecs.encode_batch({"a": [object()]}),
    "an int for steps": lambda: tfrecs.encode_sequence_example({}, {"a": 5}),  # type: ignore[dict-item]
    "an object for steps": lambda: tfrecs.encode_sequence_example({}, {"a": object()}),  # type: ignore[dict-item]
    "an array for steps": lambda: tfrecs.encode_sequence_batch(None, {"a": [np.zeros(())]}),
    "None for a tensor": lambda: tfrecs.serialize_tensor(None),
    "an object for a tensor": lambda: tfrecs.serialize_tensor(object()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_types_have_their_article(name: str) -> None:
    with pytest.raises((tfrecs.Error, TypeError)) as caught:
        REFUSED[name]()
    assert not MISFIT.search(str(caught.value))
