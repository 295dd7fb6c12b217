"""Plans that the loaders of other libraries are tested with, and what they must give."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import tfrecs
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.stages.stage import Run
from tfrecs.features import Features

RECORDS = 230
SPEC: Features = {
    "number": tfrecs.FixedLenFeature([], "int64"),
    "name": tfrecs.FixedLenFeature([], "string"),
    "rows": tfrecs.RaggedFeature("float32"),
}


def write(path: Path) -> Path:
    """A file with examples of SPEC."""
    with tfrecs.RecordWriter(path) as out:
        for n in range(RECORDS):
            row = {"number": n, "name": b"%d" % n, "rows": [n + 0.5] * (n % 3)}
            out.write(tfrecs.encode_example(row))
    return path


def numbers(elements: Iterable[Any]) -> list[list[int]]:
    """The feature of each batch by which a record is known."""
    return [element["number"].tolist() for element in elements]


def elements(ds: tfrecs.Dataset, epoch: int = 0) -> list[Any]:
    """The elements of a pass, plainly; the dataset counts none."""
    return [*map(plain, DatasetIterator(ds.node, Run(epoch)))]


def expected(ds: tfrecs.Dataset, epoch: int = 0) -> list[list[int]]:
    """The numbers of a pass as NumPy has them."""
    return [element["number"] for element in elements(ds, epoch)]


def plain(element: Any) -> Any:
    """An element of lists in place of arrays or tensors."""
    if isinstance(element, Mapping):
        return {name: plain(value) for name, value in element.items()}
    return element.tolist() if hasattr(element, "tolist") else element


def dealt(parts: Iterable[Iterable[Any]]) -> list[Any]:
    """What comes of giving an element of each part in turn."""
    rounds = itertools.zip_longest(*parts)
    return [plain(one) for some in rounds for one in some if one is not None]


def length_of(batch: Any) -> int:
    return len(batch["number"])


def divided(batch: Any) -> Any:
    """The same batch; but one is refused."""
    try:
        1 // (7 not in batch["number"])
    except ZeroDivisionError as error:
        raise ValueError("seven is mine") from error
    return dict(batch)


def is_even(row: Any) -> bool:
    return bool(row["number"] % 2 == 0)


PLANS: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "native": lambda ds: ds.batch(10),
    "in order": lambda ds: ds.take(200).skip(5).batch(10),
    "mapped": lambda ds: ds.batch(10).map(length_of).prefetch(2),
    "elements": lambda ds: ds.take(61),
    "filtered": lambda ds: ds.filter(is_even).batch(10),
    "shuffled again": lambda ds: ds.batch(3).shuffle(1, buffer_size=9),
    "twice": lambda ds: ds.repeat(2).batch(32),
}
