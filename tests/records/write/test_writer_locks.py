"""A file has one writer at a time: any other is refused, until the first one is done or dead."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import frames
import pytest

import tfrecs

WAYS: dict[str, dict[str, Any]] = {
    "atomic": {"mode": "w"},
    "new": {"mode": "x"},
    "in place": {"atomic": False},
    "append": {"mode": "a"},
    "append in place": {"mode": "a", "atomic": False},
}
OLD = frames.plain([b"old"])

posix_only = pytest.mark.skipif(os.name != "posix", reason="locks are advisory only there")
pytestmark = posix_only


def open_(path: Path, way: str) -> tfrecs.RecordWriter:
    return tfrecs.RecordWriter(path, **WAYS[way])


@pytest.mark.parametrize("second", WAYS)
def test_a_new_file_needs_a_free_name(tmp_path: Path, second: str) -> None:
    """A failed `x` takes no lock."""
    path = frames.save(tmp_path / "a", OLD)
    with pytest.raises(FileExistsError):
        open_(path, "new")
    assert path.read_bytes() == OLD
    if second != "new":
        open_(path, second).close()


@pytest.mark.parametrize(
    ("first", "has_old"),
    [(way, has_old) for way in WAYS for has_old in (True, False) if way != "new" or not has_old],
)
@pytest.mark.parametrize("second", WAYS)
def test_the_second_writer_is_refused(
    tmp_path: Path, first: str, second: str, has_old: bool
) -> None:
    path = tmp_path / "a"
    if has_old:
        path.write_bytes(OLD)
    out = open_(path, first)
    out.write(b"first")
    out.flush()
    before = path.read_bytes() if path.exists() else None
    with pytest.raises((tfrecs.FileError, FileExistsError)) as caught:
        open_(path, second)
    if second == "new" and before is not None:
        assert isinstance(caught.value, FileExistsError)
    else:
        assert caught.match("another writer of this process")
        assert caught.value.errno == errno.EBUSY
        assert caught.value.filename == str(path)
    assert (path.read_bytes() if path.exists() else None) == before
    out.write(b"more")
    out.close()
    kept = [b"old"] if has_old and "append" in first else []
    assert list(tfrecs.RecordReader(path)) == [*kept, b"first", b"more"]
    assert not list(tmp_path.glob(".*"))
    if second != "new":
        open_(path, second).close()


@pytest.mark.parametrize("end", ["close", "discard", "finish"])
@pytest.mark.parametrize("way", WAYS)
def test_a_writer_that_is_done_is_in_nobodys_way(tmp_path: Path, way: str, end: str) -> None:
    path = tmp_path / "a"
    out = open_(path, way)
    out.write(b"first")
    getattr(out, end)()
    again = tfrecs.RecordWriter(path)
    again.write(b"second")
    again.close()
    out.discard()
    assert list(tfrecs.RecordReader(path)) == [b"second"]


def test_a_writer_that_was_dropped_is_in_nobodys_way(tmp_path: Path) -> None:
    writers = [tfrecs.RecordWriter(tmp_path / "a")]
    with pytest.warns(ResourceWarning, match="never closed"):
        writers.clear()
    tfrecs.RecordWriter(tmp_path / "a").close()


def test_a_link_is_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a")
    with tfrecs.RecordWriter(tmp_path / "a"), pytest.raises(tfrecs.FileError, match="another"):
        tfrecs.RecordWriter(tmp_path / "link")


def test_other_names_are_other_files(tmp_path: Path) -> None:
    names = ["a", "a.tfrecs", "b" * 200, "b" * 199 + "c", ".a"]
    writers = [tfrecs.RecordWriter(tmp_path / name) for name in names]
    for writer in writers:
        writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


@pytest.mark.parametrize("limits", [{"num_shards": 2}, {"max_records": 1}, {"max_bytes": 5}])
def test_a_set_has_one_writer(tmp_path: Path, limits: dict[str, Any]) -> None:
    """Also where the first one has filled some files already."""
    template = tmp_path / "{shard}-of-{num_shards}"
    with tfrecs.ShardedWriter(template, **limits) as out:
        out.write_batch([b"first"] * 4)
        with pytest.raises(tfrecs.FileError, match="another writer"):
            tfrecs.ShardedWriter(template, **limits).write(b"second")
    assert tfrecs.count(out.paths) == 4
    with tfrecs.ShardedWriter(template, **limits) as out:
        out.write_batch([b"later"] * 4)
    assert tfrecs.count(out.paths) == 4
    assert not list(tmp_path.glob(".*"))


CHILD = """
    import os, sys, tfrecs
    out = tfrecs.RecordWriter(sys.argv[1], mode=sys.argv[2])
    out.write(b"theirs")
    out.flush()
    print("open", flush=True)
    sys.stdin.read()
    out.close()
