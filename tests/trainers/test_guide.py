"""docs/guides/trainers.md as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import needs
import pytest

needs.optional("transformers")
needs.optional("pytorch_lightning")

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGE = needs.REPO / "docs" / "guides" / "trainers.md"


@pytest.mark.filterwarnings("ignore")  # hints of the libraries
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), namespace)
    assert sorted(path.name for path in Path("runs").iterdir()) == [
        f"checkpoint-{step}" for step in (20, 40, 60, 80, 96)
    ]
    assert Path("saved/step=80.ckpt").is_file()
