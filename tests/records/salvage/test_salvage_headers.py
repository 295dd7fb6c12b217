"""Bytes of a header that are lost or changed among the first records cost that record alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import frames
import pytest

import tfrecs

HEADER = 12
# Eight bytes and their checksum look like a header themselves.
CONTENTS = {
    "digits": [b"%08d" % number for number in range(200)],
    "small integers": [number.to_bytes(8, "little") for number in range(100, 300)],
    "large integers": [(number << 40).to_bytes(8, "little") for number in range(1, 201)],
    "text": [b"record number %d" % number for number in range(200)],
}


def damages(content: bytes, start: int) -> Iterator[bytes]:
    """The content with 1 to 3 bytes of the header at `start` removed, or changed."""
    for length in (1, 2, 3):
        for at in range(start, start + HEADER - length + 1):
            yield content[:at] + content[at + length :]
            changed = bytes(byte ^ 0x5A for byte in content[at : at + length])
            yield content[:at] + changed + content[at + length :]


@pytest.mark.parametrize("number", [0, 1, 2, 4])
@pytest.mark.parametrize("kind", CONTENTS)
def test_the_other_records_come_back(kind: str, number: int, tmp_path: Path) -> None:
    records = CONTENTS[kind]
    content, start = frames.plain(records), frames.starts(records)[number]
    others = records[:number] + records[number + 1 :]
    path = tmp_path / "a.tfrecord"
    for damaged in damages(content, start):
        path.write_bytes(damaged)
        found = [piece for piece in tfrecs.salvage(path) if isinstance(piece, bytes)]
        # Its own data may prove the damaged record.
        assert found in (others, records)
