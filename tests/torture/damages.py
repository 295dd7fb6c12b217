"""The Rust tests of salvage with many files: 1 to 20 damages, records that hold records."""

from torture.rust import run_tests


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Run them; each of four kinds has a quarter of the cases."""
    return run_tests("salvage", SALVAGE_FILES=str(max(cases // 4, 1)), SALVAGE_SEED=str(seed))
