"""Private copies of the sources, in which mutants live: the working tree is never edited."""

import os
import shutil
from pathlib import Path

REPO = Path(__file__).parents[2]
BUILD = REPO / "build" / "mutants"
PACKAGE = Path("python") / "tfrecs"
# Processes that the tests start measure themselves too, if the environment says so.
SITE = """
import os
if os.environ.get("COVERAGE_PROCESS_START"):
    import coverage
    coverage.process_startup()
"""


def package_copy(name: str) -> Path:
    """Copy the Python package, the native module included; return what PYTHONPATH needs."""
    root = BUILD / "copies" / name
    shutil.rmtree(root, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.abi3.so")
    shutil.copytree(REPO / PACKAGE, root / PACKAGE, ignore=ignored)
    for native in (REPO / PACKAGE).glob("*.abi3.so"):
        shutil.copy2(native, root / PACKAGE / native.name)
    (root / "python" / "sitecustomize.py").write_text(SITE)
    return root


def crates_copy() -> Path:
    """Copy what the Rust tests and the extension are built from."""
    root = BUILD / "copies" / "rust"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock", "README.md", "pyproject.toml"):
        shutil.copy2(REPO / name, root / name)
    # copy2 keeps times, so that cargo need not build anew what it has built for the last copy.
    for folder in ("crates", "fuzz", "tests/golden"):
        ignored = shutil.ignore_patterns("target", "artifacts", "__pycache__")
        shutil.copytree(REPO / folder, root / folder, ignore=ignored)
    return root


def environment(root: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process that imports the package of this copy."""
    path = [str(root / "python"), *filter(None, [os.environ.get("MUTANTS_TOOLS")])]
    own = {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(root / "hypothesis"),
        "TFRECS_SHARED": os.environ.get("TFRECS_SHARED", str(REPO.parent / "shared")),
    }
    inherited = {key: value for key, value in os.environ.items() if key != "CI"}
    return {**inherited, **own, **more}
