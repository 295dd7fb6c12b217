"""Pipes among the files of a plan: what comes through one comes once."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from tfrecs.errors import SpecError


class Once:
    """Lets passes begin; where pipes are among the files, one pass.

    A second one would wait for ever for somebody to write, or find nothing and look complete. A
    copy, in this process or in another one, begins anew.
    """

    def __init__(self) -> None:
        """No pass has begun."""
        self._has_begun = False

    def begin(self, paths: Sequence[str]) -> None:
        """Begin a pass over these files.

        Raises:
            SpecError: It is not the first one, and one of them can be read only once.
        """
        if self._has_begun:
            for path in paths:
                if _is_pipe(path):
                    raise SpecError(
                        f"{path}: what comes out of a pipe can be read only once: save it first, "
                        "or keep it with .cache()"
                    )
        self._has_begun = True

    def __reduce__(self) -> tuple[type[Once], tuple[()]]:
        """Begin anew in a copy."""
        return Once, ()


def _is_pipe(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - paths are text
    except OSError:  # opening it reports the error
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
