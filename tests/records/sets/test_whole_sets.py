"""A set of shards is whole, or reading it as one is an error, whenever its writer was stopped."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import needs
import pytest

import tfrecs
from faults.run import HERE, run_script
from faults.sets import NEW, OLD, PATTERN, WAYS, seen
from tfrecs.formats import convert_csv
from tfrecs.storage.journal import own_checksum


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return needs.compiled(HERE / "names.c", tmp_path_factory.mktemp("names"))


@pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD is Linux's")
@pytest.mark.parametrize("way", WAYS)
def test_a_writer_that_is_stopped_at_any_call(way: str, shim: Path, tmp_path: Path) -> None:
    said = run_script("stops.py", way, tmp_path, LD_PRELOAD=str(shim))
    assert said["wrong"] == []
    assert said["tries"] > 30
    assert said["outcomes"]["refused"] > 0


class Interrupted:
    """Ctrl-C at the n-th line that is run of the modules which publish sets."""

    NAMES = ("sharded.py", "journal.py", "shards.py", "whole_sets.py", "paths.py", "writer.py")

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        del arg
        if not frame.f_code.co_filename.endswith(self.NAMES):
            return None
        # Rolling back after an interruption is not interrupted again.
        if event == "line" and frame.f_code.co_name != "__del__":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


@pytest.mark.filterwarnings("ignore:.*was never closed:ResourceWarning")
@pytest.mark.parametrize("way", ["convert to more", "shards with a manifest", "shards"])
def test_an_interrupted_writer_leaves_nothing(way: str, tmp_path: Path) -> None:
    write, overwrite = WAYS[way]
    before = tmp_path / "before"
    before.mkdir()
    write(before)
    outcomes = set()
    for number in range(1, 10_000):
        folder = tmp_path / str(number)
        shutil.copytree(before, folder)
        old_trace = sys.gettrace()
        sys.settrace(Interrupted(number))
        try:
            overwrite(folder)
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(old_trace)
        outcomes.add(seen(folder))
        assert not [*folder.glob(".*")], number
        shutil.rmtree(folder)
    assert outcomes == {"old", "new"}


def written(folder: Path, **options: Any) -> Path:
    folder.mkdir(exist_ok=True)
    with tfrecs.ShardedWriter(folder / "train-{shard}-of-{num_shards}", **options) as out:
        out.write_batch(OLD)
    return folder


READS: dict[str, Callable[[Path], object]] = {
    "Dataset": lambda folder: list(tfrecs.Dataset(folder)),
    "open": tfrecs.open,
    "count": tfrecs.count,
    "verify": tfrecs.verify,
    "a pattern": lambda folder: tfrecs.count(folder / "train-*-of-*"),
    "a list": lambda folder: tfrecs.count(sorted(folder.glob("train-*-of-*"))),
}


@pytest.mark.parametrize("read", READS)
def test_files_that_differ_from_their_manifest(read: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3, manifest=True)
    READS[read](folder)
    with tfrecs.RecordWriter(folder / "train-1-of-3") as out:
        out.write(b"something else")
    with pytest.raises(
        tfrecs.CorruptRecordError, match=r"manifest\.json: the set is not whole.*42 bytes"
    ):
        READS[read](folder)
    assert tfrecs.count(folder / "train-1-of-3") == 1  # one file is no set
    (folder / "train.manifest.json").unlink()
    READS[read](folder)


@pytest.mark.parametrize("read", READS)
def test_files_that_a_manifest_does_not_have(read: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3, manifest=True)
    shutil.copy(folder / "train-1-of-3", folder / "train-2-of-4")
    with pytest.raises(tfrecs.CorruptRecordError, match="does not name train-2-of-4"):
        READS[read](folder)
    (folder / "train-2-of-4").rename(folder / "extra.tfrecord")
    READS[read](folder)


@pytest.mark.parametrize("read", sorted(READS.keys() - {"a list"}))
def test_files_that_only_the_manifest_has(read: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3, manifest=True)
    (folder / "train-1-of-3").unlink()
    with pytest.raises(tfrecs.CorruptRecordError, match="names train-1-of-3, which is not there"):
        READS[read](folder)
    # A list of files need not name the whole set.
    assert tfrecs.count(sorted(folder.glob("train-*-of-*"))) == 5


def test_manifests_of_others_are_not_ours(tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3)
    (folder / "train.manifest.json").write_text('{"shards": ["train-0-of-3"]}')
    (folder / "manifest.json").write_text("no JSON")
    assert tfrecs.count(folder) == len(OLD)


def test_a_manifest_of_what_is_replaced_goes(tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3, manifest=True)
    written(folder, num_shards=3)
    assert not (folder / "train.manifest.json").exists()
    assert tfrecs.count(folder) == len(OLD)


def test_journals_of_other_files_do_not_matter(tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3)
    journal(folder, [], ["val-0-of-1"])
    assert tfrecs.count(folder) == len(OLD)
    journal(folder, [], ["train-0-of-3"])
    with pytest.raises(tfrecs.FileError, match=r"not whole: its writer was killed.*repair .*set"):
        tfrecs.count(folder)
    assert tfrecs.count(folder / "train-0-of-3") == 3


def journal(folder: Path, moves: list[dict[str, Any]], old: list[str]) -> Path:

    data = {"format": "tfrecs journal", "version": 1, "moves": moves, "old": old}
    path = folder / ".set.tfrecs.journal"
    path.write_text(json.dumps({**data, "crc32": own_checksum(data)}))
    return path


@pytest.mark.parametrize(
    "name", ["../precious", "/precious", "a/b", "", ".", "..", "a\0b", 7, None, ["a"]]
)
def test_a_journal_names_files_of_its_folder_only(name: Any, tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3)
    (tmp_path / "precious").write_bytes(b"precious")
    entry = {"from": ".a.tfrecs.1-1.tmp", "to": name, "size": 0, "crc32": "00000000"}
    for moves, old in (([entry], []), ([{**entry, "from": name}], []), ([], [name])):
        path = journal(folder, moves, old)
        with pytest.raises(tfrecs.CorruptRecordError, match="not a sound journal"):
            tfrecs.repair(folder)
        with pytest.raises(tfrecs.CorruptRecordError, match="not a sound journal"):
            tfrecs.count(folder)
        path.unlink()
    assert (tmp_path / "precious").read_bytes() == b"precious"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root gives files away")
def test_a_journal_of_another_user_is_not_obeyed(tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3)
    path = journal(folder, [], ["train-0-of-3"])
    os.chown(path, 65534, -1)
    with pytest.raises(tfrecs.FileError, match="another user's"):
        tfrecs.repair(folder)
    assert (folder / "train-0-of-3").exists()


def test_a_lost_file_takes_back_what_nobody_has_seen(tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3)
    waiting = folder / ".train-0-of-3.tfrecs.1-1.tmp"
    waiting.write_bytes(b"")
    entry = {"from": waiting.name, "to": "train-0-of-3", "size": 0, "crc32": "00000000"}
    lost = {**entry, "from": ".b.tfrecs.1-2.tmp", "to": "train-1-of-3", "size": 7}
    journal(folder, [entry, lost], [])
    assert tfrecs.leftovers(folder) == []
    (finished,) = tfrecs.repair(folder)
    assert (finished.published, finished.removed) == ((), (str(waiting),))
    assert tfrecs.count(folder / PATTERN) == len(OLD)


def test_a_lost_file_of_a_set_that_is_half_published(tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3)
    size = (folder / "train-0-of-3").stat().st_size

    crc32 = f"{zlib.crc32((folder / 'train-0-of-3').read_bytes()):08x}"
    entry = {"from": ".a.tfrecs.1-1.tmp", "to": "train-0-of-3", "size": size, "crc32": crc32}
    lost = {**entry, "from": ".b.tfrecs.1-2.tmp", "to": "train-1-of-3", "size": 7}
    path = journal(folder, [entry, lost], ["train-2-of-3"])
    with pytest.raises(tfrecs.CorruptRecordError, match="1 file of 2 lost, such as train-1-of-3"):
        tfrecs.repair(folder)
    assert path.exists()
    assert (folder / "train-2-of-3").exists()


def test_repair_of_a_folder_with_nothing_to_do(tmp_path: Path) -> None:
    folder = written(tmp_path / "set", num_shards=3)
    assert tfrecs.repair(folder) == []
    with pytest.raises(tfrecs.SpecError, match="say where the clean copy goes"):
        tfrecs.repair(folder / "train-0-of-3")


def test_a_failing_conversion_removes_only_its_own(tmp_path: Path) -> None:
    """Another run publishes the same split while this one reads its input."""
    (tmp_path / "table.csv").write_text("a\n1\n2\n")
    folder = tmp_path / "out"
    folder.mkdir()

    def other_run(done: int, total: int) -> None:
        del done, total
        if not any(folder.glob("table-*")):
            with tfrecs.RecordWriter(folder / "table-00000-of-00001.tfrecord") as out:
                out.write(b"of another run")

    with pytest.raises(FileExistsError, match="table-00000-of-00001"):
        convert_csv(tmp_path / "table.csv", folder, num_shards=2, progress=other_run)
    assert [*tfrecs.RecordReader(folder / "table-00000-of-00001.tfrecord")] == [b"of another run"]
    assert tfrecs.leftovers(folder) == []


@pytest.mark.skipif(os.name != "posix", reason="locks are POSIX's")
def test_a_writer_that_is_at_it_is_told_from_a_dead_one(tmp_path: Path) -> None:
    fcntl: Any = importlib.import_module("fcntl")
    folder = written(tmp_path / "set", num_shards=3)
    path = journal(folder, [], ["train-0-of-3"])
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(tfrecs.FileError, match="is giving the files their names"):
            tfrecs.count(folder)
        with pytest.raises(tfrecs.FileError, match="another writer"):
            tfrecs.repair(folder)
        with pytest.raises(tfrecs.FileError, match="another writer"):
            convert_csv(_table(tmp_path), folder)


def _table(folder: Path) -> Path:
    (folder / "table.csv").write_text("a\n1\n")
    return folder / "table.csv"


def test_long_names(tmp_path: Path) -> None:
    name = "x" * 230
    for _ in range(2):
        with tfrecs.ShardedWriter(tmp_path / (name + "-{shard}"), 2, manifest=True) as out:
            out.write_batch(NEW)
        assert tfrecs.count(tmp_path) == len(NEW)
        assert tfrecs.read_manifest(str(out.manifest_path)).verify().ok


def test_a_new_folder_appears_in_one_step(tmp_path: Path) -> None:
    target = tmp_path / "a" / "set"
    with tfrecs.new_folder(target) as folder:
        written(folder, num_shards=3, manifest=True)
        assert not target.exists()
        assert folder.parent == target.parent
    assert tfrecs.count(target) == len(OLD)
    assert tfrecs.read_manifest(target / "train.manifest.json").verify().ok
    assert [*target.parent.iterdir()] == [target]
    with pytest.raises(FileExistsError, match="something of this name already"):
        tfrecs.new_folder(target).__enter__()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_new_folder_that_fails_leaves_nothing(error: type[BaseException], tmp_path: Path) -> None:
    def fail() -> None:
        with tfrecs.new_folder(tmp_path / "set") as folder:
            (folder / "a").touch()
            raise error

    with pytest.raises(error):
        fail()
    assert [*tmp_path.iterdir()] == []


def test_a_new_folder_never_replaces(tmp_path: Path) -> None:
    with (
        pytest.raises(FileExistsError, match="something of this name already"),
        tfrecs.new_folder(tmp_path / "set"),
    ):
        (tmp_path / "set").mkdir()
    assert [*tmp_path.iterdir()] == [tmp_path / "set"]


def test_a_killed_new_folder_is_a_leftover(tmp_path: Path) -> None:
    code = (
        "import os, sys, tfrecs\n"
        "with tfrecs.new_folder(sys.argv[1]) as folder:\n"
        "    (folder / 'a').touch(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "set"], check=False)
    (left,) = tfrecs.leftovers(tmp_path)
    assert Path(left.target) == tmp_path / "set"
    left.remove()
    assert [*tmp_path.iterdir()] == []
