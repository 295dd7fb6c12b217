"""Files of our own beside the data: no link is followed, and they are never wider than the data."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path

import pytest

import tfrecs

RECORDS = [b"%7d" % n for n in range(60_000)]
NOBODY = 65534

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and owners are POSIX's")
only_root = pytest.mark.skipif(
    os.name == "posix" and os.geteuid() != 0, reason="only root gives files away"
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(path: Path) -> Path:
    """A file that is worth an index, in a folder of its own."""
    path.parent.mkdir(exist_ok=True)
    with tfrecs.RecordWriter(path, compression_type="") as out:
        out.write_batch(RECORDS)
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def victim(folder: Path, kind: str) -> Path:
    """Target of a planted link."""
    path = folder / "victim"
    if kind == "file":
        path.write_bytes(b"precious")
    return path


def is_untouched(path: Path, kind: str) -> bool:
    return path.read_bytes() == b"precious" if kind == "file" else not path.exists()


@pytest.mark.parametrize("kind", ["file", "nothing"])
@pytest.mark.parametrize("use", ["open", "shuffle"])
def test_reading_never_writes_through_a_link(tmp_path: Path, kind: str, use: str) -> None:
    path = written(tmp_path / "set" / "a.tfrecord")
    link = path.with_name(".a.tfrecord.tfrindex")
    link.symlink_to(victim(tmp_path, kind))
    if use == "open":
        assert list(tfrecs.open(path)) == RECORDS
    else:
        assert sorted(tfrecs.Dataset(path).shuffle(1)) == RECORDS
    assert is_untouched(tmp_path / "victim", kind)
    assert link.is_symlink()
    # The index is kept where no other user can write.
    (kept,) = (tmp_path / "cache").rglob("*.tfrindex")
    assert mode(kept.parent) == 0o700


@pytest.mark.parametrize("kind", ["file", "nothing"])
def test_an_index_that_was_asked_for_neither(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "set" / "a.tfrecord")
    link = path.with_name("given")
    link.symlink_to(victim(tmp_path, kind))
    with pytest.raises(FileExistsError, match="there is a link of this name"):
        tfrecs.build_index(path, link)
    assert is_untouched(tmp_path / "victim", kind)


@pytest.mark.parametrize("planted", ["FIFO", "folder"])
def test_only_a_file_is_replaced_by_an_index(tmp_path: Path, planted: str) -> None:
    path = written(tmp_path / "set" / "a.tfrecord")
    place = tmp_path / "place"
    os.mkfifo(place) if planted == "FIFO" else place.mkdir()
    with pytest.raises(FileExistsError, match="only a file can be replaced"):
        tfrecs.build_index(path, place)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["place", "set"]
    assert list(tfrecs.RecordReader(path)) == RECORDS


def sharded(folder: Path) -> tfrecs.ShardedWriter:
    template = folder / "a-{shard}-of-{num_shards}"
    return tfrecs.ShardedWriter(template, num_shards=1, manifest=True)


@pytest.mark.parametrize("name", ["a.manifest.json", ".a.manifest.json.tfrecs.PID-0.tmp"])
@pytest.mark.parametrize("kind", ["file", "nothing"])
def test_a_manifest_follows_no_link(tmp_path: Path, kind: str, name: str) -> None:
    (tmp_path / "set").mkdir()
    link = tmp_path / "set" / name.replace("PID", str(os.getpid()))
    link.symlink_to(victim(tmp_path, kind))
    try:
        with sharded(tmp_path / "set") as out:
            out.write(b"a")
    except FileExistsError as error:
        assert name == "a.manifest.json"
        assert "there is a link of this name" in str(error)
    assert is_untouched(tmp_path / "victim", kind)
    assert link.is_symlink()


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o644, 0o400])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_an_index_is_never_wider_than_its_file(tmp_path: Path, bits: int, suffix: str) -> None:
    path = tmp_path / f"a.tfrecord{suffix}"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([os.urandom(100) for _ in range(20_000)])
    path.chmod(bits)
    (index,) = tfrecs.build_index(path)
    assert mode(Path(index)) == bits


def test_a_manifest_keeps_the_mode_of_the_one_before(tmp_path: Path) -> None:
    for _ in range(2):
        with sharded(tmp_path) as out:
            out.write(b"a")
        (tmp_path / "a.manifest.json").chmod(0o600)
    assert mode(tmp_path / "a.manifest.json") == 0o600


@only_root
def test_an_index_of_a_stranger_is_not_believed(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tfrecord")
    (index,) = tfrecs.build_index(path)
    os.chown(index, NOBODY, NOBODY)
    with pytest.warns(RuntimeWarning, match="belongs to somebody who is neither you"):
        assert list(tfrecs.open(path)) == RECORDS
    os.chown(path, NOBODY, NOBODY)  # now it is the owner's of the data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(tfrecs.open(path)) == RECORDS


@only_root
def test_an_index_is_not_left_in_the_folder_of_somebody_else(tmp_path: Path) -> None:
    path = written(tmp_path / "set" / "a.tfrecord")
    os.chown(path.parent, NOBODY, NOBODY)
    assert list(tfrecs.open(path)) == RECORDS
    assert [one.name for one in path.parent.iterdir()] == ["a.tfrecord"]
    assert len(list((tmp_path / "cache").rglob("*.tfrindex"))) == 1


@pytest.mark.parametrize("kind", ["file", "nothing"])
@pytest.mark.parametrize("resume", [False, True])
def test_a_writer_follows_no_link_at_its_temporary(tmp_path: Path, kind: str, resume: bool) -> None:
    path = tmp_path / "set" / "a.tfrecord"
    path.parent.mkdir()
    link = path.with_name(".a.tfrecord.tfrecs.tmp")
    link.symlink_to(victim(tmp_path, kind))
    with tfrecs.RecordWriter(path, resume=resume) as out:
        out.write(b"mine")
    assert list(tfrecs.RecordReader(path)) == [b"mine"]
    assert is_untouched(tmp_path / "victim", kind)


def left_behind(path: Path) -> Path:
    """The file that a killed writer has left."""
    writer = tfrecs.RecordWriter(path)
    writer.write(b"kept")
    writer.flush()
    left = Path(writer.temporary_path or "")
    content = left.read_bytes()
    writer.discard()
    left.write_bytes(content)
    return left


@only_root
def test_resume_takes_nothing_over_from_a_stranger(tmp_path: Path) -> None:
    left = left_behind(tmp_path / "a.tfrecord")
    os.chown(left, NOBODY, NOBODY)
    with tfrecs.RecordWriter(tmp_path / "a.tfrecord", resume=True) as out:
        out.write(b"mine")
    assert list(tfrecs.RecordReader(tmp_path / "a.tfrecord")) == [b"mine"]
    assert list(tfrecs.RecordReader(left)) == [b"kept"]


def test_resume_takes_over_what_is_ours(tmp_path: Path) -> None:
    left_behind(tmp_path / "a.tfrecord")
    with tfrecs.RecordWriter(tmp_path / "a.tfrecord", resume=True) as out:
        out.write(b"mine")
    assert list(tfrecs.RecordReader(tmp_path / "a.tfrecord")) == [b"kept", b"mine"]


def test_a_replaced_file_is_private_from_the_first_moment(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tfrecord")
    path.chmod(0o600)
    with tfrecs.RecordWriter(path) as out:
        assert mode(Path(out.temporary_path or "")) == 0o600
    assert mode(path) == 0o600


@pytest.mark.parametrize("length", [200, 245, 250])
def test_long_names(tmp_path: Path, length: int) -> None:
    path = written(tmp_path / ("a" * length))
    place = tmp_path / ("i" * 255)
    assert tfrecs.build_index(path, place) == [str(place)]
    assert list(tfrecs.open(path)) == RECORDS
    assert list(tfrecs.open(path, index_paths=place)) == RECORDS
