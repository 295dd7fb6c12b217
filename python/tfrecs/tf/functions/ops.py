"""What is done to values: the functions of `tf` that code around TFRecords calls."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfrecs.errors import SpecError
from tfrecs.errors.tf_errors import UnimplementedError
from tfrecs.tf.functions.choosing import truths
from tfrecs.tf.functions.keywords import renamed
from tfrecs.tf.functions.suggestions import no_such
from tfrecs.tf.graph import static_operators as operators
from tfrecs.tf.graph import static_shapes as static
from tfrecs.tf.graph.deferred import Rule, deferrable
from tfrecs.tf.tensor.arithmetic import calculated
from tfrecs.tf.tensor.dtypes import as_dtype, as_numpy, int32, string
from tfrecs.tf.tensor.shapes import TensorShape, compatible
from tfrecs.tf.tensor.values import RaggedTensor, SparseTensor, Tensor, single, tensor, wrapped


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """Return a value.

    Example:
        >>> from tfrecs import tf
        >>> tf.constant([1, 2])
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>
    """
    return tensor(value, dtype, shape)


@renamed(preferred_dtype="dtype_hint")
@deferrable(rule=static.converted)
def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """Return a value as a Tensor."""
    return value if isinstance(value, SparseTensor | RaggedTensor) else tensor(value, dtype)


@deferrable(rule=static.cast)
def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Return numbers of another type; those that do not fit become others, as NumPy has it.

    Raises:
        UnimplementedError: One of the two types is that of strings.
    """
    wanted = as_dtype(dtype)
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, cast(x.values, dtype), x.dense_shape)
    given = tensor(x)
    if given.dtype == wanted:
        return given
    if string in (given.dtype, wanted):
        raise UnimplementedError(f"Cast {given.dtype.name} to {wanted.name} is not supported")
    with np.errstate(invalid="ignore", over="ignore"):
        return Tensor(np.asarray(given).astype(wanted.dtype))


@deferrable(rule=static.reshape)
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """Return the same values in another shape; one dimension may be -1.

    Raises:
        InvalidArgumentError: There are not that many values.
        ValueError: In a graph: there cannot be that many.
    """
    array = np.asarray(_given(tensor))
    dims = [int(dim) for dim in np.asarray(_given(shape)).reshape(-1)]
    try:
        return Tensor(array.reshape(dims))
    except ValueError as error:
        raise SpecError(
            f"Input to reshape is a tensor with {array.size} values, but the requested shape "
            f"is {dims}"
        ) from error


def _given(value: Any) -> Tensor:
    return tensor(value)


