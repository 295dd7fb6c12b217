"""Join elements that are nests: mappings and tuples, down to values that make columns.

A mapping or a tuple is a structure: what its elements have at one place makes a column. A list is a
value, a row of a ragged column, and is never taken apart: two lists of two would be transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tfrecs.dataset.collate.fill import ABSENT, Fill
from tfrecs.errors import SpecError
from tfrecs.records.reader import Records
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor

Join: TypeAlias = Callable[[Sequence[Any], str | None], Any]
"""Makes a column of the values that elements have at one place; ABSENT where one has none. The name
is that of the place, if it is in a mapping."""

_MAPPING, _TUPLE, _LIST = "a mapping", "a tuple", "a list"


@dataclass(frozen=True)
class Nest:
    """Joins the elements of one batch.

    Attributes:
        join: Makes each column.
        fill: What to put where an element lacks a value; None makes that an error.
        numbers: The place of each element in the pass, for errors; None if that is unknown.
    """

    join: Join
    fill: Fill | None = None
    numbers: Sequence[int] | None = None

    def joined(self, values: Sequence[Any], name: str | None = None, is_row: bool = True) -> Any:
        """Return the batch of the values that elements have at one place.

        Args:
            values: One for each element.
            name: The key of the place.
            is_row: Whether a mapping there has the keys that `fill` names.

        Raises:
            SpecError: They are of different kinds, or have different keys.
        """
        if self.fill is not None and self.fill.has(name):
            values = [ABSENT if value is None else value for value in values]
        kind = self._kind(values, name)
        if kind is None and all(value is None for value in values):
            return None
        if kind == _MAPPING:
            return self._mappings(values, name, is_row)
        if kind == _TUPLE:
            return self._tuples(values, name, is_row)
        return self.join(values, name)

    def _kind(self, values: Sequence[Any], name: str | None) -> str | None:
        """Return of what kind the values are; None if no element has one.

        Raises:
            SpecError: They are of different kinds, or some are None.
        """
        kinds = [_kind_of(value) for value in values]
        first = next((number for number, kind in enumerate(kinds) if kind is not None), None)
        if first is None:
            return None
        for number, kind in enumerate(kinds):
            found = "None" if values[number] is None and kinds[first] != _LIST else kind
            if found not in (None, kinds[first]):
                self._misfit(number, name, str(found), str(kinds[first]))
        return kinds[first]

    def _misfit(self, number: int, name: str | None, found: str, other: str) -> NoReturn:
        what = "is" if name is None else f"has for {name!r}"
        hint = "; fill= says what to put there" if found == "None" else ""
        raise SpecError(f"{self._element(number)} {what} {found}, where others have {other}{hint}")

    def _element(self, number: int) -> str:
        place = "" if self.numbers is None else f" ({self.numbers[number]} of the pass)"
        return f"element {number} of the batch{place}"

    def _mappings(self, values: Sequence[Any], name: str | None, is_row: bool) -> dict[str, Any]:
        rows = [{} if value is ABSENT else value for value in values]
        keys = list(rows[0])
        if any(row.keys() != rows[0].keys() for row in rows):
            keys = self._all_keys(rows, name)
        if self.fill is not None and is_row:
            keys += [key for key in self.fill.names if key not in keys]
        return {
            key: self.joined([row.get(key, ABSENT) for row in rows], key, is_row=False)
            for key in keys
        }

    def _all_keys(self, rows: Sequence[Mapping[str, Any]], name: str | None) -> list[str]:
        """Return the keys of all rows, in the order in which they are first met.

        Raises:
            SpecError: A row lacks one, and nothing says what to put there.
        """
        if self.fill is None:
            number = next(at for at, row in enumerate(rows) if row.keys() != rows[0].keys())
            self._different_keys(number, rows[number], rows[0], name)
        examples: dict[str, Any] = {}
        for row in reversed(rows):
            examples |= row
        for number, row in enumerate(rows):
            unfilled = [
                key for key in examples if key not in row and not self._fills(examples, key)
            ]
            if unfilled:
                raise SpecError(
                    f"{self._element(number)} lacks {_listed(unfilled)}, and fill= has values only "
                    f"for {_listed(self.fill.names)}"
                )
        return list(dict.fromkeys(key for row in rows for key in row))

    def _fills(self, examples: Mapping[str, Any], key: str) -> bool:
        """Whether `fill` says what to put at a key; of a mapping, it does so for its keys."""
        assert self.fill is not None
        return self.fill.has(key) or isinstance(examples[key], Mapping | tuple)

    def _different_keys(
        self, number: int, row: Mapping[str, Any], first: Mapping[str, Any], name: str | None
    ) -> NoReturn:
        lacking = [key for key in first if key not in row]
        extra = [key for key in row if key not in first]
        parts = [f"it lacks {_listed(lacking)}"] if lacking else []
        parts += [f"only it has {_listed(extra)}"] if extra else []
        where = "" if name is None else f" in {name!r}"
        raise SpecError(
            f"{self._element(number)} has other keys than element 0{where}: "
            f"{' and '.join(parts)}; fill= says what to put where a key is missing"
        )

    def _tuples(self, values: Sequence[Any], name: str | None, is_row: bool) -> Any:
        first = next(value for value in values if value is not ABSENT)
        for number, value in enumerate(values):
            if value is not ABSENT and len(value) != len(first):
                self._misfit(number, name, f"a tuple of {len(value)}", f"one of {len(first)}")
        is_row = is_row and sum(isinstance(part, Mapping) for part in first) == 1
        columns = [
            self.joined([ABSENT if one is ABSENT else one[at] for one in values], name, is_row)
            for at in range(len(first))
        ]
        return type(first)(*columns) if hasattr(first, "_fields") else tuple(columns)


def _kind_of(value: Any) -> str | None:
    """Return what kind of value this is, as errors call it; None if there is none."""
    if value is None or value is ABSENT:
        return None
    for kind, types in _KINDS.items():
        if isinstance(value, types):
            return kind
    dtype = getattr(value, "dtype", None)
    return "byte strings" if isinstance(dtype, np.dtype) and dtype.kind in "STU" else "numbers"


_KINDS: dict[str, tuple[type, ...]] = {
    _MAPPING: (Mapping,),
    _TUPLE: (tuple,),
    _LIST: (list,),
    "byte strings": (bytes, str, BytesArray, Records),
    "a RaggedTensor": (RaggedTensor,),
    "a SparseTensor": (SparseTensor,),
}


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(map(repr, keys)) or "none"
