"""Files cut into ranges: each record in exactly one, whatever records hold."""

import os
import pickle
import random
from pathlib import Path
from typing import Any

import frames
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

# Records that hold records, whole files of them, or the headers of some.
RECORD = st.recursive(
    st.binary(max_size=40) | st.integers(0, 2000).map(frames.header),
    lambda inner: st.lists(inner | inner.map(frames.frame), max_size=6).map(b"".join),
    max_leaves=20,
)
SHARDS = st.lists(
    st.tuples(st.sampled_from(["", "", "GZIP"]), st.lists(RECORD, max_size=30)),
    min_size=1,
    max_size=4,
)


def records_of(ranges: list[tfrecs.Range]) -> list[bytes]:
    return [record for part in ranges for record in tfrecs.read_range(part)]


@given(shards=SHARDS, n=st.integers(1, 40))
def test_each_record_is_in_exactly_one(
    tmp_path_factory: pytest.TempPathFactory, shards: list[tuple[str, list[bytes]]], n: int
) -> None:
    folder = tmp_path_factory.mktemp("ranges")
    for number, (codec, records) in enumerate(shards):
        frames.save(folder / f"{number}", frames.compressed(codec, frames.plain(records)))
    expected = [record for _, records in shards for record in records]
    ranges = tfrecs.plan_ranges(folder / "*", n)
    assert len(ranges) <= n
    assert all(part.num_records for part in ranges)
    assert sum(part.num_records for part in ranges) == len(expected)
    assert sum(part.nbytes for part in ranges) == sum(len(record) + 16 for record in expected)
    assert records_of(ranges) == expected
    assert records_of(pickle.loads(pickle.dumps(ranges))) == expected


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """A file large enough to be cut by several threads, most of which looks like another file."""
    source = random.Random(0)
    inner = [source.randbytes(source.randrange(100)) for _ in range(2000)]
    nested = frames.plain(inner)
    forged = b"".join(frames.header(source.randrange(1 << 24)) for _ in range(10_000))
    records = [nested, b"", forged, b"plain"] * 50
    records = [*records, nested[:-5] + nested * 20, *[b"short"] * 500, forged * 30, nested]
    path = tmp_path_factory.mktemp("hostile") / "file"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(records)
    return path, records


@pytest.mark.parametrize("n", [1, 2, 7, 100, 1000])
@pytest.mark.parametrize("threads", [1, 2])
def test_records_of_records_deceive_nobody(
    hostile: tuple[Path, list[bytes]], n: int, threads: int
) -> None:
    path, records = hostile
    ranges = tfrecs.plan_ranges(path, n, num_threads=threads)
    assert records_of(ranges) == records
    assert tfrecs.count(path) == len(records)
    assert [len(record) for record in tfrecs.open(path, index="memory", num_threads=threads)] == [
        len(record) for record in records
    ]


def test_ranges_are_about_equal(tmp_path: Path) -> None:
    source = random.Random(1)
    for number in range(3):
        records = [bytes(source.randrange(500)) for _ in range(1000)]
        frames.save(tmp_path / f"{number}", frames.plain(records))
    ranges = tfrecs.plan_ranges(tmp_path / "*", 10)
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert len(ranges) == 10
    assert all(abs(part.nbytes - total / 10) < 600 for part in ranges)
    paths = [file.path for part in ranges for file in part.parts]
    assert paths == sorted(paths)


def test_no_index_is_written(tmp_path: Path) -> None:
    frames.save(tmp_path / "a", frames.plain([bytes(4000)] * 600))
    assert len(tfrecs.plan_ranges(tmp_path / "a", 4)) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_batches(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"%d" % number for number in range(10)]))
    (whole,) = tfrecs.plan_ranges(path, 1)
    batches = [batch.tolist() for batch in tfrecs.read_range(whole, batch_size=4)]
    assert batches == [[b"0", b"1", b"2", b"3"], [b"4", b"5", b"6", b"7"], [b"8", b"9"]]
    for wrong in (0, -1, True, "3"):
        with pytest.raises(tfrecs.SpecError, match="batch_size must be"):
            next(tfrecs.read_range(whole, wrong))  # type: ignore[arg-type]  # on purpose
        with pytest.raises(tfrecs.SpecError, match="n must be"):
            tfrecs.plan_ranges(path, wrong)  # type: ignore[arg-type]  # on purpose


def test_errors_name_the_record_in_its_file(tmp_path: Path) -> None:
    records = [b"abc"] * 10
    content = bytearray(frames.plain(records))
    content[7 * 19 + 13] ^= 1
    path = frames.save(tmp_path / "a", bytes(content))
    ranges = tfrecs.plan_ranges(path, 3)
    assert [len(list(tfrecs.read_range(part))) for part in ranges[:2]] == [4, 3]
    with pytest.raises(tfrecs.CorruptRecordError) as caught:
        list(tfrecs.read_range(ranges[2]))
    assert (caught.value.record, caught.value.offset) == (7, 7 * 19)
    assert len(list(tfrecs.read_range(ranges[2], verify=False))) == 3


def test_a_file_that_has_changed_is_noticed(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"abc"] * 10))
    ranges = tfrecs.plan_ranges(path, 2)
    frames.save(path, frames.plain([b"abc"] * 11))
    with pytest.raises(tfrecs.StateError, match="plan it again"):
        list(tfrecs.read_range(ranges[0]))
    # Of the same size: then no record begins where one did.
    frames.save(path, frames.plain([*[b"abc"] * 4, b"abcd", b"ab", *[b"abc"] * 4]))
    with pytest.raises(tfrecs.StateError, match="no record ends where the range does"):
        list(tfrecs.read_range(ranges[0]))
    with pytest.raises(tfrecs.CorruptRecordError):
        list(tfrecs.read_range(ranges[1]))


def test_more_ranges_than_anybody_counts_to(tmp_path: Path) -> None:
    records = [bytes(length) for length in (1000, 0, 0, 0, 50)]
    paths = [frames.save(tmp_path / name, frames.plain(records)) for name in "ab"]
    ranges = tfrecs.plan_ranges(paths, 10**30)
    assert [len(list(tfrecs.read_range(one))) for one in ranges] == [1] * 10


def test_a_range_is_shown_by_what_it_is(tmp_path: Path) -> None:
    paths = [frames.save(tmp_path / name, frames.plain([b"abc"] * 10)) for name in "ab"]
    one = tfrecs.plan_ranges(paths[0], 2)[0]
    assert repr(one) == f"Range(5 records in {os.fspath(paths[0])!r}, 95 bytes)"
    assert repr(tfrecs.plan_ranges(paths, 1)) == "[Range(20 records in 2 files, 380 bytes)]"
    wrongs: list[Any] = [[one], one.parts[0], "a"]
    for wrong in wrongs:
        with pytest.raises(tfrecs.SpecError, match="read_range takes a Range"):
            tfrecs.read_range(wrong)
