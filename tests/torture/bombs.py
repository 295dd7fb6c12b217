"""A little gzip or zlib that inflates to very much: a limit, or constant memory.

`run(cases, seed)` makes bombs of `cases` megabytes each (10,240 for the bar) and reads them in
several ways, in processes of their own.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import frames

from torture.child import in_child
from torture.drained import folder

MB = 1 << 20
# Of bombs of fewer megabytes one way to read each is enough.
FEW = 100
# What a process may take beyond the largest record that it is to hold.
MOST = 64 * MB

GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


def in_one_stream(codec: str, first: bytes, block: bytes, times: int) -> Iterator[bytes]:
    """`first`, and that many times `block`, deflated as one stream: each block once, and copied."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    yield GZIP_HEADER if codec == "GZIP" else b"\x78\x9c"
    yield deflater.compress(first) + deflater.flush(zlib.Z_FULL_FLUSH)
    packed = deflater.compress(block) + deflater.flush(zlib.Z_FULL_FLUSH)
    check = zlib.crc32 if codec == "GZIP" else zlib.adler32
    total = check(first)
    for _ in range(times):
        total = check(block, total)
        yield packed
    yield deflater.flush()
    size = (len(first) + times * len(block)) % 2**32
    yield struct.pack("<II", total, size) if codec == "GZIP" else struct.pack(">I", total)


def in_members(first: bytes, block: bytes, times: int) -> Iterator[bytes]:
    """The same as gzip members."""
    yield frames.compressed("GZIP", first)
    packed = frames.compressed("GZIP", block)
    for _ in range(times):
        yield packed


def save(path: Path, pieces: Iterator[bytes]) -> str:
    """Write a bomb, as it comes."""
    with path.open("wb") as out:
        out.writelines(pieces)
    return str(path)


LIMITED = """
try:
    {use}
except tfrecs.LimitError as error:
    result = error.record
"""
# One record as large as the file: refused, whoever reads.
OF_ONE = {
    "one by one": "next(tfrecs.RecordReader(path, max_record_bytes=limit))",
    "in a batch": "tfrecs.RecordReader(path, max_record_bytes=limit).read_batch(5)",
    "dataset": "next(iter(tfrecs.Dataset(path, max_record_bytes=limit).batch(5)))",
}
# Very many small ones: all of them, in no memory.
OF_MANY = {
    "count": "result = tfrecs.count(path)",
    "verify": "result = tfrecs.verify(path).records",
    "one by one": "result = sum(1 for _ in tfrecs.RecordReader(path))",
    "dataset": "result = sum(len(batch) for batch in tfrecs.Dataset(path).batch(1000))",
    "one by one of a dataset": "result = sum(1 for _ in tfrecs.Dataset(path))",
}
# A limit of the whole file.
OF_FILE = {
    "file limit": "for _ in tfrecs.RecordReader(path, max_decompressed_bytes=limit): pass",
    "file limit, dataset": (
        "for _ in tfrecs.Dataset(path, max_decompressed_bytes=limit).batch(1000): pass"
    ),
}


def bombs(here: Path, megabytes: int) -> Iterator[tuple[str, str, dict[str, str], object]]:
    """A name, a file, the ways to read it, and the result that each must have."""
    zeros, header = bytes(MB), frames.header(megabytes * MB)
    for codec in ("GZIP", "ZLIB"):
        pieces = in_one_stream(codec, header, zeros, megabytes + 1)
        yield f"one record, {codec}", save(here / codec, pieces), OF_ONE, 0
    path = save(here / "members", in_members(header, zeros, megabytes + 1))
    yield "one record, members", path, OF_ONE, 0
    each = frames.frame(bytes(84))  # 100 bytes
    block = each * 10_000
    times = max(megabytes * MB // len(block), 1)
    many = 10_000 * times
    path = save(here / "many", in_one_stream("GZIP", b"", block, times))
    yield "many records, GZIP", path, OF_MANY, many
    yield "many records, GZIP", path, OF_FILE, max(megabytes * MB // 4 // 100, 1)
    path = save(here / "many members", in_members(b"", block, times))
    yield "many records, members", path, OF_MANY, many


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Read bombs of that many megabytes; what was wrong."""
    failures, count = [], 0
    with folder() as here:
        small = str(frames.save(here / "small", frames.plain([b"one"])))
        for name, path, ways, expected in bombs(here, cases):
            limit = cases * MB // 4
            few = [list(ways)[seed % len(ways)]] if cases < FEW else list(ways)
            for way in few:
                use = ways[way]
                count += 1
                work = f"path, limit = arguments['path'], {limit}\n"
                work += use if use.startswith("result") else LIMITED.format(use=use)
                try:
                    taken, result = in_child(work, path=path, small=small)
                except AssertionError as error:
                    failures.append(f"{name}, {way}: {error}")
                    continue
                most = MOST if ways is OF_MANY else MOST + limit
                if result != expected or taken > most:
                    failures.append(f"{name}, {way}: {result!r}, {taken} bytes of memory")
    return count, failures
