"""Work in a process of its own, whose memory is its own: measured, or limited."""

import json
import subprocess
import sys
import textwrap
from typing import Any

# All that any use of the package takes once, before measuring begins.
PRELUDE = """
import json, os, resource, sys, tfrecs
arguments = json.loads(sys.argv[1])
small = arguments["small"]
list(tfrecs.Dataset(small).batch(1))
tfrecs.verify(small), tfrecs.open(small, index="memory")[0]
def peak():
    # Not ru_maxrss, which begins with what the parent held at the fork.
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) * 1024
def allow(more):
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
result = None
before = peak()
"""
EPILOGUE = """
print(json.dumps([peak() - before, result]))
"""


def in_child(work: str, **arguments: Any) -> tuple[int, Any]:
    """How many bytes more `work` took, and what it left as `result`; `small` is one record's file.

    Raises:
        AssertionError: It ended otherwise.
    """
    script = PRELUDE + textwrap.dedent(work) + EPILOGUE
    command = [sys.executable, "-c", script, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"it ended with {done.returncode}: {done.stderr[-600:]}")
    taken, result = json.loads(done.stdout.splitlines()[-1])
    return taken, result
