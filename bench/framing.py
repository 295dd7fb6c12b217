"""The records of a TFRecord file that is known to be sound, for systems that cannot read one."""

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO


def frames(file: BinaryIO) -> Iterator[bytes]:
    """Yield the records; no checksum is verified."""
    while length := length_of_next(file):
        yield file.read(length - 16)
        file.seek(4, os.SEEK_CUR)


def spans(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yield where each record's frame begins, and how long it is."""
    start = 0
    while length := length_of_next(file):
        yield start, length
        start = file.seek(start + length)


def length_of_next(file: BinaryIO) -> int:
    """Read to where the next record's data begin; return the length of its frame, 0 at the end."""
    head = file.read(12)
    return int(struct.unpack_from("<Q", head)[0]) + 16 if head else 0
