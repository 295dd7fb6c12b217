"""docs/guides/pytorch.md as it stands, where PyTorch is; its program is killed, and continues."""

import importlib
import io
from pathlib import Path
from typing import Any

import needs
import pytest
from guides import Guide

torch = needs.optional("torch")
needs.optional("sklearn")
GUIDE = Guide("pytorch.md", "checkpoint.pt", "weights.pt")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return GUIDE.prepare(tmp_path_factory.mktemp("guide"))


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata 0.11 calls it
def test_the_page_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert len(GUIDE.blocks) == 6
    GUIDE.run({"__name__": "__main__", "torch": importlib.import_module("torch")})


def test_a_killed_training_ends_with_the_same_weights(folder: Path) -> None:
    weights, resumed = map(loaded, GUIDE.check(folder))
    assert all(torch.equal(weights[name], resumed[name]) for name in weights)


def loaded(data: bytes) -> Any:
    return torch.load(io.BytesIO(data))
