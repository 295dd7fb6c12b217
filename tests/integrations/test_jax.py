"""Datasets as JAX's arrays: jax_checks.py, in a process of its own."""

import needs

needs.found("jax")


def test_jax() -> None:
    needs.run_apart("jax_checks.py")
