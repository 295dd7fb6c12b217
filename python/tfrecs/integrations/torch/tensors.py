"""Sparse and ragged tensors as PyTorch's."""

from typing import Any

import numpy as np

from tfrecs.errors import MissingLibraryError, SpecError
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor, Values
from tfrecs.tensors.dense import check_indices, checked_shape

try:
    import torch
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'to_torch() needs PyTorch: pip install "tfrecs[torch]"', name=error.name
    ) from error


def sparse_coo_tensor(sparse: SparseTensor) -> "torch.Tensor":
    """Return a `torch.sparse_coo_tensor` of the same values.

    Raises:
        SpecError: It is of byte strings, or has an index outside of its shape.

    Example:
        >>> import numpy as np, tfrecs
        >>> sparse = tfrecs.SparseTensor(np.array([[0, 1]]), np.array([7]), np.array([2, 2]))
        >>> sparse.to_torch().to_dense().tolist()
        [[0, 7], [0, 0]]
    """
    shape = checked_shape(sparse.dense_shape)
    check_indices(sparse.indices, shape)  # PyTorch's own check is off by default
    indices = torch.from_numpy(np.ascontiguousarray(sparse.indices.T))
    values = tensor(sparse.values)
    return torch.sparse_coo_tensor(indices, values, shape, check_invariants=False)


def nested_tensor(ragged: RaggedTensor) -> "torch.Tensor":
    """Return a nested tensor with the jagged layout; a missing row is an empty one.

    Raises:
        SpecError: It is of byte strings, or has more than one ragged dimension.

    Example:
        >>> import tfrecs
        >>> nested = tfrecs.RaggedTensor.from_rows([[1, 2], [], [3]]).to_torch()
        >>> [row.tolist() for row in nested.unbind()]
        [[1, 2], [], [3]]
    """
    if isinstance(ragged.values, RaggedTensor):
        raise SpecError(
            f"PyTorch's nested tensors have one ragged dimension, this one has "
            f"{ragged.ragged_rank}: pad it with to_dense(), or convert its parts (flat_values, "
            "nested_row_splits)"
        )
    start, stop = int(ragged.row_splits[0]), int(ragged.row_splits[-1])
    offsets = torch.from_numpy(ragged.row_splits.astype(np.int64) - start)
    values = tensor(ragged.values[start:stop])
    return torch.nested.nested_tensor_from_jagged(values, offsets)


def tensor(values: Values) -> "torch.Tensor":
    """Return a tensor over the same memory; a copy where that is read-only or upside down.

    Raises:
        SpecError: PyTorch has no such type, as that of byte strings.

    Example:
        >>> import numpy as np
        >>> tensor(np.arange(3.0)).tolist()
        [0.0, 1.0, 2.0]
    """
    if isinstance(values, BytesArray):
        raise SpecError("PyTorch has no tensors of byte strings")
    array: Any = np.asarray(values)
    flags = array.flags
    if not flags.c_contiguous or not flags.writeable:
        array = array.copy()
    if (
        array.dtype.kind == "V" and array.dtype.name == "bfloat16"
    ):  # PyTorch has the type and knows nothing of ml_dtypes
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    try:
        return torch.from_numpy(array)
    except TypeError as error:
        raise SpecError(f"PyTorch has no tensors of {array.dtype}") from error
