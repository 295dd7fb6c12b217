"""Tensors as PyTorch's: `make integrations` runs this, where PyTorch is installed."""

import doctest
import importlib
from pathlib import Path
from typing import Any

import ml_dtypes
import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs import RaggedTensor, SparseTensor, SpecError

torch = needs.optional("torch")

DTYPES = ["int64", "int32", "int16", "int8", "uint8", "bool", "float16", "float32", "float64"]


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = "tfrecs.integrations.torch"
    for module, examples in {"tensors": 8, "elements": 4, "dataset": 13, "loader": 9}.items():
        found = doctest.testmod(importlib.import_module(f"{folder}.{module}"))
        assert found == (0, examples), module


@given(rows=st.lists(st.lists(st.integers(-9, 9), max_size=4), min_size=1, max_size=5))
def test_ragged_tensors_are_jagged_ones(rows: list[list[int]]) -> None:
    ragged = RaggedTensor.from_rows(rows, np.int64)
    for begin in range(len(rows)):
        nested = ragged[begin:].to_torch()
        assert nested.is_nested
        assert nested.layout == torch.jagged
        assert [row.tolist() for row in nested.unbind()] == rows[begin:]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype: str) -> None:
    expected = getattr(torch, dtype)
    ragged = RaggedTensor.from_rows([[1, 0], [1]], dtype)
    assert ragged.to_torch().dtype == expected
    sparse = ragged.to_sparse().to_torch()
    assert (sparse.dtype, sparse.to_dense().tolist()) == (expected, [[1, 0], [1, 0]])


def test_bfloat16() -> None:
    ragged = RaggedTensor.from_rows([[0.5, -2.0], [1e30]], ml_dtypes.bfloat16)
    nested = ragged.to_torch()
    assert nested.dtype == torch.bfloat16
    assert [row.tolist() for row in nested.unbind()] == [[0.5, -2.0], [float(ragged.values[2])]]


def test_rows_of_arrays_and_missing_rows() -> None:
    ragged = RaggedTensor(np.arange(6.0).reshape(3, 2), np.array([0, 2, 2, 3], np.int32))
    rows = [row.tolist() for row in ragged.to_torch().unbind()]
    assert rows == [[[0, 1], [2, 3]], [], [[4, 5]]]
    with_missing = RaggedTensor.from_rows([[1], None, [2]])
    assert [row.tolist() for row in with_missing.to_torch().unbind()] == [[1], [], [2]]


def test_sparse_tensors() -> None:
    records = [tfrecs.encode_example({"i": [2, 0], "v": [0.5, 1.0]}), b""]
    spec = {"s": tfrecs.SparseFeature("i", "v", "float32", 4)}
    sparse = tfrecs.parse_example(records, spec)["s"]
    tensor = sparse.to_torch()
    assert (tensor.layout, tuple(tensor.shape)) == (torch.sparse_coo, (2, 4))
    assert tensor.to_dense().tolist() == sparse.tolist()
    single = tfrecs.parse_single_example(records[0], spec)["s"].to_torch()
    assert single.to_dense().tolist() == [1.0, 0, 0.5, 0]


def test_memory_is_shared() -> None:
    records = [tfrecs.encode_example({"v": [1, 2]})]
    ragged = tfrecs.parse_example(records, {"v": tfrecs.RaggedFeature("int64")})["v"]
    nested = ragged.to_torch()
    assert nested.values().data_ptr() == ragged.values.__array_interface__["data"][0]


@pytest.mark.parametrize(
    ("tensor", "match"),
    [
        (RaggedTensor.from_rows([["a"]]), "no tensors of byte strings"),
        (RaggedTensor.from_rows([["a"]]).to_sparse(), "no tensors of byte strings"),
        (RaggedTensor.from_rows([[[1]]]), "one ragged dimension, this one has 2: pad it"),
        (SparseTensor(np.array([[3]]), np.arange(1), np.array([3])), "lies outside"),
        (SparseTensor(np.array([[0]]), np.arange(1), np.array([-1])), "unknown dimension"),
    ],
)
def test_what_pytorch_does_not_have(tensor: Any, match: str) -> None:
    with pytest.raises(SpecError, match=match):
        tensor.to_torch()
