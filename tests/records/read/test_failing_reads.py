"""A read that fails is never the end of a file: every read of everything that reads fails once.

The answer is complete, or an error says of which file and where; nothing of a failed pass is kept.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import needs
import pytest

from faults.operations import CONTENTS, OPERATIONS
from faults.run import HERE, run_script

# How many reads of an operation fail; FAILING_READS=1000000 lets all of them.
MOST = os.environ.get("FAILING_READS", "8")


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return needs.compiled(HERE / "reads.c", tmp_path_factory.mktemp("faults"))


@pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD and /proc are Linux's")
@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failing_read_is_never_the_end(name: str, kind: str, shim: Path, tmp_path: Path) -> None:
    said = run_script("sweep.py", name, tmp_path, kind, MOST, LD_PRELOAD=str(shim))
    assert said["wrong"] == []
    assert said["tries"] > 0
