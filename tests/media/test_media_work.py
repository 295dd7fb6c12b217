"""Images and sounds that take long: the work is limited, and Ctrl-C does not wait for it."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest

import tfrecs

Image = needs.optional("PIL.Image")

LIMIT = 0.2  # seconds that Ctrl-C may take


def progressive(width: int, height: int, scans: int) -> bytes:
    """A progressive JPEG whose last scan, of few bytes, is repeated."""
    out = io.BytesIO()
    Image.new("L", (width, height)).save(out, "JPEG", progressive=True)
    data = out.getvalue()
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * scans + data[-2:]


def animation(frames: int, size: int = 1) -> bytes:
    out = io.BytesIO()
    Image.new("L", (size, size)).save(out, "GIF")
    data = out.getvalue()
    start = data.index(b",", 13 + 3 * 2 ** ((data[10] & 7) + 1))
    return data[:start] + data[start:-1] * frames + b";"


def test_scans_of_a_jpeg_are_limited() -> None:
    slow = progressive(3000, 3000, 5000)
    begin = time.monotonic()
    with pytest.raises(
        tfrecs.ParseError, match=r"scans of 9,000,000 pixels.*max_pixels=89,478,485"
    ):
        tfrecs.decode_image(slow)
    assert time.monotonic() - begin < 1
    few = progressive(64, 48, 300)
    assert tfrecs.decode_image(few).shape == (48, 64, 1)
    assert tfrecs.decode_image(progressive(64, 48, 1), max_pixels=64 * 48).shape == (48, 64, 1)
    with pytest.raises(tfrecs.ParseError, match="20 times max_pixels=3,072"):
        tfrecs.decode_image(few, max_pixels=64 * 48)


def test_frames_of_an_animation_are_limited() -> None:
    slow = animation(100_000)
    with pytest.raises(tfrecs.ParseError, match=r"100,000 frames.*more than 5,461.*max_pixels"):
        tfrecs.decode_image(slow)
    assert tfrecs.decode_image(slow, expand_animations=False).shape == (1, 1, 3)
    assert tfrecs.decode_image(animation(3), max_pixels=3).shape == (3, 1, 1, 3)


CHILD = """
import sys, threading, time, tfrecs
contents = open(sys.argv[1], "rb").read()
decode = getattr(tfrecs, sys.argv[2])
given = contents if sys.argv[3] == "one" else [contents] * 4
print("ready", flush=True)
try:
    decode(given, num_threads=int(sys.argv[4]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def slow_sound() -> bytes:
    soundfile = needs.optional("soundfile")
    out = io.BytesIO()
    soundfile.write(out, np.zeros((1 << 25, 4), np.int16), 48000, format="FLAC")
    return out.getvalue()


def interrupted_after(path: Path, name: str, batch: str, threads: int) -> float:
    """Return how long the process lives after Ctrl-C."""
    command = [sys.executable, "-c", CHILD, str(path), name, batch, str(threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        assert child.poll() is None, "it was done before"
        begin = time.monotonic()
        os.kill(child.pid, signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        spent = time.monotonic() - begin
        assert child.wait(10) == 0
        assert time.monotonic() - begin < 1, "the process waits for what is left behind"
    return spent


@pytest.mark.parametrize(("batch", "threads"), [("one", 1), ("batch", 1), ("batch", 3)])
@pytest.mark.parametrize("kind", ["jpeg", "gif", "flac"])
def test_ctrl_c_ends_whatever_decodes(tmp_path: Path, kind: str, batch: str, threads: int) -> None:
    make = {"jpeg": lambda: progressive(9000, 9000, 14), "gif": lambda: animation(5000, 120)}
    (tmp_path / "slow").write_bytes(make.get(kind, slow_sound)())
    name = "decode_audio" if kind == "flac" else "decode_image"
    assert interrupted_after(tmp_path / "slow", name, batch, threads) < LIMIT


def test_threads_end_with_the_call() -> None:
    image = tfrecs.encode_image(np.zeros((8, 8, 3), np.uint8))
    before = threading.active_count()
    assert len(tfrecs.decode_image([image] * 20, num_threads=4)) == 20
    assert threading.active_count() == before


def test_without_another_thread_the_caller_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    image = tfrecs.encode_image(np.zeros((1200, 1200, 3), np.uint8))
    assert tfrecs.decode_image(image).shape == (1200, 1200, 3)
    assert len(tfrecs.decode_image([image] * 3, num_threads=4)) == 3


def test_the_limit_of_scans_is_exact() -> None:
    data = progressive(64, 48, 40 - progressive(64, 48, 0).count(b"\xff\xda"))
    assert data.count(b"\xff\xda") == 40
    assert tfrecs.decode_image(data, max_pixels=2 * 64 * 48).shape == (48, 64, 1)
    with pytest.raises(tfrecs.ParseError, match="40 scans of 3,072 pixels"):
        tfrecs.decode_image(data, max_pixels=2 * 64 * 48 - 1)


def test_nothing_is_decoded_after_what_is_broken() -> None:
    few = progressive(8, 8, 1)
    taken: list[int] = []

    class Values(list[bytes]):
        def __getitem__(self, place: Any) -> Any:
            taken.append(place)
            return super().__getitem__(place)

    with pytest.raises(tfrecs.ParseError, match="record 1: unknown"):
        tfrecs.decode_image(Values([few, b"broken", *[few] * 50]), num_threads=1)
    assert max(taken) < 10
