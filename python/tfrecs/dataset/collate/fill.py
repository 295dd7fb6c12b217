"""Fill in what an element lacks: a value for all keys, or one for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tfrecs._internal.checks import encoded_text
from tfrecs.dataset.collate.stack import array_of, ragged_rows, stacked
from tfrecs.errors import SpecError
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor


class _Absent:
    """Stands where an element lacks a value."""


ABSENT: Final = _Absent()

# Kinds of NumPy's types that a column of each kind takes without loss.
_FITTING = {"b": "b", "i": "iu", "u": "iu", "f": "iuf", "c": "iufc"}


@dataclass(frozen=True)
class Fill:
    """What to put where an element lacks a key, or has None.

    Attributes:
        given: One value for all keys, or a mapping with a value for each.
    """

    given: Any

    @classmethod
    def of(cls, given: Any) -> Fill | None:
        """Return the fill that the argument `fill` asks for; None is none."""
        return None if given is None else cls(given)

    @property
    def names(self) -> list[str]:
        """The keys that are named: every batch has them."""
        return list(self.given) if isinstance(self.given, Mapping) else []

    def describe(self) -> str:
        """Return the argument."""
        given = dict(self.given) if isinstance(self.given, Mapping) else self.given
        return f", fill={given!r}"

    def check(self, names: Iterable[str]) -> None:
        """Refuse keys that elements of known features do not have.

        Raises:
            SpecError: There is one.
        """
        unknown = sorted(set(self.names) - set(names))
        if unknown:
            raise SpecError(f"fill= names {unknown}, and the features are {sorted(names)}")

    def has(self, name: str | None) -> bool:
        """Whether it says what to put there."""
        return not isinstance(self.given, Mapping) or name in self.given

    def value(self, name: str | None) -> Any:
        """Return what to put there.

        Raises:
            SpecError: It does not say.
        """
        if not self.has(name):
            raise SpecError(
                f"fill= has no value for {'such elements' if name is None else repr(name)}"
            )
        return self.given[name] if isinstance(self.given, Mapping) else self.given

    def completed(self, values: Sequence[Any], name: str | None) -> Sequence[Any]:
        """Return the values of a column with those that are absent filled in.

        A value has the type of the column: an array is filled whole, a list stays a list, and a
        single value in a column of lists is a list of one.

        Raises:
            SpecError: The value does not fit the column.
        """
        there = [value for value in values if value is not ABSENT]
        if len(there) == len(values):
            return values
        given = self.value(name)
        if there:
            given = _like(given, there, name)
        return [given if value is ABSENT else value for value in values]


def _like(given: Any, there: Sequence[Any], name: str | None) -> Any:
    """Return a value as one of the column that the others make."""
    if isinstance(there[0], list):
        return _list_like(given, ragged_rows(there, name), name)
    if isinstance(there[0], SparseTensor):
        return given if isinstance(given, SparseTensor) else _empty_sparse(given, there[0], name)
    if isinstance(there[0], RaggedTensor):
        return given if isinstance(given, RaggedTensor) else _ragged_like(given, there[0], name)
    column, shape = stacked(there, name), array_of(there[0]).shape
    value = fitted(given, column, name, "fill")
    return value if not shape or has_dimensions(given) else _repeated(value, shape)


def has_dimensions(given: Any) -> bool:
    """Whether a value is a list or an array, and not a single value."""
    return isinstance(given, list | tuple) or getattr(given, "ndim", 0) > 0


def _repeated(value: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(value, bytes):
        return BytesArray.from_values([value] * int(np.prod(shape))).reshape(shape)
    return np.full(shape, value)


def _list_like(given: Any, column: RaggedTensor, name: str | None) -> Any:
    """Return a row of a ragged column: None is a missing one."""
    if given is None:
        return None
    if isinstance(given, np.ndarray | BytesArray):
        given = given.tolist()
    row = list(given) if isinstance(given, list | tuple) else [given]
    flat = column.flat_values
    if not len(flat) or column.ragged_rank > 1:
        return row
    return [fitted(one, flat, name, "fill") for one in row]


def _empty_sparse(given: Any, like: SparseTensor, name: str | None) -> SparseTensor:
    if isinstance(given, list) and not given:
        return SparseTensor(like.indices[:0], like.values[:0], like.dense_shape)
    raise SpecError(f"{name!r} is sparse: fill it with [] or a SparseTensor, not {given!r}")


def _ragged_like(given: Any, like: RaggedTensor, name: str | None) -> RaggedTensor:
    if isinstance(given, list) and not given:
        empty: RaggedTensor = like[:0]
        return empty
    raise SpecError(f"{name!r} is ragged: fill it with [] or a RaggedTensor, not {given!r}")


def fitted(given: Any, column: Any, name: str | None, what: str) -> Any:
    """Return a value, or an array of them, in the type of a column.

    Args:
        given: The value.
        column: An array of the type.
        name: The column's name, for errors.
        what: What the value is for, "fill" or "padding", for errors.

    Raises:
        SpecError: The type does not hold it.

    Example:
        >>> fitted(1, np.array([0.5]), "x", "fill")
        np.float64(1.0)
    """
    if isinstance(column, BytesArray):
        return _fitted_bytes(given, name, what)
    dtype, value = column.dtype, np.asarray(given)
    # NumPy calls ml_dtypes' floats, bfloat16 among them, void.
    kind = "f" if dtype.kind == "V" else dtype.kind
    kinds = _FITTING.get(kind, kind)
    if value.size and value.dtype != dtype and value.dtype.kind not in kinds:
        raise _unfit(given, name, what, dtype)
    if dtype.kind in "SU":  # of its own length: that of the column could cut it off
        return value[()]
    made = value.astype(dtype)
    if dtype.kind in "iu" and made.astype(object).tolist() != value.astype(object).tolist():
        raise _unfit(given, name, what, dtype)
    return made[()]


def _fitted_bytes(given: Any, name: str | None, what: str) -> Any:
    if isinstance(given, str):
        return encoded_text(what, given)
    if isinstance(given, bytes | BytesArray):
        return given
    flat = np.asarray(given, np.object_)
    if flat.ndim and all(isinstance(one, bytes | str) for one in flat.flat):
        return BytesArray.from_values(flat.ravel().tolist()).reshape(flat.shape)
    raise _unfit(given, name, what, "bytes")


def _unfit(given: Any, name: str | None, what: str, dtype: Any) -> SpecError:
    return SpecError(f"{name or 'the elements'}: {what} {given!r} does not fit {dtype}")
