"""Random access as Grain uses it: grain_checks.py, in a process of its own, as Grain loads JAX."""

import needs

needs.found("grain")


def test_grain() -> None:
    needs.run_apart("grain_checks.py")
