"""Blocks of an uncompressed file: wherever records, flushes and the old end of the file fall."""

from pathlib import Path

import frames
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

BLOCK = 256 << 10
# Sizes around those that fill a block with their frames, and several blocks.
NEAR = [BLOCK * n + d for n in (1, 2, 5) for d in (-17, -16, -15, -12, -1, 0, 1)]
sizes = st.integers(0, 300) | st.integers(0, 3 * BLOCK) | st.sampled_from(NEAR)


def content(number: int, size: int) -> bytes:
    return (b"%d " % number * (size // 2 + 1))[:size]


def are_frames(found: bytes, records: list[bytes]) -> bool:
    """Whether a file is these records; long ones' checksums, which take long here, excepted."""
    place = 0
    for record in records:
        end = place + 12 + len(record)
        if found[place:end] != frames.header(len(record)) + record:
            return False
        if len(record) < 400 and found[end : end + 4] != frames.frame(record)[-4:]:
            return False
        place = end + 4
    return place == len(found)


@given(
    parts=st.lists(st.lists(sizes, max_size=4), min_size=1, max_size=4),
    how=st.lists(st.sampled_from(["one", "list", "records"]), min_size=4, max_size=4),
    flushes=st.lists(st.booleans(), min_size=4, max_size=4),
    appended=st.integers(0, 4),
    sync=st.booleans(),
)
def test_any_sizes(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[list[int]],
    how: list[str],
    flushes: list[bool],
    appended: int,
    sync: bool,
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks"
    path.unlink(missing_ok=True)
    out = tfrecs.RecordWriter(path, sync=sync)
    everything: list[bytes] = []
    for number, part in enumerate(parts):
        if number == appended:
            out.close()
            out = tfrecs.RecordWriter(path, mode="a", sync=sync)
        records = [content(number, size) for size in part]
        write(out, records, how[number])
        everything += records
        if flushes[number]:
            out.flush()
    out.close()
    assert are_frames(path.read_bytes(), everything)
    assert list(tfrecs.RecordReader(path)) == everything


def write(out: tfrecs.RecordWriter, records: list[bytes], how: str) -> None:
    if how == "one":
        for record in records:
            out.write(record)
    else:
        out.write_batch(records if how == "list" else tfrecs.Records(records))


def test_not_waiting_for_the_disk(tmp_path: Path) -> None:
    for atomic in (True, False):
        with tfrecs.RecordWriter(tmp_path / "a", atomic=atomic, sync=False) as out:
            out.write(b"one")
        assert list(tfrecs.RecordReader(tmp_path / "a")) == [b"one"]
