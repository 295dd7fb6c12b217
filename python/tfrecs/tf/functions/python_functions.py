"""`tf.py_function` and `tf.numpy_function`: Python functions of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import numpy as np

from tfrecs.errors import SpecError
from tfrecs.tf.functions.ops import convert_to_tensor
from tfrecs.tf.functions.python_errors import as_tf_errors, is_in_dataset, marked
from tfrecs.tf.graph.deferred import Deferred, deferrable, parts
from tfrecs.tf.graph.known import of
from tfrecs.tf.tensor.values import Tensor, tensor


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,  # noqa: N803
    name: Any = None,
) -> Any:
    """Return what a function makes of values: `tf.py_function`; without one, a decorator.

    Example:
        >>> from tfrecs import tf
        >>> @tf.py_function(Tout=tf.int64)
        ... def doubled(number):
        ...     return number * 2
        >>> [int(n) for n in tf.data.Dataset.range(3).map(doubled)]
        [0, 2, 4]
    """
    if func is None:
        return partial(_decorated, called=py_function, Tout=Tout)
    made = _called(func, _checked(inp, Tout), Tout)
    count = _count(Tout)
    if count is None:
        return made.knowing(of(Tout)) if type(made) is Deferred else made
    return parts(made, count, [of(dtype) for dtype in Tout])


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,  # noqa: N803
    stateful: bool = True,
    name: Any = None,
) -> Any:
    """Return what a function makes of values as arrays: `tf.numpy_function`, once `tf.py_func`.

    Without a function, a decorator.
    """
    if func is None:
        return partial(_decorated, called=numpy_function, Tout=Tout)
    return py_function(_OfArrays(func), inp, Tout, name)


def _checked(inp: Sequence[Any] | None, types: Any) -> Sequence[Any]:
    """Return the arguments of a function, which must be given, as the types of its result."""
    if inp is None or types is None:
        missing = "inp, the list of arguments," if inp is None else "Tout, the type of the result,"
        raise TypeError(f"py_function() needs {missing} for its function")
    return inp


def _decorated(
    function: Callable[..., Any],
    called: Callable[..., Any],
    Tout: Any,  # noqa: N803
) -> Callable[..., Any]:
    """Return a function that is called by py_function or numpy_function with its arguments."""
    _checked((), Tout)

    @wraps(function)
    def call(*args: Any) -> Any:
        return called(function, args, Tout)

    return call


@dataclass(frozen=True)
class _OfArrays:
    """A function of arrays, as one of Tensors."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        return self.function(*(arg.numpy() for arg in args))


@deferrable
def _called(func: Callable[..., Any], inp: Sequence[Any], types: Any) -> Any:
    if isinstance(func, _OfArrays):
        return _called_with_arrays(func, inp, types)
    given = [convert_to_tensor(one) for one in inp]
    with as_tf_errors():
        made = func(*given)
    try:
        return _typed(made, types)
    except (TypeError, ValueError) as error:
        raise SpecError(f"py_function has returned what is not {types}: {error}") from error


def _typed(made: Any, types: Any) -> Any:
    """Return what py_function's function has made, as values of types."""
    given = list(made) if isinstance(made, list | tuple) else [made]
    _check_types(given, types)
    if _count(types) is None:
        return tensor(given[0] if len(given) == 1 else made, types)
    if made is None and not types:  # it is called for what it does
        return []
    return [tensor(one, dtype) for one, dtype in zip(given, types, strict=True)]


def _called_with_arrays(func: Callable[..., Any], inp: Sequence[Any], types: Any) -> Any:
    """Return what numpy_function's function makes, of NumPy's types: 1 is int64.

    Raises:
        InvalidArgumentError: In a dataset: the types are not those that were announced.
    """
    with marked():
        made = func(*map(convert_to_tensor, inp))
        several = list(made) if isinstance(made, list | tuple) else [made]
        given = [] if made is None and types in ([], ()) else [_as_numpy(one) for one in several]
    if is_in_dataset():
        wanted = [types] if _count(types) is None else list(types)
        if [one.dtype for one in given] != wanted:
            kinds = ", ".join(one.dtype.name for one in given)
            raise SpecError(f"numpy_function has returned {kinds}, and Tout is {types}")
    return given[0] if _count(types) is None else given


def _as_numpy(value: Any) -> Tensor:
    array = np.asarray(value)
    return tensor(value) if array.dtype.kind in "SUO" else Tensor(array)


def _check_types(given: list[Any], types: Any) -> None:
    wanted = [types] * len(given) if _count(types) is None else types
    for one, dtype in zip(given, wanted, strict=False):
        if isinstance(one, Tensor) and one.dtype != dtype:
            raise SpecError(f"py_function has returned {one.dtype.name}, and Tout is {dtype}")


def _count(types: Any) -> int | None:
    return len(types) if isinstance(types, list | tuple) else None


py_func = numpy_function
