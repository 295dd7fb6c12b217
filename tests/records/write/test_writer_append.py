"""Mode "a": what is there stays, a torn record at the end is cut off, other damage is refused."""

import gzip
import tempfile
import warnings
from pathlib import Path

import frames
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

OLD = [b"first", b"", b"third record"]
NEW = [b"new", b"newer"]
PLAIN = frames.plain(OLD)
STARTS = frames.starts(OLD)


def append(
    path: Path, *records: bytes, compression_type: str = "auto", atomic: bool = True
) -> None:
    with tfrecs.RecordWriter(path, compression_type, mode="a", atomic=atomic) as out:
        out.write_batch(records)


def stop_appending(path: Path) -> None:
    with tfrecs.RecordWriter(path, mode="a") as out:
        out.write_batch([b"x" * 100_000] * 5)
        out.flush()
        raise KeyError("stop")


@pytest.mark.parametrize("atomic", [True, False])
def test_to_nothing(tmp_path: Path, atomic: bool) -> None:
    append(tmp_path / "new", *NEW, atomic=atomic)
    append(frames.save(tmp_path / "empty", b""), *NEW, atomic=atomic)
    append(tmp_path / "new.gz", *NEW, atomic=atomic)
    assert (tmp_path / "new").read_bytes() == frames.plain(NEW)
    assert (tmp_path / "empty").read_bytes() == frames.plain(NEW)
    assert gzip.decompress((tmp_path / "new.gz").read_bytes()) == frames.plain(NEW)


@given(parts=st.lists(st.lists(st.binary(max_size=50), max_size=4), max_size=5))
def test_again_and_again(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[bytes]]
) -> None:
    for name in ("appended", "appended.gz"):
        path = tmp_path_factory.getbasetemp() / name
        path.unlink(missing_ok=True)
        for part in parts:
            append(path, *part)
        if parts:
            records = [record for part in parts for record in part]
            stream = frames.inflated(path.read_bytes()) if "gz" in name else path.read_bytes()
            assert stream == frames.plain(records)
            assert list(tfrecs.RecordReader(path)) == records


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_the_content_decides_and_not_the_name(tmp_path: Path, name: str) -> None:
    path = frames.save(tmp_path / name, PLAIN)
    append(path, *NEW)
    assert path.read_bytes() == frames.plain(OLD + NEW)
    frames.save(path, frames.compressed("GZIP", PLAIN))
    append(path, *NEW)
    assert frames.inflated(path.read_bytes()) == frames.plain(OLD + NEW)


def test_gzip_gets_one_more_member(tmp_path: Path) -> None:
    before = frames.compressed("GZIP", PLAIN)
    path = frames.save(tmp_path / "a.gz", before)
    append(path, *NEW)
    data = path.read_bytes()
    assert data.startswith(before)
    assert gzip.decompress(data[len(before) :]) == frames.plain(NEW)


@pytest.mark.parametrize("told", ["auto", "ZLIB"])
def test_zlib_is_refused(tmp_path: Path, told: str) -> None:
    path = frames.save(tmp_path / "a.zz", frames.compressed("ZLIB", PLAIN))
    with pytest.raises(tfrecs.SpecError, match="cannot append to a ZLIB file") as caught:
        append(path, *NEW, compression_type=told)
    assert caught.value.path == str(path)
    assert path.read_bytes() == frames.compressed("ZLIB", PLAIN)


@pytest.mark.parametrize("found", frames.CODECS)
@pytest.mark.parametrize("told", frames.CODECS)
def test_another_compression_is_refused(tmp_path: Path, found: str, told: str) -> None:
    data = frames.compressed(found, PLAIN)
    path = frames.save(tmp_path / "a", data)
    if found == told and found != "ZLIB":
        append(path, *NEW, compression_type=told)
        assert list(tfrecs.RecordReader(path)) == OLD + NEW
        return
    with pytest.raises(tfrecs.SpecError, match="cannot append"):
        append(path, *NEW, compression_type=told)
    assert path.read_bytes() == data


@pytest.mark.parametrize("atomic", [True, False])
def test_a_tail_torn_at_every_byte(tmp_path: Path, atomic: bool) -> None:
    path = tmp_path / "torn"
    for cut in range(len(PLAIN) + 1):
        frames.save(path, PLAIN[:cut])
        whole = sum(end <= cut for end in STARTS[1:])
        if cut in STARTS:
            append(path, *NEW, atomic=atomic)
        else:
            torn = cut - STARTS[whole]
            size = "1 byte" if torn == 1 else f"{torn} bytes"
            with pytest.warns(RuntimeWarning, match=f"cut off {size} of a torn record"):
                append(path, *NEW, atomic=atomic)
        assert path.read_bytes() == frames.plain(OLD[:whole] + NEW), cut


