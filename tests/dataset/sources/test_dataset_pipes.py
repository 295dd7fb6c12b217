"""Datasets over pipes: one pass, with every sound record before an error."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import tfrecs
from tfrecs import tf
from tfrecs.features import Features

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")

RECORDS = [tfrecs.encode_example({"a": [n]}) for n in range(10)]
SPEC: Features = {"a": tfrecs.FixedLenFeature([], "int64")}


def framed(records: list[bytes], tmp_path: Path) -> bytes:
    path = tmp_path / "framed.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(records)
    return path.read_bytes()


@pytest.fixture
def pipe_of(tmp_path: Path) -> Iterator[Callable[[bytes], Path]]:
    """Make pipes through which something comes, once."""
    pipes: dict[Path, threading.Thread] = {}

    def made(content: bytes) -> Path:
        path = tmp_path / f"pipe-{len(pipes)}"
        os.mkfifo(path)

        def write() -> None:
            with suppress(BrokenPipeError):  # who reads has enough
                path.write_bytes(content)

        pipes[path] = threading.Thread(target=write, daemon=True)
        pipes[path].start()
        return path

    yield made
    for path, writer in pipes.items():
        while writer.is_alive() and path.exists():  # it may only be about to wait for a reader
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            writer.join(0.02)


def taken(elements: Iterator[Any]) -> tuple[list[Any], BaseException | None]:
    """Return the elements before an error, and the error."""
    found: list[Any] = []
    try:
        found.extend(elements)
    except tfrecs.Error as error:
        return found, error
    return found, None


def steps(ds: tfrecs.Dataset) -> dict[str, tfrecs.Dataset]:
    return {
        "plain": ds,
        "mapped": ds.map(bytes),
        "ahead": ds.map(bytes, num_threads=2),
        "prefetched": ds.prefetch(2),
        "keyed": ds.with_keys().map(lambda keyed: keyed[1]),
    }


@pytest.mark.parametrize("name", steps(tfrecs.Dataset([b""])))
def test_the_sound_records_before_damage_come(
    pipe_of: Callable[[bytes], Path], tmp_path: Path, name: str
) -> None:
    sound = framed(RECORDS, tmp_path)
    frame = len(sound) // len(RECORDS)
    flipped = bytearray(sound)
    flipped[4 * frame + 15] ^= 1
    for content, count in [
        (sound, 10),
        (sound[:frame] + b"abc", 1),
        (sound[: 7 * frame + 3], 7),
        (sound[: 7 * frame + 13], 7),
        (bytes(flipped), 4),
        (sound + b"\0" * 12, 10),
        (b"abc", 0),
    ]:
        path = pipe_of(content)
        found, error = taken(iter(steps(tfrecs.Dataset(path))[name]))
        assert found == RECORDS[:count]
        assert (error is None) == (content == sound)
        assert error is None or str(path) in str(error)


def test_the_first_record_comes_before_the_damage_is_reported(
    pipe_of: Callable[[bytes], Path], tmp_path: Path
) -> None:
    path = pipe_of(framed(RECORDS[:1], tmp_path) + b"abc")
    it = iter(tfrecs.Dataset(path))
    assert next(it) == RECORDS[0]
    with pytest.raises(tfrecs.TruncatedFileError, match="record 1 at byte"):
        next(it)
    with pytest.raises(StopIteration):
        next(it)


@pytest.mark.parametrize("size", [1, 3])
def test_batches_come_after_one_that_cannot_be_parsed(
    pipe_of: Callable[[bytes], Path], tmp_path: Path, size: int
) -> None:
    records = [*RECORDS[:4], tfrecs.encode_example({"b": [1]}), *RECORDS[5:]]
    spec = {"a": tf.io.FixedLenFeature([], tf.int64)}
    ds = tf.data.TFRecordDataset(str(pipe_of(framed(records, tmp_path)))).batch(size)
    ds = ds.map(lambda serialized: tf.io.parse_example(serialized, spec))
    found, failures = [], 0
    it = iter(ds)
    while True:
        try:
            found.extend(next(it)["a"].numpy().tolist())
        except StopIteration:
            break
        except tf.errors.InvalidArgumentError:
            failures += 1
    lost = range(4 // size * size, (4 // size + 1) * size)
    assert failures == 1
    assert found == [n for n in range(10) if n not in lost]


@pytest.mark.parametrize("make", [tfrecs.Dataset, tfrecs.Dataset.from_lines])
def test_a_second_pass_is_refused(
    pipe_of: Callable[[bytes], Path], tmp_path: Path, make: Callable[[Path], tfrecs.Dataset]
) -> None:
    content = framed(RECORDS, tmp_path) if make is tfrecs.Dataset else b"a\nb\n"
    ds = make(pipe_of(content))
    assert len(list(ds)) in {2, 10}
    for again in (ds, ds.map(bytes), ds.batch(2)):
        with pytest.raises(tfrecs.SpecError, match=r"pipe-0: .*only once: save it first"):
            list(again)


def test_one_pass_for_two_of_one_plan(pipe_of: Callable[[bytes], Path]) -> None:
    ds = tfrecs.Dataset.from_lines(pipe_of(b"a\nb\n"))
    with pytest.raises(tfrecs.SpecError, match="only once"):
        list(tfrecs.Dataset.zip(ds, ds))


def test_what_is_cached_comes_again(pipe_of: Callable[[bytes], Path], tmp_path: Path) -> None:
    ds = tfrecs.Dataset(pipe_of(framed(RECORDS, tmp_path))).cache()
    assert list(ds) == list(ds) == RECORDS
    assert list(ds.repeat(2)) == 2 * RECORDS


def test_a_copy_begins_anew(pipe_of: Callable[[bytes], Path], tmp_path: Path) -> None:
    ds = tfrecs.Dataset(pipe_of(framed(RECORDS, tmp_path)))
    copy = pickle.loads(pickle.dumps(ds))
    assert list(ds) == RECORDS
    it = iter(copy)
    writer = threading.Thread(
        target=(tmp_path / "pipe-0").write_bytes, args=(framed(RECORDS, tmp_path),), daemon=True
    )
    writer.start()
    assert list(islice(it, 10)) == RECORDS
    writer.join()


def test_files_are_read_as_often_as_one_likes(tmp_path: Path) -> None:
    framed(RECORDS, tmp_path)
    ds = tfrecs.Dataset(tmp_path / "framed.tfrecord")
    assert list(ds) == list(ds) == RECORDS
    ds = tfrecs.Dataset.from_lines(tmp_path / "framed.tfrecord")
    assert list(ds) == list(ds)
