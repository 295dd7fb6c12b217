"""A tensor of few values."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.optional import integration
from tfrecs._internal.wording import counted
from tfrecs.errors import SpecError
from tfrecs.tensors.bytes_array import BytesArray, Values, values_of
from tfrecs.tensors.coercion import IntArray, integers_of
from tfrecs.tensors.column_parts import Pieces, pieces_of_rows
from tfrecs.tensors.dense import checked_shape, checked_size, row_major_places, scattered


class SparseTensor:
    """A tensor most of whose elements are not there: what VarLenFeature and SparseFeature give.

    As `tf.sparse.SparseTensor`. It is also a table for all that reads Arrow, with a row for each
    value: the columns `indices` (fixed-size lists) and `values`.

    Attributes:
        indices: Where each value stands: int64, shape (N, number of dimensions).
        values: The values: shape (N,).
        dense_shape: The shape of the whole: int64, shape (number of dimensions,).

    Example:
        >>> import numpy as np, tfrecs
        >>> sparse = tfrecs.SparseTensor(np.array([[0, 1]]), np.array([7]), np.array([2, 2]))
        >>> sparse.to_dense(default=-1).tolist()
        [[-1, 7], [-1, -1]]
    """

    __slots__ = ("dense_shape", "indices", "values")

    def __init__(
        self, indices: npt.ArrayLike, values: Values | Sequence[Any], dense_shape: npt.ArrayLike
    ) -> None:
        """Keep the three parts; lists become arrays."""
        self.indices: IntArray = integers_of(indices, "indices").astype(np.int64, copy=False)
        self.values = values_of(values)
        self.dense_shape: IntArray = integers_of(dense_shape, "dimensions").astype(
            np.int64, copy=False
        )
        wanted = (len(self.values), *self.dense_shape.shape)
        if self.values.ndim != 1 or self.indices.shape != wanted:
            raise SpecError(
                f"indices of shape {self.indices.shape}, values of shape {self.values.shape} and "
                f"a dense_shape of shape {self.dense_shape.shape} are no sparse tensor: they are "
                "(N, D), (N,) and (D,)"
            )

    @classmethod
    def of(cls, indices: IntArray, values: Values, dense_shape: IntArray) -> "SparseTensor":
        """Return one of parts that fit, which are not looked at."""
        made = object.__new__(cls)
        made.indices, made.values, made.dense_shape = indices, values, dense_shape
        return made

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the three parts, so that they can be unpacked."""
        return iter((self.indices, self.values, self.dense_shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole, as a tuple."""
        return tuple(self.dense_shape.tolist())

    def to_dense(self, default: Any = None) -> npt.NDArray[Any]:
        """Return an array with `default` (0 or b"") where there is no value.

        Raises:
            SpecError: An index lies outside of `dense_shape`, or that is too large.
        """
        shape = checked_shape(self.dense_shape)
        size = checked_size(shape)
        places = row_major_places(self.indices, shape)
        return np.asarray(scattered(self.values, places, size, default).reshape(shape))

    def tolist(self) -> list[Any]:
        """Return the dense array as nested lists, with 0 or b"" where there is no value."""
        return self.to_dense().tolist()  # type: ignore[no-any-return]

    def to_scipy(self) -> Any:
        """Return a `scipy.sparse.coo_array` over the same memory; needs SciPy.

        Raises:
            SpecError: SciPy has no such arrays: of byte strings, or with other than 2 dimensions.
        """
        return integration("scipy").coo_array(self)

    def to_torch(self) -> Any:
        """Return a `torch.sparse_coo_tensor`; needs PyTorch.

        Raises:
            SpecError: The values are byte strings, or an index lies outside of `dense_shape`.
        """
        return integration("torch").sparse_coo_tensor(self)

    def __repr__(self) -> str:
        """Show the number of values, their type and the shape."""
        kind = "bytes" if isinstance(self.values, BytesArray) else str(self.values.dtype)
        values = counted(len(self.values), "value")
        return f"SparseTensor({values} of {kind}, dense_shape={self.shape})"

    def _columns(self) -> _core.Columns:
        rank = len(self.dense_shape)
        indices = np.ascontiguousarray(self.indices, np.int64).reshape(-1)
        columns: list[Pieces] = [
            ("indices", indices, None, [rank], [], None),
            pieces_of_rows("values", self.values, [], None),
        ]
        return _core.Columns.build(len(self.values), columns)

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Hand indices and values over by Arrow's PyCapsule interface, as a struct array."""
        return self._columns().__arrow_c_array__(requested_schema)
