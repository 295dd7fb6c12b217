"""Indices: where they are kept, and that one that does not fit is never believed."""

import itertools
import os
import shutil
import struct
from itertools import pairwise
from pathlib import Path

import frames
import pytest

import tfrecs

RECORDS = [b"%d" % number * (number % 7) for number in range(300)]
LARGE = [bytes([number % 251]) * 4000 for number in range(600)]


def hidden(path: Path) -> Path:
    return path.with_name(f".{path.name}.tfrindex")


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "cache"))


def read_index(content: bytes) -> tuple[list[int], int]:
    """Read an uncompressed file's index as docs/format.md describes it: the starts, and the end."""
    fields = struct.unpack_from("<8sIIQQQqIIQQII", content)
    magic, version, compression, records, end = fields[:5]
    body, packed, checkpoints, zero, header_sum = fields[8:]
    assert (magic, version, compression, zero) == (b"TFRINDEX", 2, 0, 0)
    assert header_sum == frames.masked_crc(content[:76])
    assert body == frames.masked_crc(content[80:])
    blocks = -(-records // 64)
    distances = content[80 + 16 * blocks : 80 + 16 * blocks + packed]
    assert len(content) == 80 + 16 * blocks + packed + checkpoints
    headers = [struct.unpack_from("<QQ", content, 80 + 16 * block) for block in range(blocks)]
    headers.append((end, 0))
    starts = []
    for block, ((first, rest), (following, _)) in enumerate(itertools.pairwise(headers)):
        count, width, place = min(64, records - 64 * block), rest & 0xFF, rest >> 8
        size = -(-count * width // 8)
        bits = int.from_bytes(distances[place : place + size], "little")
        each, extra = divmod(following - first, count)
        for number in range(count):
            stored = bits >> number * width & (1 << width) - 1
            distance = -(stored + 1 >> 1) if stored & 1 else stored >> 1
            starts.append(first + each * number + extra * number // count + distance)
    return starts, end


def test_the_bytes_are_those_of_the_documentation(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    assert tfrecs.build_index(path) == [os.fspath(hidden(path))]
    content = hidden(path).read_bytes()
    starts = frames.starts(RECORDS)
    assert read_index(content) == (starts[:-1], starts[-1])
    size, modified, samples = struct.unpack_from("<QqI", content, 32)
    data, last = path.read_bytes(), path.stat().st_size - 1024
    pieces = [data[last * number // 7 :][:1024] for number in range(8)]
    assert size == len(data)
    assert modified == path.stat().st_mtime_ns
    assert samples == frames.masked_crc(b"".join(pieces))


def test_a_record_takes_little(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([bytes(760)] * 100_000)
    (place,) = tfrecs.build_index(path)
    assert Path(place).stat().st_size < 0.3 * 100_000


# ---------------------------------------------------------------- where they are kept


def test_small_files_get_none(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    assert tfrecs.open(path).index_paths == [None]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_beside_the_file(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(LARGE))
    first = tfrecs.open(path)
    assert first.index_paths == [os.fspath(hidden(path))]
    assert list(tfrecs.open(path)) == LARGE
    before = hidden(path).stat()
    assert tfrecs.open(tmp_path / "*").paths == [os.fspath(path)], "patterns do not find it"
    assert hidden(path).stat().st_mtime_ns == before.st_mtime_ns, "it was not made again"


def test_only_in_memory(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(LARGE))
    assert tfrecs.open(path, index="memory").index_paths == [None]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    hidden(path).write_bytes(b"not looked at")
    assert tfrecs.open(path, index="memory")[7] == LARGE[7]


def test_in_the_cache_where_the_folder_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    path = frames.save(folder / "a", frames.plain(LARGE))
    (
        folder / f".{path.name}.tfrindex"
    ).mkdir()  # a folder in its place: root may write anywhere else
    (place,) = tfrecs.open(path).index_paths
    assert place is not None
    assert Path(place).parent == tmp_path / "cache" / "tfrecs" / "indices"
    assert tfrecs.open(path).index_paths == [place]
    monkeypatch.chdir(folder)
    assert tfrecs.open("a").index_paths == [place], "by any name of the file"
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert tfrecs.open("a").index_paths == [None]


# ---------------------------------------------------------------- those that do not fit


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    tfrecs.build_index(path)
    assert tfrecs.open(path).index_paths == [os.fspath(hidden(path))]
    return path


def test_every_changed_byte_is_noticed(kept: Path) -> None:
    whole = hidden(kept).read_bytes()
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 1 + place % 255
        hidden(kept).write_bytes(content)
        records = tfrecs.open(kept)
        assert len(records) == len(RECORDS)
        assert records[place % len(RECORDS)] == RECORDS[place % len(RECORDS)]


def test_every_cut_is_noticed(kept: Path) -> None:
    whole = hidden(kept).read_bytes()
    for length in range(len(whole)):
        hidden(kept).write_bytes(whole[:length])
        assert tfrecs.open(kept)[length % len(RECORDS)] == RECORDS[length % len(RECORDS)]
    hidden(kept).write_bytes(whole + b"x")
    assert tfrecs.open(kept).index_paths == [None]


def test_damage_after_the_header_is_noticed_when_it_is_needed(kept: Path) -> None:
    records = tfrecs.open(kept)
    content = bytearray(hidden(kept).read_bytes())
    content[100] ^= 1
    hidden(kept).write_bytes(content)
    assert list(records) == RECORDS
    records = tfrecs.open(kept)
    hidden(kept).unlink()
    assert list(records) == RECORDS


def test_that_of_another_file_is_noticed(kept: Path) -> None:
    """Of the same size, and of the same time."""
    other = [record[::-1] + b"x" for record in RECORDS]
    path = frames.save(kept.with_name("b"), frames.plain(other))
    shutil.copy(hidden(kept), hidden(path))
    assert list(tfrecs.open(path)) == other
    times = (kept.stat().st_atime_ns, kept.stat().st_mtime_ns)
    swapped = [RECORDS[0], *RECORDS[2:], RECORDS[1]]
    frames.save(kept, frames.plain(swapped))
    os.utime(kept, ns=times)
    assert list(tfrecs.open(kept)) == swapped


def test_a_stale_one_is_made_anew(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(LARGE))
    tfrecs.open(path)
    with tfrecs.RecordWriter(path, mode="a") as out:
        out.write(b"one more")
    records = tfrecs.open(path)
    assert (len(records), records[-1]) == (601, b"one more")
    assert records.index_paths == [os.fspath(hidden(path))]
    assert len(tfrecs.open(path)) == 601


def test_what_an_index_with_sound_checksums_cannot_do(kept: Path) -> None:
    """One that was made to deceive leads to errors, or to records that were looked at."""
    whole = hidden(kept).read_bytes()
    for place in range(80, len(whole), 3):
        content = bytearray(whole)
        content[place] ^= 0x55
        content[52:56] = struct.pack("<I", frames.masked_crc(bytes(content[80:])))
        content[76:80] = struct.pack("<I", frames.masked_crc(bytes(content[:76])))
        hidden(kept).write_bytes(content)
        records = tfrecs.open(kept)
        for number in range(0, len(records), 37):
            try:
                assert records[number] == RECORDS[number]
            except tfrecs.Error as error:
                assert error.path == os.fspath(kept)


# ---------------------------------------------------------------- other places, other formats


def test_texts(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    starts = frames.starts(RECORDS)
    lines = [f"{start} {end - start}\n" for start, end in pairwise(starts)]
    assert tfrecs.build_index(path, format="text") == [f"{path}.idx"]
    assert (tmp_path / "a.idx").read_text() == "".join(lines)
    records = tfrecs.open(path, index_paths=tmp_path / "a.idx")
    assert list(records) == RECORDS
    assert records.index_paths == [f"{path}.idx"]
    for wrong in (lines[:-1], lines[1:], [*lines, "x y\n"], ["0 1\n"], ["1 2 3"], [f"0 {2**70}\n"]):
        (tmp_path / "wrong.idx").write_text("".join(wrong))
        with pytest.warns(RuntimeWarning, match="is no index of"):
            records = tfrecs.open(path, index_paths=tmp_path / "wrong.idx")
        assert list(records) == RECORDS


def test_texts_of_compressed_files_are_refused(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.compressed("GZIP", frames.plain(RECORDS)))
    with pytest.raises(tfrecs.SpecError, match="this one is compressed"):
        tfrecs.build_index(path, format="text")
    with pytest.raises(tfrecs.SpecError, match='format must be "binary" or "text"'):
        tfrecs.build_index(path, format="json")


def test_indices_elsewhere(tmp_path: Path) -> None:
    paths = [frames.save(tmp_path / name, frames.plain(RECORDS)) for name in "ab"]
    places = [tmp_path / "one.index", tmp_path / "two.index"]
    assert tfrecs.build_index(paths, places) == [os.fspath(place) for place in places]
    records = tfrecs.open(paths, index_paths=places)
    assert list(records) == RECORDS * 2
    with pytest.raises(tfrecs.SpecError, match="2 files need as many index_paths, not 1"):
        tfrecs.build_index(paths, places[0])
    places[0].write_bytes(b"\xff\xfe")
    with pytest.warns(RuntimeWarning, match="one.index is no index of"):
        assert list(tfrecs.open(paths, index_paths=places)) == RECORDS * 2
    with pytest.raises(FileNotFoundError):
        tfrecs.open(paths[0], index_paths=tmp_path / "none")


def test_indices_that_cannot_be_written(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    with pytest.raises(FileNotFoundError):
        tfrecs.build_index(path, tmp_path / "none" / "index")
