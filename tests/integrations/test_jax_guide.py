"""docs/guides/jax.md as it stands, where JAX is; its program is killed, and continues."""

import io
from pathlib import Path

import needs
import numpy as np
import pytest
from guides import Guide

needs.found("jax")
needs.optional("sklearn")
GUIDE = Guide("jax.md", "checkpoint.pickle", "weights.npz")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return GUIDE.prepare(tmp_path_factory.mktemp("guide"))


def test_the_page_runs(folder: Path) -> None:
    assert len(GUIDE.blocks) == 5
    GUIDE.run_apart(folder, "jax")


def test_a_killed_training_ends_with_the_same_weights(folder: Path) -> None:
    weights, resumed = (np.load(io.BytesIO(data)) for data in GUIDE.check(folder))
    assert len(weights) == 4
    assert all(np.array_equal(weights[name], resumed[name]) for name in weights)
