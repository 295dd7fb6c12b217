"""The measurement of `make soak` finds growth, and everything that it does works."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import leaks
from faults.operations import CONTENTS
from leaks import HOUR, MB, Sample


def samples(step: int) -> list[Sample]:
    """An hour of growth: 50 MB in ten minutes, and `step` bytes in each minute."""
    return [Sample(60.0 * n, 50 * MB * min(n, 10) + step * n) for n in range(61)]


@pytest.mark.parametrize("step", [0, 1000, 2 * MB])
def test_growth_is_that_after_the_warm_up(step: int) -> None:
    assert leaks.growth(samples(step)) == pytest.approx(step * HOUR / 60, abs=1)


def test_a_leak_is_found() -> None:
    kept = []
    counter = itertools.count()

    def leak() -> None:
        kept.append(bytes([next(counter) % 256]) * (4 * MB))

    found = list(itertools.islice(leaks.samples(60, leak), 30))
    assert found[-1].nbytes - found[0].nbytes >= 80 * MB


def test_everything_it_does_works(tmp_path: Path) -> None:
    leaks.do_all(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(CONTENTS)
