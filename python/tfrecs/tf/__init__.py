"""TensorFlow's own names over those of tfrecs: `from tfrecs import tf`.

Code that was written for TensorFlow's TFRecord API, of any of its versions, runs with that one
import changed. Values that a dataset gives are arrays with TensorFlow's attributes (values.py);
what is done to them is NumPy (ops.py); datasets are plans of tfrecs (data/). Names of TensorFlow 1
are in queues/, which nothing else knows of. A name that is not there says which is nearest.

Example:
    >>> from tfrecs import tf
    >>> with tf.io.TFRecordWriter("digits.tfrecord") as out:
    ...     for n in range(3):
    ...         out.write(b"record %d" % n)
    >>> for record in tf.data.TFRecordDataset("digits.tfrecord").take(1):
    ...     print(repr(record))
    <tf.Tensor: shape=(), dtype=string, numpy=b'record 0'>
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, overload

from tfrecs.tf import compat, data, errors, image, io, python_io, sparse, train
from tfrecs.tf.functions import ops as math
from tfrecs.tf.functions.choosing import one_hot, where
from tfrecs.tf.functions.leaf import found, names_in
from tfrecs.tf.functions.ops import (
    abs,
    add,
    argmax,
    boolean_mask,
    cast,
    clip_by_value,
    concat,
    constant,
    convert_to_tensor,
    divide,
    ensure_shape,
    equal,
    exp,
    expand_dims,
    fill,
    gather,
    greater,
    greater_equal,
    identity,
    is_tensor,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    matmul,
    maximum,
    minimum,
    multiply,
    not_equal,
    ones,
    ones_like,
    pad,
    range,
    rank,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_sum,
    reshape,
    reverse,
    round,
    shape,
    size,
    slice,
    sqrt,
    squeeze,
    stack,
    subtract,
    tile,
    transpose,
    zeros,
    zeros_like,
)
from tfrecs.tf.functions.python_functions import numpy_function, py_function
from tfrecs.tf.tensor.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tfrecs.tf.tensor.dtypes import bool_ as bool
from tfrecs.tf.tensor.shapes import TensorShape, TensorSpec
from tfrecs.tf.tensor.values import RaggedTensor, SparseTensor, Tensor

newaxis = None

# The TensorFlow whose behaviour this is (docs/compatibility.md).
__version__ = "2.21.0"

__all__ = [
    "DType",
    "RaggedTensor",
    "SparseTensor",
    "Tensor",
    "TensorShape",
    "TensorSpec",
    "abs",
    "add",
    "argmax",
    "as_dtype",
    "bfloat16",
    "bool",
    "boolean_mask",
    "cast",
    "clip_by_value",
    "compat",
    "complex64",
    "complex128",
    "concat",
    "constant",
    "convert_to_tensor",
    "data",
    "device",
    "divide",
    "double",
    "ensure_shape",
    "equal",
    "errors",
    "executing_eagerly",
    "exp",
    "expand_dims",
    "fill",
    "float16",
    "float32",
    "float64",
    "function",
    "gather",
    "greater",
    "greater_equal",
    "half",
    "identity",
    "image",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "is_tensor",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "math",
    "matmul",
    "maximum",
    "minimum",
    "multiply",
    "name_scope",
    "newaxis",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "py_function",
    "python_io",
    "range",
    "rank",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "reshape",
    "reverse",
    "round",
    "shape",
    "size",
    "slice",
    "sparse",
    "sqrt",
    "squeeze",
    "stack",
    "string",
    "subtract",
    "tile",
    "train",
    "transpose",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "where",
    "zeros",
    "zeros_like",
]


@overload
def function(func: Callable[..., Any]) -> Callable[..., Any]: ...
@overload
def function(func: None = ..., **options: Any) -> Callable[[Callable[..., Any]], Any]: ...
def function(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Return the function: there are no graphs that it could be made one of."""
    return func if func is not None else lambda given: given


@contextmanager
def name_scope(name: Any, *others: Any, **options: Any) -> Iterator[Any]:
    """Give the name back: what is made in the block is not called by it."""
    yield name


@contextmanager
def device(device_name: Any) -> Iterator[None]:
    """Do nothing: values are where NumPy's arrays are, whatever the block asks for."""
    yield


def executing_eagerly() -> bool:  # type: ignore[valid-type]
    """Whether values are there at once: always, but in graphs of TensorFlow 1's names."""
    return True


def __getattr__(name: str) -> Any:
    """Return a name of TensorFlow 1, or say which is nearest.

    Raises:
        AttributeError: There is none.
    """
    return found("tf", name, __all__)


def __dir__() -> list[str]:
    return sorted([*__all__, *names_in("tf")])
