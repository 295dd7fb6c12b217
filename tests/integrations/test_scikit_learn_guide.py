"""docs/guides/scikit_learn.md as it stands; its program is killed, and continues."""

import io
from pathlib import Path

import needs
import numpy as np
from guides import Guide

needs.optional("sklearn")
GUIDE = Guide("scikit_learn.md", "checkpoint.pickle", "weights.npz")


def test_a_killed_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    """The page itself runs where all pages do."""
    found = GUIDE.check(GUIDE.prepare(tmp_path))
    weights, resumed = (np.load(io.BytesIO(data)) for data in found)
    assert all(np.array_equal(weights[name], resumed[name]) for name in ("coef", "intercept"))
