"""A folder means all TFRecord files in it, and nothing in it is left out without a word."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import threading
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import frames
import needs
import pytest

import tfrecs
from tfrecs import SkippedFilesWarning
from tfrecs.errors import MissingFileError
from tfrecs.storage.folders import find_files, has_record_name

RECORDS = [b"one record", b"another"]
PLAIN = frames.plain(RECORDS)

NAMES = [
    *("a.tfrecord", "A.TFRECORD", "a.tfrecords", "a.tfrec", "a.tfrecs", "a.tf_record", "a.tfr"),
    *("a.record", "a.records", "a.tfrecord.gz", "a.record.zlib", "a.tfr.GZ", "a.tfrecord.zst"),
    *("a.tfrecord-00000-of-00010", "a.record-00001-of-00002.gz", "train.b.tfrecord"),
    *("part-r-00000", "part-00000", "part-m-00000.gz", "part-0.bz2", "PART-1"),
    *("events.out.tfevents.123.host", "000_worker_0.tfevents", "x.tfevents.gz"),
]
OTHER_NAMES = [
    *("a-00000-of-00002", "train-00000-of-00010", "a.recordio", "a.recordio.gz", "a.txt", "a"),
    *("part-00000.parquet", "part-0.csv.gz", "apart-0", "a.tfrecord.txt", "a.tfrecord.bak"),
    *("record", "tfrecord", "a.array_record-00000-of-00002", "a.bag", "a.tfrecordx", "a.gz"),
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_records(name: str) -> None:
    assert has_record_name(name)


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names(name: str) -> None:
    assert not has_record_name(name)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
BAD: dict[str, bytes] = {
    "damaged header": b"\xff" + PLAIN[1:],
    "git-lfs": POINTER,
    "HTML": b"<!DOCTYPE html><html>404</html>",
    "torn": PLAIN[:5],
    "text": b"hello, world",
    "gzip of text": gzip.compress(b"hello, world" * 10, mtime=0),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", BAD)
def test_a_file_with_such_a_name_is_never_skipped(tmp_path: Path, name: str, kind: str) -> None:
    frames.save(tmp_path / name, BAD[kind])
    frames.save(tmp_path / "z.tfrecord", PLAIN)
    assert find_files(tmp_path).files == sorted([f"{tmp_path}/{name}", f"{tmp_path}/z.tfrecord"])
    for use in (tfrecs.count, tfrecs.open, lambda path: list(tfrecs.Dataset(path))):
        with pytest.raises(tfrecs.Error) as caught:
            use(tmp_path)
        assert caught.value.path == f"{tmp_path}/{name}"
    assert [file.error is None for file in tfrecs.verify(tmp_path).files].count(False) == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_one_is_a_shard_without_records(tmp_path: Path, name: str) -> None:
    frames.save(tmp_path / name, b"")
    assert tfrecs.count(tmp_path) == 0
    assert len(tfrecs.verify(tmp_path).files) == 1


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zlib": zlib.compress,
}


@pytest.mark.parametrize("name", OTHER_NAMES)
@pytest.mark.parametrize("codec", CODECS)
def test_other_names_count_by_their_first_bytes(tmp_path: Path, name: str, codec: str) -> None:
    frames.save(tmp_path / name, CODECS[codec](PLAIN))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tfrecs.count(tmp_path) == 2
        assert list(tfrecs.open(tmp_path)) == RECORDS
        assert list(tfrecs.Dataset(tmp_path)) == RECORDS
        assert tfrecs.verify(tmp_path).ok
        assert len(tfrecs.build_index(tmp_path)) == 1


SKIPPED = {**BAD, "empty": b"", "newline": b"\n", "zeros": bytes(100), "short": PLAIN[:11]}


@pytest.mark.parametrize("kind", SKIPPED)
def test_what_is_skipped_is_reported_once(tmp_path: Path, kind: str) -> None:
    frames.save(tmp_path / "a.tfrecord", PLAIN)
    frames.save(tmp_path / "other.dat", SKIPPED[kind])
    for use in (tfrecs.count, tfrecs.open, tfrecs.Dataset, tfrecs.verify, tfrecs.build_index):
        with pytest.warns(SkippedFilesWarning) as said:
            use(tmp_path)
        (warning,) = said
        assert str(warning.message) == (
            f"skipped 1 file that is not TFRecord: {tmp_path}/other.dat"
        )
        assert warning.filename == __file__


@pytest.mark.parametrize("size", range(len(PLAIN) + 1))
def test_a_torn_file_counts_from_its_header_on(tmp_path: Path, size: int) -> None:
    frames.save(tmp_path / "torn", PLAIN[:size])
    frames.save(tmp_path / "a.tfrecord", PLAIN)
    assert len(find_files(tmp_path).files) == 1 + (size >= 12)


def test_a_folder_of_nothing_else_is_an_error(tmp_path: Path) -> None:
    for name in "abcde":
        (tmp_path / name).write_text("words of a text")
    with pytest.raises(MissingFileError) as caught:
        tfrecs.count(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: no TFRecord file in this folder (skipped 5 files that are not TFRecord: "
        f"{tmp_path}/a, {tmp_path}/b, {tmp_path}/c, …)"
    )


def test_hidden_files_and_our_own_are_not_reported(tmp_path: Path) -> None:
    with tfrecs.ShardedWriter(tmp_path / "a-{shard}.tfrecord", num_shards=2, manifest=True) as out:
        out.write_batch(RECORDS)
    tfrecs.build_index(tmp_path)
    tfrecs.build_index(tmp_path, format="text")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (tmp_path / ".hidden").write_text("text")
    found = find_files(tmp_path)
    assert (len(found.files), found.skipped) == (2, [])


def test_a_file_of_records_counts_under_a_name_of_ours(tmp_path: Path) -> None:
    for name in ("data.idx", "a.manifest.json", "b.tfrindex"):
        frames.save(tmp_path / name, PLAIN)
    assert len(find_files(tmp_path).files) == 3


def test_a_folder_with_a_leftover_alone_says_so(tmp_path: Path) -> None:
    killed(tmp_path, "a.tfrecord")
    with pytest.raises(MissingFileError, match="a writer that was killed left"):
        tfrecs.count(tmp_path)


def test_folders_below_and_links(tmp_path: Path) -> None:
    inner = tmp_path / "set" / "inner.tfrecord"
    inner.mkdir(parents=True)
    frames.save(inner / "a", PLAIN)
    frames.save(tmp_path / "elsewhere.bin", PLAIN)
    (tmp_path / "set" / "link").symlink_to(tmp_path / "elsewhere.bin")
    (tmp_path / "set" / "circle").symlink_to(tmp_path / "set")
    found = find_files(tmp_path / "set")
    assert found.files == [f"{inner}/a", f"{tmp_path}/set/link"]
    assert found.skipped == [f"{tmp_path}/set/circle"]


def test_a_link_that_leads_nowhere_counts_by_its_name(tmp_path: Path) -> None:
    frames.save(tmp_path / "a.tfrecord", PLAIN)
    (tmp_path / "b.tfrecord").symlink_to(tmp_path / "nowhere")
    with pytest.raises(MissingFileError, match="No such file"):
        tfrecs.count(tmp_path)


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    frames.save(tmp_path / "a.tfrecord", PLAIN)
    os.mkfifo(tmp_path / "b.tfrecord")
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(find_files(tmp_path)), daemon=True)
    thread.start()
    thread.join(20)
    assert [one.skipped for one in found] == [[f"{tmp_path}/b.tfrecord"]]


def test_several_paths_keep_their_order(tmp_path: Path) -> None:
    for name in ("b/2.tfrecord", "b/1.tfrecord", "a/3.tfrecord"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        frames.save(tmp_path / name, PLAIN)
    found = find_files([tmp_path / "b", tmp_path / "a" / "3.tfrecord"])
    assert [Path(path).stem for path in found.files] == ["1", "2", "3"]
    found = find_files(str(tmp_path / "*"))
    assert [Path(path).stem for path in found.files] == ["3", "1", "2"]


def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    frames.save(tmp_path / "b.tfrecord", PLAIN)
    for use in READS:
        use(tmp_path)  # imports what the other user may not be able to
    as_another_user(tmp_path, lambda: check_unreadable(tmp_path))


NOBODY = 65534

READS: list[Callable[[Path], Any]] = [
    tfrecs.count,
    tfrecs.open,
    lambda path: list(tfrecs.Dataset(path)),
]


def as_another_user(folder: Path, run: Callable[[], None]) -> None:
    """Run something as a user from whom files can be kept, in a folder that is open to all."""
    if os.geteuid() != 0:
        run()
        return
    for parent in (folder, *folder.parents[:-2]):
        parent.chmod(parent.stat().st_mode | 0o011)
    folder.chmod(0o777)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.setuid(NOBODY)
            with report_of(folder):
                run()
            os._exit(0)
        os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, (folder / "report.txt").read_text()


@contextlib.contextmanager
def report_of(folder: Path) -> Iterator[None]:
    """Write down what goes wrong in another process."""
    try:
        yield
    except BaseException:
        (folder / "report.txt").write_text(traceback.format_exc())
        raise


def check_unreadable(folder: Path) -> None:
    """A file that may not be read is an error by its name or, where only bytes could tell, too."""
    for name in ("a.tfrecord", "plain"):
        frames.save(folder / name, PLAIN)
        (folder / name).chmod(0)
        for use in READS:
            with pytest.raises(PermissionError) as caught:
                use(folder)
            assert str(folder / name) in str(caught.value)
        (folder / name).unlink()


# What reads all of a file, or raises.
ALL_OF: dict[str, Callable[[Path], Any]] = {
    "reader": lambda path: list(tfrecs.RecordReader(path)),
    "count": tfrecs.count,
    "open": tfrecs.open,
    "verify": lambda path: raised(tfrecs.verify(path).files[0].error),
    "dataset": lambda path: list(tfrecs.Dataset(path)),
}


def raised(error: Exception | None) -> None:
    if error is not None:
        raise error


# ---------------------------------------------------------------- real files

# Of the 76 files one event file is corrupt, and these are no TFRecords.
NEGATIVE: dict[str, tuple[type[tfrecs.Error], str]] = {
    "PaddlePaddle__VisualDL/vdlrecords.1621839455.log": (tfrecs.NotTFRecordError, "a VisualDL log"),
    # The format is not public; nothing says what it is.
    "google-research__pegasus/data.recordio": (tfrecs.CorruptRecordError, "its length field"),
    "google__grain/alphabet.bag-00000-of-00002": (tfrecs.NotTFRecordError, "Bagz"),
    "google__grain/digits.array_record-00000-of-00002": (tfrecs.NotTFRecordError, "ArrayRecord"),
}


def test_real_files_of_other_programs() -> None:
    data = needs.shared_data()
    manifest = json.loads((data / "MANIFEST.json").read_text())
    valid = {entry["file"] for entry in manifest if entry["category"] == "valid"}
    found = find_files(data)
    seen = {os.path.relpath(path, data) for path in found.files}
    assert len(valid) == 71
    assert valid <= seen
    (corrupt,) = seen - valid
    assert "tfevents" in corrupt
    skipped = sorted(os.path.relpath(path, data) for path in found.skipped)
    assert skipped == ["MANIFEST.json", *NEGATIVE]
    with pytest.warns(SkippedFilesWarning, match="skipped 5 files"):
        report = tfrecs.verify(data)
    assert [os.path.relpath(error.path or "", data) for error in report.errors] == [corrupt]
    with pytest.warns(SkippedFilesWarning):
        assert tfrecs.count(data) > 71


@pytest.mark.parametrize("use", ["reader", "count", "open", "verify", "dataset"])
@pytest.mark.parametrize("name", NEGATIVE)
def test_real_files_of_other_formats_give_their_error(name: str, use: str) -> None:
    kind, said = NEGATIVE[name]
    with pytest.raises(kind, match=said) as caught:
        ALL_OF[use](needs.shared_data() / name)
    assert (caught.value.path or "").endswith(name)
    assert type(caught.value) is kind


# ---------------------------------------------------------------- files that are not there


def killed(folder: Path, name: str) -> Path:
    """A file whose writer was killed: its records are in a hidden file beside it."""
    path = folder / name
    writer = tfrecs.RecordWriter(path)
    writer.write(b"kept")
    writer.flush()
    assert writer.temporary_path is not None
    content = Path(writer.temporary_path).read_bytes()
    left = Path(writer.temporary_path)
    writer.discard()
    left.write_bytes(content)
    return path


@pytest.mark.parametrize("use", ALL_OF)
def test_a_missing_file_mentions_what_a_killed_writer_left(tmp_path: Path, use: str) -> None:
    path = killed(tmp_path, "a.tfrecord")
    with pytest.raises(MissingFileError, match="a writer that was killed left") as caught:
        ALL_OF[use](path)
    (left,) = tfrecs.leftovers(path)
    assert left.path in str(caught.value)
    assert "resume=True" in str(caught.value)


@pytest.mark.parametrize("use", ["count", "open", "verify", "dataset"])
@pytest.mark.parametrize("pattern", ["a*.tfrecord", "?.tfrecord", "**/a.tfrecord"])
def test_a_pattern_that_matches_nothing_does_too(tmp_path: Path, use: str, pattern: str) -> None:
    (tmp_path / "inner").mkdir()
    killed(tmp_path / "inner" if "**" in pattern else tmp_path, "a.tfrecord")
    with pytest.raises(MissingFileError, match="no file matches this pattern; a writer that was"):
        ALL_OF[use](tmp_path / pattern)
    with pytest.raises(MissingFileError, match=r"no file matches this pattern$"):
        ALL_OF[use](tmp_path / "b*.tfrecord")


def test_a_manifest_checks_a_folder(tmp_path: Path) -> None:
    template = tmp_path / "a-{shard}.tfrecord"
    with tfrecs.ShardedWriter(template, num_shards=2, manifest=True) as out:
        out.write_batch(RECORDS)
    (name,) = tmp_path.glob("*.json")
    manifest = tfrecs.read_manifest(name)
    assert manifest.verify(tmp_path).ok
    frames.save(tmp_path / "b.tfrecord", PLAIN)
    (error,) = manifest.verify(tmp_path).errors
    assert (error.path, error.reason) == (
        f"{tmp_path}/b.tfrecord",
        "the manifest does not have this file",
    )


def test_a_pattern_for_one_file_mentions_what_expands_it(tmp_path: Path) -> None:
    frames.save(tmp_path / "a1.tfrecord", PLAIN)
    with pytest.raises(MissingFileError, match="a pattern is expanded by open"):
        tfrecs.RecordReader(tmp_path / "a*.tfrecord")
    with pytest.raises(MissingFileError) as caught:
        tfrecs.RecordReader(tmp_path / "a.tfrecord")
    assert str(caught.value) == f"{tmp_path}/a.tfrecord: No such file or directory"
    assert caught.value.errno == 2
