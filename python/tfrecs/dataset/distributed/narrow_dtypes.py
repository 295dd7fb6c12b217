"""Numbers in a type of fewer bits, where that loses nothing unseen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfrecs.errors import SpecError

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass
class Narrowing:
    """Makes arrays of narrower types, for a library that knows no others.

    Attributes:
        advice: How to get the wider types.
        has_warned: Whether it was said that values are rounded, which is said once.
    """

    advice: str
    has_warned: bool = False

    def __call__(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """Return the same values as `dtype`.

        Raises:
            SpecError: An integer, or the size of a number, does not fit.
        """
        with np.errstate(over="ignore"):
            narrow = array.astype(dtype)
        if dtype.kind in "iu":
            self._check_integers(array, dtype)
        elif not self.has_warned or not np.isfinite(narrow).all():
            self._check_rounded(array, narrow)
        return narrow

    def _check_integers(self, array: Array, dtype: np.dtype[Any]) -> None:
        if not array.size:
            return
        least, most = array.min(), array.max()
        known = np.iinfo(dtype)
        if least < known.min or most > known.max:
            wrong = least if least < known.min else most
            raise SpecError(f"{wrong} does not fit in {dtype}: {self.advice}")

    def _check_rounded(self, array: Array, narrow: Array) -> None:
        lost = np.isfinite(array) & ~np.isfinite(narrow)
        if lost.any():
            raise SpecError(f"{array[lost][0]} does not fit in {narrow.dtype}: {self.advice}")
        if not self.has_warned and not np.array_equal(array, narrow, equal_nan=True):
            self.has_warned = True
            warnings.warn(
                f"numbers of {array.dtype} are rounded to {narrow.dtype}: {self.advice}, or make "
                f"them {narrow.dtype} yourself",
                stacklevel=2,
            )