def test_a_torn_tail_after_many_records(tmp_path: Path) -> None:
    records = [b"%d" % n * 100 for n in range(20_000)]
    data = frames.plain(records)
    path = frames.save(tmp_path / "torn", data[:-1])
    with pytest.warns(RuntimeWarning, match="torn"):
        append(path, *NEW)
    assert list(tfrecs.RecordReader(path)) == records[:-1] + NEW


def test_damage_anywhere_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "damaged"
    for place in range(len(PLAIN)):
        damaged = PLAIN[:place] + bytes([PLAIN[place] ^ 4]) + PLAIN[place + 1 :]
        frames.save(path, damaged)
        with pytest.raises(tfrecs.CorruptRecordError) as caught:
            append(path, *NEW)
        assert caught.value.path == str(path)
        assert path.read_bytes() == damaged


@pytest.mark.parametrize("length", [2**31, 2**40, 2**63, 2**64 - 17, 2**64 - 1])
def test_an_announced_length_that_is_no_torn_record(tmp_path: Path, length: int) -> None:
    """Whether it is repaired or refused, every whole record stays."""
    path = frames.save(tmp_path / "a", PLAIN + frames.header(length) + b"data")
    try:
        with pytest.warns(RuntimeWarning, match="torn"):
            append(path, *NEW)
    except (tfrecs.TruncatedFileError, pytest.fail.Exception):
        assert path.read_bytes() == PLAIN + frames.header(length) + b"data"
    else:
        assert path.read_bytes() == frames.plain(OLD + NEW)


