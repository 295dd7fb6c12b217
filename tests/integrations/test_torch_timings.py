"""What a loader says of its passes."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import needs
import pytest
from loading import RECORDS, SPEC, write

import tfrecs

needs.optional("torch")


@pytest.fixture
def ds(tmp_path: Path) -> tfrecs.Dataset:
    path = write(tmp_path / "some.tfrecord")
    return tfrecs.Dataset(path, {"number": SPEC["number"]}, num_threads=2).shuffle(5)


def test_a_loader_says_what_its_last_pass_gave(ds: tfrecs.Dataset) -> None:
    loader = ds.batch(16).to_torch_loader()
    assert loader.timings().elements == 0
    elements = len(list(loader))
    assert (loader.timings().elements, loader.timings().records) == (elements, RECORDS)
    assert loader.timings().epoch == 0
    it = iter(loader)
    list(islice(it, 2))
    assert (it.timings().elements, loader.timings().epoch) == (2, 1)
    assert repr(loader.timings()).startswith("step ")
    it.close()


def test_a_rank_counts_its_own(ds: tfrecs.Dataset) -> None:
    loader = ds.batch(16).to_torch_loader(rank=1, num_ranks=2)
    elements = len(list(loader))
    assert loader.timings().elements == elements
