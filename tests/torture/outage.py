"""The Rust tests in which the power fails after any call of a writer: writer/tests/power.rs."""

from torture.rust import run_tests_within


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Run them."""
    del cases, seed  # they try every state of the disk
    return run_tests_within("record::write::writer::tests::power")
