"""RecordWriter and RecordReader against tf.io.TFRecordWriter and tf.data.TFRecordDataset."""

from __future__ import annotations

import os
import random
import tempfile
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import tensorflow as tf
from hypothesis import strategies as st

import tfrecs
from oracle.cases import SEED, randomly

CODECS = ["", "GZIP", "ZLIB"]

sizes = st.integers(0, 70_000)
records_of_any_size = st.lists(
    st.binary(max_size=40)
    | st.sampled_from([b"", b"\0", b"\0" * 12, b"\xff" * 300])
    | st.builds(lambda seed, size: random.Random(seed).randbytes(size), st.integers(0, 99), sizes)
    | st.builds(lambda byte, size: bytes([byte]) * size, st.integers(0, 255), sizes),
    max_size=30,
)


def mixed_records(count: int = 300) -> list[bytes]:
    """Records of many lengths, some of which compress well and some not; the first is empty."""
    rng = random.Random(SEED)
    return [rng.randbytes(i * 7 % 300) + b"abc" * i for i in range(count)]


def tf_write(path: Path, records: Sequence[bytes], **options: Any) -> None:
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(**options)) as out:
        for record in records:
            out.write(record)


def tf_read(path: Path, compression_type: str) -> list[bytes]:
    return list(tf.data.TFRecordDataset(str(path), compression_type).as_numpy_iterator())


def our_write(path: Path, records: Sequence[bytes], **options: Any) -> None:
    with tfrecs.RecordWriter(path, **options) as out:
        for record in records:
            out.write(record)


def our_read(path: Path, compression_type: str = "auto") -> list[bytes]:
    with tfrecs.RecordReader(path, compression_type=compression_type) as records:
        return list(records)


def container(path: Path) -> str:
    """What TensorFlow must be told to read the file."""
    head = path.read_bytes()[:2]
    if head == b"\x1f\x8b":
        return "GZIP"
    return "ZLIB" if head[0] & 0x0F == 8 and int.from_bytes(head, "big") % 31 == 0 else ""


# ---------------------------------------------------------------- any records, every codec


@randomly(share=10)
@hypothesis.given(records_of_any_size, st.booleans())
def test_uncompressed_output_is_tensorflows(records: list[bytes], as_batch: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder, "theirs"), Path(folder, "ours")
        tf_write(theirs, records)
        with tfrecs.RecordWriter(ours) as out:
            if as_batch:
                out.write_batch(records)
            else:
                for record in records:
                    out.write(record)
        assert ours.read_bytes() == theirs.read_bytes()
        assert our_read(theirs) == records


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
@randomly(share=20)
@hypothesis.given(records=records_of_any_size)
def test_compressed_both_ways(codec: str, records: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder, "theirs"), Path(folder, "ours")
        tf_write(theirs, records, compression_type=codec)
        our_write(ours, records, compression_type=codec)
        assert tf_read(ours, codec) == records
        assert our_read(theirs) == our_read(theirs, codec) == records


@pytest.mark.parametrize("codec", CODECS)
def test_large_records_both_ways(tmp_path: Path, codec: str) -> None:
    rng = random.Random(SEED)
    records = [rng.randbytes(5_000_000), b"", b"z" * 20_000_000, rng.randbytes(1)]
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    tf_write(theirs, records, compression_type=codec)
    our_write(ours, records, compression_type=codec)
    assert tf_read(ours, codec) == our_read(theirs) == records
    if codec == "":
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("codec", CODECS)
def test_no_records_both_ways(tmp_path: Path, codec: str) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    tf_write(theirs, [], compression_type=codec)
    our_write(ours, [], compression_type=codec)
    assert tf_read(ours, codec) == our_read(theirs) == []
    assert ours.stat().st_size == theirs.stat().st_size


# ---------------------------------------------------------------- options

