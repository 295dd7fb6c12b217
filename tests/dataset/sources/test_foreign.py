"""Lines, records of one length and whole files, against what a few lines of Python read."""

from __future__ import annotations

import gc
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfrecs
from tfrecs.dataset import DatasetIterator
from tfrecs.dataset.stages.stage import Run
from tfrecs.testing import assert_resumes

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "GZIP": gzip.compress,
    "ZLIB": zlib.compress,
}


def lines_of(content: bytes, header: int = 0) -> list[bytes]:
    """As TensorFlow reads them; the numbers begin with 1."""
    lines = [line.replace(b"\r", b"") for line in content.split(b"\n")]
    return [*lines[:-1], *filter(None, lines[-1:])][header:]


def in_turn(files: Sequence[Sequence[Any]], cycle: int, block: int) -> list[Any]:
    """TensorFlow's interleave."""
    waiting = [iter(file) for file in files]
    places: list[Iterator[Any] | None] = [None] * cycle
    given: list[Any] = []
    place = 0
    while waiting or any(places):
        if places[place] is None and waiting:
            places[place] = waiting.pop(0)
        if (file := places[place]) is not None:
            some = [one for _, one in zip(range(block), file, strict=False)]
            given += some
            if len(some) < block:
                places[place] = None
        place = (place + 1) % cycle
    return given


CONTENTS = st.lists(
    st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b"a", b"some text", b"\0", b"\xff"])).map(
        b"".join
    ),
    min_size=1,
    max_size=5,
)


