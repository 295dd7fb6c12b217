"""What became of a mutant."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mutants.processes import Done
from mutants.site import Mutant

KILLED, SURVIVED, UNCOVERED, INVALID = "killed", "SURVIVED", "NOT COVERED", "does not compile"
# In what pytest, and the test harness of Rust, print of the first test that fails.
FAILED = re.compile(
    r"^(?:FAILED|ERROR) (\S+)|^test (\S+) \.\.\. FAILED|^thread '([^']+)'[^\n]* panicked",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Outcome:
    """Attributes:
    result: One of the words above.
    by: The test that kills it, or how many tests it survived.
    seconds: How long that took.
    """

    mutant: Mutant
    result: str
    by: str
    seconds: float

    @property
    def lives(self) -> bool:
        """Whether no test fails."""
        return self.result in (SURVIVED, UNCOVERED)


def killer(done: Done) -> str:
    """Return what has ended a run of tests that did not pass."""
    if done.code is None:
        return "the time limit"
    if match := FAILED.search(done.output):
        return str(next(filter(None, match.groups())))
    last = done.output.strip().splitlines()[-1:] or ["nothing was printed"]
    return f"exit code {done.code}: {last[0][:100]}"
