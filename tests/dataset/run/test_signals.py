"""Ctrl-C is heard at once, whatever the native side is waiting for, and the process can continue.

Nothing is timed: a busy machine would be taken for a fault. What waits would wait for ever, and a
computation has to hear several signals in one call, where one that never asked would hear the last
of them when it returns.
"""

import os
import random
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import frames
import pytest
from interrupted import HANG, Child, pipe
from needs import REPO

from torture.heard import BOMBARD

READ: dict[str, str] = {
    "next": "interrupted(next, tfrecs.RecordReader(path))",
    "list": "interrupted(list, tfrecs.RecordReader(path))",
    "batch": "interrupted(tfrecs.RecordReader(path).read_batch, 1000)",
}


@pytest.mark.parametrize("call", READ)
@pytest.mark.parametrize("codec", frames.CODECS)
def test_a_pipe_that_has_stopped(tmp_path: Path, call: str, codec: str) -> None:
    """Some bytes have come, enough to know what they are; then nothing more."""
    path = pipe(tmp_path)
    child = Child(READ[call], path)
    with path.open("wb", buffering=0) as feeder:
        data = frames.plain([os.urandom(2000)])
        feeder.write(frames.compressed(codec, data)[:-100])
        child.interrupt()


@pytest.mark.parametrize("sent", [0, 5])
def test_a_pipe_that_says_nothing(tmp_path: Path, sent: int) -> None:
    """Not even enough bytes have come to know what they are."""
    path = pipe(tmp_path)
    child = Child("interrupted(tfrecs.RecordReader, path)", path)
    with path.open("wb", buffering=0) as feeder:
        feeder.write(bytes(sent))
        child.interrupt()


@pytest.mark.parametrize("use", ["RecordReader", "RecordWriter", "count", "verify"])
def test_a_pipe_that_nobody_opens(tmp_path: Path, use: str) -> None:
    Child(f"interrupted(tfrecs.{use}, path)", pipe(tmp_path)).interrupt()


def test_what_was_read_before_is_not_lost(tmp_path: Path) -> None:
    """After an interrupt the reader continues where it was."""
    path = pipe(tmp_path)
    script = """
        reader = tfrecs.RecordReader(path)
        assert next(reader) == b"one" * 200
        interrupted(reader.read_batch, 1000)
        print(*(len(record) for record in reader), flush=True)
    """
    child = Child(script, path)
    records = [b"one" * 200, b"two", b"three", b"fours"]
    data = frames.plain(records)
    with path.open("wb", buffering=0) as feeder:
        feeder.write(data[:-7])
        assert child.line() == "ready\n"
        time.sleep(0.3)
        child.process.send_signal(signal.SIGINT)
        assert child.line() == "heard\n"
        feeder.write(data[-7:])
    child.ends_with("3 5 5\ncontinued\n")


LONG: dict[str, str] = {
    "verify": "interrupted(bombarded, tfrecs.verify, path)",
    "count": "interrupted(bombarded, tfrecs.count, path)",
    "batch": "interrupted(bombarded, tfrecs.RecordReader(path).read_batch, 10**9)",
    "open": "interrupted(bombarded, tfrecs.open, path)",
    "slice": """
        records = tfrecs.open(path, index="memory")
        interrupted(bombarded, records.__getitem__, slice(None))
    """,
    "order": """
        order = tfrecs._core.Order(10**8).shuffle(0)
        interrupted(bombarded, order.records, 0, 10**8, 0)
    """,
    "decode_batch": """
        records = tfrecs.Records([tfrecs.encode_example({"a": list(range(1000))})] * 300_000)
        interrupted(bombarded, tfrecs.decode_batch, records)
    """,
    "encode_batch": """
        record = tfrecs.encode_example({"a": list(range(1000))})
        batch = tfrecs.decode_batch(tfrecs.Records([record] * 200_000))
        interrupted(bombarded, tfrecs.encode_batch, batch)
    """,
}


@pytest.mark.parametrize("call", LONG)
def test_a_long_call(tmp_path: Path, call: str) -> None:
    """A gzip file that says little and holds much: seconds of work in one call."""
    block = frames.compressed("GZIP", frames.frame(bytes(1000)) * 50_000, level=1)
    path = frames.save(tmp_path / "long.gz", block * 60)
    child = Child(BOMBARD + textwrap.dedent(LONG[call]), path)
    child.ends_with("ready\nheard\ncontinued\n")


