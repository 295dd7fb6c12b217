"""Elements of datasets as TensorFlow's tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfrecs.errors import MissingLibraryError
from tfrecs.records.reader import Records
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor

try:
    import tensorflow as tf
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        "to_tf() needs TensorFlow: pip install tensorflow", name=error.name
    ) from error


def tensors(element: Any) -> Any:
    """Return the same element of what TensorFlow takes: arrays, ragged and sparse tensors.

    Example:
        >>> import tfrecs
        >>> tensors({"a": tfrecs.RaggedTensor.from_rows([[1, 2], [], [3]])})["a"].to_list()
        [[1, 2], [], [3]]
    """
    if isinstance(element, Mapping):
        return {name: tensors(element[name]) for name in element}
    if isinstance(element, tuple):
        return tuple([tensors(one) for one in element])
    if isinstance(element, RaggedTensor):
        return ragged_tensor(element)
    if isinstance(element, SparseTensor):
        return sparse_tensor(element)
    if isinstance(element, Records):
        return np.array(element.tolist(), object)
    return np.asarray(element, object) if isinstance(element, BytesArray) else element


def ragged_tensor(ragged: RaggedTensor) -> Any:
    """Return a `tf.RaggedTensor`; a missing row is an empty one."""
    begin, end = int(ragged.row_splits[0]), int(ragged.row_splits[-1])
    # TensorFlow's begin with 0; ours may be some rows of more.
    splits = (ragged.row_splits - begin).astype(ragged.row_splits.dtype, copy=False)
    values = tensors(ragged.values[begin:end])
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def sparse_tensor(sparse: SparseTensor) -> Any:
    """Return a `tf.SparseTensor`."""
    return tf.SparseTensor(sparse.indices, tensors(sparse.values), sparse.dense_shape)
