"""Scripts that are interrupted while they wait, in processes of their own."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from torture.heard import ended_by

# Seconds after which whoever still waits has not heard the signal.
HANG = 60.0

PRELUDE = """
    import sys, tfrecs
    path = sys.argv[1]
    def interrupted(call, *arguments):
        print("ready", flush=True)
        try:
            call(*arguments)
        except KeyboardInterrupt:
            print("heard", flush=True)
        else:
            print("it ended by itself", flush=True)
"""
# What continues after the interrupt, in the same process.
EPILOGUE = """
    out = tfrecs.RecordWriter(path + ".after")
    out.write(b"fine")
    out.close()
    assert list(tfrecs.RecordReader(path + ".after")) == [b"fine"]
    print("continued", flush=True)
"""


class Child:
    """A script that waits to be interrupted."""

    def __init__(self, script: str, *arguments: object) -> None:
        text = "".join(map(textwrap.dedent, (PRELUDE, script, EPILOGUE)))
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", text, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout

    def line(self) -> str:
        """Return the next line that the script prints, or none if it stops printing."""
        with ended_by(HANG, self.process):
            return self.output.readline()

    def interrupt(self) -> None:
        """Send SIGINT once the script is inside the call, and see that it is heard and survived."""
        try:
            assert self.line() == "ready\n"
            time.sleep(0.3)
            assert self.process.poll() is None
            self.process.send_signal(signal.SIGINT)
            self.ends_with("heard\ncontinued\n")
        finally:
            self.process.kill()
            self.process.communicate()

    def ends_with(self, said: str) -> None:
        """Wait for the end, and see what the script has said last."""
        try:
            output, errors = self.process.communicate(timeout=HANG)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)  # it writes where each thread is
            output, errors = self.process.communicate()
        assert (output, errors) == (said, "")


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"