def _of_one(function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Return a function of one value that NumPy has."""

    @deferrable(rule=static.same_shape)
    def call(x: Any, name: str | None = None) -> Any:
        return wrapped(np.asarray(function(np.asarray(tensor(x)))))

    call.__doc__ = doc
    return call


def _of_two(
    function: Callable[..., Any], doc: str, rule: Rule = operators.broadcast
) -> Callable[..., Any]:
    """Return a function of two values that Python or NumPy has, with TensorFlow's rules."""

    @deferrable(rule=rule)
    def call(x: Any, y: Any, name: str | None = None) -> Any:
        return wrapped(np.asarray(calculated(function, x, y)))

    call.__doc__ = doc
    return call


def _of_truths(function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Return a function of two truth values that NumPy has."""

    @deferrable(rule=operators.compared)
    def call(x: Any, y: Any, name: str | None = None) -> Any:
        return Tensor(np.asarray(function(*map(truths, (x, y)))))

    call.__doc__ = doc
    return call


def _of_one_type(*values: Any) -> list[Tensor]:
    """Return values as Tensors; those that are none yet of the type of one that is."""
    typed = [one for one in values if isinstance(one, Tensor)]
    return [
        one if isinstance(one, Tensor) else tensor(one, typed[0].dtype if typed else None)
        for one in values
    ]


def _check_axes(axes: Any, ndim: int) -> None:
    """Refuse axes that a value does not have; NumPy takes 0 and -1 of a scalar."""
    for axis in () if axes is None else np.ravel(np.asarray(axes)):
        if not -ndim <= axis < ndim:
            raise SpecError(f"Invalid dimension {axis} for input with {ndim} dimension(s)")


def _of_axis(function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Return a function that makes of all values, or of those along an axis, one."""

    @renamed(reduction_indices="axis", keep_dims="keepdims")
    @deferrable(rule=static.reduced)
    def call(input_tensor: Any, axis: Any = None, keepdims: Any = False, name: Any = None) -> Any:
        array = np.asarray(tensor(input_tensor))
        axes = tuple(axis) if isinstance(axis, list) else axis
        _check_axes(axes, array.ndim)
        made = np.asarray(function(array, axis=axes, keepdims=bool(keepdims)))
        return wrapped(made if made.dtype == bool else made.astype(array.dtype))

    call.__doc__ = doc
    return call


sqrt = _of_one(np.sqrt, "Return square roots.")
exp = _of_one(np.exp, "Return powers of e.")
abs = _of_one(np.abs, "Return numbers without their signs.")
logical_not = _of_one(np.logical_not, "Return what is not so.")

log = _of_one(np.log, "Return natural logarithms.")
floor = _of_one(np.floor, "Return numbers rounded down.")
round = _of_one(np.round, "Return numbers rounded to the next integer, halves to the even one.")


@deferrable(rule=operators.broadcast)
def add(x: Any, y: Any, name: str | None = None) -> Any:
    """Return the sum. Unlike `+` it takes `x` as it is, whatever `y` is: `tf.add`."""
    return wrapped(np.asarray(calculated(operator.add, tensor(x), y)))


subtract = _of_two(operator.sub, "Return the difference.")
multiply = _of_two(np.multiply, "Return the product.")
divide = _of_two(operator.truediv, "Return the quotient.", operators.divided)
maximum = _of_two(np.maximum, "Return the larger one.")
minimum = _of_two(np.minimum, "Return the smaller one.")
equal = _of_two(operator.eq, "Whether values are equal.", operators.compared)
not_equal = _of_two(operator.ne, "Whether values are not equal.", operators.compared)
less = _of_two(operator.lt, "Whether the first one is less.", operators.compared)
less_equal = _of_two(operator.le, "Whether the first one is not more.", operators.compared)
greater = _of_two(operator.gt, "Whether the first one is more.", operators.compared)
greater_equal = _of_two(operator.ge, "Whether the first one is not less.", operators.compared)
logical_and = _of_truths(np.logical_and, "Whether both are so.")
logical_or = _of_truths(np.logical_or, "Whether one of them is so.")


@deferrable(rule=operators.matmul)
def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, *, name: Any = None
) -> Any:
    """Return the product of matrices, of which each may be transposed first."""
    first = np.swapaxes(np.asarray(tensor(a)), -1, -2) if transpose_a else a
    second = np.swapaxes(np.asarray(tensor(b)), -1, -2) if transpose_b else b
    return wrapped(np.asarray(calculated(operator.matmul, first, second)))


reduce_sum = _of_axis(np.sum, "Return the sum.")
reduce_mean = _of_axis(np.mean, "Return the mean.")
reduce_max = _of_axis(np.max, "Return the largest one.")
reduce_min = _of_axis(np.min, "Return the smallest one.")
reduce_all = _of_axis(np.all, "Whether all are so.")
reduce_any = _of_axis(np.any, "Whether one is so.")


@renamed(dim="axis")
@deferrable(rule=static.expand_dims)
def expand_dims(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Return values with one dimension more, at `axis`.

    Raises:
        InvalidArgumentError: They have not that many dimensions.
        ValueError: There is no axis.
    """
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    array, at = np.asarray(tensor(input)), int(single(axis))
    if not -array.ndim - 1 <= at <= array.ndim:
        raise SpecError(f"Tried to expand dim index {at} for tensor with {array.ndim} dimensions")
    return wrapped(np.expand_dims(array, at))


@deferrable(rule=static.same)
def identity(input: Any, name: str | None = None) -> Any:
    """Return the same value."""
    return wrapped(input if is_tensor(input) else tensor(input))


@deferrable(rule=static.tile)
def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """Return values that many times in a row, in each dimension.

    Raises:
        InvalidArgumentError: `multiples` has not a number for each dimension.
    """
    array, times = np.asarray(tensor(input)), np.asarray(tensor(multiples))
    if times.shape != (array.ndim,):
        raise SpecError(f"multiples must have {array.ndim} numbers, and has shape {times.shape}")
    return wrapped(np.tile(array, times))


@renamed(squeeze_dims="axis")
@deferrable(rule=static.squeeze)
def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Return values without dimensions of length 1."""
    axes = tuple(axis) if isinstance(axis, list | tuple) else axis
    array = np.asarray(tensor(input))
    _check_axes(axes, array.ndim)
    try:
        return Tensor(np.squeeze(array, None if axes == () else axes))
    except ValueError as error:
        raise SpecError(f"Can not squeeze axis {axis} of shape {array.shape}: {error}") from error


@deferrable(rule=static.transpose)
def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Any:
    """Return values with their dimensions in another order: the last one first, or `perm`."""
    made = np.transpose(np.asarray(tensor(a)), None if perm is None else np.asarray(tensor(perm)))
    return Tensor(made.conj() if conjugate else made)


@deferrable(rule=static.gather)
def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: int | None = None,
    *,
    name: str | None = None,
) -> Any:
    """Return the rows, or what else an axis counts, at places.

    Raises:
        InvalidArgumentError: There is no such row, or axis.
    """
    array, places, axis = np.asarray(tensor(params)), np.asarray(tensor(indices)), int(axis or 0)
    _check_axes(axis, array.ndim)
    count = array.shape[axis]
    if places.size and not 0 <= places.min() <= places.max() < count:
        raise SpecError(f"indices must be in [0, {count}), and one is not: {places}")
    return wrapped(np.take(array, places, axis))


@deferrable(rule=static.reversed_along)
def reverse(tensor: Any, axis: Sequence[int], name: str | None = None) -> Any:
    """Return values in the other order, along some axes."""
    return wrapped(np.flip(np.asarray(_given(tensor)), tuple(axis)))


@deferrable(rule=static.boolean_mask)
def boolean_mask(tensor: Any, mask: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Return the rows where a mask is true; a mask of several dimensions takes elements.

    Raises:
        ValueError: The mask has not the shape of what it chooses from, or is a scalar.
    """
    array, chosen = np.asarray(_given(tensor)), np.asarray(_given(mask)).astype(bool)
    at = axis % max(array.ndim, 1) if axis else 0
    if chosen.ndim == 0:
        raise ValueError("mask cannot be scalar.")
    if array.shape[at : at + chosen.ndim] != chosen.shape:
        raise SpecError(f"a mask of shape {chosen.shape} does not fit values of {array.shape}")
    index: Any = (*[_range(None)] * at, chosen)
    return wrapped(array[index])


@deferrable(rule=static.pad)
def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Any:
    """Return values with others before and after them, that many in each dimension.

    Raises:
        NotImplementedError: They are to be of the values themselves.
    """
    if mode.upper() != "CONSTANT":
        raise NotImplementedError(f"mode={mode!r}: numpy.pad has it")
    widths = np.asarray(_given(paddings))
    return wrapped(np.pad(np.asarray(_given(tensor)), widths, constant_values=constant_values))


@deferrable(rule=static.same_shape)
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Return numbers, those that are less or more as the least or the most."""
    given, low, high = map(np.asarray, _of_one_type(tensor(t), clip_value_min, clip_value_max))
    return wrapped(np.asarray(np.clip(given, low, high)))


@deferrable(rule=static.ensured)
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """Return values that have a shape, of which dimensions may be None.

    Raises:
        InvalidArgumentError: They have another one.
    """
    made = tensor(x)
    if not compatible(TensorShape(shape), made.shape):
        raise SpecError(f"Shape of tensor {made.shape} is not compatible with {shape}")
    return made


@renamed(tensor="input")
@deferrable(rule=static.alike)
def ones_like(
    input: Any, dtype: Any = None, name: str | None = None, *, optimize: bool = True
) -> Any:
    """Return as many ones."""
    given = tensor(input)
    return ones(given.shape, given.dtype if dtype is None else dtype)


@renamed(tensor="input")
@deferrable(rule=static.alike)
def zeros_like(
    input: Any, dtype: Any = None, name: str | None = None, *, optimize: bool = True
) -> Any:
    """Return as many zeros; of strings, empty ones."""
    given = tensor(input)
    return zeros(given.shape, given.dtype if dtype is None else dtype)


@renamed(dimension="axis")
@deferrable(rule=static.argmax)
def argmax(input: Any, axis: Any = None, output_type: Any = "int64", name: Any = None) -> Any:
    """Return the place of the largest value along an axis, the first if none is given."""
    return Tensor(np.argmax(np.asarray(tensor(input)), axis or 0).astype(as_numpy(output_type)))


@deferrable(rule=static.shape)
def shape(input: Any, out_type: Any = int32, name: str | None = None) -> Any:
    """Return the shape of a value, as a value."""
    return Tensor(np.array(tensor(input).shape.as_list(), as_numpy(out_type)))


@deferrable(rule=static.size)
def size(input: Any, out_type: Any = int32, name: str | None = None) -> Any:
    """Return how many elements a value has."""
    return Tensor(np.asarray(tensor(input).shape.num_elements(), as_numpy(out_type)))


@deferrable(rule=static.rank)
def rank(input: Any, name: str | None = None) -> Any:
    """Return how many dimensions a value has."""
    return Tensor(np.asarray(tensor(input).ndim, np.int32))


@deferrable(rule=static.stack)
def stack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    """Return values of one shape side by side, along a new axis."""
    return Tensor(np.stack([np.asarray(one) for one in _of_one_type(*values)], axis))


@deferrable(rule=static.concat)
def concat(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    """Return values one after the other, along an axis that they have."""
    return Tensor(np.concatenate([np.asarray(one) for one in _of_one_type(*values)], axis))


@deferrable(rule=static.sliced)
def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """Return a part: from `begin` on, `size` elements of each dimension; -1 is the rest.

    Raises:
        InvalidArgumentError: The part reaches beyond the value.
    """
    array = np.asarray(tensor(input_))
    starts, counts = (np.asarray(tensor(one)) for one in (begin, size))
    if not starts.shape == counts.shape == (array.ndim,):
        raise SpecError(f"begin and size must have {array.ndim} numbers each")
    ends = np.where(counts == -1, array.shape, starts + counts)
    if not np.all((starts >= 0) & (starts <= ends) & (ends <= array.shape)):
        raise SpecError(f"no {counts} elements from {starts} in values of shape {array.shape}")
    index = tuple(_range(*pair) for pair in zip(starts.tolist(), ends.tolist(), strict=True))
    return wrapped(array[index])


_range = type(np.s_[:])  # Python's slice, whose name is taken here


@deferrable(rule=static.filled_with)
def zeros(shape: Any, dtype: Any = "float32", name: str | None = None) -> Tensor:
    """Return zeros; of strings, empty ones."""
    return fill(_vector(shape), b"" if as_dtype(dtype) == string else as_numpy(dtype).type(0))


@deferrable(rule=static.filled_with)
def ones(shape: Any, dtype: Any = "float32", name: str | None = None) -> Tensor:
    """Return ones."""
    return fill(_vector(shape), as_numpy(dtype).type(1))


def _vector(shape: Any) -> Any:
    """Return a shape as a vector: zeros and ones take a single dimension too."""
    return np.asarray(tensor(shape)).reshape(-1).astype(np.int64)


@deferrable(rule=static.filled)
def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """Return a shape filled with one value.

    Raises:
        InvalidArgumentError: The shape is no vector.
    """
    shape = np.asarray(tensor(dims))
    if shape.ndim != 1:
        raise SpecError(f"dims must be a vector of dimensions, not {shape}")
    return Tensor(np.full(tuple(shape), np.asarray(tensor(value))))


@deferrable(rule=static.counted)
def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return numbers from `start`, or 0 if that is all, up to `limit`, `delta` apart."""
    first, last = (0, start) if limit is None else (start, limit)
    given = [np.asarray(tensor(one)) for one in (first, last, delta)]
    floats = [one for one in given if one.dtype.kind == "f"]
    kind = np.result_type(*(floats or given)) if dtype is None else as_numpy(dtype)
    begin, end, step = (one.item() for one in given)
    return Tensor(np.arange(begin, end, step).astype(kind))


def is_tensor(x: Any) -> bool:
    """Whether something is a value of TensorFlow's: one of these."""
    return isinstance(x, Tensor | SparseTensor | RaggedTensor) or hasattr(x, "compute")


def __getattr__(name: str) -> Any:
    here = [one for one, it in globals().items() if getattr(it, "__module__", None) == __name__]
    raise no_such("tf.math", name, [one for one in here if one[0] != "_"])
