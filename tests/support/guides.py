"""A guide in docs/guides as it stands, and its program `train.py`, which is killed and resumes."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import needs

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EPOCHS = 6


@dataclass(frozen=True)
class Guide:
    """A page, and what its program writes.

    Attributes:
        name: The page's.
        checkpoint: What is written at each step.
        weights: What is written at the end.
        environment: What the program is to find in its environment.
        shows_rest: Whether the loss of an epoch that continues is that of the rest.
    """

    name: str
    checkpoint: str
    weights: str
    environment: Mapping[str, str] = field(default_factory=dict)
    shows_rest: bool = False

    @property
    def blocks(self) -> list[str]:
        """All blocks of Python; the first makes the input."""
        return BLOCK.findall((needs.REPO / "docs" / "guides" / self.name).read_text())

    def prepare(self, folder: Path) -> Path:
        """Make the input, and the program."""
        (program,) = (block for block in self.blocks if block.startswith("# train.py"))
        (folder / "train.py").write_text(program)
        (folder / "setup.py").write_text(self.blocks[0])
        subprocess.run([sys.executable, "setup.py"], cwd=folder, check=True)
        return folder

    def run(self, namespace: dict[str, Any]) -> None:
        """Run the page without its program, in the folder."""
        for block in self.blocks[1:]:
            if not block.startswith("# train.py"):
                exec(compile(block, f"docs/guides/{self.name}", "exec"), namespace)

    def run_apart(self, folder: Path, imports: str = "") -> None:
        """Do so in a process of its own, which has imported some libraries."""
        script = f"""if True:
            import importlib
            from guides import Guide
            given = {{name: importlib.import_module(name) for name in {imports.split()}}}
            Guide({self.name!r}, "", "").run({{"__name__": "__main__", **given}})
        """
        run = subprocess.run(
            [sys.executable, "-c", script],
            cwd=folder,
            env={**os.environ, **self.environment, "PYTHONPATH": needs.TEST_PATH},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr

    def start(self, folder: Path) -> subprocess.Popen[str]:
        """Start the program."""
        (folder / self.weights).unlink(missing_ok=True)
        return subprocess.Popen(
            [sys.executable, "train.py"],
            cwd=folder,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            text=True,
        )

    def finish(self, training: subprocess.Popen[str]) -> list[float]:
        """Wait for its end; return the losses that it has printed."""
        said, _ = training.communicate(timeout=300)
        assert training.returncode == 0
        return [float(text) for text in re.findall(r"loss:? (\S*)", said)]

    def kill(self, folder: Path, seconds: float) -> None:
        """Start it, and kill it so long after it has written a checkpoint, which is a new one."""
        checkpoint = folder / self.checkpoint
        before = written(checkpoint)
        training = self.start(folder)
        while written(checkpoint) == before:
            assert training.poll() is None
            time.sleep(0.001)
        time.sleep(seconds)
        training.kill()
        training.communicate()
        assert not (folder / self.weights).exists()

    def check(self, folder: Path) -> tuple[bytes, bytes]:
        """Train without a kill, and with some; return the weights of both."""
        losses = self.finish(self.start(folder))
        weights = (folder / self.weights).read_bytes()
        assert len(losses) == EPOCHS
        assert losses[-1] < losses[0] / 2
        (folder / self.checkpoint).unlink()
        for seconds in (0.0, 0.03):
            # Each begins where the one before it was killed.
            self.kill(folder, seconds)
        rest = self.finish(self.start(folder))
        known = losses[EPOCHS - len(rest) :]
        assert rest[self.shows_rest :] == known[self.shows_rest :]
        return weights, (folder / self.weights).read_bytes()


def written(path: Path) -> int:
    """When a file was written; 0 if it is not there."""
    return path.stat().st_mtime_ns if path.exists() else 0
