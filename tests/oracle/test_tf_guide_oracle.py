"""docs/guides/tensorflow.md as it stands; its program is killed, and continues."""

import io
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
from guides import Guide

needs.optional("sklearn")
GUIDE = Guide("tensorflow.md", "checkpoints/checkpoint", "weights.npz")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return GUIDE.prepare(tmp_path_factory.mktemp("guide"))


def test_the_page_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    assert len(GUIDE.blocks) == 4
    GUIDE.run(namespace)
    assert namespace["images"].shape == namespace["labels"].shape == (64,)


def test_a_killed_training_ends_with_the_same_weights(folder: Path) -> None:
    weights, resumed = map(loaded, GUIDE.check(folder))
    assert all(np.array_equal(weights[name], resumed[name]) for name in weights)


def loaded(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data)) as weights:
        return dict(weights)