OPTIONS: list[dict[str, int]] = [
    {},
    *[{"compression_level": level} for level in range(-1, 10)],
    *[{"mem_level": level} for level in range(1, 10)],
    *[{"compression_strategy": strategy} for strategy in range(5)],
    *[{"flush_mode": mode} for mode in range(4)],  # Z_NO_FLUSH to Z_FULL_FLUSH
    *[{"input_buffer_size": size} for size in (100, 1 << 20)],
    *[{"output_buffer_size": size} for size in (1 << 12, 1 << 20)],
    *[{"window_bits": bits} for bits in (*range(9, 16), *range(25, 32))],
    {"compression_level": 9, "window_bits": 12, "mem_level": 3, "compression_strategy": 1},
]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_both_ways(tmp_path: Path, codec: str, options: dict[str, int]) -> None:
    records = mixed_records()
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    tf_write(theirs, records, compression_type=codec, **options)
    our_write(ours, records, compression_type=codec, **options)
    # window_bits overrides the type: 31 writes gzip and 15 zlib, whatever compression_type says.
    assert container(ours) == container(theirs)
    assert tf_read(ours, container(ours)) == our_read(theirs) == our_read(ours) == records
    if codec == "":
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_options_have_their_effect(tmp_path: Path, codec: str) -> None:
    """The size relations that hold of TensorFlow's output hold of ours."""

    def size(**options: int) -> int:
        path = tmp_path / "sized"
        our_write(path, records, compression_type=codec, **options)
        return path.stat().st_size

    records, gzip = mixed_records(2000), 16 if codec == "GZIP" else 0
    default = size(compression_level=-1)
    assert size(compression_level=6) == default
    # Without any option of zlib's, a GZIP file is not one stream of zlib's, but hardly larger.
    assert size() == default or (codec == "GZIP" and size() < 1.05 * default)
    assert size(compression_level=9) <= default < size(compression_level=1)
    assert size(compression_level=0) > sum(map(len, records))
    assert size(mem_level=9) == default < size(mem_level=1)
    assert size(window_bits=9 + gzip) > default
    assert size(compression_strategy=2) > default  # Z_HUFFMAN_ONLY
    assert size(compression_strategy=1) >= default  # Z_FILTERED


def test_zlib_output_of_a_small_file_is_pythons(tmp_path: Path) -> None:
    """Byte for byte, as TensorFlow's is."""
    records = [b"record %d" % i for i in range(100)]
    plain, ours, theirs = tmp_path / "plain", tmp_path / "ours", tmp_path / "theirs"
    our_write(plain, records, compression_type="")
    our_write(ours, records, compression_type="ZLIB")
    tf_write(theirs, records, compression_type="ZLIB")
    assert ours.read_bytes() == theirs.read_bytes() == zlib.compress(plain.read_bytes())


