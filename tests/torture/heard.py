"""Ctrl-C into a process that says "ready", and then when it has heard it."""

import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

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


def hear_interrupts() -> None:
    """Stop ignoring SIGINT, so that child processes do not ignore it either.

    nohup, and shells that start a job in the background, have it ignored, and that is inherited.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ended_by(seconds: float, process: "subprocess.Popen[str]") -> Iterator[None]:
    """Kill the process if the block takes longer, so that no wait for its output is endless."""
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


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
