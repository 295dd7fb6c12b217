"""Every public function, class and method and hostile arguments, in processes that may hang or die.

tests/hostile_child.py makes the table from the signatures. A call returns, or raises tfrecs.Error,
TypeError or what is documented, within seconds, in 2 GiB of address space, and never panics.
"""

import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

import hostile_child as child

CHILD = Path(child.__file__)
SECONDS = 120

GROUPS = {
    owner: list(names)
    for owner, names in groupby(
        child.targets(), lambda name: name.partition(".")[0] if "." in name else name[0].lower()
    )
}


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and alarms are Linux's")
@pytest.mark.parametrize("group", GROUPS)
def test_hostile_arguments_raise_what_is_documented(tmp_path: Path, group: str) -> None:
    # The child runs as another user.
    for parent in (tmp_path, *tmp_path.parents[:-2]):
        parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    command = [sys.executable, str(CHILD), *GROUPS[group]]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        timeout=SECONDS,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    last = (tmp_path / "call.txt").read_text() if (tmp_path / "call.txt").exists() else ""
    assert done.returncode == 0, (last, done.returncode, done.stderr[-2000:])
    *found, end = map(json.loads, done.stdout.splitlines())
    assert end == "done"
    assert found == []
