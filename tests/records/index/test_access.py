"""Any record of any files, at once."""

import os
import pickle
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import frames
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

CONTENT = st.one_of(
    st.binary(max_size=60), st.integers(0, 5000).map(lambda n: bytes(range(256)) * (n // 50))
)
SHARDS = st.lists(
    st.tuples(st.sampled_from(frames.CODECS), st.lists(CONTENT, max_size=60)),
    min_size=1,
    max_size=4,
)


def save_shards(folder: Path, shards: list[tuple[str, list[bytes]]]) -> list[Path]:
    """One file a shard, each compressed as it says."""
    return [
        frames.save(folder / f"shard-{number}", frames.compressed(codec, frames.plain(records)))
        for number, (codec, records) in enumerate(shards)
    ]


@given(shards=SHARDS, data=st.data(), threads=st.sampled_from([1, 2, 3]), memory_map=st.booleans())
def test_it_is_the_list_of_the_records(
    tmp_path_factory: pytest.TempPathFactory,
    shards: list[tuple[str, list[bytes]]],
    data: st.DataObject,
    threads: int,
    memory_map: bool,
) -> None:
    expected = [record for _, records in shards for record in records]
    paths = save_shards(tmp_path_factory.mktemp("access"), shards)
    records = tfrecs.open(paths, num_threads=threads, memory_map=memory_map)
    assert issubclass(type(records), Sequence)
    assert len(records) == len(expected)
    assert list(records) == expected
    assert records[:].tolist() == expected
    places = st.integers(-len(expected), max(len(expected) - 1, 0))
    for place in data.draw(st.lists(places, max_size=5 * bool(expected))):
        assert records[place] == expected[place]
    ends = st.none() | st.integers(-70, 70)
    step = st.none() | st.integers(-9, 9).filter(bool)
    cut = slice(data.draw(ends), data.draw(ends), data.draw(step))
    assert records[cut].tolist() == expected[cut]
    some = data.draw(st.lists(places, max_size=80 * bool(expected)))
    assert records[some].tolist() == [expected[place] for place in some]
    assert records[np.array(some, np.int64)].tolist() == [expected[place] for place in some]
    assert records.__getitems__(some) == [expected[place] for place in some]


@pytest.fixture
def large(tmp_path: Path) -> tuple[list[Path], list[bytes]]:
    """Enough for several threads and several pieces: two files, of small and of large records."""
    source = random.Random(5)
    small = [source.randbytes(source.choice([0, 10, 300, 2000])) for _ in range(5000)]
    huge = [source.randbytes(source.choice([100, 70_000, 300_000])) for _ in range(60)]
    paths = [tmp_path / "small", tmp_path / "huge"]
    for path, records in zip(paths, (small, huge), strict=True):
        frames.save(path, b"")
        with tfrecs.RecordWriter(path) as out:
            out.write_batch(records)
    return paths, small + huge


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_batches_in_any_order(
    large: tuple[list[Path], list[bytes]], threads: int, memory_map: bool
) -> None:
    paths, expected = large
    records = tfrecs.open(paths, num_threads=threads, memory_map=memory_map)
    order = np.random.default_rng(0).permutation(len(expected))
    for some in (order, order[:1000], order[::-1][:100], np.repeat(order[:300], 3)):
        assert records[some].tolist() == [expected[place] for place in some]
    assert list(records) == expected


def test_errors_of_indices(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"a", b"b"]))
    records = tfrecs.open(path)
    for index in (2, -3, 10**12):
        with pytest.raises(IndexError):
            records[index]
    with pytest.raises(IndexError):
        records[[0, 2]]
    for wrong in ("0", 1.0, None, [True], [0.5], ["a"]):
        with pytest.raises(TypeError, match="indexed with an integer, a slice or a sequence"):
            records[wrong]  # type: ignore[index]  # on purpose
    assert records[[]].tolist() == []
    assert records[5:].tolist() == []


def test_errors_of_arguments(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"a"]))
    with pytest.raises(tfrecs.SpecError, match='index must be "auto" or "memory"'):
        tfrecs.open(path, index="disk")
    with pytest.raises(tfrecs.SpecError, match="compression_type"):
        tfrecs.open(path, "LZ4")
    with pytest.raises(tfrecs.SpecError, match="1 file needs as many index_paths, not 2"):
        tfrecs.open(path, index_paths=[path, path])
    with pytest.raises(tfrecs.SpecError, match="num_threads"):
        tfrecs.open(path, num_threads=0)
    with pytest.raises(FileNotFoundError):
        tfrecs.open(tmp_path / "none")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileNotFoundError, match="no TFRecord file in this folder"):
        tfrecs.open(tmp_path / "folder")
    with pytest.raises(tfrecs.CorruptRecordError, match="begins like an uncompressed TFRecord"):
        tfrecs.open(path, "GZIP")


