"""GZIP files in members: what they are made of, on any number of threads, and who can read them."""

import gzip
import os
import random
import struct
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import frames
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfrecs

COMPLETE, LARGEST = 256 << 10, 1 << 20
# Sizes around those at which a member is complete, or a record is cut.
NEAR = [size + d for size in (COMPLETE, LARGEST, 3 * LARGEST) for d in (-17, -16, -15, 0, 1)]
sizes = st.integers(0, 300) | st.integers(0, 2 * LARGEST) | st.sampled_from(NEAR)


def content(number: int, size: int) -> bytes:
    return (b"%d " % number * (size // 2 + 1))[:size]


def members(data: bytes) -> Iterator[tuple[int, bytes]]:
    """How many records begin in each member, as it says, and what it holds.

    Each has to say its own size.
    """
    while data:
        assert data[:16] == b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x0c\0TF\x08\0"
        size, records = struct.unpack("<II", data[16:24])
        inflater = zlib.decompressobj(wbits=31)
        held = inflater.decompress(data)
        assert inflater.eof
        assert len(inflater.unused_data) == len(data) - size
        yield records, held
        data = data[size:]


@settings(max_examples=60)
@given(
    parts=st.lists(st.lists(sizes, max_size=5), min_size=1, max_size=4),
    batch=st.booleans(),
    flush=st.booleans(),
)
def test_any_sizes_on_any_number_of_threads(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[int]], batch: bool, flush: bool
) -> None:
    files = []
    path = tmp_path_factory.getbasetemp() / "members.gz"
    for num_threads in (None, 1, 2, 5):
        with tfrecs.RecordWriter(path, num_threads=num_threads, level=1, sync=False) as out:
            for number, part in enumerate(parts):
                records = [content(number, size) for size in part]
                if batch:
                    out.write_batch(tfrecs.Records(records))
                else:
                    for record in records:
                        out.write(record)
                if flush:
                    out.flush()
        files.append(path.read_bytes())
    assert files[1:] == files[:-1]
    everything = [content(number, size) for number, part in enumerate(parts) for size in part]
    if everything:
        check_members(files[0], everything)
    assert list(tfrecs.RecordReader(path)) == everything


def check_members(data: bytes, records: list[bytes]) -> None:
    """Members begin with a record, or continue with one that is too large for them."""
    found = list(members(data))
    assert b"".join(held for _, held in found) == gzip.decompress(data)
    starts = frames.starts(records)
    place = number = 0
    for begin, held in found:
        assert len(held) <= LARGEST
        if begin:
            assert place == starts[number]
        else:
            assert starts[number] - starts[number - 1] > LARGEST
        number += begin
        place += len(held)
    assert (number, place) == (len(records), starts[-1])


def test_no_records(tmp_path: Path) -> None:
    for flush in (False, True):
        with tfrecs.RecordWriter(tmp_path / "none.gz") as out:
            if flush:
                out.flush()
        data = (tmp_path / "none.gz").read_bytes()
        assert (len(data), gzip.decompress(data)) == (20, b"")
        assert tfrecs.count(tmp_path / "none.gz") == 0
    before = (tmp_path / "none.gz").read_bytes()
    tfrecs.RecordWriter(tmp_path / "none.gz", mode="a").close()
    assert (tmp_path / "none.gz").read_bytes() == before


def test_a_flush_ends_a_member(tmp_path: Path) -> None:
    path = tmp_path / "flushed.gz"
    out = tfrecs.RecordWriter(path, atomic=False)
    for number in range(5):
        out.write(b"%d" % number)
        out.flush()
        assert list(tfrecs.RecordReader(path)) == [b"%d" % n for n in range(number + 1)]
        out.flush()
    out.close()
    assert [records for records, _ in members(path.read_bytes())] == [1] * 5


RANDOM = random.Random(0)
MANY = [RANDOM.randbytes(3000).hex().encode() for _ in range(600)]
ZLIBS: list[dict[str, Any]] = [
    {"compression_level": 6},
    {"window_bits": 31},
    {"mem_level": 9},
    {"compression_strategy": 0},
    {"flush_mode": 0},
    {"input_buffer_size": 1 << 18},
]


@pytest.mark.parametrize("options", ZLIBS, ids=str)
def test_an_option_of_zlib_asks_for_zlib(tmp_path: Path, options: dict[str, Any]) -> None:
    with tfrecs.RecordWriter(tmp_path / "a.gz", **options) as out:
        out.write_batch(MANY)
    deflater = zlib.compressobj(6, zlib.DEFLATED, 31, 9)
    stream = b"".join(frames.header(6000) + record + b"...." for record in MANY)
    written = (tmp_path / "a.gz").read_bytes()
    held = gzip.decompress(written)
    assert [held[n : n + 6012] for n in range(0, len(held), 6016)] == [
        stream[n : n + 6012] for n in range(0, len(stream), 6016)
    ]
    assert written == deflater.compress(held) + deflater.flush()


def test_levels(tmp_path: Path) -> None:
    lengths = []
    for level in (0, 1, 6, 9, None, -1):
        with tfrecs.RecordWriter(tmp_path / "a.gz", level=level) as out:
            out.write_batch(MANY)
        assert list(tfrecs.RecordReader(tmp_path / "a.gz")) == MANY
        lengths.append((tmp_path / "a.gz").stat().st_size)
    assert lengths[0] > lengths[1] > max(lengths[2:])
    assert lengths[2] == lengths[4] == lengths[5]


@pytest.mark.parametrize("num_threads", [0, -1])
def test_no_threads_at_all_are_refused(tmp_path: Path, num_threads: int) -> None:
    with pytest.raises(tfrecs.SpecError, match="num_threads"):
        tfrecs.RecordWriter(tmp_path / "a.gz", num_threads=num_threads)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("num_shards", [1, 3, 70])
@pytest.mark.parametrize("num_threads", [None, 1, 3])
def test_shards(tmp_path: Path, num_shards: int, num_threads: int | None) -> None:
    template = tmp_path / "{shard:02d}.gz"
    with tfrecs.ShardedWriter(template, num_shards, level=1, num_threads=num_threads) as out:
        out.write_batch(MANY)
    for shard, path in enumerate(out.paths):
        check_members(Path(path).read_bytes(), MANY[shard::num_shards])


def test_so_many_threads_are_not_started(tmp_path: Path) -> None:
    with tfrecs.RecordWriter(tmp_path / "a.gz", num_threads=1024) as out:
        out.write_batch(MANY)
    assert list(tfrecs.RecordReader(tmp_path / "a.gz")) == MANY


@pytest.mark.parametrize("times", [1, 3])
def test_appended_to(tmp_path: Path, times: int) -> None:
    path = tmp_path / "a.gz"
    for _ in range(times):
        with tfrecs.RecordWriter(path, mode="a") as out:
            out.write_batch(MANY)
    check_members(path.read_bytes(), MANY * times)
    assert list(tfrecs.RecordReader(path)) == MANY * times


@pytest.mark.parametrize("write", [False, True])
def test_a_fork_leaves_the_threads_alone(tmp_path: Path, write: bool) -> None:
    """The child has a copy of the writer without its threads, and must neither wait nor publish."""
    script = f"""
        import os, sys, tfrecs
        out = tfrecs.RecordWriter(sys.argv[1], num_threads=3)
        record = os.urandom(100_000)
        for _ in range(50):
            out.write(record)
        if child := os.fork():
            assert os.waitpid(child, 0)[1] == 0
        else:
            try:
                out.write(record) if {write} else out.close()
            except tfrecs.StateError:
                del out
                os._exit(0)
        out.write(record)
        out.close()
        assert list(tfrecs.RecordReader(sys.argv[1])) == [record] * 51
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "a.gz")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_reader_in_a_fork(tmp_path: Path) -> None:
    """A fork has no threads to read with: an error, and no waiting for ever."""
    with tfrecs.RecordWriter(tmp_path / "a.gz", level=1) as out:
        out.write_batch(MANY)
    script = """
        import os, sys, tfrecs
        reader = tfrecs.RecordReader(sys.argv[1])
        first = [next(reader) for _ in range(200)]
        if child := os.fork():
            assert os.waitpid(child, 0)[1] == 0
        else:
            try:
                list(reader)
            except tfrecs.StateError:
                os._exit(0)
        assert len(list(reader)) == 400
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "a.gz")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("foreign", [False, True])
def test_damage_far_into_a_file(tmp_path: Path, foreign: bool) -> None:
    """Where threads are at work, in a file of our members or of one long stream."""
    records = [os.urandom(9_000) + bytes(30_000) for _ in range(240)]
    options: dict[str, Any] = {"mem_level": 9} if foreign else {}
    with tfrecs.RecordWriter(tmp_path / "a.gz", compression_level=None, **options) as out:
        out.write_batch(records)
    data = (tmp_path / "a.gz").read_bytes()
    assert list(tfrecs.RecordReader(tmp_path / "a.gz")) == records
    for place in range(len(data) // 7, len(data), len(data) // 7):
        flipped = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        for damaged in (data[:place], flipped):
            path = frames.save(tmp_path / "damaged.gz", damaged)
            through_a_pipe = found(path, piped=True)
            assert found(path) == through_a_pipe
            count, error, offset, _ = through_a_pipe
            assert count >= frames.whole_records(records, frames.inflated(data[:place]))
            assert error in (tfrecs.TruncatedFileError, tfrecs.CorruptRecordError)
            assert offset == frames.starts(records)[count]


def found(path: Path, piped: bool = False) -> tuple[int, type[Exception], int | None, str | None]:
    """How many records there are before what error; through a pipe, which is read by one thread."""
    feeder = None
    source = path
    if piped:
        source = path.with_name("pipe")
        if not source.exists():
            os.mkfifo(source)
        feeder = subprocess.Popen(["sh", "-c", 'exec cat "$0" > "$1"', str(path), str(source)])
    reader = tfrecs.RecordReader(source)
    count = 0
    try:
        for _ in reader:
            count += 1
    except tfrecs.Error as error:
        return count, type(error), error.offset, error.reason
    finally:
        reader.close()
        if feeder is not None:
            feeder.wait(10)
    raise AssertionError("damage went unnoticed")
