"""A full disk is an error that names the file, and leaves nothing behind, whatever is written."""

from __future__ import annotations

import sys
from pathlib import Path

import needs
import pytest

from faults.full import WAYS
from faults.run import HERE, run_script


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return needs.compiled(HERE / "names.c", tmp_path_factory.mktemp("names"))


@pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD is Linux's")
@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_names_the_file(way: str, shim: Path, tmp_path: Path) -> None:
    said = run_script("full.py", way, tmp_path, LD_PRELOAD=str(shim))
    assert said["wrong"] == []
    assert said["tries"] > 0
