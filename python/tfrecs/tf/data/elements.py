"""What functions given to a dataset take and return: TensorFlow's values, of ours and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfrecs import tensors
from tfrecs.tf.data.closures import bound
from tfrecs.tf.functions.python_errors import in_dataset
from tfrecs.tf.graph.deferred import SparseTensorValue, fetched, is_deferred
from tfrecs.tf.tensor.nest import like, mapped
from tfrecs.tf.tensor.values import RaggedTensor, SparseTensor, Tensor, tensor, unwrapped, wrapped


class Function:
    """A function of TensorFlow's values, as one of an element of ours.

    As in `tf.data` it gets the parts of a tuple as arguments, and a list that it returns is a tuple
    too: such a list is what `tf.py_function` and `tf.io.decode_csv` give. What is around it is as
    it was when it was given.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Keep the function, and by what name it is known."""
        self.function, self._bound = function, bound(function)
        self.__module__ = getattr(function, "__module__", None) or __name__
        self.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)

    def __call__(self, element: Any) -> Any:
        """Return what it makes of an element."""
        with in_dataset():
            made = applied(self._bound, wrapped(element))
        return normal(tuple(made) if isinstance(made, list) else made)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the function that was given, which may have a name."""
        return Function, (self.function,)


def applied(function: Callable[..., Any], element: Any) -> Any:
    """Call a function with an element, or the parts of a tuple."""
    return function(*element) if type(element) is tuple else function(element)


def normal(made: Any) -> Any:
    """Return what a function has returned as an element of ours: lists are one array each.

    None may be a part of an element: `(x, None)` is what Keras calls an example without a label.

    Raises:
        TypeError: It has returned nothing, or what a graph has not computed.
    """
    if made is None:
        raise TypeError("the function returned None, and not an element")
    return _normal(made)


def _normal(made: Any) -> Any:
    if isinstance(made, Tensor):
        return made.given
    if isinstance(made, dict):
        return {name: _normal(one) for name, one in made.items()}
    if isinstance(made, SparseTensorValue):
        return _sparse(*made)
    if isinstance(made, tuple):
        return like(made, [_normal(one) for one in made])
    if is_deferred(made):
        raise TypeError("the function returned a value of a graph, which nothing computes here")
    if made is None or isinstance(made, SparseTensor | RaggedTensor):
        return unwrapped(made)
    if isinstance(made, list) and isinstance(_first(made), np.ndarray):
        made = np.asarray(made)  # of which the type is kept
    return unwrapped(tensor(made))


def _sparse(indices: Any, values: Any, dense_shape: Any) -> tensors.SparseTensor:
    """Return the sparse tensor of three parts, as TensorFlow makes one of a SparseTensorValue."""
    places, shape = (np.asarray(tensor(one, "int64")) for one in (indices, dense_shape))
    return tensors.SparseTensor(places, normal(tensor(values)), shape)


def _first(values: Any) -> Any:
    return _first(values[0]) if isinstance(values, list) and values else values


def as_numpy(value: Any) -> Any:
    """Return an element of ours as `as_numpy_iterator` gives it: sparse tensors as tensors."""
    return mapped(_numpy_of, value)


def _numpy_of(value: Any) -> Any:
    return value.to_dense() if isinstance(value, tensors.SparseTensor) else fetched(wrapped(value))


def flat(structure: Any) -> list[Any]:
    """Return the values of a structure, one after the other."""
    if isinstance(structure, dict):
        return [one for part in structure.values() for one in flat(part)]
    if isinstance(structure, tuple):
        return [one for part in structure for one in flat(part)]
    return [structure]