def torn() -> bytes:
    """Large records that hold a record each, every other one without some bytes of its middle."""
    rng = random.Random(1)
    whole = [frames.frame(frames.frame(rng.randbytes(200_000))) for _ in range(11)] * 11
    return b"".join(
        each[:100_000] + each[100_050 * (number % 2) or 100_000 :]
        for number, each in enumerate(whole)
    )


def entered() -> bytes:
    """A damaged gzip stream, and after it very many places where one may begin."""
    rng = random.Random(1)
    stream = frames.compressed("GZIP", frames.plain([b"one"] * 1000))[:-9]
    return stream + bytes(8) + b"".join(b"\0\0\xff\xff" + rng.randbytes(2) for _ in range(200_000))


@pytest.mark.parametrize("made", [torn, entered])
def test_a_long_look_for_the_way_on_after_damage(tmp_path: Path, made: Callable[[], bytes]) -> None:
    path = frames.save(tmp_path / "damaged", made())
    script = """
        interrupted(bombarded, list, tfrecs.salvage(path).batches(10**9))
    """
    Child(textwrap.dedent(BOMBARD) + textwrap.dedent(script), path).ends_with(
        "ready\nheard\ncontinued\n"
    )


@pytest.mark.parametrize("call", ["verify", "count"])
def test_many_files(tmp_path: Path, call: str) -> None:
    path = frames.save(tmp_path / "small", frames.plain([b"one"]))
    Child(f"interrupted(tfrecs.{call}, [path] * 10**7)", path).interrupt()


def test_many_calls(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "small", frames.plain([b"one"] * 100))
    script = """
        def read():
            while True:
                reader = tfrecs.RecordReader(path)
                while reader.read_batch(10):
                    pass
        interrupted(read)
    """
    Child(script, path).interrupt()


def test_a_batch_that_has_no_end(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "small", frames.plain([b"one"] * 100))
    script = """
        records = tfrecs.open(path, index="memory")
        order = tfrecs._core.Order(100).shuffle(0).repeat(None)
        batching = tfrecs._core.Batching(10**8, False, 2)
        output = tfrecs._core.Output.records(False)
        batches = tfrecs._core.Gather(records, order, 0, 0, batching, output)
        interrupted(next, batches)
        batches.close()
    """
    Child(script, path).interrupt()


def test_a_pipe_that_nobody_empties(tmp_path: Path) -> None:
    """Writing stops when the pipe is full."""
    path = pipe(tmp_path)
    script = """
        out = tfrecs.RecordWriter(path)
        interrupted(out.write_batch, tfrecs.Records([bytes(1000)] * 5000))
        try:
            out.close()
        except (tfrecs.Error, KeyboardInterrupt):
            pass
    """
    child = Child(script, path)
    reading = os.open(path, os.O_RDONLY)
    assert child.line() == "ready\n"
    time.sleep(0.3)
    child.process.send_signal(signal.SIGINT)
    try:
        ready, _, _ = select.select([child.output], [], [], HANG)
        assert ready, "the interrupt was not heard while the pipe was full"
        assert child.line() == "heard\n"
    finally:
        os.close(reading)
        child.process.kill()
        child.process.communicate()


def test_the_tests_hear_interrupts_where_sigint_is_ignored(tmp_path: Path) -> None:
    """As under nohup, or in the background of a shell script: a test must not wait for ever."""
    tests = REPO / "tests" / "dataset"
    named = [
        f"{tests}/sources/test_dataset.py::test_control_c_ends_the_wait",
        f"{tests}/run/test_signals.py::test_a_pipe_that_nobody_opens[count]",
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [
            "sh",
            "-c",
            "trap '' INT; exec \"$@\"",
            "sh",
            *command,
            f"--basetemp={tmp_path}/t",
            *named,
        ],
        cwd=tests.parent,
        capture_output=True,
        text=True,
        timeout=3 * HANG,
        check=False,
    )
    assert "2 passed" in run.stdout, run.stdout[-2000:]
