"""What elements of datasets become as tensors."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
from loading import SPEC, is_even, write

import tfrecs
from tfrecs import SpecError

torch = needs.optional("torch")
DataLoader = torch.utils.data.DataLoader


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("examples") / "some.tfrecord")


@pytest.fixture
def ds(path: Path) -> tfrecs.Dataset:
    return tfrecs.Dataset(path, {"number": SPEC["number"]}, num_threads=2).shuffle(5)


def test_tensors_are_over_the_same_memory(path: Path) -> None:
    batch = next(iter(tfrecs.Dataset(path, SPEC).batch(4)))
    made = importlib.import_module("tfrecs.integrations.torch.elements").TorchElements()(batch)
    assert made["number"].data_ptr() == batch["number"].__array_interface__["data"][0]
    nested = batch["rows"].flat_values.__array_interface__["data"][0]
    assert made["rows"].values().data_ptr() == nested
    assert made["name"] == [b"0", b"1", b"2", b"3"]


def test_arrays_by_themselves_and_in_tuples() -> None:
    """Elements need not be batches: map() may give arrays."""
    ds = tfrecs.Dataset([b"1", b"2"])
    assert [made.tolist() for made in ds.map(lambda one: np.full(2, int(one))).to_torch()] == [
        [1, 1],
        [2, 2],
    ]
    pair = next(iter(ds.map(lambda one: (np.arange(2), [np.float32(one)])).to_torch()))
    assert [pair[0].tolist(), pair[1][0].item()] == [[0, 1], 1.0]
    texts = ds.map(lambda one: np.array([one, b"x"], object))
    assert list(texts.to_torch()) == [[b"1", b"x"], [b"2", b"x"]]


def test_options(path: Path) -> None:
    features = {**SPEC, "few": tfrecs.VarLenFeature("string"), "rows": SPEC["rows"]}
    with tfrecs.RecordWriter(path.parent / "few.tfrecord") as out:
        out.write(tfrecs.encode_example({"number": 1, "name": "a", "few": ["é", "b"]}))
        out.write(tfrecs.encode_example({"number": 2, "name": "b", "rows": [1.0, 2.0]}))
    ds = tfrecs.Dataset(path.parent / "few.tfrecord", features).batch(2)

    def first(**options: Any) -> Any:
        return next(iter(ds.to_torch(**options)))

    assert first()["few"] == [["é".encode(), b"b"], []]
    assert first(strings="str")["few"] == [["é", "b"], []]
    assert first(strings="str")["name"] == ["a", "b"]
    assert isinstance(first(strings="array")["name"], tfrecs.BytesArray)
    assert list(first(strings="drop")) == ["number", "rows"]
    assert first()["rows"].layout == torch.jagged
    assert first(ragged="padded")["rows"].tolist() == [[0, 0], [1, 2]]
    assert [row.tolist() for row in first(ragged="list")["rows"]] == [[], [1, 2]]
    records = tfrecs.Dataset(path.parent / "few.tfrecord")
    assert next(iter(records.batch(2).to_torch())) == list(records)
    assert next(iter(records.to_torch())) == next(iter(records))
    numbered = records.batch(1).enumerate().to_torch()
    assert [number for number, _ in numbered] == [0, 1]


def test_sparse_options(path: Path) -> None:
    ds = tfrecs.Dataset(path, {"rows": tfrecs.VarLenFeature("float32")}).batch(3)
    sparse = next(iter(ds.to_torch()))["rows"]
    assert sparse.layout == torch.sparse_coo
    padded = next(iter(ds.to_torch(sparse="padded")))["rows"]
    assert padded.tolist() == sparse.to_dense().tolist() == [[0, 0], [1.5, 0], [2.5, 2.5]]


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_all_kinds_come_out_of_workers(path: Path, context: str) -> None:
    features = {**SPEC, "sparse": tfrecs.VarLenFeature("float32")}
    ds = tfrecs.Dataset(path, features).batch(64)
    with warnings.catch_warnings():
        # PyTorch's own way to send sparse tensors between processes warns.
        warnings.filterwarnings("ignore", "Sparse invariant checks", UserWarning)
        loader = DataLoader(
            ds.to_torch(), batch_size=None, num_workers=1, multiprocessing_context=context
        )
        for theirs, ours in zip(loader, ds.to_torch_loader(), strict=True):
            assert theirs["number"].tolist() == ours["number"].tolist()
            assert theirs["name"] == ours["name"]
            rows = [[row.tolist() for row in one["rows"].unbind()] for one in (theirs, ours)]
            assert rows[0] == rows[1]
            assert theirs["sparse"].to_dense().tolist() == ours["sparse"].to_dense().tolist()


def test_read_only_and_odd_arrays() -> None:
    tensor = importlib.import_module("tfrecs.integrations.torch.tensors").tensor
    array = np.arange(6.0).reshape(2, 3)
    array.flags.writeable = False
    assert tensor(array).tolist() == array.tolist()
    assert tensor(array[::-1, 1:]).tolist() == array[::-1, 1:].tolist()
    assert tensor(np.float32(3)).shape == ()
    with pytest.raises(SpecError, match="no tensors of"):
        tensor(np.array(["2020"], "M8[D]"))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"strings": "none"}, "strings must be one of list, str, array, drop, not 'none'"),
        ({"ragged": "none"}, "ragged must be one of nested, padded, list, not 'none'"),
        ({"sparse": "none"}, "sparse must be one of coo, padded, not 'none'"),
        ({"remainder": "none"}, "remainder must be one of uneven, drop, pad, not 'none'"),
        ({"rank": 1}, "given both"),
        ({"rank": 2, "num_ranks": 2}, "no rank 2"),
    ],
)
def test_options_are_checked(ds: tfrecs.Dataset, options: dict[str, Any], match: str) -> None:
    with pytest.raises(SpecError, match=match):
        ds.to_torch(**options)
    with pytest.raises(SpecError, match=match):
        ds.to_torch_loader(**options)


def test_what_pytorch_does_not_have_names_the_feature(path: Path) -> None:
    ds = tfrecs.Dataset(path, {"rows": tfrecs.RaggedFeature("float32")}).batch(2)
    twice = ds.map(lambda batch: {"a": tfrecs.RaggedTensor(batch["rows"], [0, 2])})
    with pytest.raises(SpecError, match="one ragged dimension") as caught:
        next(iter(twice.to_torch()))
    assert caught.value.feature == "a"
    assert next(iter(twice.to_torch(ragged="list")))["a"][0][1].tolist() == [1.5]


def test_lengths(ds: tfrecs.Dataset) -> None:
    assert len(ds.batch(100).to_torch(rank=1, num_ranks=2, remainder="pad")) == 2
    assert len(ds.batch(100).to_torch_loader(rank=1, num_ranks=2)) == 1
    for endless in (ds.repeat(), ds.filter(is_even)):
        for made in (endless.to_torch(), endless.to_torch_loader()):
            with pytest.raises(TypeError, match="have no length"):
                len(made)
    assert list(ds.take(2).filter(is_even).to_torch()) is not None
