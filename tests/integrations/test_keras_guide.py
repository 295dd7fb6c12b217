"""docs/guides/keras.md as it stands, on each backend; its program is killed, and continues."""

import io
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
from guides import Guide

needs.found("keras")
needs.optional("sklearn")
h5py: Any = needs.optional("h5py")


@pytest.fixture(scope="module", params=["jax", "torch"])
def guide(request: pytest.FixtureRequest) -> Guide:
    needs.found(request.param)
    environment = {"KERAS_BACKEND": request.param}
    checkpoint = "checkpoint/backup.json"
    return Guide("keras.md", checkpoint, "trained.weights.h5", environment, shows_rest=True)


@pytest.fixture(scope="module")
def folder(guide: Guide, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return guide.prepare(tmp_path_factory.mktemp("guide"))


def test_the_page_runs(guide: Guide, folder: Path) -> None:
    assert len(guide.blocks) == 7
    guide.run_apart(folder)


def test_a_killed_training_ends_with_the_same_weights(guide: Guide, folder: Path) -> None:
    weights, resumed = (arrays(data) for data in guide.check(folder))
    assert len(weights) > 4
    assert list(weights) == list(resumed)
    assert all(np.array_equal(weights[name], resumed[name]) for name in weights)


def arrays(data: bytes) -> dict[str, Any]:
    """All arrays of an HDF5 file, with those of the optimizer."""
    found: dict[str, Any] = {}

    def note(name: str, one: Any) -> None:
        if isinstance(one, h5py.Dataset):
            found[name] = one[()]

    with h5py.File(io.BytesIO(data)) as file:
        file.visititems(note)
    return found
