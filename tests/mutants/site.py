"""A mutant: one small change of one place of the source."""

from __future__ import annotations

import difflib
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Mutant:
    """One change.

    Attributes:
        path: The file, relative to the repository.
        begin: Where the replaced text begins in it, in characters.
        end: Where that ends.
        text: What stands there instead.
        line: The number of the line in which it begins.
        lines: First and last line of the innermost function or class around it, else (0, 0).
        what: The kind of change, in words.
    """

    path: str
    begin: int
    end: int
    text: str
    line: int
    lines: tuple[int, int]
    what: str

    def applied(self, source: str) -> str:
        """Return the source with this change."""
        return source[: self.begin] + self.text + source[self.end :]

    def diff(self, source: str) -> list[str]:
        """Return the lines that change, as `- old` and `+ new`."""
        old, new = source.splitlines(), self.applied(source).splitlines()
        changed = difflib.unified_diff(old, new, lineterm="", n=0)
        return [f"{it[0]} {it[1:].strip()}" for it in list(changed)[2:] if it[0] in "+-"]

    def __str__(self) -> str:
        """Return the place."""
        return f"{self.path}:{self.line}"
