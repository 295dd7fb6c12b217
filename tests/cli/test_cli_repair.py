"""`tfrecs repair`, and what `tfrecs verify --salvage` says."""

import json
from pathlib import Path

import frames
import pytest
from typer.testing import CliRunner, Result

import tfrecs
from tfrecs.cli import count as _count
from tfrecs.cli import repair as _repair
from tfrecs.cli import verify as _verify
from tfrecs.cli.app import app

RECORDS = [b"one", b"two", b"three"]
DATA = frames.plain(RECORDS)
DAMAGED = DATA[:31] + b"?" + DATA[32:]


def run(*arguments: str | Path | int) -> Result:
    assert _repair.repair is not None
    assert _verify.verify is not None
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return frames.save(tmp_path / "a.tfrecord", DAMAGED)


def test_copy(path: Path) -> None:
    clean = path.with_name("b.tfrecord")
    result = run("repair", path, clean)
    assert result.exit_code == 0, result.output
    assert "2 records written" in result.output
    assert "19 bytes lost in 1 place" in result.output
    assert "bytes 19 to 38: corrupted record" in result.output
    assert list(tfrecs.RecordReader(clean)) == [b"one", b"three"]
    assert path.read_bytes() == DAMAGED


def test_in_place(path: Path) -> None:
    result = run("repair", "--in-place", path)
    assert result.exit_code == 0, result.output
    assert list(tfrecs.RecordReader(path)) == [b"one", b"three"]
    backup = path.with_name("a.tfrecord.bak")
    assert backup.read_bytes() == DAMAGED
    assert str(backup) in result.output.replace("\n", "")
    assert run("repair", "--in-place", path).exit_code == 1  # an original is there already
    assert backup.read_bytes() == DAMAGED


def test_in_place_without_damage(path: Path) -> None:
    assert run("repair", "--in-place", path).exit_code == 0
    path.with_name("a.tfrecord.bak").unlink()
    before = path.stat()
    result = run("repair", "--in-place", path)
    assert (result.exit_code, path.stat().st_ino) == (0, before.st_ino)
    assert "nothing is wrong" in result.output
    report = json.loads(run("repair", "--in-place", "--json", path).output)
    assert (report["original"], report["records"]) == (str(path), 2)
    assert not path.with_name("a.tfrecord.bak").exists()


def test_in_place_that_fails(path: Path) -> None:
    assert run("repair", "--in-place", "--max-lost-bytes", "18", path).exit_code == 1
    assert path.read_bytes() == DAMAGED
    assert [each.name for each in path.parent.iterdir()] == ["a.tfrecord"]


def test_usage(path: Path) -> None:
    assert run("repair", path).exit_code == 2
    assert run("repair", "--in-place", path, path).exit_code == 2
    assert run("repair", path.with_name("missing"), path).exit_code == 1
    assert path.read_bytes() == DAMAGED


def test_limit(path: Path) -> None:
    clean = path.with_name("b.tfrecord")
    result = run("repair", "--max-lost-bytes", "18", path, clean)
    assert result.exit_code == 1
    assert not clean.exists()


def test_an_existing_copy_is_replaced_only_if_told(path: Path) -> None:
    clean = frames.save(path.with_name("b.tfrecord"), b"what was there")
    result = run("repair", path, clean)
    assert result.exit_code == 1
    assert "--overwrite replaces the file that is there" in result.output.replace("\n", " ")
    assert clean.read_bytes() == b"what was there"
    result = run("repair", "--overwrite", path, clean)
    assert result.exit_code == 0, result.output
    assert list(tfrecs.RecordReader(clean)) == [b"one", b"three"]


def test_how_much_is_too_much(path: Path) -> None:
    clean = path.with_name("b.tfrecord")
    result = run("repair", "--max-record-bytes", "4", path, clean)
    assert result.exit_code == 1
    assert "max_record_bytes" in result.output
    assert not clean.exists()
    assert run("repair", "--max-record-bytes", "5", path, clean).exit_code == 0
    for command in (_count.count, _verify.verify):
        name = command.__name__
        assert run(name, "--max-record-bytes", "5", clean).exit_code == 0
        result = run(name, "--max-record-bytes", "4", clean)
        assert result.exit_code == 1
        assert "max_record_bytes" in result.output
    assert "TOO LARGE" in result.output
    packed = frames.save(path.with_name("c.gz"), frames.compressed("GZIP", DATA))
    for name in ("count", "verify"):
        assert run(name, "--max-decompressed-bytes", len(DATA), packed).exit_code == 0
        assert run(name, "--max-decompressed-bytes", len(DATA) - 1, packed).exit_code == 1
    # What is read of a file that is damaged is limited too.
    damaged = frames.save(path.with_name("d.gz"), frames.compressed("GZIP", DAMAGED + DATA * 9))
    result = run("verify", "--salvage", "--max-decompressed-bytes", "100", damaged)
    assert result.exit_code == 1
    assert "max_decompressed_bytes" in result.output.replace("\n", " ")


def test_urls(path: Path) -> None:
    for arguments in (("gs://a/b", path.with_name("b")), (path, "gs://a/b")):
        result = run("repair", *arguments)
        assert result.exit_code == 2
        assert "a URL" in result.output


def test_json(path: Path) -> None:
    result = run("repair", "--json", path, path.with_name("b.tfrecord"))
    found = json.loads(result.output)
    assert (found["records"], found["lost_bytes"], found["mended"]) == (2, 19, 0)
    (region,) = found["regions"]
    assert (region["begin"], region["end"], region["type"]) == (19, 38, "CorruptRecordError")


def test_verify_salvages(path: Path) -> None:
    plain = run("verify", path)
    assert plain.exit_code == 1
    assert "can be read" not in plain.output
    result = run("verify", "--salvage", path)
    assert result.exit_code == 1
    assert "2 records can be read" in result.output
    assert "bytes 19 to 38" in result.output
    found = json.loads(run("verify", "--salvage", "--json", path).output)
    (file,) = found["files"]
    assert file["salvage"]["records"] == 2
    assert len(file["salvage"]["regions"]) == 1


def test_a_copy_never_takes_the_place_of_the_original(path: Path) -> None:
    path.with_name("link").symlink_to(path)
    for other in (path, path.parent / "." / path.name, path.with_name("link")):
        result = run("repair", path, other)
        assert result.exit_code == 2
        assert "--in-place replaces it, and keeps the original" in result.output
    assert path.read_bytes() == DAMAGED
