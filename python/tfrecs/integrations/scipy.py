"""Sparse tensors as SciPy's sparse arrays."""

from tfrecs.errors import MissingLibraryError, SpecError
from tfrecs.tensors import BytesArray, SparseTensor

try:
    import scipy.sparse
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'to_scipy() needs the library SciPy: pip install "tfrecs[scipy]"', name=error.name
    ) from error

_DIMENSIONS = 2


def coo_array(sparse: SparseTensor) -> "scipy.sparse.coo_array":
    """Return a `scipy.sparse.coo_array` over the same memory.

    Raises:
        SpecError: It is of byte strings, has other than 2 dimensions, or an index outside of its
            shape.

    Example:
        >>> import numpy as np, tfrecs
        >>> sparse = tfrecs.SparseTensor(np.array([[0, 1]]), np.array([7]), np.array([2, 2]))
        >>> sparse.to_scipy().tocsr().toarray().tolist()
        [[0, 7], [0, 0]]
    """
    if isinstance(sparse.values, BytesArray):
        raise SpecError("SciPy has no sparse arrays of byte strings")
    if len(sparse.dense_shape) != _DIMENSIONS:
        raise SpecError(
            f"SciPy's sparse arrays have 2 dimensions, this tensor has {len(sparse.dense_shape)}"
        )
    rows, columns = sparse.indices.T
    try:
        return scipy.sparse.coo_array((sparse.values, (rows, columns)), shape=sparse.shape)
    except ValueError as error:
        raise SpecError(f"SciPy refuses this tensor: {error}") from error
