"""What is read of the first bytes of images, and what is left out before a library sees them."""

import itertools
import struct
import zlib

import pytest

from tfrecs.media.headers import PNG_SIGNATURE, read_header


def chunk(name: bytes, content: bytes = b"content") -> bytes:
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


SIZE = struct.pack(">IIBBBBB", 6, 4, 8, 3, 0, 0, 0)
FIRST = PNG_SIGNATURE + chunk(b"IHDR", SIZE)
LAST = chunk(b"IDAT", zlib.compress(bytes(28))) + chunk(b"IEND", b"")
NEEDED = {name: chunk(name) for name in (b"PLTE", b"tRNS")}
DROPPED = {
    name: chunk(name, b"\0\0\xb1\x8f") for name in (b"tEXt", b"iCCP", b"gAMA", b"sRGB", b"aaaa")
}


@pytest.mark.parametrize("count", range(4))
def test_chunks_that_no_pixel_needs_are_dropped(count: int) -> None:
    every = {**NEEDED, **DROPPED}
    for names in itertools.permutations(every, count):
        header = read_header(FIRST + b"".join(every[name] for name in names) + LAST)
        kept = b"".join(every[name] for name in names if name in NEEDED)
        assert bytes(header.plain) == FIRST + kept + LAST, names
        assert (header.width, header.height, header.depth, header.color_type) == (6, 4, 8, 3)
        assert header.transparency == (b"content" if b"tRNS" in names else None)


def test_an_image_without_such_chunks_is_not_copied() -> None:
    data = FIRST + NEEDED[b"PLTE"] + LAST
    assert read_header(data).plain is data


def test_the_first_gamma_counts_and_srgb_overrules_it() -> None:
    gammas = [chunk(b"gAMA", struct.pack(">I", gamma)) for gamma in (100_000, 50_000)]
    assert read_header(FIRST + LAST).gamma is None
    assert read_header(FIRST + gammas[0] + gammas[1] + LAST).gamma == 100_000
    assert read_header(FIRST + gammas[0] + chunk(b"sRGB", b"\0") + LAST).gamma == 45455
