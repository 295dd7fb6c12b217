"""Elements as another library takes them: dicts, tuples and lists of what it has for arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfrecs.errors import Error, SpecError, feature_error
from tfrecs.records.reader import Records
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor

_DROPPED = object()
_MATRIX = 2


class Converter(ABC):
    """What is made of elements; a library says what of each kind of array.

    Attributes:
        library: The library's name.
        strings: What becomes of byte strings: "array", they stay as they are; "list", lists of
            bytes; "str", lists of text; "drop", they are left out; "raise", they are an error.
    """

    library: str
    strings: str

    @abstractmethod
    def array(self, array: np.ndarray[Any, Any]) -> Any:
        """Return what is made of an array of numbers."""

    @abstractmethod
    def ragged(self, ragged: RaggedTensor) -> Any:
        """Return what is made of a RaggedTensor of numbers."""

    @abstractmethod
    def sparse(self, sparse: SparseTensor) -> Any:
        """Return what is made of a SparseTensor of numbers."""

    def __call__(self, element: Any) -> Any:
        """Return what is made of an element.

        Raises:
            SpecError: The library has no such arrays; it names the feature.
        """
        made = self._made(element)
        if made is _DROPPED:
            raise SpecError('strings="drop" leaves nothing of elements that are byte strings')
        return made

    def _made(self, element: Any) -> Any:
        if isinstance(element, Mapping):
            return self._mapping(element)
        if isinstance(element, tuple | list):
            made = [one for one in map(self._made, element) if one is not _DROPPED]
            return tuple(made) if isinstance(element, tuple) else made
        if _is_text(element):
            return self._strings(element)
        if isinstance(element, RaggedTensor):
            return self.ragged(element)
        if isinstance(element, SparseTensor):
            return self.sparse(element)
        plain = isinstance(element, np.ndarray | np.generic)
        return self.array(np.asarray(element)) if plain else element

    def _mapping(self, element: Mapping[str, Any]) -> dict[str, Any]:
        made = {}
        for name in element:
            try:
                one = self._made(element[name])
            except Error as error:
                raise feature_error(name, error.reason) from error
            if one is not _DROPPED:
                made[name] = one
        return made

    def _strings(self, value: Any) -> Any:
        if self.strings == "array":
            return value
        if self.strings == "drop":
            return _DROPPED
        if self.strings == "raise":
            raise SpecError(
                f'{self.library} has no arrays of byte strings: strings="drop" leaves them out'
            )
        made = _listed(value)
        return made if self.strings == "list" else _text(made)


def _is_text(element: Any) -> bool:
    if isinstance(element, RaggedTensor):
        return isinstance(element.flat_values, BytesArray)
    if isinstance(element, SparseTensor):
        return isinstance(element.values, BytesArray)
    if isinstance(element, np.ndarray | np.generic):
        return element.dtype.kind in "OSU"
    return isinstance(element, BytesArray | Records | bytes)


def checked_options(given: Mapping[str, str], known: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse an option that has none of the values which are known for it.

    Raises:
        SpecError: There is one.
    """
    for option, values in known.items():
        if given[option] not in values:
            raise SpecError(f"{option} must be one of {', '.join(values)}, not {given[option]!r}")


def _listed(value: Any) -> Any:
    if isinstance(value, SparseTensor) and len(value.shape) == _MATRIX:
        return _rows(value)
    return value if isinstance(value, bytes) else value.tolist()


def _rows(sparse: SparseTensor) -> list[Any]:
    """Return the values of each row of a matrix."""
    rows: list[Any] = [[] for _ in range(sparse.shape[0])]
    values = sparse.values.tolist()
    for row, value in zip(sparse.indices[:, 0].tolist(), values, strict=True):
        rows[row].append(value)
    return rows


def _text(values: Any) -> Any:
    if isinstance(values, bytes):
        return values.decode()
    return values if values is None or isinstance(values, str) else [_text(one) for one in values]
