"""How much is too much: of a record, of what comes out of a file, of memory."""

import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import frames
import pytest
from frames import fifo
from hypothesis import given
from hypothesis import strategies as st
from needs import measuring

import tfrecs
from tfrecs._internal.wording import counted

MB = 1 << 20


def drained(records: Any) -> tuple[list[bytes], tfrecs.Error | None]:
    """What comes, and what ends it."""
    found: list[bytes] = []
    try:
        found.extend(records)
    except tfrecs.Error as error:
        return found, error
    return found, None


def in_batches(path: Path, **limits: Any) -> Any:
    reader = tfrecs.RecordReader(path, **limits)
    while batch := reader.read_batch(2):
        yield from batch


READ: dict[str, Callable[..., Any]] = {
    "one by one": tfrecs.RecordReader,
    "batches": in_batches,
    "dataset": tfrecs.Dataset,
}


def allowed(records: Sequence[bytes], limit: int) -> int:
    """How many records come before the first that is too long."""
    return next((n for n, record in enumerate(records) if len(record) > limit), len(records))


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("codec", frames.CODECS)
@given(sizes=st.lists(st.integers(0, 60), max_size=8), limit=st.integers(1, 61))
def test_records_up_to_a_limit(
    tmp_path_factory: pytest.TempPathFactory, codec: str, read: str, sizes: list[int], limit: int
) -> None:
    records = [bytes([number]) * size for number, size in enumerate(sizes)]
    path = tmp_path_factory.getbasetemp() / "limited"
    frames.save(path, frames.compressed(codec, frames.plain(records)))
    found, error = drained(READ[read](path, max_record_bytes=limit))
    count = allowed(records, limit)
    if read != "dataset":  # which loses what is in the batch of an error
        assert found == records[:count]
    assert records[: len(found)] == found
    assert (error is None) == (count == len(records))
    if error is not None:
        assert isinstance(error, tfrecs.LimitError)
        where = (error.path, error.record, error.offset)
        assert where == (str(path), count, frames.starts(records)[count])
        said = f"the record has {sizes[count]} bytes, and max_record_bytes allows {limit}; "
        assert error.reason.startswith(said)


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("codec", frames.CODECS)
@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=8),
    part=st.floats(0, 1.2),
)
def test_files_up_to_a_limit(
    tmp_path_factory: pytest.TempPathFactory, codec: str, read: str, sizes: list[int], part: float
) -> None:
    records = [bytes([number]) * size for number, size in enumerate(sizes)]
    content = frames.plain(records)
    limit = max(int(len(content) * part), 1)
    path = tmp_path_factory.getbasetemp() / "limited"
    frames.save(path, frames.compressed(codec, content))
    found, error = drained(READ[read](path, max_decompressed_bytes=limit))
    if not codec or limit >= len(content):
        assert (found, error) == (records, None)
        return
    count = frames.whole_records(records, content[:limit])
    if read != "dataset":
        assert found == records[:count]
    assert isinstance(error, tfrecs.LimitError)
    assert (error.path, error.record) == (str(path), count)
    assert f"{counted(limit, 'byte')} that max_decompressed_bytes allows" in error.reason


@pytest.mark.parametrize("limit", ["max_record_bytes", "max_decompressed_bytes"])
def test_limits_are_positive_integers(tmp_path: Path, limit: str) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"one"]))
    for wrong in (0, -1, 1.5, True, "1"):
        for use in (tfrecs.RecordReader, tfrecs.Dataset):
            with pytest.raises(tfrecs.SpecError, match=limit):
                use(path, **{limit: wrong})  # type: ignore[arg-type]
    for fine in (None, 2**64, 10**30):
        assert list(tfrecs.RecordReader(path, **{limit: fine})) == [b"one"]  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_a_limit_is_final_and_repeated(tmp_path: Path, codec: str) -> None:
    data = frames.compressed(codec, frames.plain([b"one", bytes(1000), b"three"]))
    every: list[dict[str, Any]] = [{"max_record_bytes": 999}, {"max_decompressed_bytes": 1000}]
    for limits in every:
        reader = tfrecs.RecordReader(frames.save(tmp_path / "a", data), **limits)
        assert next(reader) == b"one"
        said = set()
        for _ in range(3):
            with pytest.raises(tfrecs.LimitError) as caught:
                next(reader)
            said.add(str(caught.value))
        assert len(said) == 1


