"""Datasets in Keras 3: keras_checks.py, in a process for each backend."""

from pathlib import Path

import needs
import pytest

needs.found("keras")


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_a_backend(backend: str, tmp_path: Path) -> None:
    needs.found(backend)
    needs.run_apart(
        "keras_checks.py",
        KERAS_BACKEND=backend,
        # JAX compiles each model anew, if it is not told to remember.
        JAX_COMPILATION_CACHE_DIR=str(tmp_path / "compiled"),
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
    )
