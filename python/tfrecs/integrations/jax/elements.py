"""Elements of datasets as JAX's arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental.sparse import BCOO

from tfrecs.dataset.distributed.convert import Converter, checked_options
from tfrecs.errors import SpecError
from tfrecs.integrations.jax.placing import Placing
from tfrecs.tensors import RaggedTensor, SparseTensor
from tfrecs.tensors.dense import checked_shape, row_major_places

STRINGS = ("array", "list", "str", "drop")
RAGGED = ("splits", "padded")
SPARSE = ("bcoo", "padded")


@dataclass(frozen=True)
class JaxElements(Converter):
    """What is made of an element: dicts, tuples and lists of jax.Array for those of arrays.

    Attributes:
        strings: What becomes of byte strings, of which JAX has no arrays.
        ragged: What becomes of a RaggedTensor of numbers: "splits", a tuple of the values and of
            the row splits of each level, the outermost first; "padded", a dense array.
        sparse: What becomes of a SparseTensor of numbers: "bcoo", a sparse array; "padded", a
            dense one.
        placing: Where arrays go.

    Example:
        >>> import numpy as np, tfrecs
        >>> batch = {"age": np.array([1, 2]), "name": tfrecs.BytesArray.from_values([b"a", b"b"])}
        >>> JaxElements("list", "splits", "bcoo", Placing.of(None, None))(batch)
        {'age': Array([1, 2], dtype=int32), 'name': [b'a', b'b']}
    """

    strings: str
    ragged_as: str
    sparse_as: str
    placing: Placing

    library = "JAX"

    def __post_init__(self) -> None:
        """Check the options."""
        given = {"strings": self.strings, "ragged": self.ragged_as, "sparse": self.sparse_as}
        checked_options(given, {"strings": STRINGS, "ragged": RAGGED, "sparse": SPARSE})

    def array(self, array: np.ndarray[Any, Any]) -> jax.Array:
        """Return the array where it belongs."""
        return self.placing(array)

    def ragged(self, ragged: RaggedTensor) -> Any:
        """Return values and row splits, or a dense array."""
        self._check_placing("ragged", self.ragged_as)
        if self.ragged_as == "padded":
            return self.placing(ragged.to_dense())
        splits = []
        rows: Any = ragged
        while isinstance(rows, RaggedTensor):
            start, stop = int(rows.row_splits[0]), int(rows.row_splits[-1])
            splits.append(self.placing(rows.row_splits - start))
            rows = rows.values[start:stop]
        return (self.placing(rows), *splits)

    def sparse(self, sparse: SparseTensor) -> Any:
        """Return a sparse array, or a dense one."""
        self._check_placing("sparse", self.sparse_as)
        if self.sparse_as == "padded":
            return self.placing(sparse.to_dense())
        shape = checked_shape(sparse.dense_shape)
        row_major_places(sparse.indices, shape)
        values: Any = sparse.values
        return BCOO((self.placing(values), self.placing(sparse.indices)), shape=shape)

    def _check_placing(self, option: str, value: str) -> None:
        """Refuse what has another shape in each process, or no rows to divide."""
        if self.placing.divides and value != "padded":
            raise SpecError(
                f'it cannot be divided among devices: {option}="padded", or padded_batch(), makes '
                "it dense"
            )
        if self.placing.spans_processes:
            raise SpecError(
                "it would be padded to another length in each process: padded_batch() with "
                "padded_shapes makes all of one"
            )
