"""Runs the tests of a mutant of the Rust core, in a private copy of the crates.

First the core's own tests. If all pass, the extension is built with the mutant, and the Python
tests of the part of the core that it is in run with that.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from mutants.copies import BUILD, PACKAGE, REPO, crates_copy, environment, package_copy
from mutants.outcome import INVALID, KILLED, SURVIVED, Outcome, killer
from mutants.processes import Done, run
from mutants.python_runs import run_tests
from mutants.rust_sites import mutants_of
from mutants.site import Mutant

TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?mod (\w+);")
CORE = Path("crates") / "core" / "src"
# The Python tests of each part of the core, the first prefix that fits.
PARTS = {
    "record/salvage": "records/salvage cli/test_cli_repair.py records/read/test_real_files.py",
    "record/other_formats": "dataset/sources/test_foreign.py",
    "record/index": "records/index cli/test_cli_index.py dataset/sources/test_dataset_sources.py",
    "record/codec": "records/index records/read/test_records_damage.py "
    "records/read/test_records_formats.py records/write/test_writer_members.py",
    "record/write": "records/write records/sets",
    "record/": "records",
    "example/encode": "examples/test_encode_batch.py examples/test_encode_arrow.py "
    "examples/test_examples.py examples/test_sequence_batches.py",
    "example/event": "examples/test_events.py examples/test_events_follow.py",
    "example/tensor": "tensors examples/test_events.py",
    "example/message": "examples/test_messages.py examples/test_messages_wire.py "
    "examples/test_protos.py",
    "example/raw": "tensors/test_raw.py",
    "example/": "examples parsing tensors columns",
    "pipeline/scan": "dataset/sources dataset/transforms dataset/distributed expressions",
    "pipeline/": "records/index/test_gather.py dataset/transforms/test_windows.py dataset/sources "
    "dataset/distributed",
    "image/png": "media/test_images.py media/test_images_batch.py",
    "image/resize": "media/test_images_sizes.py media/test_images_batch.py",
    "": "dataset/sources records/read records/write/test_writer.py hostile "
    "dataset/run/test_signals.py",
}


def all_rust() -> list[Mutant]:
    """Return every mutant of the core, its tests left out."""
    files = sorted((REPO / CORE).rglob("*.rs"))
    tests = {path for file in files for path in _test_modules(file)}
    return [
        mutant
        for path in files
        if path not in tests and "tests" not in path.relative_to(REPO / CORE).parts
        for mutant in mutants_of(str(path.relative_to(REPO)), path.read_text())
    ]


def _test_modules(file: Path) -> list[Path]:
    """Return the files of the modules that `file` has for its tests only."""
    names = TEST_MODULE.findall(file.read_text())
    folder = file.parent if file.stem in ("mod", "lib") else file.with_suffix("")
    return [folder / f"{name}.rs" for name in names]


def python_tests(path: str) -> list[str]:
    """Return the test files of the part of the core that a file is in."""
    inside = str(Path(path).relative_to(CORE))
    names = next(names for part, names in PARTS.items() if inside.startswith(part))
    found = [f"tests/{name}" for name in names.split()]
    return [name for name in found if (REPO / name).exists()]


class RustRuns:
    """A copy of the crates, in which one mutant at a time lives."""

    def __init__(self) -> None:
        """Make the copy, and build it."""
        self._root = crates_copy()
        self._package = package_copy("native")
        print("mutants: building the copy of the crates", flush=True)
        for step in (
            ["test", "--no-run", "--package", "tfrecs-core"],
            ["build", "--package", "tfrecs-python"],
        ):
            done = self._cargo(step, 3600)
            if done.code != 0:
                raise SystemExit(f"mutants: the copy does not build:\n{done.output}")

    def run(self, mutant: Mutant) -> Outcome:
        """Run the core's tests, then Python's, until one fails."""
        begin = time.monotonic()
        place = self._root / mutant.path
        source = place.read_text()
        place.write_text(mutant.applied(source))
        try:
            result, by = self._judged(mutant)
        finally:
            place.write_text(source)
        return Outcome(mutant, result, by, time.monotonic() - begin)

    def _judged(self, mutant: Mutant) -> tuple[str, str]:
        if self._cargo(["test", "--no-run", "--package", "tfrecs-core", "--lib"], 900).code != 0:
            return INVALID, "the compiler"
        for which in (["--lib"], ["--tests"]):
            done = self._cargo(["test", "--package", "tfrecs-core", *which], 600)
            if done.code != 0:
                return KILLED, killer(done)
        if self._cargo(["build", "--package", "tfrecs-python"], 900).code != 0:
            return INVALID, "the compiler"
        built = BUILD / "target" / "debug" / "lib_core.so"
        shutil.copy2(built, self._package / PACKAGE / "_core.abi3.so")
        tests = python_tests(mutant.path)
        by = run_tests(self._package, ".venv", tests, 1200)
        return (KILLED, by) if by else (SURVIVED, f"the core's tests and {' '.join(tests)} pass")

    def _cargo(self, command: list[str], seconds: float) -> Done:
        """Run cargo in the copy. Its tests are the same every time, and optimised a little."""
        more = {
            "CARGO_TARGET_DIR": str(BUILD / "target"),
            "CARGO_INCREMENTAL": "1",
            "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
            "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
            "CARGO_PROFILE_DEV_DEBUG": "0",
            "PROPTEST_RNG_SEED": "1",
            "PROPTEST_FAILURE_PERSISTENCE": "off",
            "PYO3_PYTHON": str(REPO / ".venv" / "bin" / "python"),
        }
        env = environment(self._package, **more)
        return run(
            ["cargo", command[0], "--locked", "--quiet", *command[1:]], env, self._root, seconds
        )
