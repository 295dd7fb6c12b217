"""docs/guides/huggingface.md as it stands; its program is killed, and goes on."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import needs

os.environ.setdefault("HF_HUB_OFFLINE", "1")
torch = needs.optional("torch")
needs.optional("datasets")
needs.optional("sklearn")
PAGE = (needs.REPO / "docs" / "guides" / "huggingface.md").read_text()
BLOCKS = re.findall(
    r"^(?:```python|<!-- setup)\n(.*?)^(?:```|-->)$", PAGE, re.DOTALL | re.MULTILINE
)
PROGRAM = next(block for block in BLOCKS if block.startswith("# train.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the digits are."""
    folder = tmp_path_factory.mktemp("guide")
    (folder / "setup.py").write_text(BLOCKS[0])
    (folder / "train.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "setup.py"], cwd=folder, check=True)
    return folder


def test_the_page_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    assert len(BLOCKS) == 6
    for block in BLOCKS[1:]:
        if block is not PROGRAM:
            exec(compile(block, "docs/guides/huggingface.md", "exec"), namespace)


def started(folder: Path) -> subprocess.Popen[str]:
    for name in ("weights.pt", "checkpoint.new"):
        (folder / name).unlink(missing_ok=True)
    command = [sys.executable, "train.py"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)


def finished(training: subprocess.Popen[str], folder: Path) -> tuple[list[float], Any]:
    """The losses that it printed, and its weights."""
    said, _ = training.communicate(timeout=300)
    assert training.returncode == 0
    weights = torch.load(folder / "weights.pt")
    return [float(text) for text in re.findall(r"loss (.*)", said)], weights


def test_a_killed_training_ends_with_the_same_weights(folder: Path) -> None:
    checkpoint = folder / "checkpoint.pt"
    losses, weights = finished(started(folder), folder)
    assert len(losses) == 6
    assert losses[-1] < losses[0] / 2
    checkpoint.unlink()
    for seconds in (0.0, 0.1):
        # Each begins where the one before it was killed, some steps behind its first checkpoint.
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        training = started(folder)
        while not checkpoint.exists() or checkpoint.stat().st_mtime_ns == before:
            assert training.poll() is None
            time.sleep(0.001)
        time.sleep(seconds)
        training.kill()
        training.communicate()
        assert not (folder / "weights.pt").exists()
    rest, resumed = finished(started(folder), folder)
    assert rest == losses[6 - len(rest) :]
    assert all(torch.equal(weights[name], resumed[name]) for name in weights)