def test_a_record_beyond_what_holds_by_default_is_refused_early(tmp_path: Path) -> None:
    """Announced in a pipe, with enough of it there: 4 GiB are not waited for."""
    data = frames.header(2**32 + 1) + bytes(33 * MB)
    with fifo(tmp_path / "pipe", data) as pipe, pytest.raises(tfrecs.LimitError) as caught:
        list(tfrecs.RecordReader(pipe))
    assert (caught.value.record, caught.value.offset) == (0, 0)
    # Of a file its size says more.
    path = frames.save(tmp_path / "file", data)
    with pytest.raises(tfrecs.TruncatedFileError):
        list(tfrecs.RecordReader(path))
    with pytest.raises(tfrecs.TruncatedFileError):
        list(tfrecs.RecordReader(path, max_record_bytes=100))


def test_large_records_in_a_large_file_found_by_their_headers(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([bytes(100_000)] * 600 + [bytes(200_000)] + [b"after"])
    batches = tfrecs.Dataset(path, max_record_bytes=100_000).batch(20)
    found, error = drained(record for batch in batches for record in batch)
    assert len(found) == 600
    assert isinstance(error, tfrecs.LimitError)
    assert error.record == 600


# ------------------------------------------- counting, verifying, salvaging, repairing


def salvaged(path: Path, **limits: Any) -> Any:
    return (piece for piece in tfrecs.salvage(path, **limits) if isinstance(piece, bytes))


@pytest.mark.parametrize("codec", frames.CODECS)
@given(sizes=st.lists(st.integers(0, 60), max_size=8), limit=st.integers(1, 61))
def test_records_up_to_a_limit_whoever_looks(
    tmp_path_factory: pytest.TempPathFactory, codec: str, sizes: list[int], limit: int
) -> None:
    records = [bytes([number]) * size for number, size in enumerate(sizes)]
    path = tmp_path_factory.getbasetemp() / "limited"
    frames.save(path, frames.compressed(codec, frames.plain(records)))
    count = allowed(records, limit)
    if count == len(records):
        assert tfrecs.count(path, max_record_bytes=limit) == count
        assert tfrecs.verify(path, max_record_bytes=limit).records == count
        assert list(salvaged(path, max_record_bytes=limit)) == records
        return
    found, salvage_error = drained(salvaged(path, max_record_bytes=limit))
    assert found == records[:count]
    (report,) = tfrecs.verify(path, max_record_bytes=limit).files
    assert report.records == count
    with pytest.raises(tfrecs.LimitError) as caught:
        tfrecs.count(path, max_record_bytes=limit)
    said = f"the record has {sizes[count]} bytes, and max_record_bytes allows {limit}; "
    for error in (salvage_error, report.error, caught.value):
        assert isinstance(error, tfrecs.LimitError)
        where = (error.path, error.record, error.offset)
        assert where == (str(path), count, frames.starts(records)[count])
        assert error.reason.startswith(said)


@pytest.mark.parametrize("threads", [1, 3])
def test_counting_a_large_file_finds_the_record_that_is_too_long(
    tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By headers, on several threads, wherever it is."""
    monkeypatch.setattr("tfrecs.records.reader.checked_threads", lambda _: threads)
    path = tmp_path / "large"
    records = [b"x" * 1000] * 40_000
    for place in (3, 20_000, 39_999):
        with tfrecs.RecordWriter(path, sync=False) as out:
            out.write_batch([*records[:place], b"y" * 1001, *records[place:]])
        assert tfrecs.count(path, max_record_bytes=1001) == len(records) + 1
        with pytest.raises(tfrecs.LimitError) as caught:
            tfrecs.count(path, max_record_bytes=1000)
        assert (caught.value.record, caught.value.offset) == (place, place * 1016)


@pytest.mark.parametrize("codec", ["", "GZIP", "ZLIB"])
def test_after_damage_limits_hold(tmp_path: Path, codec: str) -> None:
    """Records found after damage, and those whose headers are damaged, are as large as allowed."""
    records = [bytes([number]) * 50 for number in range(40)] + [b"x" * 90, b"end"]
    starts = frames.starts(records)
    content = bytearray(frames.plain(records))
    content[starts[20] + 30] ^= 1
    for header in (False, True):
        if header:
            content[starts[40]] ^= 1  # only its data says how long it is
        path = frames.save(tmp_path / "a", frames.compressed(codec, bytes(content)))
        assert len(list(salvaged(path, max_record_bytes=90))) == 41
        found, error = drained(salvaged(path, max_record_bytes=89))
        assert len(found) == 39
        assert isinstance(error, tfrecs.LimitError)
        assert "the record has 90 bytes, and max_record_bytes allows 89" in error.reason
        assert (error.path, error.offset) == (str(path), starts[40])
        with pytest.raises(tfrecs.LimitError):
            tfrecs.repair(path, tmp_path / "b", max_record_bytes=89)
        assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
@pytest.mark.parametrize("cut", [0, 1, 20])
def test_a_bomb_stops_whoever_looks(tmp_path: Path, codec: str, cut: int) -> None:
    """Whether it is sound, or damaged at its end."""
    data = frames.compressed(codec, frames.plain([b"first"] + [bytes(MB)] * 30))
    path = frames.save(tmp_path / "bomb", data[: len(data) - cut])
    few: dict[str, Any] = {"max_decompressed_bytes": 10 * MB}
    enough: dict[str, Any] = {"max_decompressed_bytes": 31 * MB}
    uses: list[Callable[[], object]] = [
        lambda: list(tfrecs.salvage(path, **few)),
        lambda: tfrecs.repair(path, tmp_path / "b", **few),
        lambda: tfrecs.count(path, **few),
    ]
    for use in uses:
        with pytest.raises(tfrecs.LimitError, match="that max_decompressed_bytes allows"):
            use()
    (report,) = tfrecs.verify(path, **few).files
    assert isinstance(report.error, tfrecs.LimitError)
    assert report.records == 10
    assert [path.name for path in tmp_path.iterdir()] == ["bomb"]
    assert len(list(salvaged(path, **enough))) >= 30
    assert tfrecs.verify(path, **enough).ok == (not cut)


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_what_comes_out_after_damage_counts_too(tmp_path: Path, codec: str) -> None:
    """The damage is in front; a reader never comes to what is too much."""
    content = b"no record" + frames.plain([bytes(MB)] * 30)
    path = frames.save(tmp_path / "bomb", frames.compressed(codec, content))
    given: dict[str, Any] = {"compression_type": codec}
    found, error = drained(salvaged(path, max_decompressed_bytes=10 * MB, **given))
    assert found == []
    assert isinstance(error, tfrecs.LimitError)
    assert f"{10 * MB} bytes that max_decompressed_bytes allows" in error.reason
    assert error.path == str(path)
    assert len(list(salvaged(path, max_decompressed_bytes=31 * MB, **given))) == 30


@pytest.mark.parametrize("limit", ["max_record_bytes", "max_decompressed_bytes"])
@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "1"])
def test_limits_are_positive_integers_whoever_looks(
    tmp_path: Path, limit: str, wrong: object
) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"one"]))
    given: dict[str, Any] = {limit: wrong}
    uses: list[Callable[[], object]] = [
        lambda: tfrecs.salvage(path, **given),
        lambda: tfrecs.repair(path, tmp_path / "b", **given),
        lambda: tfrecs.count(path, **given),
        lambda: tfrecs.verify(path, **given),
    ]
    for use in uses:
        with pytest.raises(tfrecs.SpecError, match=limit):
            use()


def test_a_limited_count_of_a_pipe(tmp_path: Path) -> None:
    data = frames.plain([b"one", b"three"])
    with fifo(tmp_path / "pipe", data) as pipe:
        assert tfrecs.count(pipe, max_record_bytes=5) == 2
    with fifo(tmp_path / "pipe", data) as pipe, pytest.raises(tfrecs.LimitError):
        tfrecs.count(pipe, max_record_bytes=4)


# ---------------------------------------------------------------- memory

MEASURE = """
import sys, tfrecs
from measure import peak_rss
path = sys.argv[1]
tfrecs.count(path + ".small")  # all that every use takes
list(tfrecs.Dataset(path + ".small"))
before = peak_rss()
{work}
print(peak_rss() - before)
"""


def peak_of(work: str, path: Path) -> int:
    """How many bytes of memory a fresh process takes for `work`, beyond those it has before."""
    frames.save(path.with_name(path.name + ".small"), frames.plain([b"one"]))
    run = [sys.executable, "-c", MEASURE.format(work=textwrap.dedent(work)), str(path)]
    done = subprocess.run(run, env=measuring(), capture_output=True, text=True, check=False)
    assert not done.stderr
    return int(done.stdout)


def bomb(path: Path, record: int, times: int) -> Path:
    """Many records of that many zeros, in gzip members of about a megabyte of content each."""
    each = frames.frame(bytes(record))
    block = frames.compressed("GZIP", each * max(MB // len(each), 1))
    return frames.save(path, block * times)


EXPECT_LIMIT = """
    limits = {{"max_record_bytes": {limit}}}
    try:
        {use}
    except tfrecs.LimitError as error:
        assert error.record == 0
    else:
        raise AssertionError
"""
USES = [
    "next(tfrecs.RecordReader(path, **limits))",
    "tfrecs.RecordReader(path, **limits).read_batch(1)",
    "next(iter(tfrecs.Dataset(path, **limits)))",
]


@pytest.mark.parametrize("use", USES)
def test_one_record_of_a_gigabyte(tmp_path: Path, use: str) -> None:
    """A megabyte of gzip, announced truly; four gigabytes are allowed, one is not."""
    size = 1 << 30
    head = frames.compressed("GZIP", frames.header(size))
    content = frames.compressed("GZIP", bytes(MB)) * 1025
    path = frames.save(tmp_path / "bomb.gz", head + content)
    assert peak_of(EXPECT_LIMIT.format(limit=size - 1, use=use), path) < 64 * MB


@pytest.mark.parametrize(("record", "blocks"), [(0, 100), (84, 200), (100_000, 200)])
def test_many_records_take_no_memory(tmp_path: Path, record: int, blocks: int) -> None:
    """Not five bytes for each of the smallest; a third of what comes out is too much for any."""
    path = bomb(tmp_path / "bomb.gz", record, blocks)
    for work in (
        "assert sum(1 for _ in tfrecs.RecordReader(path)) > 1000",
        "assert sum(1 for _ in tfrecs.Dataset(path)) > 1000",
        "assert tfrecs.count(path) > 1000",
        "assert tfrecs.verify(path)",
    ):
        assert peak_of(work, path) < blocks * MB * 0.32, work


def test_a_dataset_of_large_records_reads_few_ahead(tmp_path: Path) -> None:
    path = bomb(tmp_path / "large.gz", 4 * MB, 100)
    assert peak_of("assert sum(1 for _ in tfrecs.Dataset(path)) == 100", path) < 128 * MB


@pytest.mark.parametrize("codec", ["", "GZIP"])
def test_a_large_record_is_in_memory_once(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "large"
    with tfrecs.RecordWriter(path, codec) as out:
        out.write(bytes(256 * MB))
    assert peak_of("assert len(tfrecs.RecordReader(path).read_batch(1)) == 1", path) < 320 * MB


NO_MEMORY = """
    import resource, sys, tfrecs
    path = sys.argv[1]
    list(tfrecs.Dataset(path + ".small").batch(1))
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + (300 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    def batches():
        reader = tfrecs.RecordReader(path)
        while reader.read_batch(10):
            pass

    for use in (
        lambda: list(tfrecs.RecordReader(path)),
        batches,
        lambda: tfrecs.verify(path).errors[0],
        lambda: list(tfrecs.Dataset(path, num_threads=1).batch(1)),
    ):
        try:
            error = use()
        except tfrecs.OutOfMemoryError as caught:
            error = caught
        assert isinstance(error, MemoryError), error
        assert (error.path, error.record, error.offset) == (path, 1, 19), error
    assert list(tfrecs.RecordReader(path + ".small")) == [b"one"]
    print("fine")
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="address space is Linux's")
@pytest.mark.parametrize("codec", frames.CODECS)
def test_without_memory_for_a_record_there_is_an_error(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "large"
    with tfrecs.RecordWriter(path, codec) as out:
        out.write(b"one")
        out.write(bytes(512 * MB))
    frames.save(tmp_path / "large.small", frames.plain([b"one"]))
    run = [sys.executable, "-c", textwrap.dedent(NO_MEMORY), str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr
