"""How many random cases, and which: the environment's CASES and SEED.

A case is one record under one spec, of which campaign.py does many; Hypothesis, which finds the
smallest case that fails but is slow, does a share of them. SEED and CASES are printed in pytest's
header; giving them again repeats the run.
"""

import os
from collections.abc import Callable
from typing import TypeVar

import hypothesis
import tensorflow as tf

Test = TypeVar("Test", bound=Callable[..., None])

CASES = int(os.environ.get("CASES", "100000"))
SEED = int(os.environ.get("SEED", "0"))
JOBS = int(os.environ.get("JOBS", "1"))
EXAMPLES = min(CASES // 20, 1500)  # of Hypothesis


def header() -> str:
    """One line that says what it takes to repeat this run."""
    return f"oracle: SEED={SEED} CASES={CASES} JOBS={JOBS}, TensorFlow {tf.__version__}"


def randomly(share: int) -> Callable[[Test], Test]:
    """Run a Hypothesis test on EXAMPLES / share random cases, the same ones for the same SEED."""
    settings = hypothesis.settings(
        max_examples=max(EXAMPLES // share, 1),
        deadline=None,  # TensorFlow's first call of a kind is slow
        database=None,  # a run depends on SEED and CASES only
        suppress_health_check=[
            hypothesis.HealthCheck.too_slow,
            hypothesis.HealthCheck.data_too_large,
        ],
    )
    return lambda test: hypothesis.seed(SEED)(settings(test))
