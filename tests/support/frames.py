"""The format of TFRecord files once more, in plain Python: what the tests of files are judged by.

Nothing here uses tfrecs. A file is described by its records; the rest follows from the format.
"""

import gzip
import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

CODECS = ("", "GZIP", "ZLIB")


def _crc_table() -> Iterator[int]:
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        yield crc


_TABLE = tuple(_crc_table())


@lru_cache(maxsize=32)  # a megabyte takes a tenth of a second, and large files repeat their records
def masked_crc(data: bytes) -> int:
    """The CRC-32C of `data`, masked."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[crc & 0xFF ^ byte]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def header(length: int) -> bytes:
    """The 12 bytes before a record of `length` bytes."""
    field = struct.pack("<Q", length)
    return field + struct.pack("<I", masked_crc(field))


def frame(record: bytes) -> bytes:
    """A record as it stands in a file."""
    return header(len(record)) + record + struct.pack("<I", masked_crc(record))


def plain(records: Iterable[bytes]) -> bytes:
    """An uncompressed file."""
    return b"".join(map(frame, records))


def starts(records: Sequence[bytes]) -> list[int]:
    """Where each record begins in the stream of frames, and at last where that ends."""
    return [0, *accumulate(len(record) + 16 for record in records)]


def compressed(codec: str, data: bytes, level: int = 6) -> bytes:
    """`data` in a single stream."""
    match codec:
        case "GZIP":
            return gzip.compress(data, level, mtime=0)
        case "ZLIB":
            return zlib.compress(data, level)
    return data


def inflated(data: bytes) -> bytes:
    """What comes out of a compressed file (of gzip members or a zlib stream), also if it is cut."""
    out = b""
    while data:
        inflater = zlib.decompressobj(wbits=47)
        out += inflater.decompress(data)
        data = inflater.unused_data
    return out


def inflated_before(data: bytes) -> bytes:
    """What comes out of a file, compressed or not, up to whatever is wrong with it."""
    if data[:1] not in (b"\x1f", b"\x78"):
        return data
    out = b""
    while data:
        inflater = zlib.decompressobj(wbits=47)
        try:
            out += inflater.decompress(data)
        except zlib.error:
            break
        data = inflater.unused_data
    return out


def is_harmless(data: bytes, stream: bytes) -> bool:
    """Whether zlib finds `stream` in a damaged file: its time stamp, or its padding, is another."""
    found = b""
    while data:
        inflater = zlib.decompressobj(wbits=47)
        try:
            found += inflater.decompress(data)
        except zlib.error:
            return False
        if not inflater.eof:
            return False
        data = inflater.unused_data
    return found == stream


def whole_records(records: Sequence[bytes], stream: bytes) -> int:
    """How many of `records` are whole in a stream of frames that was cut."""
    return sum(end <= len(stream) for end in starts(records)[1:])


def save(path: Path, data: bytes) -> Path:
    """Write a new file: to empty an old one takes some file systems much longer."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return path


@contextmanager
def fifo(path: Path, data: bytes) -> Iterator[Path]:
    """A named pipe that gives `data` and then ends."""
    os.mkfifo(path)

    def feed() -> None:
        with suppress(BrokenPipeError):  # the reader has seen enough
            path.write_bytes(data)

    feeder = threading.Thread(target=feed)
    feeder.start()
    yield path
    feeder.join(10)
    assert not feeder.is_alive()
    path.unlink()
