"""The mutants that were judged to change nothing that a user can see: equivalent.txt.

An entry is the file, the lines that change, and why no test can, or should, tell:

    python/tfrecs/a.py
    - old line
    + new line
    = The reason.

Line numbers are not in it, so that it stays true when other lines move.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mutants.site import Mutant

REGISTER = Path(__file__).with_name("equivalent.txt")


@dataclass(frozen=True)
class Entry:
    """Attributes:
    path: The file of the mutant.
    diff: The lines that change.
    reason: Why it is equivalent.
    """

    path: str
    diff: tuple[str, ...]
    reason: str


def entries(text: str) -> list[Entry]:
    """Read the register."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        diff = tuple(line for line in lines[1:] if line[0] in "-+")
        reason = " ".join(line[1:].strip() for line in lines[1:] if line[0] == "=")
        if not diff or not reason:
            raise ValueError(f"an entry needs changed lines and a reason: {lines}")
        found.append(Entry(lines[0], diff, reason))
    return found


class Register:
    """The entries, by what changes."""

    def __init__(self, text: str) -> None:
        """Read them."""
        self._reasons = {(it.path, it.diff): it.reason for it in entries(text)}

    def reason(self, mutant: Mutant, source: str) -> str | None:
        """Return why a mutant is equivalent, if it was judged so."""
        return self._reasons.get((mutant.path, tuple(mutant.diff(source))))
