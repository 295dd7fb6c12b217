"""Runs processes that may never end, or take all memory: with limits, and with their children."""

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

# A mutant may ask for any amount of memory.
MEMORY_KIB = 12 << 20


@dataclass(frozen=True)
class Done:
    """How a process ended.

    Attributes:
        code: Its exit code; None if it took too long.
        output: The end of what it has printed.
    """

    code: int | None
    output: str


def run(command: list[str], environment: dict[str, str], cwd: Path, seconds: float) -> Done:
    """Run a command in a process group of its own, which ends with it."""
    limited = ["sh", "-c", f'ulimit -v {MEMORY_KIB}; exec "$@"', "sh", *command]
    process = subprocess.Popen(
        limited,
        env=environment,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    code: int | None = None
    output = b""
    try:
        output, _ = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired as late:
        output = late.output or b""
    finally:
        _end(process)
    return Done(code, output.decode(errors="replace")[-20_000:])


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left of the group, which has the number of its first process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
