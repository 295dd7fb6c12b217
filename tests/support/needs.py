"""What a test needs and a machine may lack.

Outside CI a test that lacks something is skipped; with CI=true it fails, so that nothing is skipped
unseen. All work inside a test and at the top of a test module.
"""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

REPO = Path(__file__).resolve().parents[2]
PACKAGE = REPO / "python" / "tfrecs"
# What processes that a test starts need to import what tests import.
TEST_PATH = os.pathsep.join([str(REPO / "tests"), str(REPO / "tests" / "support")])
IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}

# Every library that some part of the package or of its tests can do without.
OPTIONAL = [
    "PIL",
    "duckdb",
    "google.protobuf",
    "hypothesis",
    "ml_dtypes",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "scipy",
    "simplejpeg",
    "sklearn",
    "soundfile",
    "tqdm",
    "typer",
]


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# The modules of the package and their files.
MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


# Those that need a library too large for `.venv`: tests/integrations, and tests/oracle, test them.
LARGE = ("huggingface", "jax", "keras", "tensorflow", "torch")
ELSEWHERE = {
    name for name in MODULES if name.split(".")[1:3] in [["integrations", it] for it in LARGE]
}


def is_optional(module: str) -> bool:
    """Whether `module` belongs to a library in OPTIONAL."""
    return module.split(".", maxsplit=1)[0] in {name.split(".")[0] for name in OPTIONAL}


def missing(what: str) -> NoReturn:
    """Skip the running test or module, or fail it in CI, because `what` is not there."""
    if IN_CI:
        pytest.fail(f"{what} is missing, and in CI nothing may be", pytrace=False)
    pytest.skip(f"{what} is missing", allow_module_level=True)


def optional(name: str) -> ModuleType:
    """Return the optional library `name`."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != name.split(".", maxsplit=1)[0]:
            raise  # it is there, and broken
        missing(name)


def found(name: str) -> None:
    """See that the optional library `name` is there, without importing it into this process."""
    if importlib.util.find_spec(name) is None:
        missing(name)


def run_apart(checks: str, **environment: str) -> None:
    """Run a file of checks, which stands beside the tests, by a process of its own.

    JAX must not be where others fork, and Keras takes its backend from the environment.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [*command, str(REPO / "tests" / "integrations" / checks)],
        cwd=REPO,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    if run.returncode:
        pytest.fail(run.stdout[-20000:] + run.stderr[-2000:], pytrace=False)


def measuring() -> dict[str, str]:
    """Return the environment of a process that measures itself, with bench/measure.py."""
    return {**os.environ, "PYTHONPATH": str(REPO / "bench")}


def shared_data() -> Path:
    """Return the folder of real TFRecord files: $TFRECS_SHARED/data, or ../shared/data."""
    folder = Path(os.environ.get("TFRECS_SHARED", REPO.parent / "shared")) / "data"
    if not folder.is_dir():
        missing(str(folder))
    return folder


def compiled(source: Path, folder: Path) -> Path:
    """Return a library for LD_PRELOAD, made of a C file."""
    library = folder / source.with_suffix(".so").name
    cc = shutil.which(os.environ.get("CC", "cc")) or missing("a C compiler")
    flags = ["-shared", "-fPIC", "-Wall", "-Werror"]
    subprocess.run([cc, *flags, "-o", str(library), str(source), "-ldl"], check=True)
    return library
