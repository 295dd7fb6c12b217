"""The corpora of the fuzz targets once more: the Rust tests of fuzz_corpus.rs."""

from torture.rust import run_tests


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Run them."""
    del cases, seed  # they try all that fuzzing has kept
    return run_tests("fuzz_corpus")
