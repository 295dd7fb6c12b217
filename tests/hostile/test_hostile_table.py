"""Every public function, class and method and hostile arguments, in processes that may hang or die.

support/hostile_child.py makes the table from the signatures. A call returns, or raises
tfrecs.Error, TypeError or what is documented, within seconds, in 2.5 GiB of address space, and
never panics.
"""

import json
import subprocess
import sys
from pathlib import Path

import hostile_child as child
import needs
import pytest

CHILD = Path(child.__file__)
SECONDS = 120


def group_of(name: str) -> str:
    """Return which process calls it: starting one takes as long as many calls."""
    if name.startswith(("Dataset.", "tf.data.")):
        return name.rpartition(".")[0]
    owner, _, member = name.partition(".")
    if owner == "tf":
        return "tf"
    return "methods" if member else "functions"


GROUPS: dict[str, list[str]] = {}
for target in child.targets():
    GROUPS.setdefault(group_of(target), []).append(target)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and alarms are Linux's")
@pytest.mark.parametrize("group", GROUPS)
def test_hostile_arguments_raise_what_is_documented(tmp_path: Path, group: str) -> None:
    run(tmp_path, [str(CHILD), *GROUPS[group]])


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and alarms are Linux's")
def test_commands_end_hostile_arguments_by_their_exit_codes(tmp_path: Path) -> None:
    needs.optional("typer")
    run(tmp_path, [str(CHILD.with_name("hostile_commands.py"))])


def run(tmp_path: Path, script: list[str]) -> None:
    """Run a child in a folder of its own; it complains of nothing."""
    # The child runs as another user.
    for parent in (tmp_path, *tmp_path.parents[:-2]):
        parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    done = subprocess.run(
        [sys.executable, *script],
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
