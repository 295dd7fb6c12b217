"""Cut and flip every byte: what is whole is delivered, what is not is named, nothing else comes."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import frames
import pytest

import tfrecs

RECORDS = [b"first", b"", b"hello hello", bytes(range(9)), b"\0"]
STARTS = frames.starts(RECORDS)
PLAIN = frames.plain(RECORDS)
GZIP = frames.compressed("GZIP", PLAIN)
ZLIB = frames.compressed("ZLIB", PLAIN)
# Members that end between two records, inside a record's data, and inside a header.
SPLITS = [STARTS[1], STARTS[2] + 15, STARTS[4] + 5]
MEMBERS = [
    frames.compressed("GZIP", PLAIN[begin:end])
    for begin, end in zip([0, *SPLITS], [*SPLITS, None], strict=True)
]
COMPRESSED = {
    "gzip": GZIP,
    "gzip stored": frames.compressed("GZIP", PLAIN, level=0),
    "gzip members": b"".join(MEMBERS),
    "zlib": ZLIB,
    "zlib stored": frames.compressed("ZLIB", PLAIN, level=0),
}


def drain(
    path: Path, compression_type: str = "auto", verify: bool = True
) -> tuple[list[bytes], tfrecs.Error | None]:
    """The records that come out, and the error that ends them."""
    records: list[bytes] = []
    try:
        for record in tfrecs.RecordReader(path, compression_type, verify):
            records.append(record)  # noqa: PERF402 - those before the error must not be lost
    except tfrecs.Error as error:
        return records, error
    return records, None


def in_batches(path: Path, size: int) -> tuple[list[bytes], tfrecs.Error | None]:
    """As drain, by read_batch."""
    records: list[bytes] = []
    try:
        reader = tfrecs.RecordReader(path)
        while batch := reader.read_batch(size).tolist():
            records += batch
    except tfrecs.Error as error:
        return records, error
    return records, None


def check_position(error: tfrecs.Error | None, path: Path, record: int) -> None:
    """The error says where it is, as attributes and in its text."""
    assert error is not None
    where = (error.path, error.record, error.offset)
    assert where == (str(path), record, STARTS[record])
    assert error.reason
    text = str(error)
    assert text == f"{path}: record {record} at byte {STARTS[record]}: {error.reason}"


def record_at(byte: int) -> int:
    """Which record of PLAIN the byte belongs to."""
    return sum(end <= byte for end in STARTS[1:])


# ---------------------------------------------------------------- uncompressed


def test_undamaged(tmp_path: Path) -> None:
    for name, data in {"plain": PLAIN, **COMPRESSED}.items():
        path = frames.save(tmp_path / name, data)
        assert drain(path) == (RECORDS, None)
        assert tfrecs.count(path) == len(RECORDS)
        assert tfrecs.verify(path).ok


@pytest.mark.parametrize("compression_type", ["auto", ""])
def test_cut_at_every_byte(tmp_path: Path, compression_type: str) -> None:
    path = tmp_path / "cut.tfrecord"
    for cut in range(len(PLAIN)):
        frames.save(path, PLAIN[:cut])
        whole = record_at(cut)
        records, error = drain(path, compression_type)
        assert records == RECORDS[:whole]
        if cut in STARTS:
            assert error is None, f"cut at {cut}, between two records"
            continue
        assert type(error) is tfrecs.TruncatedFileError, f"cut at {cut}: {error!r}"
        check_position(error, path, whole)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_cut_at_every_byte_in_batches(tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.tfrecord"
    for cut in range(len(PLAIN)):
        frames.save(path, PLAIN[:cut])
        records, error = in_batches(path, size)
        assert records == RECORDS[: record_at(cut)]
        assert (error is None) == (cut in STARTS), cut
        if error is not None:
            check_position(error, path, record_at(cut))


def test_cut_at_every_byte_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "cut.tfrecord"
    for cut in set(range(len(PLAIN))) - set(STARTS):
        frames.save(path, PLAIN[:cut])
        with pytest.raises(tfrecs.TruncatedFileError):
            tfrecs.count(path)
        report = tfrecs.verify(path)
        assert not report
        assert report.records == record_at(cut)
        check_position(report.errors[0], path, record_at(cut))


def flips(data: bytes, changes: range | list[int]) -> Iterator[tuple[int, bytes]]:
    """`data` with one byte changed, and which one."""
    damaged = bytearray(data)
    for place, byte in enumerate(data):
        for change in changes:
            damaged[place] = byte ^ change
            yield place, bytes(damaged)
        damaged[place] = byte


def test_every_other_value_of_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "flipped.tfrecord"
    for place, damaged in flips(PLAIN, range(1, 256)):
        frames.save(path, damaged)
        records, error = drain(path)
        assert records == RECORDS[: record_at(place)], place
        assert type(error) is tfrecs.CorruptRecordError, f"byte {place}: {error!r}"
        check_position(error, path, record_at(place))


BITS = [1 << bit for bit in range(8)]


def test_every_flipped_bit_in_batches_and_verify(tmp_path: Path) -> None:
    path = tmp_path / "flipped.tfrecord"
    for place, damaged in flips(PLAIN, BITS):
        frames.save(path, damaged)
        records, error = in_batches(path, 2)
        assert records == RECORDS[: record_at(place)]
        check_position(error, path, record_at(place))
        report = tfrecs.verify(path)
        assert report.records == record_at(place)
        check_position(report.errors[0], path, record_at(place))


def test_without_verify_only_the_data_checksum_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "flipped.tfrecord"
    for place, damaged in flips(PLAIN, BITS):
        frames.save(path, damaged)
        records, error = drain(path, verify=False)
        index = record_at(place)
        if place - STARTS[index] < 12:
            assert records == RECORDS[:index]
            assert isinstance(error, tfrecs.CorruptRecordError)
            check_position(error, path, index)
            continue
        assert error is None
        begin = STARTS[index] + 12
        wrong = damaged[begin : begin + len(RECORDS[index])]
        assert records == [*RECORDS[:index], wrong, *RECORDS[index + 1 :]]


def test_a_fault_is_final(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "flipped.tfrecord", PLAIN[:14] + b"!" + PLAIN[15:])
    reader = tfrecs.RecordReader(path)
    texts = set()
    for _ in range(3):
        with pytest.raises(tfrecs.CorruptRecordError) as caught:
            next(reader)
        texts.add(str(caught.value))
        with pytest.raises(tfrecs.CorruptRecordError):
            reader.read_batch(10)
    assert len(texts) == 1


# ---------------------------------------------------------------- compressed


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("name", COMPRESSED)
def test_cut_a_compressed_file_at_every_byte(tmp_path: Path, name: str, told: bool) -> None:
    data, path = COMPRESSED[name], tmp_path / "cut"
    ends = {sum(map(len, MEMBERS[:n])) for n in range(len(MEMBERS))} if "members" in name else {0}
    for cut in range(len(data)):
        frames.save(path, data[:cut])
        stream = frames.inflated(data[:cut])
        whole = frames.whole_records(RECORDS, stream)
        records, error = drain(path, name[:4].upper() if told else "auto")
        assert records == RECORDS[:whole], cut
        if cut in ends and len(stream) in STARTS:
            assert error is None  # a file of fewer members, whole as it is
            continue
        assert type(error) is tfrecs.TruncatedFileError, f"cut at {cut}: {error!r}"
        check_position(error, path, whole)


def inflated_before(data: bytes) -> bytes:
    """What comes out of the beginning of a compressed file, up to whatever is wrong with it."""
    try:
        return frames.inflated(data)
    except zlib.error:
        return b""


@pytest.mark.parametrize("name", COMPRESSED)
def test_every_flipped_bit_of_a_compressed_file(tmp_path: Path, name: str) -> None:
    data, path = COMPRESSED[name], tmp_path / "flipped"
    for place, damaged in flips(data, BITS):
        frames.save(path, damaged)
        records, error = drain(path)
        assert records == RECORDS[: len(records)], f"byte {place}: a record that was never written"
        if frames.is_harmless(damaged, PLAIN):
            assert (records, error) == (RECORDS, None)
            continue
        assert error is not None, f"byte {place}: damage went unnoticed"
        before = frames.whole_records(RECORDS, inflated_before(data[:place]))
        assert len(records) >= before, f"byte {place}: records before the damage are lost"
        check_position_if_stream(error, path, len(records))


def check_position_if_stream(error: tfrecs.Error, path: Path, record: int) -> None:
    """Damage in the first bytes makes a file of unknown format, in which there are no records."""
    assert isinstance(
        error, tfrecs.CorruptRecordError | tfrecs.TruncatedFileError | tfrecs.NotTFRecordError
    )
    assert error.path == str(path)
    assert error.reason
    if not isinstance(error, tfrecs.NotTFRecordError):
        check_position(error, path, record)


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_records_before_the_damage_come_from_a_large_compressed_file(
    tmp_path: Path, codec: str
) -> None:
    records = [bytes([n % 251]) * 1000 + b"%d" % (n * n) for n in range(300)]
    data = frames.compressed(codec, frames.plain(records), level=1)
    path = tmp_path / "flipped"
    for place in range(len(data) // 3, len(data), len(data) // 40):
        frames.save(path, data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        found, error = drain(path)
        assert found == records[: len(found)]
        assert len(found) >= frames.whole_records(records, frames.inflated(data[:place]))
        assert isinstance(error, tfrecs.CorruptRecordError | tfrecs.TruncatedFileError)
        assert (error.path, error.record) == (str(path), len(found))
        assert error.offset == frames.starts(records)[len(found)]


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_missing_trailer_is_an_error(tmp_path: Path, cut: int) -> None:
    for data in (GZIP, ZLIB):
        path = frames.save(tmp_path / "trailer", data[:-cut])
        records, error = drain(path)
        assert isinstance(error, tfrecs.TruncatedFileError)
        assert "trailer" in error.reason or cut > 4
        assert records == RECORDS[: len(records)]
    assert len(drain(frames.save(tmp_path / "t", GZIP[:-8]))[0]) == len(RECORDS)


@pytest.mark.parametrize("junk", [b"x", b"\0", b"\0" * 16, b"\x1f", b"\x1f\x8c", b"junk" * 100])
@pytest.mark.parametrize("told", [False, True])
def test_trailing_garbage(tmp_path: Path, junk: bytes, told: bool) -> None:
    for codec, data in {"": PLAIN, "GZIP": GZIP, "ZLIB": ZLIB}.items():
        path = frames.save(tmp_path / "junk", data + junk)
        records, error = drain(path, codec if told else "auto")
        assert records == RECORDS
        # Less than a header may be the beginning of another record, or of another member.
        assert isinstance(error, tfrecs.CorruptRecordError | tfrecs.TruncatedFileError)
        assert (error.path, error.record) == (str(path), len(RECORDS))
        assert error.offset == len(PLAIN)


def test_a_second_zlib_stream(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "two", ZLIB + ZLIB)
    for compression_type in ("auto", "ZLIB"):
        records, error = drain(path, compression_type)
        assert records == RECORDS
        assert isinstance(error, tfrecs.CorruptRecordError)
        assert "second stream" in error.reason
        assert (error.path, error.record, error.offset) == (str(path), len(RECORDS), len(PLAIN))
