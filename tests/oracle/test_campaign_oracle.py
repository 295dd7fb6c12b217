"""parse_example and its like against TensorFlow's own, on CASES random records of every kind."""

from __future__ import annotations

import pytest

from oracle.campaign import campaign
from oracle.cases import CASES, JOBS, SEED
from oracle.families import FAMILIES, KINDS

# How the cases are divided: most are plain, for what counts in daily life.
SHARES = {"plain": 0.5, "odd": 0.25, "mutated": 0.25}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_campaign(family: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    cases = round(CASES * SHARES[kind] / len(FAMILIES))
    tally = campaign(family, kind, cases, SEED, JOBS)
    with capsys.disabled():
        print(f"\n{family}, {kind}: {tally.pop('cases')} cases")  # noqa: T201 - what has been done
        for what, count in sorted(tally.items()):
            print(f"  {count:>9}  {what}")  # noqa: T201
    assert tally["accepted by both, all values the same"] > 0
