"""Threads that share an iterator of tensors: each batch goes to exactly one of them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tfrecs

COUNT = 1200
HANG = 60.0
SPEC = {"n": tfrecs.FixedLenFeature([], "int64")}


@pytest.fixture(autouse=True)
def _switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shared") / "n.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([tfrecs.encode_example({"n": n}) for n in range(COUNT)])
    return path


def sent_ahead(ds: tfrecs.Dataset) -> Iterator[Any]:
    """Return a pass as on the way to a device: elements are under way."""
    loader = ds.to_torch_loader()
    loader._ahead = 2
    return iter(loader)


MADE: dict[str, Callable[[tfrecs.Dataset], Iterator[Any]]] = {
    "to_torch": lambda ds: iter(ds.to_torch()),
    "to_torch_loader": lambda ds: iter(ds.to_torch_loader()),
    "elements under way": sent_ahead,
    "functions": lambda ds: iter(ds.map(dict).shuffle(1, buffer_size=5).to_torch_loader()),
}


@pytest.mark.parametrize("num_threads", [2, 8])
@pytest.mark.parametrize("name", MADE)
def test_each_batch_goes_to_one_thread(path: Path, name: str, num_threads: int) -> None:
    it, found = MADE[name](tfrecs.Dataset(path, SPEC).batch(3)), []

    def take() -> None:
        for batch in it:
            found.extend(batch["n"].tolist())

    threads = [threading.Thread(target=take, daemon=True) for _ in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
        assert not thread.is_alive()
    assert sorted(found) == list(range(COUNT))
