"""Values that are there: arrays with TensorFlow's attributes, and the way from ours to them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs import tensors
from tfrecs._internal.checks import encoded_text
from tfrecs.errors import SpecError
from tfrecs.records.reader import Records
from tfrecs.tensors import BytesArray
from tfrecs.tf.tensor.arithmetic import calculated
from tfrecs.tf.tensor.conversion import array_of
from tfrecs.tf.tensor.dtypes import DType, as_dtype, string
from tfrecs.tf.tensor.nest import mapped
from tfrecs.tf.tensor.operators import Operators
from tfrecs.tf.tensor.shapes import TensorShape, compatible

Array = npt.NDArray[Any]


class Tensor(Operators):
    """A value: to NumPy an array, to code written for TensorFlow what that calls an eager tensor.

    Byte strings are bytes, and arrays of them arrays of objects, as `numpy()` gives them there.
    """

    __slots__ = ("given",)

    def __init__(self, given: Any) -> None:
        """Keep bytes, an array, a BytesArray or Records."""
        self.given = given

    def numpy(self) -> Any:
        """Return an array; of a single value the value, as NumPy's scalar or as bytes."""
        if isinstance(self.given, bytes):
            return self.given
        array = np.asarray(self)
        return array[()] if array.ndim == 0 else array

    def eval(self, feed_dict: None = None, session: Any = None) -> Any:
        """As numpy(): it is there already."""
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return an array."""
        given = self.given
        if isinstance(given, Records | bytes):
            array = np.empty(len(given) if isinstance(given, Records) else (), object)
            array[...] = list(given) if isinstance(given, Records) else given
        else:
            array = np.asarray(given)
        return np.array(array, dtype, copy=bool(copy)) if copy else np.asarray(array, dtype)

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        if isinstance(self.given, bytes | BytesArray | Records):
            return string
        return as_dtype(np.asarray(self.given).dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        if isinstance(self.given, bytes):
            return TensorShape(())
        if isinstance(self.given, Records):
            return TensorShape((len(self.given),))
        return TensorShape(self.given.shape)

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Check the shape.

        Raises:
            ValueError: The value has another one.
        """
        if not compatible(TensorShape(shape), self.shape):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with {shape}")

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    def _apply(self, function: Callable[..., Any], *values: Any) -> Any:
        is_comparison = function in (operator.eq, operator.ne)
        if is_comparison and any(value is None for value in values):
            return function is operator.ne
        if any(hasattr(value, "compute") for value in values):
            return NotImplemented  # a deferred value has the operator
        try:
            return wrapped(np.asarray(calculated(function, *values)))
        except SpecError:
            if is_comparison and not _go_together(*values):
                return Tensor(np.asarray(function is operator.ne))
            raise

    def __getitem__(self, index: Any) -> Any:
        """Return an element, a row, or some of them.

        Raises:
            InvalidArgumentError: There is no such one, or there are not as many dimensions.
        """
        try:
            return wrapped(np.asarray(self)[_index(index)])
        except IndexError as error:
            raise SpecError(f"slice index {index} of shape {self.shape}: {error}") from error

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows.

        Raises:
            TypeError: It is a single value.
        """
        if self.ndim == 0:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return map(wrapped, np.asarray(self))

    def __len__(self) -> int:
        """Return how many rows there are."""
        if self.ndim == 0:
            raise TypeError("Scalar tensor has no `len()`")
        return int(self.shape[0])

    def __bool__(self) -> bool:
        """Return the truth value of a single value."""
        return bool(self.numpy())

    def __int__(self) -> int:
        """Return a single value as an int."""
        return int(self.numpy())

    def __float__(self) -> float:
        """Return a single value as a float."""
        return float(self.numpy())

    def __index__(self) -> int:
        """Return a single integer."""
        return operator.index(self.numpy())

    def __bytes__(self) -> bytes:
        """Return a single byte string."""
        if not isinstance(self.numpy(), bytes):
            raise TypeError(f"{self!r} is no byte string")
        return self.numpy()  # type: ignore[no-any-return]

    def __format__(self, spec: str) -> str:
        """Format the value, as an f-string does."""
        value = self.numpy()
        return format(value, spec) if self.ndim == 0 else format(str(value), spec)

    def __str__(self) -> str:
        """Return what TensorFlow prints."""
        return f"tf.Tensor({self._text()}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        """Return what TensorFlow shows."""
        text = _block(repr(self.numpy())) if self.ndim else self._text()
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={text}>"

    def _text(self) -> str:
        return _block(str(self.numpy()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what is kept."""
        return Tensor, (self.given,)


