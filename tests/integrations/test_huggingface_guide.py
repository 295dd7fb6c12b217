"""docs/guides/huggingface.md as it stands; its program is killed, and continues."""

import io
import os
from pathlib import Path
from typing import Any

import needs
import pytest
from guides import Guide

os.environ.setdefault("HF_HUB_OFFLINE", "1")
torch = needs.optional("torch")
needs.optional("datasets")
needs.optional("sklearn")
GUIDE = Guide("huggingface.md", "checkpoint.pt", "weights.pt")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return GUIDE.prepare(tmp_path_factory.mktemp("guide"))


def test_the_page_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert len(GUIDE.blocks) == 6
    GUIDE.run({"__name__": "__main__"})


def test_a_killed_training_ends_with_the_same_weights(folder: Path) -> None:
    weights, resumed = map(loaded, GUIDE.check(folder))
    assert all(torch.equal(weights[name], resumed[name]) for name in weights)


def loaded(data: bytes) -> Any:
    return torch.load(io.BytesIO(data))
