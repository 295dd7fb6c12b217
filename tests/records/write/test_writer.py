"""Writing files: the bytes, the options, and when a file appears under its name."""

import gc
import gzip
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import frames
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

OLD = frames.plain([b"old"])
NEW = [b"new", b"", b"newer"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in which a test leaves no hidden file behind."""
    yield tmp_path
    assert not [path.name for path in tmp_path.rglob("*.tmp")]
    assert not list(tmp_path.rglob(".*"))


def read(path: Path) -> list[bytes]:
    return list(tfrecs.RecordReader(path))


# ---------------------------------------------------------------- the bytes


@given(records=st.lists(st.binary(max_size=300), max_size=20))
def test_uncompressed_bytes(tmp_path_factory: pytest.TempPathFactory, records: list[bytes]) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        for record in records:
            out.write(record)
    assert path.read_bytes() == frames.plain(records)
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(tfrecs.Records(records))
        assert out.num_records == len(records)
    assert path.read_bytes() == frames.plain(records)


@given(
    sizes=st.lists(
        st.integers(0, 300) | st.sampled_from([2**16, 2**18, 2**18 + 1, 2**20]), max_size=6
    ),
    codec=st.sampled_from(["GZIP", "ZLIB"]),
)
def test_compressed_content(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], codec: str
) -> None:
    records = [os.urandom(min(size, 999)) + b"\0" * max(0, size - 999) for size in sizes]
    path = tmp_path_factory.getbasetemp() / "compressed"
    with tfrecs.RecordWriter(path, codec) as out:
        out.write_batch(records)
    unpack = gzip.decompress if codec == "GZIP" else zlib.decompress
    stream, place = unpack(path.read_bytes()), 0
    for record in records:
        assert stream[place : place + 12] == frames.header(len(record))
        assert stream[place + 12 : place + 12 + len(record)] == record
        place += len(record) + 16
    assert place == len(stream)
    assert read(path) == records


def test_a_small_zlib_file_is_pythons(folder: Path) -> None:
    with tfrecs.RecordWriter(folder / "a.zz") as out:
        out.write_batch(NEW)
    assert (folder / "a.zz").read_bytes() == zlib.compress(frames.plain(NEW))


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        *[("a", ""), ("a.gz.tfrecord", ""), (".gz", "")],
        *[("a.gz", "GZIP"), ("a.GZ", "GZIP"), ("a.tfrecord.gzip", "GZIP")],
        *[("a.zlib", "ZLIB"), ("a.zz", "ZLIB")],
    ],
)
def test_the_suffix_decides(tmp_path: Path, name: str, codec: str) -> None:
    with tfrecs.RecordWriter(tmp_path / name) as out:
        out.write_batch(NEW)
        assert out.compression_type == codec
    assert tfrecs.RecordReader(tmp_path / name).compression_type == codec
    with tfrecs.RecordWriter(tmp_path / name, None) as out:
        assert out.compression_type == ""


def test_what_a_record_can_be(folder: Path) -> None:
    halves = memoryview(bytes(range(10)))[::2]
    given: list[Any] = [
        b"a",
        bytearray(b"b"),
        memoryview(b"c"),
        np.frombuffer(b"d", np.uint8),
        halves,
    ]
    with tfrecs.RecordWriter(folder / "a") as out:
        for record in given:
            out.write(record)
        out.write_batch(iter([b"e"]))
        out.write_batch(tfrecs.Records([b"f", b"g"])[1:])
    assert read(folder / "a") == [b"a", b"b", b"c", b"d", b"\0\2\4\6\x08", b"e", b"g"]


@pytest.mark.parametrize("wrong", ["text", 1, None, [b"a"], np.zeros(2), 1.5])
def test_what_a_record_cannot_be(folder: Path, wrong: Any) -> None:
    with tfrecs.RecordWriter(folder / "a") as out:
        out.write(b"before")
        with pytest.raises(TypeError, match="must be bytes"):
            out.write(wrong)
        with pytest.raises(TypeError, match="must be bytes"):
            out.write_batch([b"not this either", wrong])
        out.write(b"after")
    assert read(folder / "a") == [b"before", b"after"]


def test_one_record_is_no_batch(folder: Path) -> None:
    with (
        tfrecs.RecordWriter(folder / "a") as out,
        pytest.raises(TypeError, match="one bytes object"),
    ):
        out.write_batch(b"abc")  # type: ignore[arg-type]


# ---------------------------------------------------------------- options

MANY = [b"%d" % (n * n) * 20 for n in range(2000)]
OPTIONS: list[dict[str, Any]] = [
    *({"level": level} for level in range(-1, 10)),
    *({"compression_level": level} for level in (0, 9)),
    *({"mem_level": level} for level in range(1, 10)),
    *({"compression_strategy": strategy} for strategy in range(5)),
    *({"flush_mode": mode} for mode in range(4)),
    *({"input_buffer_size": size} for size in (0, 1, 100, 1 << 20)),
    {"output_buffer_size": 1},
]


@pytest.mark.parametrize("codec", frames.CODECS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options(folder: Path, codec: str, options: dict[str, Any]) -> None:
    with tfrecs.RecordWriter(folder / "a", codec, **options) as out:
        out.write_batch(MANY)
    data = (folder / "a").read_bytes()
    assert frames.inflated(data) == frames.plain(MANY) if codec else data == frames.plain(MANY)
    assert read(folder / "a") == MANY


@pytest.mark.parametrize("bits", [*range(9, 16), *range(25, 32)])
def test_window_bits(folder: Path, bits: int) -> None:
    for codec in ("GZIP", "ZLIB"):
        with tfrecs.RecordWriter(folder / "a", codec, window_bits=bits) as out:
            out.write_batch(MANY)
        reader = tfrecs.RecordReader(folder / "a")
        assert reader.compression_type == ("GZIP" if bits > 15 else "ZLIB")
        assert list(reader) == MANY


@pytest.mark.parametrize(
    "options",
    [
        *({"level": level} for level in (10, -2, 2**40)),
        *({"mem_level": level} for level in (0, 10)),
        *({"window_bits": bits} for bits in (7, 99)),
        *[{"compression_strategy": 5}, {"flush_mode": 4}, {"flush_mode": -1}],
    ],
    ids=str,
)
def test_options_that_zlib_refuses(folder: Path, options: dict[str, Any]) -> None:
    for codec in ("GZIP", "ZLIB"):
        with pytest.raises(tfrecs.SpecError) as caught:
            tfrecs.RecordWriter(folder / "a", codec, **options)
        assert next(iter(options)) in str(caught.value).replace("compression_level", "level")
    assert not list(folder.iterdir())


@pytest.mark.parametrize("mode", ["r", "wb", "", "W", "+"])
def test_unknown_modes(folder: Path, mode: str) -> None:
    with pytest.raises(tfrecs.SpecError, match="mode"):
        tfrecs.RecordWriter(folder / "a", mode=mode)


# ---------------------------------------------------------------- when it appears


@pytest.mark.parametrize("before", [None, OLD])
@pytest.mark.parametrize("codec", frames.CODECS)
def test_it_appears_when_it_is_complete(folder: Path, codec: str, before: bytes | None) -> None:
    path = folder / "a"
    if before is not None:
        path.write_bytes(before)
    out = tfrecs.RecordWriter(path, codec)
    out.write_batch(NEW)
    out.flush()
    assert (path.read_bytes() if path.exists() else None) == before
    out.close()
    assert read(path) == NEW
    out.close()
    assert read(path) == NEW


def write_and_stop(path: Path, stop: type[BaseException], atomic: bool = True) -> None:
    with tfrecs.RecordWriter(path, atomic=atomic) as out:
        out.write(b"half")
        raise stop("stop")


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit])
def test_after_an_exception_nothing_has_changed(folder: Path, stop: type[BaseException]) -> None:
    path = frames.save(folder / "a", OLD)
    for name in ("a", "b"):
        with pytest.raises(stop, match="stop"):
            write_and_stop(folder / name, stop)
    assert path.read_bytes() == OLD
    assert not (folder / "b").exists()


def write_and_drop(path: Path, atomic: bool) -> None:
    out = tfrecs.RecordWriter(path, atomic=atomic)
    out.write(b"kept")
    del out
    gc.collect()


def test_a_writer_that_is_dropped_warns(folder: Path) -> None:
    path = frames.save(folder / "a", OLD)
    with pytest.warns(ResourceWarning, match=r"never closed.*discarded"):
        write_and_drop(path, atomic=True)
    assert path.read_bytes() == OLD


def test_a_dropped_writer_in_place_keeps_its_records(folder: Path) -> None:
    with pytest.warns(ResourceWarning, match="never closed"):
        write_and_drop(folder / "a", atomic=False)
    assert read(folder / "a") == [b"kept"]


def test_discard(folder: Path) -> None:
    path = frames.save(folder / "a", OLD)
    out = tfrecs.RecordWriter(path)
    out.write(b"half")
    out.discard()
    out.discard()
    out.close()
    assert path.read_bytes() == OLD
    with pytest.raises(tfrecs.StateError):
        out.write(b"more")


@pytest.mark.parametrize("codec", frames.CODECS)
def test_after_close(folder: Path, codec: str) -> None:
    out = tfrecs.RecordWriter(folder / "a", codec)
    out.close()
    with pytest.raises(tfrecs.StateError, match=r"Writer is closed\."):
        out.write(b"a")
    with pytest.raises(tfrecs.StateError, match=r"Writer is closed\."):
        out.write_batch([b"a"])
    with pytest.raises(tfrecs.StateError, match=r"Writer is closed\."):
        out.flush()
    assert out.closed
    assert read(folder / "a") == []


def test_exclusive(folder: Path) -> None:
    path = folder / "a"
    with tfrecs.RecordWriter(path, mode="x") as out:
        out.write_batch(NEW)
    with pytest.raises(FileExistsError) as caught:
        tfrecs.RecordWriter(path, mode="x")
    assert isinstance(caught.value, tfrecs.FileError)
    assert caught.value.path == str(path)
    with pytest.raises(FileExistsError):
        tfrecs.RecordWriter(path, mode="x", atomic=False)
    assert read(path) == NEW


def test_exclusive_when_another_is_faster(folder: Path) -> None:
    path = folder / "a"
    out = tfrecs.RecordWriter(path, mode="x")
    out.write(b"slow")
    path.write_bytes(OLD)
    with pytest.raises(FileExistsError):
        out.close()
    out.close()
    assert path.read_bytes() == OLD


@pytest.mark.parametrize("codec", frames.CODECS)
def test_in_place_grows_visibly(folder: Path, codec: str) -> None:
    path = frames.save(folder / "a", OLD * 100)
    out = tfrecs.RecordWriter(path, codec, atomic=False)
    assert path.stat().st_size == 0
    for count in range(1, 4):
        out.write(b"%d" % count)
        out.flush()
        records = []
        try:
            for record in tfrecs.RecordReader(path):
                records.append(record)  # noqa: PERF402 - those before the error count
        except tfrecs.TruncatedFileError:
            assert codec, "an uncompressed file is whole after every flush"
        assert records == [b"%d" % n for n in range(1, count + 1)]
    out.close()
    assert tfrecs.count(path) == 3


def test_in_place_an_exception_keeps_what_was_written(folder: Path) -> None:
    with pytest.raises(ValueError, match="stop"):
        write_and_stop(folder / "a", ValueError, atomic=False)
    assert read(folder / "a") == [b"half"]


def test_many_threads_write(folder: Path) -> None:
    records = [b"%d" % n * (n % 50) + b"#%d" % n for n in range(4000)]
    with tfrecs.RecordWriter(folder / "a.gz") as out, ThreadPoolExecutor(4) as pool:
        for _ in pool.map(out.write, records[:2000]):
            pass
        parts = [tfrecs.Records(records[n : n + 100]) for n in range(2000, 4000, 100)]
        for _ in pool.map(out.write_batch, parts):
            pass
    assert sorted(read(folder / "a.gz")) == sorted(records)
