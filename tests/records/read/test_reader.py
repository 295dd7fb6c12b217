"""Reading files: compressions found from the bytes, hostile lengths, no files, threads."""

import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import frames
import pytest
from frames import fifo
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

RECORDS = [b"first", b"", b"x" * 1000]


# ---------------------------------------------------------------- compression


@pytest.mark.parametrize("codec", frames.CODECS)
@pytest.mark.parametrize("name", ["a", "a.gz", "a.zz", "a.tfrecord"])
def test_auto_goes_by_the_bytes(tmp_path: Path, codec: str, name: str) -> None:
    path = frames.save(tmp_path / name, frames.compressed(codec, frames.plain(RECORDS)))
    with tfrecs.RecordReader(path) as reader:
        assert reader.compression_type == codec
        assert list(reader) == RECORDS
    assert list(tfrecs.RecordReader(path, codec)) == RECORDS
    with fifo(tmp_path / "fifo", path.read_bytes()) as pipe:
        assert list(tfrecs.RecordReader(pipe)) == RECORDS


def test_none_is_tensorflows_no_compression(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    assert list(tfrecs.RecordReader(path, None)) == RECORDS


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
@pytest.mark.parametrize("level", range(10))
def test_auto_with_every_level(tmp_path: Path, codec: str, level: int) -> None:
    data = frames.compressed(codec, frames.plain(RECORDS), level)
    path = frames.save(tmp_path / "a", data)
    assert list(tfrecs.RecordReader(path)) == RECORDS


@given(cuts=st.lists(st.integers(0, len(frames.plain(RECORDS))), max_size=6))
def test_members_may_begin_anywhere(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    data = frames.plain(RECORDS)
    edges = [0, *sorted(cuts), len(data)]
    members = [frames.compressed("GZIP", data[begin:end]) for begin, end in pairwise(edges)]
    path = frames.save(tmp_path_factory.getbasetemp() / "members", b"".join(members))
    assert list(tfrecs.RecordReader(path)) == RECORDS
    assert tfrecs.count(path) == 3


@pytest.mark.parametrize("codec", frames.CODECS)
def test_no_records(tmp_path: Path, codec: str) -> None:
    path = frames.save(tmp_path / "a", frames.compressed(codec, b""))
    assert list(tfrecs.RecordReader(path)) == list(tfrecs.RecordReader(path, codec)) == []
    assert len(tfrecs.RecordReader(path).read_batch(5)) == 0
    assert tfrecs.count(path) == 0
    assert tfrecs.verify(path).ok


def test_a_zero_length_file_has_no_records_whatever_it_is_told(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a.gz", b"")
    for compression_type in ("auto", *frames.CODECS):
        assert list(tfrecs.RecordReader(path, compression_type)) == []


# Lengths whose first bytes are the magic number of gzip (with and without its method) and zlib's.
MAGIC_LENGTHS = [0x8B1F, 0x088B1F, 0x0178, 0x5E78, 0x9C78, 0xDA78, 0x9518]


@pytest.mark.parametrize("length", MAGIC_LENGTHS)
def test_a_length_that_looks_compressed(tmp_path: Path, length: int) -> None:
    records = [b"\x08" * length, b"next"]
    path = tmp_path / "a"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(records)
    assert path.read_bytes()[:8] == struct.pack("<Q", length)
    with tfrecs.RecordReader(path) as reader:
        assert reader.compression_type == ""
        assert list(reader) == records
    assert list(tfrecs.RecordReader(path, "")) == records


@pytest.mark.parametrize("told", ["GZIP", "ZLIB"])
def test_the_wrong_compression_is_named(tmp_path: Path, told: str) -> None:
    for codec in set(frames.CODECS) - {told}:
        path = frames.save(tmp_path / "a", frames.compressed(codec, frames.plain(RECORDS)))
        with pytest.raises(tfrecs.CorruptRecordError) as caught:
            list(tfrecs.RecordReader(path, told))
        assert "incorrect header check" in str(caught.value)
        assert (codec or "uncompressed") in str(caught.value)
        assert caught.value.path == str(path)


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_compressed_read_as_plain_is_an_error(tmp_path: Path, codec: str) -> None:
    path = frames.save(tmp_path / "a", frames.compressed(codec, frames.plain(RECORDS)))
    kinds: tuple[type[tfrecs.Error], ...] = (tfrecs.NotTFRecordError, tfrecs.CorruptRecordError)
    with pytest.raises(kinds) as caught:
        list(tfrecs.RecordReader(path, ""))
    assert caught.value.path == str(path)


@pytest.mark.parametrize(
    "unknown", ["BZ2", "gzipped", "zst", "SNAPPY", "no", "automatic", " ", " gz"]
)
def test_unknown_compression_types(tmp_path: Path, unknown: str) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    for use in (tfrecs.RecordReader, tfrecs.RecordWriter, tfrecs.count, tfrecs.verify):
        with pytest.raises(tfrecs.SpecError, match="Not a valid compression_type") as caught:
            use(path, unknown)
        assert unknown in str(caught.value)
    assert path.read_bytes() == frames.plain(RECORDS)


# ---------------------------------------------------------------- hostile lengths

LENGTHS = sorted(
    {length for k in range(20, 65) for length in range(2**k - 4, 2**k + 5) if length < 2**64}
)


@pytest.mark.parametrize("codec", frames.CODECS)
def test_lengths_that_no_file_has(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "bomb"
    for length in LENGTHS:
        data = frames.frame(b"sound") + frames.header(length) + b"a few bytes"
        frames.save(path, frames.compressed(codec, data))
        reader = tfrecs.RecordReader(path)
        assert next(reader) == b"sound"
        with pytest.raises(tfrecs.TruncatedFileError) as caught:
            next(reader)
        error = caught.value
        assert (error.path, error.record, error.offset) == (str(path), 1, 21)
        assert tfrecs.verify(path).errors[0].reason == error.reason


@pytest.mark.parametrize("codec", frames.CODECS)
def test_lengths_that_no_pipe_has(tmp_path: Path, codec: str) -> None:
    for length in LENGTHS[::4]:
        data = frames.compressed(codec, frames.header(length) + b"a few bytes")
        with (
            fifo(tmp_path / "fifo", data) as pipe,
            pytest.raises(tfrecs.TruncatedFileError) as caught,
        ):
            list(tfrecs.RecordReader(pipe))
        assert (caught.value.record, caught.value.offset) == (0, 0)


# ---------------------------------------------------------------- files that are none


def test_a_directory(tmp_path: Path) -> None:
    for use in (tfrecs.RecordReader, tfrecs.RecordWriter):
        with pytest.raises(IsADirectoryError, match="directory") as caught:
            use(tmp_path)
        assert isinstance(caught.value, tfrecs.FileError)
        assert caught.value.path == str(tmp_path)


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "missing"
    for use in (tfrecs.RecordReader, tfrecs.count):
        with pytest.raises(FileNotFoundError, match="missing") as caught:
            use(path)
        assert isinstance(caught.value, tfrecs.FileError)
        assert (caught.value.path, caught.value.filename) == (str(path), str(path))
        assert caught.value.errno == 2
    with pytest.raises(FileNotFoundError, match="missing"):
        tfrecs.RecordWriter(path / "below")
    report = tfrecs.verify(path)
    assert isinstance(report.errors[0], FileNotFoundError)


@pytest.mark.parametrize("use", [tfrecs.count, tfrecs.verify])
def test_globs(tmp_path: Path, use: object) -> None:
    assert callable(use)
    with pytest.raises(tfrecs.FileError, match="no file matches") as caught:
        use(tmp_path / "*.tfrecord")
    assert caught.value.path == str(tmp_path / "*.tfrecord")
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(tfrecs.FileError, match="empty"):
        use([])
    for name in ("b", "a", "c[1]"):
        frames.save(tmp_path / f"{name}.tfrecord", frames.plain(RECORDS))
    assert tfrecs.count(tmp_path / "*.tfrecord") == 9
    assert tfrecs.count([tmp_path / "c[1].tfrecord", str(tmp_path / "[ab].*")]) == 9
    names = [Path(file.path).name for file in tfrecs.verify(str(tmp_path / "*")).files]
    assert names == ["a.tfrecord", "b.tfrecord", "c[1].tfrecord"]


# ---------------------------------------------------------------- the reader itself


def test_a_closed_reader(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    reader = tfrecs.RecordReader(path)
    assert next(reader) == RECORDS[0]
    reader.close()
    reader.close()
    with pytest.raises(tfrecs.StateError):
        next(reader)
    with pytest.raises(tfrecs.StateError):
        reader.read_batch(1)


def test_a_reader_is_an_iterator_like_any_other(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    reader = tfrecs.RecordReader(path)
    assert iter(reader) is reader
    assert isinstance(reader, Iterator)
    assert [next(reader), *reader, next(reader, None)] == [*RECORDS, None]
    reader.__init__(path)  # type: ignore[misc]
    assert reader.__next__() == RECORDS[0]
    with pytest.raises(tfrecs.StateError):
        next(tfrecs.RecordReader.__new__(tfrecs.RecordReader, "anything", so="ever"))


def test_a_class_made_of_a_reader(tmp_path: Path) -> None:
    class Numbered(tfrecs.RecordReader):
        def __init__(self, folder: Path, *, first: int) -> None:
            super().__init__(folder / "a", verify=False)
            self.number = first

        def __next__(self) -> bytes:
            self.number += 1
            return b"%d:" % self.number + super().__next__()

    frames.save(tmp_path / "a", frames.plain([b"one", b"two"]))
    assert list(Numbered(tmp_path, first=7)) == [b"8:one", b"9:two"]


@pytest.mark.parametrize("n", [0, -1])
def test_a_batch_of_no_records(tmp_path: Path, n: int) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    with pytest.raises(ValueError, match="at least one"):
        tfrecs.RecordReader(path).read_batch(n)


@given(
    sizes=st.lists(
        st.integers(0, 60) | st.sampled_from([10**5, 2**20 - 16, 2**20, 10**6]), max_size=12
    ),
    turns=st.lists(st.integers(0, 7), min_size=1, max_size=8),
    codec=st.sampled_from(frames.CODECS),
)
def test_one_by_one_and_in_batches(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], turns: list[int], codec: str
) -> None:
    records = [bytes([index + 1]) * size for index, size in enumerate(sizes)]
    path = tmp_path_factory.getbasetemp() / "mixed"
    with tfrecs.RecordWriter(path, codec) as out:
        out.write_batch(records)
    reader, found = tfrecs.RecordReader(path), []
    for turn in turns:  # 0 is one record by iteration
        found += reader.read_batch(turn).tolist() if turn else [next(reader, b"END")]
    found = [record for record in found if record != b"END"] + list(reader)
    assert found == records


def test_records_outlive_the_reader(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain(RECORDS))
    with tfrecs.RecordReader(path) as reader:
        batch = reader.read_batch(2)
        rest = reader.read_batch(2)
    assert batch == RECORDS[:2]
    assert rest.tolist() == RECORDS[2:]


@pytest.mark.parametrize("codec", frames.CODECS)
@pytest.mark.parametrize("batch", [0, 7])
def test_each_record_goes_to_one_thread(tmp_path: Path, codec: str, batch: int) -> None:
    records = [b"%d" % n * (n % 90) + b"#%d" % n for n in range(20_000)]
    with tfrecs.RecordWriter(tmp_path / "a", codec) as out:
        out.write_batch(records)
    reader = tfrecs.RecordReader(tmp_path / "a")

    def take(_: int) -> list[bytes]:
        if not batch:
            return list(reader)
        return [record for part in iter(lambda: reader.read_batch(batch), []) for record in part]

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(take, range(4)))
    assert sorted(record for part in parts for record in part) == sorted(records)


def test_closing_while_others_read(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"x" * 100] * 5000))
    for _ in range(5):
        reader = tfrecs.RecordReader(path)
        with ThreadPoolExecutor(2) as pool:
            counts = [pool.submit(list, reader) for _ in range(2)]
            reader.close()
        for count in counts:
            error = count.exception()
            assert error is None or isinstance(error, tfrecs.StateError)
