"""A file that is cut while it is mapped into memory: an error, and never the end of the process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tfrecs

# What a child process does, with the file `path`.
BEGIN = """
import faulthandler, mmap, os, sys, threading
import tfrecs
path, order = sys.argv[1:]
if order == "before":
    faulthandler.enable()
found = tfrecs.open(path, memory_map=True)
expected = found[0]
if order == "after":
    faulthandler.enable()
"""

CUT_WHILE_READ = """
import time
size, errors = os.path.getsize(path), 0
end = time.monotonic() + 3
def cut():
    while time.monotonic() < end:
        os.truncate(path, size // 2)
        os.truncate(path, size)
thread = threading.Thread(target=cut)
thread.start()
while time.monotonic() < end:
    for batch in (range(0, 1000), range(999, -1, -1)):
        try:
            assert set(found[batch]) == {expected}
        except tfrecs.Error as error:
            assert error.path == path
            errors += 1
thread.join()
print(errors > 0)
"""

FAULT_ELSEWHERE = """
with open(path + ".other", "wb+") as file:
    file.truncate(1 << 20)
    other = mmap.mmap(file.fileno(), 0)
    file.truncate(0)
    print(other[0])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with tfrecs.RecordWriter(tmp_path / "a.tfrecord") as out:
        for _ in range(1000):
            out.write(b"x" * 1000)
    return tmp_path / "a.tfrecord"


def child(script: str, path: Path, order: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BEGIN + script, str(path), order]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


# When Python's own handler for such signals is installed: never, before ours, after ours.
ORDERS = ["never", "before", "after"]


@pytest.mark.skipif(sys.platform == "win32", reason="no mapped file can be cut there")
class TestCuts:
    @pytest.mark.parametrize("order", ORDERS)
    def test_the_process_goes_on(self, path: Path, order: str) -> None:
        done = child(CUT_WHILE_READ, path, order)
        assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr

    @pytest.mark.parametrize("order", ORDERS)
    def test_a_fault_elsewhere_is_what_it_was(self, path: Path, order: str) -> None:
        done = child(FAULT_ELSEWHERE, path, order)
        assert done.returncode == -signal.SIGBUS
        assert ("Bus error" in done.stderr) is (order != "never")
