"""Writing files when the system plays its part: full disks, links, permissions, kill -9."""

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import frames
import pytest

import tfrecs

OLD = frames.plain([b"old"])
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script in an interpreter of its own."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def hidden(folder: Path) -> list[Path]:
    return list(folder.glob(".*"))


# ---------------------------------------------------------------- full disks


@needs_full
@pytest.mark.parametrize("codec", frames.CODECS)
@pytest.mark.parametrize("where", ["write", "flush", "close"])
def test_a_full_device(codec: str, where: str) -> None:
    out = tfrecs.RecordWriter(FULL, codec)
    big = os.urandom(1 << 20)
    if where == "write":
        with pytest.raises(tfrecs.FileError, match="No space left") as caught:
            out.write(big)
    else:
        out.write(b"small")
        with pytest.raises(tfrecs.FileError, match="No space left") as caught:
            getattr(out, where)()
    error = caught.value
    assert (error.errno, error.path, error.filename) == (errno.ENOSPC, str(FULL), str(FULL))
    if where != "close":
        with pytest.raises(tfrecs.FileError, match="No space left"):
            out.write(b"again")
        with pytest.raises(tfrecs.FileError, match="No space left"):
            out.close()
    out.close()
    with pytest.raises(tfrecs.StateError):
        out.write(b"after")


@needs_full
def test_a_full_device_in_a_with_block() -> None:
    with pytest.raises(tfrecs.FileError, match="No space left"), tfrecs.RecordWriter(FULL) as out:
        out.write(b"small")


LIMITED = """
    import os, resource, sys, tfrecs
    path, mode, codec, step = sys.argv[1:]
    out = tfrecs.RecordWriter(path, codec, mode=mode)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    raised = []
    def attempt(call, *arguments):
        try:
            call(*arguments)
        except tfrecs.FileError as error:
            raised.append((call.__name__, error.errno, error.path))
    for number in range(40):
        attempt(out.write, b"x" + os.urandom(int(step)))
    attempt(out.flush)
    attempt(out.close)
    attempt(out.close)
    import errno
    assert {kind for _, kind, _ in raised} == {errno.EFBIG}, raised
    assert {where for _, _, where in raised} == {path}
    names = [name for name, _, _ in raised]
    assert names.count("close") == 1, "reported once more, and then closed"
    assert names.count("flush") == 1
    print(names.count("write"))
"""


@pytest.mark.parametrize("step", [20_000, 600_000])
@pytest.mark.parametrize(
    ("mode", "codec"),
    [*((mode, codec) for mode in "wx" for codec in frames.CODECS), ("a", ""), ("a", "GZIP")],
)
def test_a_file_that_gets_too_large(tmp_path: Path, mode: str, codec: str, step: int) -> None:
    """The limit on a file's size stands in for a disk that is full."""
    path = tmp_path / "a"
    before = frames.compressed(codec, OLD)
    if mode != "x":
        path.write_bytes(before)
    result = run(LIMITED, path, mode, codec, step)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 0
    assert (path.read_bytes() if path.exists() else None) == (None if mode == "x" else before)
    assert not hidden(tmp_path)


def test_a_file_in_place_that_gets_too_large(tmp_path: Path) -> None:
    script = LIMITED.replace("mode=mode", "atomic=False")
    result = run(script, tmp_path / "a", "w", "", 20_000)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "a").stat().st_size == 300_000


@pytest.mark.parametrize("limit", range(0, 130, 7))
def test_sharded_on_a_full_disk(tmp_path: Path, limit: int) -> None:
    """All shards or none, wherever the error comes."""
    script = """
        import resource, sys, tfrecs
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
        try:
            with tfrecs.ShardedWriter(sys.argv[1], num_shards=3) as out:
                out.write_batch([b"x" * n for n in range(0, 60, 5)])
        except tfrecs.FileError as error:
            print(error.errno)
    """
    result = run(script, tmp_path / "{shard}", limit)
    assert result.returncode == 0, result.stderr
    largest = max(sum(range(first * 5, 60, 15)) + 4 * 16 for first in range(3))
    published = sorted(path.name for path in tmp_path.iterdir())
    assert result.stdout.strip() == ("" if limit >= largest else str(errno.EFBIG))
    assert published == (["0", "1", "2"] if limit >= largest else [])


@pytest.mark.parametrize("limit", range(200, 1000, 67))
def test_a_set_and_its_manifest_on_a_full_disk(tmp_path: Path, limit: int) -> None:
    """The manifest is the largest file here; that it fails is known before any file appears."""
    script = """
        import resource, sys, tfrecs
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
        try:
            with tfrecs.ShardedWriter(sys.argv[1], num_shards=3, manifest=True) as out:
                out.write_batch([b"x" * n for n in range(9)])
        except tfrecs.FileError as error:
            print(error.errno)
    """
    result = run(script, tmp_path / "{shard}", limit)
    assert result.returncode == 0, result.stderr
    published = sorted(path.name for path in tmp_path.iterdir())
    if result.stdout:
        assert (result.stdout.strip(), published) == (str(errno.EFBIG), [])
    else:
        assert published == ["0", "1", "2", "manifest.json"]
        assert limit >= (tmp_path / "manifest.json").stat().st_size


