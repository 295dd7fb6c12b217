"""Random access by people who hold it wrong, on machines that have little, beside others."""

import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import frames
import numpy as np
import pytest
from needs import measuring

import tfrecs
from torture.heard import BOMBARD

RECORDS = [b"%d" % number for number in range(100)]


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    return frames.save(tmp_path / "numbers", frames.plain(RECORDS))


@pytest.mark.parametrize("index", [2**63, -(2**63), 2**100, -(2**100), [0, 2**70], [-101]])
def test_no_such_index_however_large(numbers: Path, index: Any) -> None:
    with pytest.raises(IndexError, match="is out of range for 100 records"):
        tfrecs.open(numbers)[index]


@pytest.mark.parametrize(
    ("index", "why"),
    [
        (np.arange(100) > 3, r"not bool.*numpy\.flatnonzero"),
        ([True, False], r"not bool.*numpy\.flatnonzero"),
        (np.array([1.5]), "not float64"),
        (1.5, "not float"),
        ("", "not str"),
        (b"\1\2", "not bytes"),
        (None, "not NoneType"),
    ],
)
def test_what_is_no_index(numbers: Path, index: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        tfrecs.open(numbers)[index]


def test_it_has_all_that_a_sequence_has(numbers: Path) -> None:
    records = tfrecs.open(numbers)
    for name in ("index", "count", "__contains__", "__reversed__"):
        assert hasattr(Sequence, name)
        assert hasattr(records, name)
    assert records.index(b"7") == 7
    assert records.count(b"7") == 1
    assert b"7" in records
    assert next(reversed(records)) == b"99"


def test_samples_take_the_integers_of_numpy(numbers: Path) -> None:
    records = tfrecs.open(numbers)
    assert records.sample(np.int64(3), seed=np.int64(5)) == records.sample(3, seed=5)
    for wrong in ({"n": 2.5}, {"n": "x"}, {"n": 3, "seed": [1]}):
        with pytest.raises(tfrecs.SpecError, match="n and seed must be integers"):
            records.sample(**wrong)
    with pytest.raises(IndexError, match="index 100 is out of range for 100 records"):
        records.locate(100)
    assert records.locate(np.int64(-1)) == (os.fspath(numbers), 99)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (b"numbers", "not bytes"),
        ([b"numbers"], "not bytes"),
        (None, "not NoneType"),
        (5, "not int"),
        ([5], "not int"),
        ("", "not an empty one"),
        ("gs://bucket/a.tfrecord", "a URL"),
        (["https://host/a-*.tfrecord"], "a URL"),
    ],
)
@pytest.mark.parametrize("call", [tfrecs.open, tfrecs.count, tfrecs.build_index, tfrecs.verify])
def test_what_is_no_path(call: Callable[[Any], object], path: Any, why: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=why):
        call(path)


def test_a_warning_points_to_who_asked(numbers: Path) -> None:
    with pytest.warns(RuntimeWarning, match="is no index of") as caught:
        tfrecs.open(numbers, index_paths=numbers)
    assert caught[0].filename == __file__


def test_the_process_may_go_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As people's launchers do, between opening and reading."""
    many = [os.urandom(1000)] * 1500
    for name, records in (("small", RECORDS), ("large", many)):
        frames.save(tmp_path / name, frames.plain(records))
    monkeypatch.chdir(tmp_path)
    assert tfrecs.open("large").index_paths == [".large.tfrindex"]  # it is kept from here on
    opened = [(tfrecs.open("small"), RECORDS), (tfrecs.open("large"), many)]
    monkeypatch.chdir("/")
    for it, expected in opened:
        assert it[5] == expected[5]
        assert pickle.loads(pickle.dumps(it))[:].tolist() == expected


def test_an_index_that_is_gone_is_no_reason_to_give_up(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "large", frames.plain([bytes(1000)] * 1500))
    packed = pickle.dumps(tfrecs.open(path))
    (tmp_path / ".large.tfrindex").unlink()
    assert len(pickle.loads(packed)) == 1500


def test_iterating_gives_what_comes_before_damage(tmp_path: Path) -> None:
    data = bytearray(frames.plain(RECORDS))
    data[frames.starts(RECORDS)[50] + 12] ^= 1
    records = iter(tfrecs.open(frames.save(tmp_path / "a", bytes(data))))
    assert [next(records) for _ in range(50)] == RECORDS[:50]
    with pytest.raises(tfrecs.CorruptRecordError, match="record 50 at byte"):
        next(records)


def test_many_indices_at_once(tmp_path: Path) -> None:
    expected = [b"%d" % number for number in range(70_000)]
    path = frames.save(tmp_path / "a", frames.plain(expected))
    order = np.random.default_rng(1).integers(-70_000, 70_000, 300_000)
    assert tfrecs.open(path)[order].tolist() == [expected[place] for place in order.tolist()]


@pytest.mark.parametrize("way", ["array", "list", "endless"])
def test_interrupted_over_many_indices(tmp_path: Path, way: str) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b""] * 500_000))
    script = """
        import itertools, sys
        import numpy as np, tfrecs
        records = tfrecs.open(sys.argv[1], index="memory")
        order = np.tile(np.random.default_rng(1).permutation(len(records)), 12)
        match sys.argv[2]:
            case "list": order = order.tolist()
            case "endless": order = itertools.repeat(0)
        try:
            bombarded(records.__getitem__, order)
        except KeyboardInterrupt:
            print("heard")
    """
    assert run(BOMBARD + textwrap.dedent(script), path, way) == "heard"


