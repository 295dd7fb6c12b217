"""Make batches of elements, whose arrays gain a leading dimension."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tfrecs.dataset.collate.fill import Fill
from tfrecs.dataset.collate.nest import Nest
from tfrecs.dataset.collate.stack import stacked
from tfrecs.records.reader import Records


def collate(
    elements: Sequence[Any], fill: Fill | None = None, numbers: Sequence[int] | None = None
) -> Any:
    """Return one batch of `elements`, which are alike.

    Elements that are byte strings become Records; in tuples and mappings, a BytesArray. Numbers and
    arrays of one shape become an array with a dimension more, lists a RaggedTensor. Tuples and
    mappings are structures: of them, what is at one place makes a column.

    Args:
        elements: At least one.
        fill: What to put where an element lacks a key, or has None.
        numbers: The place of each in the pass, for errors.

    Raises:
        SpecError: They are of different kinds or shapes, or have different keys.

    Example:
        >>> collate([{"a": 1, "b": b"x"}, {"a": 2, "b": b"yz"}])
        {'a': array([1, 2]), 'b': BytesArray(shape=(2,), nbytes=3, [b'x', b'yz'])}
        >>> collate([{"a": 1}, {"a": 2, "b": "yz"}], Fill({"b": ""}))["b"].tolist()
        [b'', b'yz']
    """
    if all(isinstance(element, bytes) for element in elements):
        return Records(elements)
    return Nest(partial(_column, fill=fill), fill, numbers).joined(elements)


def _column(values: Sequence[Any], name: str | None, fill: Fill | None) -> Any:
    return stacked(values if fill is None else fill.completed(values, name), name)
