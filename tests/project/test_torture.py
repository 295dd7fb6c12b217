"""A little of everything that `make torture` does at length, so that it cannot rot."""

import os
import sys

import pytest

from torture import stops
from torture.table import ROWS, Row, attempt

ROWS_HERE = [row for row in ROWS if row.small]


@pytest.mark.skipif(sys.platform != "linux", reason="limits and signals are those of Linux")
@pytest.mark.parametrize("row", ROWS_HERE, ids=[row.module for row in ROWS_HERE])
def test_a_little_of(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    # How soon a signal is heard is not judged here, where the machine may be busy.
    monkeypatch.setattr(stops, "LONGEST", 30.0)
    outcome = attempt(row, row.small, seed=int(os.environ.get("SEED", "1")))
    assert not outcome.failures
    assert outcome.cases
