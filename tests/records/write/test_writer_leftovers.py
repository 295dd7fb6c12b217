"""What a killed writer has left is found, can be read and gone on with, and is never lost."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import frames
import pytest

import tfrecs

SOME = [b"one", b"two", b"three"]
REST = [b"four", b"five"]
OLD = frames.plain([b"old"])

KILLED = """
    import os, sys, tfrecs
    path, options = sys.argv[1], eval(sys.argv[2])
    out = tfrecs.RecordWriter(path, **options)
    out.write_batch([b"one", b"two", b"three"])
    out.flush()
    out.write(b"not flushed" * 10)
    os._exit(9)
"""
KINDS: dict[str, dict[str, Any]] = {
    "plain": {"compression_type": ""},
    "members": {"compression_type": "GZIP"},
    "one stream": {"compression_type": "GZIP", "compression_level": 6},
}


def kill(path: Path, **options: Any) -> None:
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path), repr(options)]
    assert subprocess.run(command, check=False).returncode == 9


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def readable(path: str | Path) -> list[bytes]:
    records = []
    try:
        for record in tfrecs.RecordReader(path):
            records.append(record)  # noqa: PERF402 - those before the cut count
    except tfrecs.TruncatedFileError:
        pass
    return records


@pytest.mark.parametrize("mode", ["w", "x"])
@pytest.mark.parametrize("kind", [*KINDS, "zlib"])
def test_what_was_flushed_is_there(tmp_path: Path, kind: str, mode: str) -> None:
    options = KINDS.get(kind, {"compression_type": "ZLIB"})
    kill(tmp_path / "a", mode=mode, **options)
    assert not (tmp_path / "a").exists()
    (leftover,) = tfrecs.leftovers(tmp_path / "a")
    for where in (tmp_path, str(tmp_path / "a")):
        assert tfrecs.leftovers(where) == [leftover]
        assert leftover.target == str(tmp_path / "a")
        assert Path(leftover.path).stat().st_size == leftover.size > 0
        assert readable(leftover.path)[:3] == SOME
    assert tfrecs.leftovers(tmp_path / "b") == []
    leftover.remove()
    leftover.remove()
    assert tfrecs.leftovers(tmp_path) == []


@pytest.mark.parametrize("has_old", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_going_on(tmp_path: Path, kind: str, has_old: bool) -> None:
    path = tmp_path / "a"
    if has_old:
        path.write_bytes(OLD)
    for times in range(3):
        kill(path, resume=True, **KINDS[kind])
        (leftover,) = tfrecs.leftovers(path)
        assert readable(leftover.path)[: 3 * times + 3] == SOME * (times + 1)
    with tfrecs.RecordWriter(path, resume=True, **KINDS[kind]) as out:
        assert out.num_old_records == len(readable(out.temporary_path or ""))
        out.write_batch(REST)
        assert out.num_records == 2
        assert (path.read_bytes() if has_old else None) == (OLD if has_old else None)
    assert list(tfrecs.RecordReader(path)) == SOME * 3 + REST
    assert names(tmp_path) == ["a"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_cut_anywhere(tmp_path: Path, kind: str) -> None:
    """A power cut may leave any part of what was not synced."""
    path, temporary = tmp_path / "a", tmp_path / ".a.tfrecs.tmp"
    kill(path, **KINDS[kind])
    data = temporary.read_bytes()
    for cut in range(1, len(data)):
        frames.save(temporary, data[:cut])
        expected = readable(temporary)
        with tfrecs.RecordWriter(path, resume=True, sync=False, **KINDS[kind]) as out:
            assert out.num_old_records == len(expected)
            out.write_batch(REST)
        assert list(tfrecs.RecordReader(path)) == expected + REST, cut
        assert names(tmp_path) == ["a"]


def test_nothing_to_go_on_with(tmp_path: Path) -> None:
    for records in ([b"a"], [b"b"]):
        with tfrecs.RecordWriter(tmp_path / "a", resume=True) as out:
            assert out.num_old_records == 0
            out.write_batch(records)
        assert list(tfrecs.RecordReader(tmp_path / "a")) == records


def test_appending_to_nothing_goes_on_and_says_so(tmp_path: Path) -> None:
    kill(tmp_path / "a", mode="a")
    with (
        pytest.warns(RuntimeWarning, match="continues with what a writer has left"),
        tfrecs.RecordWriter(tmp_path / "a", mode="a") as out,
    ):
        out.write_batch(REST)
    assert list(tfrecs.RecordReader(tmp_path / "a")) == SOME + REST


def test_a_new_writer_sets_it_aside(tmp_path: Path) -> None:
    """It may hold what is nowhere else."""
    for times in range(1, 4):
        kill(tmp_path / "a")
        with tfrecs.RecordWriter(tmp_path / "a") as out:
            out.write(b"new")
        assert list(tfrecs.RecordReader(tmp_path / "a")) == [b"new"]
        found = tfrecs.leftovers(tmp_path / "a")
        assert [readable(leftover.path) for leftover in found] == [SOME] * times


def test_an_empty_one_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / ".a.tfrecs.tmp").touch()
    tfrecs.RecordWriter(tmp_path / "a").close()
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("end", ["discard", "raise", "drop"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_was_there_stays_when_going_on_fails(tmp_path: Path, kind: str, end: str) -> None:
    path = tmp_path / "a"
    kill(path, **KINDS[kind])
    expected = readable(tfrecs.leftovers(path)[0].path)

    def fail() -> None:
        out = tfrecs.RecordWriter(path, resume=True, **KINDS[kind])
        out.write_batch(REST)
        out.flush()
        if end == "discard":
            out.discard()
        elif end == "raise":
            with out:
                raise KeyError("stop")

    if end == "raise":
        with pytest.raises(KeyError):
            fail()
    else:
        fail()
    (leftover,) = tfrecs.leftovers(path)
    assert readable(leftover.path) == expected
    assert not path.exists()


def test_a_name_that_is_taken_meanwhile_does_not_cost_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    kill(path, mode="x")
    out = tfrecs.RecordWriter(path, mode="x", resume=True)
    out.write_batch(REST)
    path.write_bytes(OLD)
    with pytest.raises(FileExistsError):
        out.close()
    assert path.read_bytes() == OLD
    (leftover,) = tfrecs.leftovers(path)
    assert readable(leftover.path) == SOME


def test_what_cannot_be_gone_on_with_stays(tmp_path: Path) -> None:
    kill(tmp_path / "z", compression_type="ZLIB")
    kill(tmp_path / "g", compression_type="GZIP")
    (tmp_path / ".damaged.tfrecs.tmp").write_bytes(OLD[:12] + b"odl" + OLD[15:])
    before = {leftover.path: leftover.size for leftover in tfrecs.leftovers(tmp_path)}
    with pytest.raises(tfrecs.SpecError, match="ZLIB"):
        tfrecs.RecordWriter(tmp_path / "z", "ZLIB", resume=True)
    with pytest.raises(tfrecs.SpecError, match="GZIP"):
        tfrecs.RecordWriter(tmp_path / "g", "", resume=True)
    with pytest.raises(tfrecs.CorruptRecordError):
        tfrecs.RecordWriter(tmp_path / "damaged", resume=True)
    after = {leftover.path: leftover.size for leftover in tfrecs.leftovers(tmp_path)}
    assert before == after
    assert len(before) == 3


def test_files_of_a_set(tmp_path: Path) -> None:
    """Those that were full are complete, whatever happened to the others."""
    script = """
        import os, sys, tfrecs
        out = tfrecs.ShardedWriter(sys.argv[1], max_records=2)
        out.write_batch([b"%d" % n for n in range(7)])
        out.flush()
        os._exit(9)
    """
    template = str(tmp_path / "{shard}-of-{num_shards}")
    command = [sys.executable, "-c", textwrap.dedent(script), template]
    assert subprocess.run(command, check=False).returncode == 9
    found = tfrecs.leftovers(tmp_path)
    assert [Path(leftover.target).name[0] for leftover in found] == list("0123")
    records = [readable(leftover.path) for leftover in found]
    assert records == [[b"0", b"1"], [b"2", b"3"], [b"4", b"5"], [b"6"]]


def test_what_is_being_written_is_no_leftover(tmp_path: Path) -> None:
    out = tfrecs.RecordWriter(tmp_path / "a")
    out.write(b"a")
    assert tfrecs.leftovers(tmp_path) == []
    out.finish()
    assert tfrecs.leftovers(tmp_path) == []
    assert out.temporary_path is not None
    out.close()
    assert out.temporary_path is None


def test_other_hidden_files_are_nobodys_leftovers(tmp_path: Path) -> None:
    for name in (".a.tmp", "a.tfrecs.tmp", ".a.tfrecs.x-1.tmp", ".a.tfrecs.1.tmp", ".tfrecs.tmp"):
        (tmp_path / name).write_bytes(b"x")
    assert tfrecs.leftovers(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        tfrecs.leftovers(tmp_path / "missing" / "a")
