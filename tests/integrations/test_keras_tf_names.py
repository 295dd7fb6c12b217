"""Datasets of `tfrecs.tf` in Keras: keras_tf_names_checks.py, in a process for each backend."""

import needs
import pytest

needs.found("keras")


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_a_backend(backend: str) -> None:
    needs.found(backend)
    needs.run_apart("keras_tf_names_checks.py", KERAS_BACKEND=backend)