def run(script: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=measuring(),
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_iterating_takes_little_memory(tmp_path: Path) -> None:
    """However much a file inflates to, and however unlike its records are."""
    with tfrecs.RecordWriter(tmp_path / "a.gz", sync=False) as out:
        out.write_batch([b""] * 100_000)
        for _ in range(300):
            out.write(bytes(1_000_000))
    script = """
        import sys, tfrecs
        from measure import peak_rss
        records = tfrecs.open(sys.argv[1], index="memory")
        before = peak_rss()
        assert sum(map(len, records)) == 300_000_000
        print(peak_rss() - before)
    """
    assert int(run(script, tmp_path / "a.gz")) < 100_000_000


def test_single_reads_of_many_files_take_little_memory(tmp_path: Path) -> None:
    packed = frames.compressed("GZIP", frames.plain([bytes(1000)] * 3))
    for number in range(800):
        (tmp_path / f"a-{number}").write_bytes(packed)
    script = """
        import sys, tfrecs
        from measure import peak_rss
        records = tfrecs.open(sys.argv[1], index="memory")
        records[0]
        before = peak_rss()
        for index in range(len(records)):
            assert len(records[index]) == 1000
        print(peak_rss() - before)
    """
    assert int(run(script, tmp_path / "a-*")) < 50_000_000


def test_one_large_record_many_times_is_read_once(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain([bytes(3_000_000), b"small"]))
    script = """
        import sys, tfrecs
        from measure import peak_rss
        records = tfrecs.open(sys.argv[1])
        before = peak_rss()
        some = records[[0, 1, 0, 0, 1] * 20]
        assert [len(record) for record in some] == [3_000_000, 5, 3_000_000, 3_000_000, 5] * 20
        print(peak_rss() - before)
    """
    assert int(run(script, path)) < 50_000_000


def test_few_open_files_are_enough(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"a-{number}").write_bytes(frames.plain([b"one", b"two"]))
    script = """
        import resource, sys, tfrecs
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        records = tfrecs.open(sys.argv[1])
        print(sum(len(records[index]) for index in range(600)), len(records[::-1]))
    """
    assert run(script, tmp_path / "a-*") == "1800 600"


def test_processes_that_open_it_at_once_make_one_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "cache"))
    path = frames.save(tmp_path / "large", frames.plain([b""] * 500_000))
    script = "import sys, tfrecs; len(tfrecs.open(sys.argv[1]))"
    several = [subprocess.Popen([sys.executable, "-c", script, path]) for _ in range(8)]
    assert [process.wait(60) for process in several] == [0] * 8
    assert sorted(it.name for it in tmp_path.iterdir()) == [".large.tfrindex", "large"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
@pytest.mark.parametrize("call", ["open", "build_index"])
def test_a_pipe_is_refused_before_anybody_writes_to_it(tmp_path: Path, call: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        tfrecs.SpecError, match=r"only of a file .* save what comes out of the pipe"
    ):
        getattr(tfrecs, call)(tmp_path / "pipe")


def test_no_index_is_written_over_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        frames.save(tmp_path / name, frames.plain(RECORDS))
    (tmp_path / "link").symlink_to("a")
    wrongs: list[Any] = [
        ("a", "a"),
        ("a", tmp_path / "a"),
        ("a", "link"),
        (["a", "b"], ["c", "a"]),
        (["a", "b"], ["c", "./c"]),
    ]
    for paths, places in wrongs:
        with pytest.raises(tfrecs.SpecError, match="no index can be written here"):
            tfrecs.build_index(paths, places)
    assert tfrecs.verify(["a", "b"]).records == 200
    assert tfrecs.build_index(["a", "a"]) == [".a.tfrindex"] * 2


def test_a_file_that_grows_while_it_is_indexed(tmp_path: Path) -> None:
    """The index of one moment does not pass for that of the next."""
    path = frames.save(tmp_path / "growing", frames.plain([bytes(1000)] * 2000))

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            for _ in range(3000):
                file.write(frames.frame(b"one more"))

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        assert 2000 <= len(tfrecs.open(path)) <= 5000
    writer.join()
    assert len(tfrecs.open(path)) == 5000


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("codec", frames.CODECS)
def test_records_that_are_too_long(tmp_path: Path, codec: str) -> None:
    records = [b"short", bytes(2000), b"short too"]
    path = frames.save(tmp_path / "a", frames.compressed(codec, frames.plain(records)))
    tfrecs.build_index(path)
    opened = tfrecs.open(path, max_record_bytes=1000)
    assert (opened[0], opened[-1]) == (b"short", b"short too")
    for read in (
        lambda: opened[1],
        lambda: opened[:],
        lambda: pickle.loads(pickle.dumps(opened))[1],
    ):
        with pytest.raises(tfrecs.LimitError, match="max_record_bytes allows 1000") as caught:
            read()
        assert (caught.value.record, caught.value.path) == (1, str(path))
    assert tfrecs.open(path, max_record_bytes=2000)[1] == records[1]


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_files_of_which_too_much_comes(tmp_path: Path, codec: str) -> None:
    path = frames.save(tmp_path / "a", frames.compressed(codec, frames.plain([bytes(900)] * 9)))
    with pytest.raises(tfrecs.LimitError, match="max_decompressed_bytes"):
        tfrecs.open(path, max_decompressed_bytes=5000)
    with pytest.raises(tfrecs.LimitError, match="max_record_bytes"):
        tfrecs.open(path, max_record_bytes=800)
    with pytest.raises(tfrecs.SpecError, match="max_record_bytes must be"):
        tfrecs.open(path, max_record_bytes=0)