"""


def child(path: Path, mode: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), path, mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


@pytest.mark.parametrize("mode", ["w", "a"])
def test_another_process(tmp_path: Path, mode: str) -> None:
    path = frames.save(tmp_path / "a", OLD)
    process = child(path, mode)
    for way in ("atomic", "in place", "append"):
        with pytest.raises(tfrecs.FileError, match="another writer has it open") as caught:
            open_(path, way)
        if sys.platform == "linux":
            assert caught.value.reason in (
                f"another writer has it open: process {process.pid}",
                "another writer has it open",  # a file system that has its own device numbers
            )
    process.communicate("")
    assert list(tfrecs.RecordReader(path)) == [*([b"old"] if mode == "a" else []), b"theirs"]


@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_dead_process_leaves_no_lock(tmp_path: Path, mode: str) -> None:
    path = frames.save(tmp_path / "a", OLD)
    process = child(path, mode)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with tfrecs.RecordWriter(path, mode=mode) as out:
        out.write(b"ours")
    kept = [b"old", b"theirs"] if mode == "a" else []
    assert list(tfrecs.RecordReader(path)) == [*kept, b"ours"]


@pytest.mark.parametrize("way", ["atomic", "append", "in place"])
def test_a_fork_has_the_same_lock_and_does_not_keep_it(tmp_path: Path, way: str) -> None:
    """A child that outlives its parent's writer has the file open, and nobody need wait for it."""
    script = """
        import os, signal, sys, tfrecs
        path, options = sys.argv[1], eval(sys.argv[2])
        out = tfrecs.RecordWriter(path, **options)
        out.write(b"parent")
        reading, writing = os.pipe()
        if not (child := os.fork()):
            try:
                tfrecs.RecordWriter(path, **options)
            except tfrecs.FileError:
                os.write(writing, b"refused")
            else:
                os.write(writing, b"allowed")
            signal.pause()
        assert os.read(reading, 7) == b"refused"
        out.close()
        with tfrecs.RecordWriter(path, **options) as out:
            out.write(b"again")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(list(tfrecs.RecordReader(path)))
    """
    code, path = textwrap.dedent(script), str(tmp_path / "a")
    command = [sys.executable, "-c", code, path, repr(WAYS[way])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    expected = [b"parent", b"again"] if way == "append" else [b"again"]
    assert (done.stderr, done.stdout.strip()) == ("", str(expected))


def test_a_name_that_was_taken_away_is_not_published(tmp_path: Path) -> None:
    """Somebody removes the temporary file by hand, and another writer begins."""
    out = tfrecs.RecordWriter(tmp_path / "a")
    out.write(b"first")
    assert out.temporary_path is not None
    Path(out.temporary_path).unlink()
    other = tfrecs.RecordWriter(tmp_path / "a")
    other.write(b"second")
    with pytest.raises(FileNotFoundError):
        out.close()
    other.close()
    assert list(tfrecs.RecordReader(tmp_path / "a")) == [b"second"]


def test_a_link_in_the_temporary_files_place_is_not_followed(tmp_path: Path) -> None:
    victim = frames.save(tmp_path / "victim", b"precious")
    (tmp_path / ".a.tfrecs.tmp").symlink_to(victim)
    for options in ({}, {"resume": True}, {"mode": "a"}):
        with tfrecs.RecordWriter(tmp_path / "a", **options) as out:
            out.write(b"x")
        assert victim.read_bytes() == b"precious"
    assert list(tfrecs.RecordReader(tmp_path / "a")) == [b"x", b"x"]


def test_a_reader_with_a_shared_lock_does_not_stop_a_writer_that_replaces(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", OLD)
    with path.open("rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        with open_(path, "atomic") as out:
            out.write(b"new")
        assert reader.read() == OLD
    assert list(tfrecs.RecordReader(path)) == [b"new"]