def written(folder: Path, contents: Sequence[bytes], compression: str = "") -> list[Path]:
    paths = [folder / f"{number}.txt" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(PACK[compression](content))
    return paths


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("foreign")


@given(
    contents=CONTENTS,
    compression=st.sampled_from(["", "GZIP", "ZLIB"]),
    header=st.integers(0, 3),
    cycle=st.integers(1, 4),
    block=st.integers(1, 3),
    size=st.integers(1, 5),
)
def test_lines(
    folder: Path,
    contents: list[bytes],
    compression: str,
    header: int,
    cycle: int,
    block: int,
    size: int,
) -> None:
    paths = written(folder, contents, compression)
    named = [
        [(f"{path}:{number}".encode(), line) for number, line in enumerate(lines, header + 1)]
        for path, lines in zip(paths, [lines_of(it, header) for it in contents], strict=True)
    ]
    expected = in_turn(named, min(cycle, len(paths)), block)
    ds = tfrecs.Dataset.from_lines(
        paths,
        skip_header_lines=header,
        compression_type="auto" if compression != "ZLIB" else "ZLIB",
        cycle_length=cycle,
        block_length=block,
    )
    assert list(ds) == [line for _, line in expected]
    assert list(ds.with_keys()) == expected
    batches = [
        list(zip(keys.tolist(), lines, strict=True)) for keys, lines in ds.with_keys().batch(size)
    ]
    assert batches == [expected[at : at + size] for at in range(0, len(expected), size)]
    for worker in range(2):
        mine = DatasetIterator(ds.batch(size).node, Run(0, (2, worker)))
        lines = [batch.tolist() for batch in mine]
        assert lines == [[line for _, line in batch] for batch in batches][worker::2]


@settings(max_examples=25)
@given(contents=CONTENTS, gzipped=st.booleans(), cycle=st.integers(1, 3), block=st.integers(1, 2))
def test_lines_resume(
    folder: Path, contents: list[bytes], gzipped: bool, cycle: int, block: int
) -> None:
    paths = written(folder, contents, "GZIP" if gzipped else "")
    ds = tfrecs.Dataset.from_lines(
        paths, skip_header_lines=1, cycle_length=cycle, block_length=block
    )
    for made in (ds, ds.batch(2), ds.with_keys().batch(3, drop_remainder=True), ds.skip(2).take(3)):
        assert_resumes(made)


def test_long_files_resume_in_the_middle(tmp_path: Path) -> None:
    lines = [b"%d" % n * (n % 50 + 1) for n in range(20_000)]
    for compression in ("", "GZIP"):
        paths = written(tmp_path, [b"\r\n".join(lines), b"\n".join(lines[::-1])], compression)
        ds = tfrecs.Dataset.from_lines(paths)
        assert list(ds) == lines + lines[::-1]
        assert_resumes(ds.batch(3000), steps=range(0, 14, 3))
        turns = tfrecs.Dataset.from_lines(paths, cycle_length=2, block_length=7)
        assert list(turns) == in_turn([lines, lines[::-1]], 2, 7)
        assert_resumes(turns.batch(3000), steps=range(0, 14, 3))
        it = iter(ds)
        assert [next(it) for _ in range(15_000)] == lines[:15_000]
        again = iter(ds)
        again.load_state_dict(it.state_dict())
        assert list(again) == (lines + lines[::-1])[15_000:]


@given(
    body=st.binary(max_size=40),
    record=st.integers(1, 5),
    header=st.integers(0, 3),
    footer=st.integers(0, 3),
    compression=st.sampled_from(["", "GZIP"]),
)
def test_fixed_length(
    folder: Path, body: bytes, record: int, header: int, footer: int, compression: str
) -> None:
    (path,) = written(folder, [b"h" * header + body + b"f" * footer], compression)
    ds = tfrecs.Dataset.from_fixed_length(path, record, header_bytes=header, footer_bytes=footer)
    whole = [body[at : at + record] for at in range(0, len(body) // record * record, record)]
    given: list[bytes] = []
    error = None
    try:
        given.extend(ds)
    except tfrecs.TruncatedFileError as caught:
        error = caught
    if len(body) % record == 0:
        assert (given, error) == (whole, None)
        assert_resumes(ds.batch(2))
        keys = [key for key, _ in ds.with_keys()]
        assert keys == [f"{path}:{number}".encode() for number in range(len(whole))]
        return
    assert error is not None
    assert error.path == str(path)
    assert f"has body length {len(body)}" in str(error) or f"{len(body)} byte" in str(error)
    assert given == (whole if compression else [])


def test_a_file_too_short_for_its_header(tmp_path: Path) -> None:
    for compression in ("", "GZIP"):
        paths = written(tmp_path, [b"H"], compression)
        ds = tfrecs.Dataset.from_fixed_length(paths, 2, header_bytes=2, footer_bytes=1)
        with pytest.raises(tfrecs.TruncatedFileError, match="header"):
            list(ds)


def test_whole_files(tmp_path: Path) -> None:
    contents = [b"", b"one", gzip.compress(b"as it is"), bytes(3_000_000)]
    paths = written(tmp_path, contents)
    ds = tfrecs.Dataset.from_files(tmp_path / "*.txt")
    assert list(ds) == contents
    pairs = [(os.fsencode(path), content) for path, content in zip(paths, contents, strict=True)]
    assert list(ds.with_keys()) == pairs
    assert [batch.tolist() for batch in ds.batch(3)] == [contents[:3], contents[3:]]
    assert ds.cardinality() == len(contents)
    assert_resumes(ds)
    assert_resumes(ds.with_keys().batch(2))


def test_names_of_files_in_turn(tmp_path: Path) -> None:
    files = [[b"%d-%d" % (file, n) for n in range(length)] for file, length in enumerate([3, 0, 5])]
    for file, records in enumerate(files):
        with tfrecs.RecordWriter(tmp_path / f"{file}.tfrecord") as out:
            out.write_batch(records)
    names = tfrecs.Dataset.list_files(tmp_path / "*.tfrecord")
    assert list(names) == [str(tmp_path / f"{file}.tfrecord") for file in range(3)]
    ds = names.interleave(tfrecs.Dataset, cycle_length=2, block_length=2)
    assert list(ds) == in_turn(files, 2, 2)
    assert_resumes(ds.batch(2))


def test_errors_say_where(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"line %d\n" % n for n in range(5000)))
    (tmp_path / "cut.gz").write_bytes(whole[:-9])
    ds = tfrecs.Dataset.from_lines(tmp_path / "cut.gz")
    for made in (ds, ds.batch(1000), ds.batch(1000, True)):
        given = 0
        with pytest.raises(tfrecs.TruncatedFileError, match="cut off") as caught:  # noqa: PT012
            for one in made:
                given += len(one) if isinstance(one, tfrecs.Records) else 1
        assert caught.value.path == str(tmp_path / "cut.gz")
        assert given <= 5000
        assert caught.value.record is not None
    for path, kind in ((tmp_path / "none", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(kind):
            list(tfrecs.Dataset.from_lines(path))
    (tmp_path / "plain").write_bytes(b"x^2 is no zlib\n")
    assert list(tfrecs.Dataset.from_lines(tmp_path / "plain")) == [b"x^2 is no zlib"]
    for compression, name in (("GZIP", "plain"), ("ZLIB", "cut.gz")):
        with pytest.raises(tfrecs.CorruptRecordError, match="incorrect header"):
            list(tfrecs.Dataset.from_lines(tmp_path / name, compression_type=compression))


def test_limits(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"short\n" + b"x" * 3_000_000 + b"\nshort\n")
    ds = tfrecs.Dataset.from_lines(tmp_path / "long", max_record_bytes=1_000_000)
    with pytest.raises(tfrecs.LimitError, match="max_record_bytes"):
        list(ds)
    assert len(list(tfrecs.Dataset.from_lines(tmp_path / "long"))) == 3
    (tmp_path / "long.gz").write_bytes(gzip.compress(bytes(3_000_000)))
    ds = tfrecs.Dataset.from_fixed_length(
        tmp_path / "long.gz", 1000, max_decompressed_bytes=1_000_000
    )
    with pytest.raises(tfrecs.LimitError, match="max_decompressed_bytes"):
        list(ds)


@pytest.mark.parametrize(
    "call",
    [
        lambda path: tfrecs.Dataset.from_lines(path, skip_header_lines=-1),
        lambda path: tfrecs.Dataset.from_lines(path, cycle_length=0),
        lambda path: tfrecs.Dataset.from_lines(path, compression_type="zip"),
        lambda path: tfrecs.Dataset.from_fixed_length(path, 0),
        lambda path: tfrecs.Dataset.from_fixed_length(path, 2, footer_bytes=-2),
        lambda path: tfrecs.Dataset.from_lines(path).shuffle(1),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, call: Any) -> None:
    (tmp_path / "a").write_bytes(b"a\n")
    with pytest.raises(tfrecs.SpecError):
        call(tmp_path / "a")


def test_states_of_other_files_are_refused(tmp_path: Path) -> None:
    paths = written(tmp_path, [b"a\nb\nc\n", b"d\ne\n"])
    it = iter(tfrecs.Dataset.from_lines(paths, cycle_length=2))
    next(it)
    state = it.state_dict()
    for other in (
        tfrecs.Dataset.from_lines(paths),
        tfrecs.Dataset.from_lines(paths[:1], cycle_length=2),
        tfrecs.Dataset.from_lines(paths, cycle_length=2, skip_header_lines=1),
        tfrecs.Dataset.from_fixed_length(paths, 2),
    ):
        with pytest.raises(tfrecs.StateError):
            iter(other).load_state_dict(state)


@given(data=st.data())
def test_hostile_states(folder: Path, data: st.DataObject) -> None:
    paths = written(folder, [b"aa\nb\nccc\n" * 3, b"d\ne\n"])
    numbers = st.integers(-2, 12) | st.sampled_from([2**63 - 1, 2**64, None, "x"])
    for ds in (
        tfrecs.Dataset.from_lines(paths, cycle_length=2).batch(1),
        tfrecs.Dataset.from_fixed_length(paths[:1], 3).batch(1),
    ):
        it = iter(ds)
        next(it)
        state = it.state_dict()
        at = state["at"]
        part = data.draw(st.sampled_from([at, at["open"][0]]))
        part[data.draw(st.sampled_from(sorted(set(part) - {"open"})))] = data.draw(numbers)
        again = iter(ds)
        try:
            again.load_state_dict(state)
            list(again)
        except tfrecs.StateError:
            pass


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists descriptors")
def test_one_file_is_open_for_each_that_is_read(tmp_path: Path) -> None:
    paths = written(tmp_path, [b"a\nb\nc\nd\n" * 1000] * 20)

    def opened() -> int:
        links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return sum(str(link.readlink()).startswith(str(tmp_path)) for link in links)

    it = iter(tfrecs.Dataset.from_lines(paths, cycle_length=4).batch(10))
    for _ in range(1000):
        next(it)
        assert opened() <= 8  # a file, and its twin that can be asked how long it is
    del it
    gc.collect()
    assert opened() == 0
