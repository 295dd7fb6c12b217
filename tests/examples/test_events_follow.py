"""follow_events: event files that grow while they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from pathlib import Path

import pytest
from event_wire import scalar, write
from frames import frame

import tfrecs

Append = Callable[[], bool]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.out.tfevents.1.host"


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterator[None]], None]:
    """Let something happen while follow_events sleeps: the next step of an iterator."""

    def happens(steps: Iterator[None]) -> None:
        def sleep(seconds: float) -> None:
            assert seconds == 5
            if next(steps, "over") == "over":
                raise EndOfTestError

        monkeypatch.setattr("tfrecs.examples.events.time.sleep", sleep)

    return happens


class EndOfTestError(Exception):
    pass


def followed(path: Path) -> list[list[float]]:
    """The values of each batch, until nothing happens any more."""
    batches = []

    def follow() -> None:
        for batch in tfrecs.follow_events(path, poll_interval=5):
            assert batch.num_rows
            batches.append(batch["value"].tolist())

    with pytest.raises(EndOfTestError):
        follow()
    return batches


def append(path: Path, *pieces: bytes) -> Iterator[None]:
    """Write one piece a step."""
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        yield


def test_what_is_there_and_what_comes(
    path: Path, meanwhile: Callable[[Iterator[None]], None]
) -> None:
    write(path, scalar(0, 0.0), scalar(1, 1.0))
    more = [frame(scalar(step, step)) for step in (2, 3, 4)]
    meanwhile(append(path, more[0], b"", more[1] + more[2]))
    assert followed(path) == [[0.0, 1.0], [2.0], [3.0, 4.0]]


@pytest.mark.parametrize("size", [1, 2, 3, 11, 12, 13, 40])
def test_a_file_that_grows_by_bytes(
    size: int, path: Path, meanwhile: Callable[[Iterator[None]], None]
) -> None:
    content = b"".join(frame(scalar(step, step)) for step in range(5))
    path.touch()
    meanwhile(append(path, *(content[at : at + size] for at in range(0, len(content), size))))
    assert list(chain.from_iterable(followed(path))) == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_an_event_larger_than_what_is_read_at_a_time(
    path: Path, meanwhile: Callable[[Iterator[None]], None]
) -> None:
    """The header announces more than the file has yet, which elsewhere is an error at once."""
    large = frame(scalar(1, 1.0) + b"\x82\x01\x80\x80\x80\x02" + bytes(4 << 20))
    content = large + frame(scalar(2, 2.0))
    cuts = [0, 20, 1 << 20, 3 << 20, len(large) - 1, len(content)]
    path.touch()
    meanwhile(append(path, *(content[a:b] for a, b in pairwise(cuts))))
    assert followed(path) == [[1.0, 2.0]]


def test_files_that_come_and_grow_in_a_directory(
    tmp_path: Path, meanwhile: Callable[[Iterator[None]], None]
) -> None:
    first, second = tmp_path / "1.tfevents", tmp_path / "2.tfevents"
    one, two, three, four = (frame(scalar(step, step)) for step in (1, 2, 3, 4))

    def steps() -> Iterator[None]:
        yield from append(first, one, two[:9])
        yield from append(second, three)
        yield from append(first, two[9:])
        yield from append(second, four)

    meanwhile(steps())
    assert followed(tmp_path) == [[1.0], [3.0], [2.0], [4.0]]


def test_tags_and_plugins(path: Path) -> None:
    write(path, scalar(0, 1.0, "a"), scalar(0, 2.0, "b"))
    batches = list(tfrecs.follow_events(path, tags="b", timeout=0))
    assert [batch["tag"].tolist() for batch in batches] == [[b"b"]]
    assert list(tfrecs.follow_events(path, plugins="images", timeout=0)) == []


def test_timeout(path: Path, tmp_path: Path) -> None:
    assert list(tfrecs.follow_events(tmp_path, timeout=0)) == []
    write(path, *(scalar(step, step) for step in range(1000)))
    (batch,) = tfrecs.follow_events(path, poll_interval=0.001, timeout=0.002)
    assert batch["step"].tolist() == list(range(1000))


def test_damage_is_an_error(path: Path, meanwhile: Callable[[Iterator[None]], None]) -> None:
    content = bytearray(frame(scalar(1, 1.0)))
    content[-1] ^= 1
    write(path, scalar(0, 0.0))
    meanwhile(append(path, bytes(content)))
    batches = tfrecs.follow_events(path, poll_interval=5)
    assert next(batches)["value"].tolist() == [0.0]
    with pytest.raises(tfrecs.CorruptRecordError) as caught:
        next(batches)
    assert (caught.value.path, caught.value.record) == (str(path), 1)
    assert list(batches) == []


def test_a_file_that_is_compressed_is_refused(tmp_path: Path) -> None:
    with tfrecs.RecordWriter(tmp_path / "a.tfevents.gz") as out:
        out.write(scalar(1, 2.0))
    with pytest.raises(tfrecs.NotTFRecordError, match="gzip"):
        next(iter(tfrecs.follow_events(tmp_path)))


def test_wrong_use_is_an_error_at_once(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"events\.out.*: there is no such file"):
        tfrecs.follow_events(path)
    write(path)
    for options in ({"poll_interval": -1}, {"timeout": -0.5}):
        with pytest.raises(tfrecs.SpecError, match="are seconds, and not negative"):
            tfrecs.follow_events(path, **options)
    with pytest.raises(tfrecs.SpecError, match="tags must be str"):
        tfrecs.follow_events(path, tags=[1])  # type: ignore[list-item]


# --- The reader below ---


def test_resume_forgives_only_an_end_that_came_too_early(path: Path) -> None:
    content = frame(b"one") + frame(b"two")
    path.write_bytes(content[:-1])
    reader = tfrecs._core.Reader(str(path), "auto", verify=True)
    assert next(reader) == b"one"
    for _ in range(2):  # without resume, a fault is final
        with pytest.raises(tfrecs.TruncatedFileError):
            next(reader)
    path.write_bytes(content + frame(b"three"))
    with pytest.raises(tfrecs.TruncatedFileError):
        next(reader)
    reader.resume()
    assert [next(reader), next(reader)] == [b"two", b"three"]
    with pytest.raises(StopIteration):
        next(reader)
    damaged = bytearray(frame(b"four"))
    damaged[-1] ^= 1
    path.write_bytes(content + frame(b"three") + damaged)
    reader.resume()
    for _ in range(2):
        with pytest.raises(tfrecs.CorruptRecordError):
            next(reader)
        reader.resume()
    reader.close()
    with pytest.raises(tfrecs.StateError, match="Reader is closed"):
        reader.resume()


def test_resume_leaves_a_compressed_stream_at_its_end(tmp_path: Path) -> None:
    with tfrecs.RecordWriter(tmp_path / "a.gz") as out:
        out.write(b"one")
    reader = tfrecs._core.Reader(str(tmp_path / "a.gz"), "auto", verify=True)
    assert list(reader) == [b"one"]
    with (tmp_path / "a.gz").open("ab") as file:
        file.write(frame(b"two"))
    reader.resume()
    assert list(reader) == []
