"""The Rust tests in which any call of a writer to the disk fails: writer/tests/failures.rs."""

from torture.rust import run_tests_within


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Run them."""
    del cases, seed  # they try every call
    return run_tests_within("record::write::writer::tests::failures")
