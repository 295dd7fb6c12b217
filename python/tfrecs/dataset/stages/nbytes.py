"""How much memory elements take, about."""

import sys
from collections.abc import Mapping
from typing import Any

from tfrecs.tensors import RaggedTensor, SparseTensor


def nbytes_of(element: Any) -> int:
    """Return how many bytes the values of an element take: of arrays, byte strings, all inside.

    Example:
        >>> import numpy as np
        >>> nbytes_of({"a": np.zeros(4), "b": (b"1234", [b"5"])})
        37
    """
    if isinstance(element, bytes | str):
        return len(element)
    if isinstance(element, Mapping):
        return sum(map(nbytes_of, element.values()))
    if isinstance(element, tuple | list):
        return sum(map(nbytes_of, element))
    if isinstance(element, RaggedTensor):
        return nbytes_of((element.values, element.row_splits))
    if isinstance(element, SparseTensor):
        return nbytes_of((element.indices, element.values))
    nbytes = getattr(element, "nbytes", None)
    return sys.getsizeof(element) if nbytes is None else int(nbytes)
