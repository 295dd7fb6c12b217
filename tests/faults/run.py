"""Run a script of this folder in a process of its own, and read the answer that it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SECONDS = 300


def run_script(name: str, *arguments: str | Path, **environment: str) -> dict[str, Any]:
    """Return what the script has printed as JSON; fails if it has not ended well."""
    done = subprocess.run(
        [sys.executable, HERE / name, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
