"""`tf.compat.v1.math`: the functions of ops.py that had their arguments in another order.

Example:
    >>> from tfrecs import tf
    >>> tf.compat.v1.shape([[1, 2]], "sides", tf.int64)
    <tf.Tensor: shape=(2,), dtype=int64, numpy=array([1, 2])>
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tfrecs.tf.functions import ops
from tfrecs.tf.functions.keywords import ordered

__all__ = [
    "argmax",
    "boolean_mask",
    "convert_to_tensor",
    "expand_dims",
    "gather",
    "ones_like",
    "pad",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "shape",
    "size",
    "squeeze",
    "to_float",
    "to_int32",
    "to_int64",
    "transpose",
    "zeros_like",
]

_REDUCED = "input_tensor axis keepdims name reduction_indices keep_dims"

argmax = ordered(ops.argmax, "input axis name dimension output_type")
boolean_mask = ordered(ops.boolean_mask, "tensor mask name axis")
convert_to_tensor = ordered(ops.convert_to_tensor, "value dtype name preferred_dtype dtype_hint")
expand_dims = ordered(ops.expand_dims, "input axis name dim")
gather = ordered(ops.gather, "params indices validate_indices name axis")
ones_like = ordered(ops.ones_like, "tensor dtype name optimize")
pad = ordered(ops.pad, "tensor paddings mode name constant_values")
reduce_all = ordered(ops.reduce_all, _REDUCED)
reduce_any = ordered(ops.reduce_any, _REDUCED)
reduce_max = ordered(ops.reduce_max, _REDUCED)
reduce_mean = ordered(ops.reduce_mean, _REDUCED)
reduce_min = ordered(ops.reduce_min, _REDUCED)
reduce_sum = ordered(ops.reduce_sum, _REDUCED)
shape = ordered(ops.shape, "input name out_type")
size = ordered(ops.size, "input name out_type")
squeeze = ordered(ops.squeeze, "input axis name squeeze_dims")
to_float = ordered(partial(ops.cast, dtype="float32"), "x name")
to_int32 = ordered(partial(ops.cast, dtype="int32"), "x name")
to_int64 = ordered(partial(ops.cast, dtype="int64"), "x name")
transpose = ordered(ops.transpose, "a perm name conjugate")
zeros_like = ordered(ops.zeros_like, "tensor dtype name optimize")


def __getattr__(name: str) -> Any:
    return getattr(ops, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in dir(ops) if name[0] != "_")})
