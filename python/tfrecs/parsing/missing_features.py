"""A warning about features that no record has: most often a misspelt name.

A record that lacks a feature without a fixed length (VarLenFeature, RaggedFeature, SparseFeature,
FixedLenSequenceFeature) has no values of it, in TensorFlow as here, so a misspelt name gives empty
columns for ever. A specification warns once, when none of its first 10,000 records has the
feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tfrecs import _core
from tfrecs._internal.native_types import NativeFeature
from tfrecs.errors import Error, MissingFeatureWarning, warn
from tfrecs.records.reader import RecordReader
from tfrecs.tensors.native import view

Records: TypeAlias = _core.Records | Sequence[bytes]

ENOUGH = 10_000


class MissingFeatures:
    """The features that no record has had so far, of those that may be missing.

    It may be shared between threads: then some records may be counted twice or not at all.

    Example:
        >>> import tfrecs, warnings
        >>> records = [tfrecs.encode_example({"label": 1})] * 10_000
        >>> with warnings.catch_warnings(record=True) as said:
        ...     warnings.simplefilter("always")
        ...     _ = tfrecs.parse_example(records, {"lable": tfrecs.VarLenFeature("int64")})
        >>> print(said[0].message)
        none of the first 10,000 records has the feature 'lable'; did you mean "label"?
    """

    def __init__(self, columns: Sequence[NativeFeature]) -> None:
        """Begin before the first record; `columns` are those of a plan."""
        self._missing = may_be_missing(columns)
        self._seen = 0

    def look(self, columns: _core.Columns, records: Records) -> None:
        """Take columns into account, and the records that they were decoded from."""
        if not self._missing:
            return
        missing = {i: key for i, key in self._missing.items() if _is_missing(columns, i)}
        self._seen += columns.num_rows
        self._missing = missing if self._seen < ENOUGH else {}
        if self._seen >= ENOUGH:
            for key in missing.values():
                self._warn(key, records)

    def _warn(self, key: str, records: Records) -> None:
        record = _first(records)
        hint = "" if record is None else _core.name_hint(record, key)
        text = f"none of the first {self._seen:,} records has the feature {key!r}{hint}"
        warn(text, MissingFeatureWarning)


def may_be_missing(columns: Sequence[NativeFeature]) -> dict[int, str]:
    """Return the columns that are empty where a record lacks the feature: their places and keys."""
    return {i: one.name for i, one in enumerate(columns) if one.layout != "fixed"}


# The functions that parse get their features anew in every call.
_of_functions: dict[tuple[tuple[int, str], ...], MissingFeatures] = {}
_MOST = 256


def of_function(columns: Sequence[NativeFeature]) -> MissingFeatures:
    """Return what all calls for these columns share."""
    # Their places too: the same features lie elsewhere among the columns of other ones.
    keys = tuple(may_be_missing(columns).items())
    found = _of_functions.get(keys)
    if found is None:
        if len(_of_functions) >= _MOST:
            _of_functions.clear()
        found = _of_functions[keys] = MissingFeatures(columns)
    return found


def _is_missing(columns: _core.Columns, place: int) -> bool:
    """Whether no row has the feature."""
    present = columns.column(place)[-1]
    return present is not None and not np.any(view(present, np.uint8))


def _first(records: Records) -> bytes | None:
    """Return the first of records; where only their places are here, the first one of its file."""
    try:
        if records[0] or not isinstance(records, _core.Records):
            return records[0]
        path = records.parse_error(0, "").path
        return None if path is None else next(RecordReader(path), None)
    except (Error, IndexError, OSError):
        return None  # a hint less