@pytest.mark.parametrize("limit", [150, 150_000])
@pytest.mark.parametrize("call", ["flush", "sync"])
@pytest.mark.parametrize("codec", frames.CODECS)
def test_flush_and_sync_tell_that_the_disk_is_full(
    tmp_path: Path, codec: str, call: str, limit: int
) -> None:
    script = """
        import os, resource, sys, tfrecs
        path, codec, call, limit = sys.argv[1:]
        out = tfrecs.RecordWriter(path, codec)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit),) * 2)
        done = 0
        try:
            while True:
                out.write(os.urandom(int(limit) // 7))
                getattr(out, call)()
                done = out.num_records
        except tfrecs.FileError as error:
            assert call in ("flush", "sync"), error
        found = []
        try:
            for record in tfrecs.RecordReader(out.temporary_path):
                found.append(record)
        except tfrecs.Error:
            pass
        assert done >= 2 and len(found) >= done, (done, len(found))
        try:
            out.close()
        except tfrecs.FileError as error:
            print(error.errno)
    """
    result = run(script, tmp_path / "a", codec, call, limit)
    assert (result.stdout.strip(), result.stderr) == (str(errno.EFBIG), "")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- links, permissions, places


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target = frames.save(tmp_path / "target", OLD)
    link = tmp_path / "link"
    link.symlink_to("target")
    for mode in ("w", "a"):
        with tfrecs.RecordWriter(link, mode=mode) as out:
            out.write(b"new")
        assert link.is_symlink()
        assert not target.is_symlink()
    assert target.read_bytes() == frames.plain([b"new", b"new"])
    assert link.readlink() == Path("target")


def test_a_link_to_nothing_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    with tfrecs.RecordWriter(tmp_path / "link") as out:
        out.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == frames.plain([b"new"])


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o640, 0o666, 0o600, 0o444])
def test_permissions_are_kept(tmp_path: Path, mode: int) -> None:
    path = frames.save(tmp_path / "a", OLD)
    path.chmod(mode)
    with tfrecs.RecordWriter(path) as out:
        out.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0, 0o666)])
def test_permissions_of_a_new_file(tmp_path: Path, mask: int, mode: int) -> None:
    with umask(mask), tfrecs.RecordWriter(tmp_path / "a") as out:
        out.write(b"new")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


@contextmanager
def nobody() -> Iterator[None]:
    """Without the privileges of root, should we have them."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_no_permission(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    path = frames.save(folder / "a", OLD)
    folder.chmod(0)
    try:
        with nobody():
            for use in (tfrecs.RecordReader, tfrecs.RecordWriter, tfrecs.count):
                with pytest.raises(PermissionError) as caught:
                    use(path)
                assert isinstance(caught.value, tfrecs.FileError)
                assert (caught.value.errno, caught.value.path) == (errno.EACCES, str(path))
    finally:
        folder.chmod(0o700)
    assert path.read_bytes() == OLD


def test_a_relative_path_after_chdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with tfrecs.RecordWriter("a.tfrecord") as out:
        out.write(b"here")
        monkeypatch.chdir(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tfrecord", "other"]


@pytest.mark.parametrize("name", ["spaced name", "größe", "*?[a]", "a" * 200, "-", "b\udcff"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    with tfrecs.RecordWriter(tmp_path / name) as out:
        out.write(b"a")
    assert list(tfrecs.RecordReader(tmp_path / name)) == [b"a"]
    assert tfrecs.count(tmp_path / name) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_name_as_long_as_names_get(tmp_path: Path) -> None:
    name = "a" * 255
    with tfrecs.RecordWriter(tmp_path / name) as out:
        out.write(b"a")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    with tfrecs.RecordWriter(pipe) as out:
        out.write(b"through")
    assert reader.communicate(timeout=10)[0] == frames.plain([b"through"])
    assert pipe.is_fifo()


def test_nobody_reads_the_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    out = tfrecs.RecordWriter(pipe)
    os.close(reading)
    with pytest.raises(tfrecs.FileError) as caught:
        out.write(b"x" * (1 << 20))
    assert caught.value.errno == errno.EPIPE
    with pytest.raises(tfrecs.FileError):
        out.close()


def test_open_files_are_closed(tmp_path: Path) -> None:
    script = """
        import resource, sys, tfrecs
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        kept = []
        for number in range(100):
            with tfrecs.RecordWriter(sys.argv[1]) as out:
                out.write(b"a")
            discarded = tfrecs.RecordWriter(sys.argv[1])
            discarded.discard()
            reader = tfrecs.RecordReader(sys.argv[1])
            assert list(reader) == [b"a"]
            reader.close()
            kept += [out, discarded, reader]
            tfrecs.count(sys.argv[1])
    """
    result = run(script, tmp_path / "a")
    assert result.returncode == 0, result.stderr


# ---------------------------------------------------------------- kill -9

KILLED = """
    import sys, tfrecs
    path, mode = sys.argv[1:]
    out = tfrecs.RecordWriter(path, mode=mode)
    print("open", flush=True)
    for number in range(10**9):
        out.write(b"%d" % number * 10)
        if number % 100 == 0:
            out.flush()
"""


@pytest.mark.parametrize("mode", ["w", "x", "a"])
@pytest.mark.parametrize("codec", ["", "GZIP"])
def test_kill_while_writing(tmp_path: Path, mode: str, codec: str) -> None:
    path = tmp_path / ("a.gz" if codec else "a")
    before = frames.compressed(codec, OLD)
    if mode != "x":
        path.write_bytes(before)
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), path, mode], stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"open\n"
    time.sleep(random.uniform(0.01, 0.1))
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    if mode == "a":
        assert path.read_bytes().startswith(before)
        records = []
        try:
            for record in tfrecs.RecordReader(path):
                records.append(record)  # noqa: PERF402 - those before the cut count
        except tfrecs.TruncatedFileError:
            pass
        expected = [b"%d" % number * 10 for number in range(len(records) - 1)]
        assert records == [b"old", *expected]
        assert len(records) > 100
    else:
        assert (path.read_bytes() if path.exists() else None) == (None if mode == "x" else before)