def members(*parts: list[bytes]) -> bytes:
    """A gzip file as ours are made: a member for each flush."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "members.gz"
        with tfrecs.RecordWriter(path) as out:
            for part in parts:
                out.write_batch(part)
                out.flush()
        return path.read_bytes()


CUT = {
    "one stream": frames.compressed("GZIP", PLAIN),
    "two streams": frames.compressed("GZIP", PLAIN[:5]) + frames.compressed("GZIP", PLAIN[5:]),
    "our members": members(OLD[:1], OLD[1:]),
    "ours, then another's": members(OLD[:1]) + frames.compressed("GZIP", PLAIN[STARTS[1] :]),
    "stored": frames.compressed("GZIP", PLAIN, level=0),
}


@pytest.mark.parametrize("name", [*CUT, "our members, in place"])
def test_a_gzip_file_cut_at_every_byte(tmp_path: Path, name: str) -> None:
    """Whatever an inflater gets out of it stays, and what was whole is not touched."""
    name, _, in_place = name.partition(", in place")
    data, atomic = CUT[name], not in_place
    path = tmp_path / "cut.gz"
    most = 0
    for cut in range(1, len(data)):
        frames.save(path, data[:cut])
        stream = frames.inflated(data[:cut])
        whole = OLD[: frames.whole_records(OLD, stream)]
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            append(path, *NEW, atomic=atomic)
        assert list(tfrecs.RecordReader(path)) == whole + NEW, cut
        assert frames.inflated(path.read_bytes()) == frames.plain(whole + NEW), cut
        assert len(warned) <= 1
        is_at_an_end = not warned
        assert not is_at_an_end or stream == frames.plain(whole), cut
        assert [found.name for found in tmp_path.iterdir()] == ["cut.gz"]
        most = max(most, len(whole))
    assert most == len(OLD)


def test_whole_members_are_copied_and_not_made_anew(tmp_path: Path) -> None:
    parts = [[b"%d" % n * 1000] for n in range(10)]
    data = members(*parts)
    path = frames.save(tmp_path / "a.gz", data[:-1])
    with pytest.warns(RuntimeWarning, match="the stream was cut") as warned:
        append(path, *NEW)
    size = int(str(warned[0].message).split("last ")[1].split()[0])
    assert size < len(data) / 5
    kept = len(data) - 1 - size
    assert path.read_bytes()[:kept] == data[:kept]
    assert list(tfrecs.RecordReader(path)) == [part[0] for part in parts] + NEW


def test_a_member_that_says_wrong_things_of_itself_loses_nothing(tmp_path: Path) -> None:
    """How many records begin in a member is protected by no checksum."""
    first, second = members(OLD[:1]), members(OLD[1:])
    for count in (0, 2, 7, 2**32 - 1):
        lying = first[:20] + count.to_bytes(4, "little") + first[24:]
        path = frames.save(tmp_path / "a.gz", lying + second[:-1])
        with pytest.warns(RuntimeWarning, match="the stream was cut"):
            append(path, *NEW)
        whole = frames.whole_records(OLD, frames.inflated(lying + second[:-1]))
        assert list(tfrecs.RecordReader(path)) == OLD[:whole] + NEW


def test_a_large_record_across_members_is_kept_or_cut_as_one(tmp_path: Path) -> None:
    large = bytes(range(256)) * 10_000
    data = members([b"first"], [large], [b"last"])
    for cut in (len(data) - 1, len(data) - 40, len(data) // 2):
        path = frames.save(tmp_path / "a.gz", data[:cut])
        stream = frames.inflated(data[:cut])
        records = [b"first", large, b"last"]
        whole = records[: frames.whole_records(records, stream)]
        with pytest.warns(RuntimeWarning, match="the stream was cut"):
            append(path, *NEW)
        assert list(tfrecs.RecordReader(path)) == whole + NEW


@pytest.mark.parametrize("data", [frames.compressed("GZIP", b""), CUT["one stream"][:12]])
def test_a_gzip_file_without_records_is_begun_anew(tmp_path: Path, data: bytes) -> None:
    """TensorFlow takes an empty member for the end of the file."""
    path = frames.save(tmp_path / "a", data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        append(path, *NEW)
    assert not path.read_bytes().startswith(data[:12])
    assert gzip.decompress(path.read_bytes()) == frames.plain(NEW)


def test_a_first_byte_is_too_little_to_be_known_by(tmp_path: Path) -> None:
    data = frames.plain([bytes(31)])
    assert data[0] == 31  # as gzip's first
    path = frames.save(tmp_path / "a", data[:1])
    with pytest.warns(RuntimeWarning, match="cut off 1 byte "):
        append(path, *NEW)
    assert path.read_bytes() == frames.plain(NEW)


def test_permissions_stay_when_a_cut_file_is_mended(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a.gz", CUT["one stream"][:-3])
    path.chmod(0o640)
    with pytest.warns(RuntimeWarning, match="the stream was cut"):
        append(path, *NEW)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_warning_that_is_an_error_leaves_the_file_free(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "torn", PLAIN[:-1])
    with pytest.raises(RuntimeWarning):
        append(path, *NEW)
    append(path, *NEW)
    assert list(tfrecs.RecordReader(path)) == OLD[:-1] + NEW


@pytest.mark.parametrize(
    "other", [b"name,age\nada,36\n", b"PAR1\x15\x04\x15\x10PAR1", b"\xff" * 99]
)
def test_files_that_are_no_tfrecords_are_refused(tmp_path: Path, other: bytes) -> None:
    path = frames.save(tmp_path / "a", other)
    with pytest.raises((tfrecs.NotTFRecordError, tfrecs.CorruptRecordError)):
        append(path, *NEW)
    assert path.read_bytes() == other


@pytest.mark.parametrize("codec", ["", "GZIP"])
def test_an_exception_restores_what_was_there(tmp_path: Path, codec: str) -> None:
    before = frames.compressed(codec, PLAIN)
    path = frames.save(tmp_path / "a", before)
    with pytest.raises(KeyError):
        stop_appending(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("codec", ["", "GZIP"])
def test_a_dropped_writer_restores_what_was_there(tmp_path: Path, codec: str) -> None:
    before = frames.compressed(codec, PLAIN)
    path = frames.save(tmp_path / "a", before)

    def drop() -> None:
        out = tfrecs.RecordWriter(path, mode="a")
        out.write(b"x")
        out.flush()

    with pytest.warns(ResourceWarning, match="never closed"):
        drop()
    assert path.read_bytes() == before


def test_an_exception_leaves_no_file_where_there_was_none(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        stop_appending(tmp_path / "a")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("codec", ["", "GZIP"])
def test_appending_in_place_keeps_what_was_written(tmp_path: Path, codec: str) -> None:
    """atomic=False is for logs: what was logged before the failure is what one wants to read."""
    path = frames.save(tmp_path / "a", frames.compressed(codec, PLAIN))

    def fail() -> None:
        with tfrecs.RecordWriter(path, mode="a", atomic=False) as out:
            out.write_batch(NEW)
            raise KeyError("stop")

    with pytest.raises(KeyError):
        fail()
    assert list(tfrecs.RecordReader(path)) == OLD + NEW


def test_appending_grows_visibly(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", PLAIN)
    with tfrecs.RecordWriter(path, mode="a") as out:
        for count in range(1, 4):
            out.write(b"more")
            out.flush()
            assert list(tfrecs.RecordReader(path)) == OLD + [b"more"] * count


def test_nothing_appended(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", PLAIN)
    append(path)
    assert path.read_bytes() == PLAIN
    out = tfrecs.RecordWriter(path, mode="a")
    assert (out.num_records, out.compression_type) == (0, "")
    out.close()
    out.close()
    with pytest.raises(tfrecs.StateError):
        out.write(b"late")
    assert path.read_bytes() == PLAIN


def test_a_refused_option_changes_nothing(tmp_path: Path) -> None:
    data = frames.compressed("GZIP", PLAIN)
    path = frames.save(tmp_path / "a", data)
    with pytest.raises(tfrecs.SpecError):
        tfrecs.RecordWriter(path, mode="a", level=99)
    with pytest.raises(tfrecs.SpecError):
        tfrecs.RecordWriter(path, "BZ2", mode="a")
    assert path.read_bytes() == data
