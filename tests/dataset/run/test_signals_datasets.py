"""Ctrl-C while a pipeline waits, in whatever step and on whatever thread, and the process can end.

As in test_signals.py: what waits would wait for ever.
"""

import signal
import textwrap
import time
from pathlib import Path

import frames
import pytest
from interrupted import Child, pipe

from torture.heard import BOMBARD

PLANS = {
    "a native batch": "ds.batch(10)",
    "single records": "ds",
    "prefetch": "ds.batch(10).prefetch(2)",
    "threads of map": "ds.batch(10).map(len, num_threads=3)",
    "threads of map, in any order": "ds.batch(10).map(len, num_threads=3, ordered=False)",
    "threads after threads": "ds.map(len, num_threads=2).prefetch(2).map(abs, num_threads=2)",
    "a buffer that fills": "ds.map(len).shuffle(1, buffer_size=1000)",
    "buckets that fill": "ds.bucket_by_length(len, [1000], [50, 50])",
    "one by one, in Python": "ds.prefetch(1).enumerate().filter(bool)",
    "cache": "ds.map(len, num_threads=2).cache(path + '.kept')",
    "a pass that is watched": "ds.batch(10).prefetch(2).map(len)",
}


@pytest.mark.parametrize("plan", PLANS)
def test_a_pipe_that_has_stopped(tmp_path: Path, plan: str) -> None:
    path = pipe(tmp_path)
    script = f"""
        ds = tfrecs.Dataset(path, compression_type="")
        interrupted(list, {PLANS[plan]})
    """
    child = Child(script, path)
    with path.open("wb", buffering=0) as feeder:
        feeder.write(frames.plain([b"one", b"two", b"three"]))
        child.interrupt()
    assert {one.name for one in tmp_path.iterdir()} == {"pipe", "pipe.after"}


FUNCTIONS = {
    "map": "ds.map(wait)",
    "map on threads": "ds.map(wait, num_threads=2)",
    "map on threads, in any order": "ds.map(wait, num_threads=2, ordered=False)",
    "filter": "ds.filter(wait)",
    "after prefetch": "ds.map(wait).prefetch(2)",
}


@pytest.mark.parametrize("where", FUNCTIONS)
def test_a_function_that_does_not_return(tmp_path: Path, where: str) -> None:
    """The interrupt is heard; a thread that is in the function ends when that does."""
    path = frames.save(tmp_path / "small", frames.plain([b"one"] * 100))
    script = f"""
        import threading
        go_on = threading.Event()
        def wait(record):
            go_on.wait()
        ds = tfrecs.Dataset(path)
        interrupted(list, {FUNCTIONS[where]})
        go_on.set()
    """
    Child(script, path).interrupt()


@pytest.mark.parametrize("buffer_size", ["None", "50"])
@pytest.mark.parametrize("after", ["", ".prefetch(2)", ".map(len, num_threads=2)"])
def test_a_batch_that_has_no_end(tmp_path: Path, buffer_size: str, after: str) -> None:
    """Threads make it of records anywhere, or of cells of windows, for some of which they wait."""
    path = frames.save(tmp_path / "small", frames.plain([b"one"] * 100))
    script = f"""
        ds = tfrecs.Dataset(path, num_threads=3).shuffle(1, {buffer_size}).repeat()
        interrupted(next, iter(ds.batch(10**8){after}))
    """
    Child(script, path).interrupt()


@pytest.mark.parametrize("step", ["filter(bool)", "skip(10**12)", "map(abs).shuffle(1, 10**12)"])
def test_an_element_that_never_comes(tmp_path: Path, step: str) -> None:
    """Python asks the native side again and again, which has something every time."""
    path = frames.save(tmp_path / "small", frames.plain([b""] * 1000))
    script = f"""
        ds = tfrecs.Dataset(path).map(len).repeat()
        interrupted(bombarded, next, iter(ds.{step}))
    """
    Child(textwrap.dedent(BOMBARD) + textwrap.dedent(script), path).ends_with(
        "ready\nheard\ncontinued\n"
    )


def test_after_an_interrupt_a_pass_goes_on_with_what_would_have_come(tmp_path: Path) -> None:
    path = pipe(tmp_path)
    script = """
        ds = tfrecs.Dataset(path, compression_type="").batch(1)
        it = iter(ds.map(len, num_threads=2).prefetch(2))
        next(it)
        interrupted(list, it)
        print(*list(it), flush=True)
    """
    child = Child(script, path)
    records = [b"one"] * 30
    data = frames.plain(records)
    with path.open("wb", buffering=0) as feeder:
        feeder.write(data[:-7])
        assert child.line() == "ready\n"
        time.sleep(0.3)
        child.process.send_signal(signal.SIGINT)
        assert child.line() == "heard\n"
        feeder.write(data[-7:])
    rest, last = child.line(), child.line()
    assert set(rest.split()) <= {"1"}
    assert last == "continued\n"
    child.ends_with("")