def test_what_cannot_be_gone_about_in_is_refused(tmp_path: Path) -> None:
    """And that before it is opened: nobody writes to this pipe."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(tfrecs.SpecError, match="only of a file"):
        tfrecs.open(tmp_path / "pipe")


@pytest.mark.parametrize("codec", frames.CODECS)
def test_damaged_files_are_refused_with_the_place(tmp_path: Path, codec: str) -> None:
    records = [b"one", b"two" * 100, b"three"]
    stream = bytearray(frames.plain(records))
    stream[frames.starts(records)[2]] ^= 1  # the length of the third
    path = frames.save(tmp_path / "a", frames.compressed(codec, bytes(stream)))
    with pytest.raises(tfrecs.CorruptRecordError) as caught:
        tfrecs.open(path)
    assert (caught.value.record, caught.value.offset) == (2, frames.starts(records)[2])
    path = frames.save(tmp_path / "b", frames.compressed(codec, frames.plain(records)[:-5]))
    with pytest.raises(tfrecs.TruncatedFileError) as cut:
        tfrecs.open(path)
    assert (cut.value.record, cut.value.offset) == (2, frames.starts(records)[2])


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("codec", frames.CODECS)
def test_damaged_data_is_found_when_it_is_read(
    tmp_path: Path, codec: str, memory_map: bool
) -> None:
    expected = [b"one", b"two" * 100, b"three"]
    stream = bytearray(frames.plain(expected))
    offset = frames.starts(expected)[1]
    stream[offset + 12] ^= 1
    path = frames.save(tmp_path / "a", frames.compressed(codec, bytes(stream)))
    records = tfrecs.open(path, memory_map=memory_map)
    assert (records[0], records[2]) == (b"one", b"three")
    for read in (lambda: records[1], lambda: records[[0, 1]], lambda: records[:]):
        with pytest.raises(tfrecs.CorruptRecordError, match="checksum of its data") as caught:
            read()
        where = (caught.value.path, caught.value.record, caught.value.offset)
        assert where == (os.fspath(path), 1, offset)
    assert tfrecs.open(path, verify=False, memory_map=memory_map)[[1]].tolist() == [
        bytes(stream[offset + 12 : offset + 312])
    ]


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_damage_reaches_to_the_next_checkpoint_and_no_farther(tmp_path: Path, codec: str) -> None:
    """However the records after it are come to; the index is older than the damage."""
    source = random.Random(3)
    words = [source.randbytes(6) for _ in range(300)]
    expected = [b" ".join(source.choices(words, k=100)) for _ in range(6000)]
    sound = frames.compressed(codec, plain_file(tmp_path / "plain", expected))
    path = frames.save(tmp_path / "a", sound)
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    lost = []
    for _ in range(4):
        records = [tfrecs.open(path, index="memory") for _ in range(3)]
        damaged = bytearray(sound)
        damaged[source.randrange(len(sound) // 4, len(sound) // 2)] ^= 1 << source.randrange(8)
        path.write_bytes(damaged)
        os.utime(path, ns=times)
        order = range(len(expected))
        forwards = [is_sound(records[0], place, expected[place]) for place in order]
        backwards = [is_sound(records[1], place, expected[place]) for place in reversed(order)]
        alone = [is_sound(records[2], [place], [expected[place]]) for place in order[::50]]
        assert forwards == backwards[::-1]
        assert forwards[::50] == alone
        assert all(forwards[-1000:]), "from a checkpoint after the damage"
        lost.append(forwards.count(False))
        path.write_bytes(sound)
        os.utime(path, ns=times)
    assert 0 < max(lost) < len(expected) / 2


def plain_file(path: Path, records: list[bytes]) -> bytes:
    """What the natively written file of `records` holds: plain Python takes long for large ones."""
    with tfrecs.RecordWriter(path, "") as out:
        out.write_batch(records)
    return path.read_bytes()


def is_sound(records: tfrecs.IndexedRecords, place: Any, expected: Any) -> bool:
    try:
        assert records[place] == expected
    except tfrecs.Error:
        return False
    return True


def test_errors_of_batches_name_the_record_and_its_file(tmp_path: Path) -> None:
    records = [tfrecs.encode_example({"a": [1]}), b"no example"]
    for number in range(2):
        frames.save(tmp_path / f"shard-{number}", frames.plain(records))
    batch = tfrecs.open(tmp_path / "shard-*")[[0, 2, 3]]
    with pytest.raises(tfrecs.ParseError) as caught:
        tfrecs.parse_example(batch, {"a": tfrecs.FixedLenFeature([1], "int64")})
    assert caught.value.path == os.fspath(tmp_path / "shard-1")
    assert (caught.value.record, caught.value.offset) == (1, frames.starts([records[0]])[1])


@pytest.mark.parametrize("memory_map", [False, True])
def test_files_that_change_are_noticed(tmp_path: Path, memory_map: bool) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"one", b"two"]))
    records = tfrecs.open(path, memory_map=memory_map)
    frames.save(path, frames.plain([b"one", b"two", b"three"]))
    with pytest.raises(tfrecs.StateError, match="has changed since it was opened"):
        records[0]
    assert len(tfrecs.open(path)) == 3
    # Of several pages, because a page that is cut stays in memory whole.
    frames.save(path, frames.plain([b"one", b"two" * 5000, b"three" * 5000]))
    records = tfrecs.open(path, memory_map=memory_map)
    assert records[0] == b"one"
    for size in (25_000, 25):  # while it is open
        os.truncate(path, size)
        assert records[0] == b"one"
        with pytest.raises(tfrecs.TruncatedFileError):
            records[2]
    for read in (lambda: records[1], lambda: records[[1]]):
        with pytest.raises(tfrecs.TruncatedFileError):
            read()


def test_where_a_record_is(tmp_path: Path) -> None:
    shards = [("", [b"a", b"b"]), ("", []), ("", [b"c"])]
    paths = save_shards(tmp_path, shards)
    records = tfrecs.open(paths)
    expected = [(os.fspath(paths[0]), 0), (os.fspath(paths[0]), 1), (os.fspath(paths[2]), 0)]
    assert [records.locate(index) for index in range(3)] == expected
    assert records.locate(-1) == expected[-1]
    with pytest.raises(IndexError):
        records.locate(3)
    assert records.paths == [os.fspath(path) for path in paths]
    size = sum(path.stat().st_size for path in paths)
    assert repr(records) == f"IndexedRecords(3 records in 3 files, {size} bytes)"


def test_samples(tmp_path: Path) -> None:
    expected = [b"%d" % number for number in range(100)]
    records = tfrecs.open(frames.save(tmp_path / "a", frames.plain(expected)))
    assert records.sample(20, seed=3) == records.sample(20, seed=3)
    assert records.sample(20, seed=3) != records.sample(20, seed=4)
    assert sorted(records.sample(100), key=int) == expected
    assert records.sample(0).tolist() == []
    for wrong in (101, -1):
        with pytest.raises(ValueError, match="of 100 records"):
            records.sample(wrong)


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("index", ["auto", "memory"])
def test_pickled_it_opens_its_files_again(
    large: tuple[list[Path], list[bytes]],
    index: str,
    memory_map: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths, expected = large
    monkeypatch.chdir(paths[0].parent)
    names = [path.name for path in paths]
    packed = pickle.dumps(tfrecs.open(names, index=index, memory_map=memory_map))
    monkeypatch.chdir("/")
    again = pickle.loads(packed)
    assert again[[0, -1]].tolist() == [expected[0], expected[-1]]
    with paths[0].open("ab") as file:
        file.write(frames.frame(b"more"))
    with pytest.raises(tfrecs.StateError, match="has changed since it was opened"):
        pickle.loads(packed)


def read_in_child(records: tfrecs.IndexedRecords, seed: int) -> int:
    order = np.random.default_rng(seed).permutation(len(records))
    return sum(map(len, records[order])) + sum(len(records[int(place)]) for place in order[:50])


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_share_it(
    large: tuple[list[Path], list[bytes]], method: str, memory_map: bool
) -> None:
    paths, expected = large
    records = tfrecs.open(paths, memory_map=memory_map)
    wanted = [
        sum(map(len, expected))
        + sum(
            len(expected[place])
            for place in np.random.default_rng(seed).permutation(len(expected))[:50]
        )
        for seed in range(4)
    ]
    assert read_in_child(records, 0) == wanted[0]
    with get_context(method).Pool(2) as pool:
        assert pool.starmap(read_in_child, [(records, seed) for seed in range(4)]) == wanted


def test_threads_share_it(large: tuple[list[Path], list[bytes]]) -> None:
    paths, expected = large
    records = tfrecs.open(paths)
    order = np.random.default_rng(1).permutation(len(expected))

    def some(number: int) -> bool:
        places = order[number::20]
        one = int(places[0])
        return (
            records[places].tolist() == [expected[place] for place in places]
            and records[one] == expected[one]
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(some, range(20)))


def test_more_files_than_are_kept_open(tmp_path: Path) -> None:
    count = 700
    for number in range(count):
        (tmp_path / f"a-{number:03}").write_bytes(frames.plain([b"%d" % number]))
    records = tfrecs.open(tmp_path / "a-*")
    assert list(records) == [b"%d" % number for number in range(count)]
    assert records[count - 1] == b"%d" % (count - 1)
    if Path("/proc/self/fd").exists():
        assert len(list(Path("/proc/self/fd").iterdir())) < 600
        del records
        assert len(list(Path("/proc/self/fd").iterdir())) < 100


@pytest.mark.parametrize("codec", frames.CODECS)
@pytest.mark.parametrize("spread", [1, 10, 100])
def test_places_as_the_format_has_them(tmp_path: Path, codec: str, spread: int) -> None:
    """Where records of all lengths begin, from the index itself."""
    expected = [bytes(number * spread) for number in range(200)]
    path = frames.save(tmp_path / "a", frames.compressed(codec, frames.plain(expected)))
    (file,) = (one for one in tfrecs._core.Indexing([os.fspath(path)], "auto", 1, (None, None)))
    starts = [0, *accumulate(16 + len(record) for record in expected)]
    assert [file.first_from(start) for start in starts] == list(enumerate(starts))
    assert file.first_from(starts[5] + 1) == (6, starts[6])
    assert file.end() == starts[-1]
