"""The Rust tests of salvage with many files: 1 to 20 damages, records that hold records."""

from torture.rust import run_tests


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Run them; each of four kinds has a quarter of the cases."""
    return run_tests("salvage", TORTURE=str(max(cases // 4, 1)), SEED=str(seed))