def test_gzip_header_is_tensorflows(tmp_path: Path) -> None:
    """No time and no file name: the same records give the same file."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    our_write(ours, [b"a"], compression_type="GZIP", compression_level=-1)
    tf_write(theirs, [b"a"], compression_type="GZIP")
    assert ours.read_bytes()[:10] == theirs.read_bytes()[:10]


def test_gzip_members_are_read_by_tensorflow(tmp_path: Path) -> None:
    """Many, some of which hold a part of a record."""
    records = [*mixed_records(5000), os.urandom(3 << 20), b"", bytes(2 << 20), *mixed_records(500)]
    ours = tmp_path / "ours"
    our_write(ours, records, compression_type="GZIP")
    assert ours.read_bytes().count(b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x0c\0TF\x08\0") > 5
    assert tf_read(ours, "GZIP") == our_read(ours) == records


# ---------------------------------------------------------------- flush and append


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_flushed_can_be_read(tmp_path: Path, codec: str) -> None:
    """TensorFlow reads what we flushed, and the file without its end reads cleanly there."""
    path = tmp_path / "growing"
    with tfrecs.RecordWriter(path, compression_type=codec, atomic=False) as out:
        out.write(b"one")
        out.flush()
        assert tf_read(path, codec) == [b"one"]
        out.write(b"two")
        out.flush()
        assert tf_read(path, codec) == [b"one", b"two"]
        out.write(b"three")
    assert tf_read(path, codec) == our_read(path) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("codec", ["", "GZIP"])
def test_append_to_tensorflows_file(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "appended"
    tf_write(path, [b"one", b"two"], compression_type=codec)
    our_write(path, [b"three"], compression_type=codec, mode="a")
    assert tf_read(path, codec) == our_read(path) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("threads", [1, 3])
def test_members_after_flush_sync_and_append(tmp_path: Path, threads: int) -> None:
    """A gzip file of many members, by several writers: TensorFlow reads it all at every moment."""
    path = tmp_path / "growing.gz"
    records: list[bytes] = []
    for part in range(3):
        with tfrecs.RecordWriter(path, mode="a", atomic=False, num_threads=threads) as out:
            for end in (out.flush, out.sync, out.flush):
                more = mixed_records(700 * (part + 1))
                out.write_batch(more)
                records += more
                end()
                assert tf_read(path, "GZIP") == records
        assert tf_read(path, "GZIP") == our_read(path) == records


def test_append_to_a_file_without_records(tmp_path: Path) -> None:
    for write in (tf_write, our_write):
        write(tmp_path / "a", [], compression_type="GZIP")
        our_write(tmp_path / "a", [b"one"], compression_type="GZIP", mode="a")
        assert tf_read(tmp_path / "a", "GZIP") == our_read(tmp_path / "a") == [b"one"]


@pytest.mark.parametrize("codec", ["", "GZIP"])
def test_append_to_tensorflows_file_that_was_cut(tmp_path: Path, codec: str) -> None:
    """TensorFlow reads the result, whatever it made of the file before."""
    records = [b"one", b"", os.urandom(50), b"four"]
    tf_write(tmp_path / "whole", records, compression_type=codec)
    data = (tmp_path / "whole").read_bytes()
    path = tmp_path / "cut"
    found: list[bytes] = []
    for cut in range(1, len(data)):
        path.write_bytes(data[:cut])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            our_write(path, [b"new"], compression_type=codec, mode="a")
        found = tf_read(path, codec)
        assert found == our_read(path) == [*records[: len(found) - 1], b"new"]
    assert len(found) >= len(records)


# ---------------------------------------------------------------- damage


def until_fault(records: Any) -> tuple[list[bytes], Exception | None]:
    """The records that come before the fault, and the fault."""
    out: list[bytes] = []
    try:
        out.extend(iter(records))
    except (tfrecs.Error, tf.errors.OpError) as error:
        return out, error
    return out, None


def tf_until_fault(path: Path) -> tuple[list[bytes], Exception | None]:
    return until_fault(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())


def our_until_fault(path: Path) -> tuple[list[bytes], Exception | None]:
    with tfrecs.RecordReader(path, compression_type="") as records:
        return until_fault(records)


SMALL = [b"first", b"", b"a third record"]


def frames() -> tuple[bytes, set[int]]:
    """SMALL as a file, and the offsets between its records."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small")
        tf_write(path, SMALL)
        ends = [16 * (i + 1) + sum(map(len, SMALL[: i + 1])) for i in range(len(SMALL))]
        return path.read_bytes(), {0, *ends}


def test_cut_at_every_byte(tmp_path: Path) -> None:
    """The same records before the cut; then TensorFlow may end silently, we never do."""
    data, boundaries = frames()
    path, silent = tmp_path / "cut", 0
    for end in range(len(data)):
        path.write_bytes(data[:end])
        theirs, ours = tf_until_fault(path), our_until_fault(path)
        assert ours[0] == theirs[0] == SMALL[: len(ours[0])]
        if end in boundaries:
            assert ours[1] is None
        else:
            assert isinstance(ours[1], tfrecs.TruncatedFileError)
        assert theirs[1] is None or ours[1] is not None
        silent += theirs[1] is None and ours[1] is not None
    assert silent > 0  # a cut within the 12 bytes before a record's data


def test_flip_every_byte(tmp_path: Path) -> None:
    """The same records before the flipped byte, and an error in both."""
    data, _ = frames()
    path = tmp_path / "flipped"
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        theirs, ours = tf_until_fault(path), our_until_fault(path)
        assert ours[0] == theirs[0]
        assert isinstance(theirs[1], tf.errors.DataLossError)
        assert isinstance(ours[1], tfrecs.CorruptRecordError)


def test_members_that_end_after_a_piece_that_tensorflow_reads(tmp_path: Path) -> None:
    """It reads 256 KiB at a time, and where the last piece begins with a trailer it reads no more.

    So no member of ours ends there: of these sizes, sixteen one after the other would.
    """
    path = tmp_path / "members.gz"
    noise = random.Random(SEED).randbytes(262_144)
    for size in range(262_040, 262_110):
        with tfrecs.RecordWriter(path) as out:
            out.write(noise[:size])
            out.flush()
            out.write(b"after it")
        assert tf_read(path, "GZIP") == our_read(path) == [noise[:size], b"after it"], size
