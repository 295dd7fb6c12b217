"""`tf.sparse`: tensors of few values."""

from __future__ import annotations

from typing import Any

from tfrecs.tf.functions.suggestions import no_such
from tfrecs.tf.graph.deferred import deferrable
from tfrecs.tf.tensor.values import SparseTensor, Tensor, single

__all__ = ["SparseTensor", "to_dense"]


@deferrable
def to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Any:
    """Return a sparse tensor as an array, with `default_value`, 0 or b"", where there is no value.

    Raises:
        InvalidArgumentError: An index lies outside of the shape; that is always looked for.

    Example:
        >>> from tfrecs import tf
        >>> tags = tf.sparse.SparseTensor([[0, 1]], [7], [2, 2])
        >>> tf.sparse.to_dense(tags, default_value=-1).numpy().tolist()
        [[-1, 7], [-1, -1]]
    """
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor, not {type(sp_input).__name__}")
    default = single(default_value)
    default = default.encode() if isinstance(default, str) else default
    return Tensor(sp_input.it.to_dense(default))


def __getattr__(name: str) -> Any:
    raise no_such("tf.sparse", name, __all__)
