"""Rust tests in which every read fails, or every large allocation: io_failures.rs, no_memory.rs."""

from torture.rust import run_tests


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Run them."""
    del cases, seed  # they try every one
    return run_tests("io_failures", "no_memory")
