"""Uncompressed files of many blocks, which another thread writes."""

import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import frames
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tasks import has_threads, needs_proc, own_threads

import tfrecs

MANY = 4 << 20  # from here on another thread writes
RECORD = random.Random(1).randbytes(100_000)
BEGUN = [RECORD] * 60
BATCH = tfrecs.encode_batch({"a": [*range(40_000)], "b": [b"some text"] * 40_000})  # 1.6 MB


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_records_are_enough() -> None:
    assert len(RECORD) * len(BEGUN) > MANY
    assert BATCH.nbytes > 5 * (256 << 10)


# One record or more in each way, small ones and such as fill several blocks.
step = st.one_of(
    st.tuples(st.just("one"), st.integers(0, 700_000)),
    st.tuples(st.just("list"), st.integers(0, 300_000)),
    st.tuples(st.just("records"), st.integers(0, 300_000)),
    st.tuples(st.just("batch"), st.just(0)),
    st.tuples(st.just("flush"), st.just(0)),
)


@given(steps=st.lists(step, max_size=8), sync=st.booleans(), atomic=st.booleans())
def test_the_file_is_the_same_as_from_one_thread(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, int]],
    sync: bool,
    atomic: bool,
) -> None:
    paths = [tmp_path_factory.getbasetemp() / f"after-{threads}" for threads in (1, 2)]
    for threads, path in enumerate(paths, 1):
        path.unlink(missing_ok=True)
        with tfrecs.RecordWriter(path, num_threads=threads, sync=sync, atomic=atomic) as out:
            out.write_batch(BEGUN)
            for how, size in steps:
                follow(out, path, how, size)
        assert tfrecs.count(path) == out.num_records
    one, two = (path.read_bytes() for path in paths)
    assert one == two


def follow(out: tfrecs.RecordWriter, path: Path, how: str, size: int) -> None:
    record = RECORD[:size] * (size // len(RECORD) + 1)
    if how == "one":
        out.write(record)
    elif how == "list":
        out.write_batch([record, b"", record])
    elif how == "records":
        out.write_batch(tfrecs.Records([record, record]))
    elif how == "batch":
        out.write_batch(BATCH)
    else:
        out.flush()
        if path.exists():  # in place
            assert tfrecs.count(path) == out.num_records


@needs_proc
def test_the_thread_ends_with_the_file(tmp_path: Path) -> None:
    for end in ("close", "discard", "drop", "finish"):
        out = tfrecs.RecordWriter(tmp_path / "a", num_threads=2)
        out.write_batch(BEGUN)
        assert has_threads(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            if end == "drop":
                del out
                gc.collect()
            else:
                getattr(out, end)()
        assert has_threads(0)
        if end == "finish":
            out.close()
    assert [*tfrecs.RecordReader(tmp_path / "a")] == BEGUN
    assert [*tmp_path.iterdir()] == [tmp_path / "a"]


@needs_proc
def test_small_files_and_one_thread_need_none(tmp_path: Path) -> None:
    with tfrecs.RecordWriter(tmp_path / "a", num_threads=2) as out:
        out.write_batch(BEGUN[:30])
        assert own_threads() == 0
    with tfrecs.RecordWriter(tmp_path / "a", num_threads=1) as out:
        out.write_batch(BEGUN)
        assert own_threads() == 0


@pytest.mark.parametrize("mode", ["w", "a"])
@pytest.mark.parametrize("step", ["out.write(record)", "out.write_batch(batch)"])
def test_a_disk_that_is_full_behind_the_writers_back(tmp_path: Path, mode: str, step: str) -> None:
    script = f"""
        import resource, signal, sys, tfrecs
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        path, mode = sys.argv[1:]
        record = bytes(100_000)
        batch = tfrecs.encode_batch({{"a": [b"x" * 1000] * 1000}})
        out = tfrecs.RecordWriter(path, mode=mode, num_threads=2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000_000, 9_000_000))
        told = []
        for call in [*[lambda: {step}] * 200, out.flush, out.close, out.close]:
            try:
                call()
            except tfrecs.FileError as error:
                told.append((error.errno, error.path))
        import errno
        assert {{*told}} == {{(errno.EFBIG, path)}}, told
        print(len(told))
    """
    path = frames.save(tmp_path / "a", frames.plain([b"old"]))
    result = run(script, path, mode)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 50, "told soon, and by every later call, close once"
    assert path.read_bytes() == frames.plain([b"old"])
    assert [*tmp_path.iterdir()] == [path]


def test_what_is_discarded_is_cut_off(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"old"]))
    for _ in range(20):
        out = tfrecs.RecordWriter(path, mode="a", num_threads=2)
        out.write_batch(BEGUN)
        out.write_batch(BATCH)
        out.discard()
        assert path.read_bytes() == frames.plain([b"old"])


def test_what_was_flushed_survives_kill_9(tmp_path: Path) -> None:
    script = """
        import os, signal, sys, tfrecs
        out = tfrecs.RecordWriter(sys.argv[1], atomic=False, num_threads=2)
        for _ in range(3):
            out.write_batch([bytes(50_000)] * 100)
            out.flush()
        out.write_batch([bytes(50_000)] * 100)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    result = run(script, tmp_path / "a")
    assert result.returncode == -signal.SIGKILL
    reader = tfrecs.RecordReader(tmp_path / "a")
    assert all(next(reader) == bytes(50_000) for _ in range(300))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_has_neither_the_thread_nor_the_file(tmp_path: Path) -> None:
    script = """
        import os, sys, tfrecs
        out = tfrecs.RecordWriter(sys.argv[1], num_threads=2)
        out.write_batch([bytes(50_000)] * 200)
        child = os.fork()
        if not child:
            for call in (lambda: out.write(b"x"), out.flush, out.close):
                try:
                    call()
                except tfrecs.StateError:
                    continue
                os._exit(1)
            del out
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        out.write_batch([b"more"])
        out.close()
    """
    result = run(script, tmp_path / "a")
    assert result.returncode == 0, result.stderr
    assert [*tfrecs.RecordReader(tmp_path / "a")] == [*[bytes(50_000)] * 200, b"more"]
