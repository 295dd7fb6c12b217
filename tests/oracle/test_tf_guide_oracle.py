"""docs/guides/tensorflow.md as it stands; its program is killed, and goes on."""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import needs

needs.optional("sklearn")
PAGE = (needs.REPO / "docs" / "guides" / "tensorflow.md").read_text()
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
    assert len(BLOCKS) == 4
    for block in BLOCKS[1:]:
        if block is not PROGRAM:
            exec(compile(block, "docs/guides/tensorflow.md", "exec"), namespace)
    assert namespace["images"].shape == namespace["labels"].shape == (64,)


def started(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "train.py"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)


def finished(training: subprocess.Popen[str], folder: Path) -> tuple[list[float], Any]:
    """The losses that it printed, and its weights."""
    said, _ = training.communicate(timeout=300)
    assert training.returncode == 0
    with np.load(folder / "weights.npz") as weights:
        found = dict(weights)
    (folder / "weights.npz").unlink()
    return [float(text) for text in re.findall(r"loss (.*)", said)], found


def checkpoints(folder: Path) -> int:
    """How many were written."""
    found = [int(path.stem[5:]) for path in (folder / "checkpoints").glob("ckpt-*.index")]
    return max(found, default=0)


def test_a_killed_training_ends_with_the_same_weights(folder: Path) -> None:
    losses, weights = finished(started(folder), folder)
    assert len(losses) == 6
    assert losses[-1] < losses[0] / 2
    for path in (folder / "checkpoints").iterdir():
        path.unlink()
    for steps in (20, 30):
        # Each begins where the one before it was killed.
        before, training = checkpoints(folder), started(folder)
        while checkpoints(folder) < before + steps:
            assert training.poll() is None
            time.sleep(0.001)
        training.kill()
        training.communicate()
        assert not (folder / "weights.npz").exists()
    rest, resumed = finished(started(folder), folder)
    assert 0 < len(rest) < 6
    assert rest == losses[6 - len(rest) :]
    assert all(np.array_equal(weights[name], resumed[name]) for name in weights)
