"""Elements of datasets as tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tfrecs.errors import Error, SpecError, feature_error
from tfrecs.integrations.torch.tensors import nested_tensor, sparse_coo_tensor, tensor
from tfrecs.records.reader import Records
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor

STRINGS = ("list", "str", "array", "drop")
RAGGED = ("nested", "padded", "list")
SPARSE = ("coo", "padded")

_DROPPED = object()
_MATRIX = 2


@dataclass(frozen=True)
class TorchElements:
    """What is made of an element: dicts, tuples and lists of tensors for those of arrays.

    Attributes:
        strings: What becomes of byte strings: "list", lists of bytes; "str", lists of text;
            "array", they stay a BytesArray; "drop", they are left out.
        ragged: What becomes of a RaggedTensor of numbers: "nested", a nested tensor with the jagged
            layout; "padded", a dense one; "list", a list of a tensor for each row.
        sparse: What becomes of a SparseTensor of numbers: "coo", a sparse tensor; "padded", a dense
            one.

    Example:
        >>> import numpy as np, tfrecs
        >>> batch = {"age": np.array([1, 2]), "name": tfrecs.BytesArray.from_values([b"a", b"b"])}
        >>> TorchElements()(batch)
        {'age': tensor([1, 2]), 'name': [b'a', b'b']}
        >>> TorchElements(strings="drop")(batch)
        {'age': tensor([1, 2])}
    """

    strings: str = "list"
    ragged: str = "nested"
    sparse: str = "coo"

    def __post_init__(self) -> None:
        """Check the options."""
        known = {"strings": STRINGS, "ragged": RAGGED, "sparse": SPARSE}
        for option, values in known.items():
            given = getattr(self, option)
            if given not in values:
                raise SpecError(f"{option} must be one of {', '.join(values)}, not {given!r}")

    def __call__(self, element: Any) -> Any:
        """Return what is made of an element.

        Raises:
            SpecError: PyTorch has no such tensors; it names the feature.
        """
        made = self._made(element)
        if made is _DROPPED:
            raise SpecError('strings="drop" leaves nothing of elements that are byte strings')
        return made

    def _made(self, element: Any) -> Any:
        kind = type(element)
        if kind is np.ndarray:
            return tensor(element) if element.dtype.kind != "O" else self._objects(element)
        if isinstance(element, Mapping):
            return self._mapping(element)
        if isinstance(element, tuple | list):
            made = [one for one in map(self._made, element) if one is not _DROPPED]
            return tuple(made) if isinstance(element, tuple) else made
        return self._tensors(element)

    def _mapping(self, element: Mapping[str, Any]) -> dict[str, Any]:
        made = {}
        for name in element:
            value = element[name]
            try:
                one = tensor(value) if _is_plain(value) else self._made(value)
            except Error as error:
                raise feature_error(name, error.reason) from error
            if one is not _DROPPED:
                made[name] = one
        return made

    def _tensors(self, value: Any) -> Any:
        if isinstance(value, Records):
            return self._strings(value, value.tolist())
        if isinstance(value, BytesArray):
            return self._strings(value, value.tolist)
        if isinstance(value, bytes):
            return self._strings(value, value)
        if isinstance(value, RaggedTensor):
            return self._ragged(value)
        if isinstance(value, SparseTensor):
            return self._sparse(value)
        return tensor(np.asarray(value)) if isinstance(value, np.generic | np.ndarray) else value

    def _strings(self, value: Any, as_list: Any) -> Any:
        if self.strings == "array":
            return value
        if self.strings == "drop":
            return _DROPPED
        as_list = as_list() if callable(as_list) else as_list
        return as_list if self.strings == "list" else _text(as_list)

    def _objects(self, array: Any) -> Any:
        return self._strings(array, array.tolist)

    def _ragged(self, value: RaggedTensor) -> Any:
        if isinstance(value.flat_values, BytesArray):
            return self._strings(value, value.tolist)
        if self.ragged == "nested":
            return nested_tensor(value)
        if self.ragged == "padded":
            return tensor(value.to_dense())
        return [self._row(row) for row in value]

    def _row(self, row: Any) -> Any:
        """Return a row; one that is missing is None."""
        if isinstance(row, RaggedTensor):
            return [self._row(one) for one in row]
        return None if row is None else tensor(row)

    def _sparse(self, value: SparseTensor) -> Any:
        if isinstance(value.values, BytesArray):
            return self._strings(value, lambda: _rows(value))
        return sparse_coo_tensor(value) if self.sparse == "coo" else tensor(value.to_dense())


def _is_plain(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind != "O"


def _text(values: Any) -> Any:
    if isinstance(values, bytes):
        return values.decode()
    return values if values is None or isinstance(values, str) else [_text(one) for one in values]


def _rows(sparse: SparseTensor) -> list[Any]:
    """Return the values of each row of a matrix; of other shapes nested lists with b"" between."""
    if len(sparse.shape) != _MATRIX:
        return sparse.tolist()
    rows: list[Any] = [[] for _ in range(sparse.shape[0])]
    values = sparse.values.tolist()
    for row, value in zip(sparse.indices[:, 0].tolist(), values, strict=True):
        rows[row].append(value)
    return rows


def moved(element: Any, move: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Return the same element of what `move` makes of each of its tensors."""
    if isinstance(element, torch.Tensor):
        return _moved(element, move)
    if isinstance(element, dict):
        return {name: moved(value, move) for name, value in element.items()}
    if isinstance(element, tuple | list) and not (element and isinstance(element[0], bytes | str)):
        made = [moved(value, move) for value in element]
        return tuple(made) if isinstance(element, tuple) else made
    return element


def _moved(one: torch.Tensor, move: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    if one.is_nested:
        return torch.nested.nested_tensor_from_jagged(move(one.values()), move(one.offsets()))
    if one.layout == torch.sparse_coo:
        indices, values = move(one._indices()), move(one._values())  # noqa: SLF001 - as in PyTorch
        return torch.sparse_coo_tensor(indices, values, one.shape, check_invariants=False)
    return move(one)
