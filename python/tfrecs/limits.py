"""Numbers that callers give: positive integers, and how many threads."""

import os
from typing import Any

import numpy as np

from tfrecs.errors import SpecError


def checked_limit(what: str, given: Any, wanted: str = "a positive integer") -> int:
    """Return a number, which is a positive integer.

    Raises:
        SpecError: It is not.
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise SpecError(f"{what} must be {wanted}, not {given!r}")
    return int(given)


def checked_threads(num_threads: int | None) -> int:
    """Return how many threads to use; None: one for each processor that this process may use.

    Raises:
        SpecError: It is no positive integer.
    """
    if num_threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    return checked_limit("num_threads", num_threads, "a positive integer or None")
