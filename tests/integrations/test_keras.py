"""Datasets in Keras 3: keras_checks.py, once for each backend, which a process cannot change."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import needs

needs.optional("keras")


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_a_backend(backend: str) -> None:
    needs.optional(backend)
    checks = Path(__file__).with_name("keras_checks.py")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks)],
        cwd=needs.REPO,
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20000:]
