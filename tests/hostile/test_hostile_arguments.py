"""Names that no file can have, and numbers out of range, raise tfrecs.Error."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import needs
import pytest

import tfrecs
from tfrecs import _core
from tfrecs.storage.leftovers import leftovers

NAMES = ["a\0b", "\ud800", "folder/\udfff", "*\0"]

TAKES_A_NAME: dict[str, Callable[[Any], Any]] = {
    "Dataset": tfrecs.Dataset,
    "RecordReader": tfrecs.RecordReader,
    "RecordWriter": tfrecs.RecordWriter,
    "ShardedWriter": lambda name: tfrecs.ShardedWriter(f"{name}-{{shard}}", num_shards=2),
    "build_index": tfrecs.build_index,
    "cache": lambda name: tfrecs.Dataset("sound").cache(name),
    "count": tfrecs.count,
    "follow_events": lambda name: next(tfrecs.follow_events(name, timeout=0)),
    "leftovers": tfrecs.leftovers,
    "open": tfrecs.open,
    "plan_ranges": lambda name: tfrecs.plan_ranges(name, 2),
    "read_manifest": tfrecs.read_manifest,
    "repair": lambda name: tfrecs.repair("sound", name),
    "salvage": tfrecs.salvage,
    "verify": tfrecs.verify,
}


@pytest.mark.parametrize("called", TAKES_A_NAME)
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_that_no_file_can_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with tfrecs.RecordWriter("sound") as out:
        out.write(b"a record")
    with pytest.raises(tfrecs.SpecError, match="a file's name"):
        TAKES_A_NAME[called](name)
    assert [file.name for file in tmp_path.iterdir()] == ["sound"]


@pytest.mark.parametrize("n", [0, -1, True, 1.5, "3", None])
def test_batches_of_no_records_are_refused(tmp_path: Path, n: Any) -> None:
    with tfrecs.RecordWriter(tmp_path / "sound") as out:
        out.write(b"a record")
    for use in (
        tfrecs.RecordReader(tmp_path / "sound").read_batch,
        tfrecs.salvage(tmp_path / "sound").batches,
        tfrecs.Dataset(tmp_path / "sound").batch,
    ):
        with pytest.raises(tfrecs.SpecError):
            use(n)
    assert len(tfrecs.RecordReader(tmp_path / "sound").read_batch(2**80)) == 1


def test_a_compression_that_is_no_text_of_unicode(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.SpecError, match="compression_type"):
        tfrecs.RecordReader(tmp_path / "none", "\ud800")


def test_a_leftover_that_goes_meanwhile_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".a.tfrecs.tmp").write_bytes(b"left")
    assert [left.size for left in leftovers(tmp_path)] == [4]
    gone = (str(tmp_path / ".b.tfrecs.tmp"), str(tmp_path / "b"), False, None)
    monkeypatch.setattr(_core, "find_temporaries", lambda _: [gone])
    assert leftovers(tmp_path) == []


def test_a_manifest_with_a_name_too_long_reports_it(tmp_path: Path) -> None:
    with tfrecs.ShardedWriter(tmp_path / "a-{shard}", num_shards=1, manifest=True) as out:
        out.write(b"a record")
    assert out.manifest_path is not None
    manifest = tfrecs.read_manifest(out.manifest_path)
    entry = manifest.shards[0].__class__(**{**vars(manifest.shards[0]), "name": "x" * 300})
    long = tfrecs.Manifest(manifest.path, (entry,), None)
    [file] = long.verify().files
    assert isinstance(file.error, tfrecs.FileError)


def test_a_file_that_goes_before_a_pass_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with tfrecs.RecordWriter("gone") as out:
        out.write(b"a record")
    datasets = [tfrecs.Dataset("gone", progress=True), tfrecs.Dataset("gone").shuffle(1)]
    (tmp_path / "gone").unlink()
    for dataset in datasets:
        with pytest.raises(tfrecs.Error, match="gone"):
            list(dataset)
        with pytest.raises(tfrecs.Error, match="gone"):
            iter(dataset).state_dict()


def test_a_command_names_the_file_that_the_system_refuses(tmp_path: Path) -> None:
    needs.optional("typer")
    with tfrecs.RecordWriter(tmp_path / "sound") as out:
        out.write(b"a record")
    command = "import tfrecs.cli; tfrecs.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "index", "sound", "--output-dir", "x" * 300],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"tfrecs: {'x' * 300}: File name too long" in done.stderr.replace("\n", "")