class SparseTensor:
    """As `tf.sparse.SparseTensor`: what VarLenFeature and SparseFeature give.

    Attributes:
        it: The tfrecs.SparseTensor.
    """

    __slots__ = ("it",)

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        """Make one of its three parts."""
        parts = (unwrapped(indices), unwrapped(tensor(values)), unwrapped(dense_shape))
        self.it = tensors.SparseTensor(*parts)

    @classmethod
    def of(cls, it: tensors.SparseTensor) -> SparseTensor:
        """Return one that is there already."""
        made = object.__new__(cls)
        made.it = it
        return made

    @property
    def indices(self) -> Tensor:
        """Where each value stands: int64, shape (N, dimensions)."""
        return Tensor(self.it.indices)

    @property
    def values(self) -> Tensor:
        """The values: shape (N,)."""
        return Tensor(self.it.values)

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole, as a value."""
        return Tensor(self.it.dense_shape)

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return TensorShape(self.it.shape)

    def get_shape(self) -> TensorShape:
        """Return the shape of the whole."""
        return self.shape

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self.values.dtype

    def __repr__(self) -> str:
        """Return what TensorFlow shows."""
        parts = {name: getattr(self, name) for name in ("indices", "values", "dense_shape")}
        return f"SparseTensor({', '.join(f'{name}={part!s}' for name, part in parts.items())})"


class RaggedTensor:
    """As `tf.RaggedTensor`: what RaggedFeature gives.

    Attributes:
        it: The tfrecs.RaggedTensor.
    """

    __slots__ = ("it",)

    def __init__(self, it: tensors.RaggedTensor) -> None:
        """Keep it."""
        self.it = it

    @property
    def values(self) -> Any:
        """What the rows are made of."""
        return wrapped(self.it.values)

    @property
    def flat_values(self) -> Tensor:
        """The values below all levels of rows."""
        return Tensor(self.it.flat_values)

    @property
    def row_splits(self) -> Tensor:
        """Where each row ends, with a leading 0."""
        return Tensor(self.it.row_splits)

    def row_lengths(self) -> Tensor:
        """Return the length of each row."""
        return Tensor(self.it.row_lengths())

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are ragged."""
        return self.it.ragged_rank

    @property
    def shape(self) -> TensorShape:
        """The shape; None is a dimension in which rows differ."""
        return TensorShape(self.it.shape)

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self.flat_values.dtype

    def to_list(self) -> list[Any]:
        """Return nested lists."""
        return self.it.tolist()

    def to_tensor(self, default_value: Any = None) -> Tensor:
        """Return the rows side by side, padded with `default_value`: 0 or b""."""
        return Tensor(self.it.to_dense(unwrapped(default_value)))

    def to_sparse(self) -> SparseTensor:
        """Return the same values as a SparseTensor."""
        return SparseTensor.of(self.it.to_sparse())

    def numpy(self) -> Any:
        """Return an array of the rows, of objects where they are of different lengths."""
        rows = [wrapped(row).numpy() for row in self.it]
        if len({row.shape for row in rows}) <= 1:
            return np.array(rows)
        array = np.empty(len(rows), object)
        array[:] = rows
        return array

    def __getitem__(self, index: Any) -> Any:
        """Return a row, or some."""
        return wrapped(self.it[_index(index)])

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.it)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows."""
        return map(wrapped, self.it)

    def __repr__(self) -> str:
        """Return what TensorFlow shows."""
        return f"<tf.RaggedTensor {self.to_list()}>"


def wrapped(value: Any) -> Any:
    """Return a value, or a structure of values, of ours as TensorFlow's."""
    return mapped(_wrapped_one, value)


def _wrapped_one(value: Any) -> Any:
    if isinstance(value, bytes | np.ndarray | BytesArray | Records):
        return Tensor(value)
    if isinstance(value, bool | int | float | complex | np.generic):
        return Tensor(np.asarray(value))
    if isinstance(value, tensors.SparseTensor):
        return SparseTensor.of(value)
    if isinstance(value, tensors.RaggedTensor):
        return RaggedTensor(value)
    return Tensor(encoded_text("a value", value)) if isinstance(value, str) else value


def unwrapped(value: Any) -> Any:
    """Return a value, or a structure of values, of TensorFlow's as ours; DTypes as NumPy's."""
    return mapped(_unwrapped_one, value)


def _unwrapped_one(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.given
    return value.it if isinstance(value, SparseTensor | RaggedTensor) else value


def single(value: Any) -> Any:
    """Return a single value, of TensorFlow's or of ours, as Python's own."""
    given = unwrapped(value)
    return given.item() if hasattr(given, "item") else given


def tensor(value: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """Return a value as a Tensor: Python's ints are int32, its floats float32, as TensorFlow's.

    Raises:
        TypeError: It is not of the type that is asked for, nor of one that it is made of.
        ValueError: It has not the shape, or is of text and numbers.
    """
    if isinstance(value, Tensor) and dtype is None and shape is None:
        return value
    return Tensor(array_of(value, None if dtype is None else as_dtype(dtype), shape))


def _go_together(one: Any, other: Any) -> bool:
    try:
        np.broadcast_shapes(np.shape(one), np.shape(other))
    except ValueError:
        return False
    return True


def _block(text: str) -> str:
    """Return text of several lines as TensorFlow shows it: below what is before it."""
    return "\n" + text if "\n" in text else text


def _index(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_index(one) for one in index)
    return np.asarray(index)[()] if isinstance(index, Tensor) else index
