"""Ctrl-C into a process that says "ready", and then when it has heard it."""

import random
import signal
import subprocess
import time

# For a script that is to hear signals within one call: every 20 ms comes one, and the fourth ends
# the call. One that never asks for signals would hear the last of them when it returns.
BOMBARD = """
import signal
heard = []
def listen(*_):
    heard.append(1)
    if len(heard) == 4:
        raise KeyboardInterrupt
def bombarded(call, *arguments):
    signal.signal(signal.SIGALRM, listen)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        call(*arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
"""


def interrupt(child: subprocess.Popen[str], rng: random.Random) -> tuple[float, str]:
    """Send it some time after "ready"; when that was, and what the process said of it."""
    assert child.stdout is not None
    try:
        child.stdout.readline()
        time.sleep(rng.random() * 0.2)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=60)
    finally:
        child.kill()
        child.communicate()
    return sent, said


def fault(way: str, sent: float, said: str, longest: float) -> str | None:
    """What is wrong with what it said, or None: it did not hear it, or too late."""
    if not said.strip().replace(".", "").isdigit():
        return f"{way}: {said!r}"
    took = float(said) - sent
    return f"{way}: heard after {took:.3f} s" if took > longest else None
