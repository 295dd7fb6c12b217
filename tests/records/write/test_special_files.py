"""Only regular files are ever replaced, and what is derived is no wider than its source."""

from __future__ import annotations

import importlib
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import needs
import pytest

import tfrecs
from tfrecs.formats import convert_csv
from tfrecs.formats.images import convert_images

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")

RECORDS = [b"one", b"two", b"three"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(RECORDS)
    return path


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def listening(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def sharded(source: Path, name: Path, **options: Any) -> None:
    with tfrecs.ShardedWriter(name, 1, **options) as out:
        out.write_batch(tfrecs.RecordReader(source))


def manifest(source: Path, name: Path) -> None:
    sharded(source, name.with_name("target-of-a-manifest"), manifest=name)


def converted(source: Path, name: Path) -> None:
    del source
    table = name.with_name("table.csv")
    table.write_text("a\n1\n")
    convert_csv(table, name.parent, split={"target": 1.0}, num_shards=1, overwrite=True)


def cached(source: Path, name: Path) -> None:
    list(tfrecs.Dataset(source).cache(name))


def indexed(source: Path, name: Path) -> None:
    tfrecs.build_index(source, name)


WAYS: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "repair": (tfrecs.repair, "target"),
    "ShardedWriter": (sharded, "target"),
    "manifest": (manifest, "target.json"),
    "convert": (converted, "target-00000-of-00001.tfrecord"),
    "cache": (cached, "target"),
    "index": (indexed, "target"),
}


@pytest.mark.parametrize("make", [pipe, folder, listening])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_file_is_not_replaced(
    way: str, make: Callable[[Path], None], source: Path, tmp_path: Path
) -> None:
    write, name = WAYS[way]
    target = tmp_path / name
    make(target)
    before = target.lstat().st_ino, stat.S_IFMT(target.lstat().st_mode)
    with pytest.raises(tfrecs.FileError, match=name):
        write(source, target)
    assert (target.lstat().st_ino, stat.S_IFMT(target.lstat().st_mode)) == before
    assert tfrecs.leftovers(tmp_path) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_link_to_what_is_no_file_is_not_followed(way: str, source: Path, tmp_path: Path) -> None:
    write, name = WAYS[way]
    pipe(tmp_path / "a-pipe")
    (tmp_path / name).symlink_to("a-pipe")
    with pytest.raises(tfrecs.FileError, match=name):
        write(source, tmp_path / name)
    assert (tmp_path / name).is_symlink()
    assert (tmp_path / "a-pipe").is_fifo()


def test_what_turns_into_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    out = tfrecs.RecordWriter(tmp_path / "target")
    out.write(b"a record")
    pipe(tmp_path / "target")
    with pytest.raises(tfrecs.FileError, match="a device or a pipe of this name"):
        out.close()
    assert (tmp_path / "target").is_fifo()
    assert tfrecs.leftovers(tmp_path) == []


@pytest.mark.parametrize("redirected", ["> out", ">> out", "| cat > out"])
def test_standard_output_is_written_where_it_is(
    redirected: str, source: Path, tmp_path: Path
) -> None:
    kept = b"kept" if ">>" in redirected else b""
    (tmp_path / "out").write_bytes(b"kept")
    code = (
        "import tfrecs\n"
        "with tfrecs.RecordWriter('/dev/stdout') as out:\n"
        "    out.write_batch([b'one', b'two', b'three'])"
    )
    script = f'"{sys.executable}" -c "{code}" {redirected}'
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True)
    assert (tmp_path / "out").read_bytes() == kept + source.read_bytes()


@pytest.mark.parametrize("redirected", ["> out", ">> out", "| cat > out"])
def test_repair_streams(redirected: str, source: Path, tmp_path: Path) -> None:
    needs.found("typer")
    content = source.read_bytes()
    source.write_bytes(content + b"rest")
    (tmp_path / "out").write_bytes(b"kept")
    kept = b"kept" if ">>" in redirected else b""
    command = f"{sys.executable} -c 'from tfrecs.cli import main; main()'"
    script = f"{command} repair source.tfrecord - {redirected}"
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert (tmp_path / "out").read_bytes() == kept + content
    assert "3 records written to standard output" in done.stderr
    assert "4 bytes lost in 1 place" in done.stderr


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o444, 0o400])
def test_what_is_derived_is_no_wider_than_its_source(
    mode: int, source: Path, tmp_path: Path
) -> None:
    source.chmod(mode)
    tfrecs.repair(source, tmp_path / "copy.tfrecord")
    cached(source, tmp_path / "kept")
    indexed(source, tmp_path / "source.idx")
    for name in ("copy.tfrecord", "kept", "source.idx"):
        assert mode_of(tmp_path / name) == mode, name
    replaced = tmp_path / "copy.tfrecord"
    replaced.chmod(0o604)
    tfrecs.repair(source, replaced)
    assert mode_of(replaced) == mode & 0o604


def test_a_cache_is_as_narrow_as_the_narrowest_source(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.tfrecord"
    tfrecs.repair(source, other)
    source.chmod(0o640)
    other.chmod(0o604)
    cached_path = tmp_path / "kept"
    list(tfrecs.Dataset([source, other]).cache(cached_path))
    assert mode_of(cached_path) == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root has all groups")
def test_what_is_derived_has_the_group_of_its_source(source: Path, tmp_path: Path) -> None:
    os.chown(source, -1, 54321)
    source.chmod(0o640)
    tfrecs.repair(source, tmp_path / "copy.tfrecord")
    assert (tmp_path / "copy.tfrecord").stat().st_gid == 54321
    with tfrecs.RecordWriter(source) as out:
        out.write(b"other content")
    assert (source.stat().st_gid, mode_of(source)) == (54321, 0o640)


def test_images_that_are_no_files_are_reported(tmp_path: Path) -> None:
    needs.found("PIL")
    image = importlib.import_module("PIL.Image")
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    image.new("RGB", (2, 2)).save(tmp_path / "photos" / "cat" / "1.png")
    pipe(tmp_path / "photos" / "cat" / "2.png")
    (tmp_path / "photos" / "cat" / "3.png").symlink_to("nowhere.png")
    folder(tmp_path / "photos" / "cat" / "4.png")
    report = convert_images(tmp_path / "photos", tmp_path / "out", on_error="skip")
    assert report.written == 1
    reasons = {Path(one.path).name: one.reason for one in report.skipped}
    assert reasons == {"2.png": "this is not a regular file", "3.png": "No such file or directory"}
    with pytest.raises(tfrecs.FileError, match=r"[23]\.png"):
        convert_images(tmp_path / "photos", tmp_path / "failed")


def test_leftovers_with_names_that_are_no_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe-odd.tfrecord")
    code = (
        "import os, sys, tfrecs\n"
        "out = tfrecs.RecordWriter(os.fsdecode(sys.argv[1].encode('utf-8', 'surrogateescape')))\n"
        "out.write(b'a record'); out.flush(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / name], check=False)
    (left,) = tfrecs.leftovers(tmp_path)
    assert [left] == tfrecs.leftovers(tmp_path / name)
    assert Path(left.target) == tmp_path / name
    assert left.size > 0
    left.remove()
    assert tfrecs.leftovers(tmp_path) == []
