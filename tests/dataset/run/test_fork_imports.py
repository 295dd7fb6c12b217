"""A fork while another thread imports a part of the package for the first time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Modules that are imported late, and code that uses them.
PARTS = {
    "dataset": "list(tfrecs.Dataset([b'a', b'b']).batch(2))",
    "messages": "tfrecs.Example()",
    "encoding": "tfrecs.encode_example({'a': numpy.arange(3), 'b': [numpy.int64(1)]})",
    "tf": "tfrecs.tf.io",
    "formats": "tfrecs.convert_csv",
}
SCRIPT = """
import os, signal, sys, threading, time
import numpy, tfrecs
def use():
    WORK
children = []
thread = threading.Thread(target=use)
thread.start()
for _ in range(12):
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # one that hangs is killed
        use()
        os._exit(0)
    children.append(child)
    time.sleep(PAUSE)
thread.join()
sys.exit(sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("pause", [0.0, 0.002, 0.005, 0.02])
def test_no_child_waits_for_an_import_that_nobody_ends(part: str, pause: float) -> None:
    script = SCRIPT.replace("WORK", PARTS[part]).replace("PAUSE", str(pause))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
