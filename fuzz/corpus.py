"""The corpora of the fuzz targets: here one TFRecord file each, for libFuzzer one file an input.

python fuzz/corpus.py seed TARGET FOLDER      writes what real encoders make
python fuzz/corpus.py unpack TARGET FOLDER    writes the inputs of corpus/TARGET.tfrecord.gz
python fuzz/corpus.py pack TARGET FOLDER      writes them and the seeds into that file
"""

import hashlib
import random
import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

import tfrecs

CORPUS = Path(__file__).parent / "corpus"
# As in crates/core/tests/agreement/input.rs.
BOUNDARY = b"~rec~"
DTYPES = 14
FLOATS_AND_BYTES: dict[int, list[Any]] = {
    1: [1.0, 0.0],
    2: [b"x", b""],
    11: [1.0, 0.0],
    12: [1.0, 0.0],
    13: [1.0, 0.0],
}
# How many values an element of each layout has.
FEATURE_LAYOUTS = [1, 2, 3, 0, 1] + [1, 2, 4, 0, 3] * 2
LIST_LAYOUTS = [1, 1, 2, 4, 0, 3] * 2

INTEGERS = [0, 1, -1, 127, 128, -129, 255, 256, 65535, 2**31, 2**32, -(2**63), 2**63 - 1]
FLOATS = [0.0, -1.5, 65504.0, 65520.0, 6e-8, 1e-40, 3.4e38, float("inf"), float("nan")]
STRINGS = [b"", b"x", "\u00e9".encode(), bytes(range(256))]


def features() -> Iterator[dict[str, Any]]:
    """Features of every kind, of no value, one, a few and many."""
    yield {}
    for values in (INTEGERS, FLOATS, STRINGS):
        for count in (0, 1, 2, 4):
            yield {"a": values[:count], "b": values[count:]}
    yield {"": [1], "\u00e9": [2.0], "c": [b"x"], "d": [1, 0], "e": [0.5], "f": [b"", b""]}


def examples() -> Iterator[bytes]:
    """What this package and protobuf write."""
    for row in features():
        record = tfrecs.encode_example(row)
        yield record
        yield tfrecs.Example.FromString(record).SerializeToString(deterministic=True)


def joined(records: list[bytes]) -> list[bytes]:
    """Records, and pairs of them written as one, which has every name twice."""
    return records + [one + other for one, other in pairwise(records)]


def sequences() -> Iterator[bytes]:
    """Steps of every kind beside contexts of every kind."""
    rows = list(features())
    for context, other in zip(rows, rows[::-1], strict=True):
        lists = {name: [values, values[:1], values] for name, values in other.items()}
        yield tfrecs.encode_sequence_example(context=context, feature_lists=lists)


# The field that each type's values have, if they are written one by one, and a few such values.
TYPED = {
    **dict.fromkeys((3, 4, 5, 6, 11, 12, 13, 15, 16, 17, 29, 30, 31, 32), (7, b"\x01\x00\x01")),
    **dict.fromkeys((24, 25, 26, 27, 28, 33), (18, b"\x01\x7f\xff")),
    **dict.fromkeys((14, 19), (13, b"\x80\x7f\x01")),
    1: (5, struct.pack("<3f", 1.5, -0.0, 1e-40)),
    2: (6, struct.pack("<2d", 1.5, -1e300)),
    7: (8, b"some bytes"),
    8: (9, struct.pack("<2f", 1.5, 2.5)),
    9: (10, b"\x01" + b"\xff" * 9 + b"\x01"),
    10: (11, b"\x01\x00\x80\x80\x80\x80\x10"),
    18: (12, struct.pack("<2d", 1.5, 2.5)),
    22: (16, b"\xff\xff\xff\xff\x0f"),
    23: (17, b"\xff" * 9 + b"\x01"),
}

# A dimension of 2**40.
HUGE = b"\x12\x07\x08\x80\x80\x80\x80\x80\x20"


def tensors() -> Iterator[bytes]:
    """Arrays as their memory, and values one by one, the last of which repeats."""
    for array in (np.arange(6), np.ones((2, 3), np.float32), np.zeros((0, 2)), np.array([1j])):
        yield tfrecs.serialize_tensor(array)
    yield tfrecs.serialize_tensor([[b"", b"x"], [b"yy", b"\xff"]])
    for dims in (b"\x12\x00" + HUGE * 2, b"\x12\x02\x08\x01" * 254, b"\x12\x02\x08\x01" * 255):
        yield b"\x08\x01\x12" + varint(len(dims)) + dims
    for number, (field, payload) in TYPED.items():
        dtype = bytes([0x08, number])
        values = varint(field << 3 | 2) + varint(len(payload)) + payload
        yield dtype + values
        yield dtype + b"\x12\x08\x12\x02\x08\x02\x12\x02\x08\x03" + values


def varint(value: int) -> bytes:
    """A small number as a varint."""
    return bytes([value]) if value < 128 else bytes([value & 127 | 128, value >> 7])


def fitting(code: int, layouts: list[int]) -> tuple[list[Any], list[Any]]:
    """As many values as an element of the column takes that `code` asks for, and other ones."""
    values = FLOATS_AND_BYTES.get(code % DTYPES, [1, 0]) * 3
    return values[: layouts[code // DTYPES]], values[:5]


def fitting_examples() -> Iterator[bytes]:
    """For every request a record that fits it, and one that fits it twice."""
    for code in range(DTYPES * len(FEATURE_LAYOUTS)):
        record = tfrecs.encode_example({"a": fitting(code, FEATURE_LAYOUTS)[0]})
        yield bytes([2, code]) + record + BOUNDARY + record + record


def fitting_sequences() -> Iterator[bytes]:
    """For every request a record that fits it, and one of which the last list of the name does."""
    for code in range(DTYPES * len(LIST_LAYOUTS)):
        step, other = fitting(code, LIST_LAYOUTS)
        fits = tfrecs.encode_sequence_example(feature_lists={"a": [step, step]})
        unfit = tfrecs.encode_sequence_example(feature_lists={"a": [step, other]})
        yield bytes([1, 2, code]) + fits + BOUNDARY + fits + unfit + fits


def streams() -> Iterator[tuple[int, bytes]]:
    """Small compressed files of every kind of block, and whether they are gzip."""
    rows = b"".join(b"row %d: %d of %d\n" % (n, n * n % 97, n % 7) for n in range(60))
    # Not to be compressed, and again out of the window's reach and within it.
    noise = b"".join(hashlib.sha256(bytes([n])).digest() for n in range(12))
    contents = [b"", b"x" * 300, rows, noise, rows + noise + b"\0" * 40_000 + rows, noise + rows]
    for level, memory, strategy, flush in product((1, 6), (1, 9), (0, 3, 4), (1, 2, 3)):
        for gzip in (0, 1):
            deflater = zlib.compressobj(level, zlib.DEFLATED, 15 + 16 * gzip, memory, strategy)
            parts = [deflater.compress(one) + deflater.flush(flush) for one in contents]
            yield gzip, b"".join(parts) + deflater.flush()
    for one, other in pairwise(contents):
        yield 1, zlib.compress(one, wbits=31) + zlib.compress(other, wbits=31)
        yield 0, zlib.compress(one, 0)


def chunked() -> Iterator[bytes]:
    """Files to be read in chunks of several sizes, and to be entered where somebody says."""
    for n, (gzip, file) in enumerate(streams()):
        yield bytes([gzip, n % 14]) + struct.pack("<H", (1, 100, 65535)[n % 3]) + file
        # A stream at byte 20; a block some bytes after it, in front of which are 40 zeros.
        stream = struct.pack("<QQIHBB", 300, 20, 0, 0, 8, 0)
        window = zlib.compress(bytes(40), wbits=-15)
        block = struct.pack("<QQIHBB", 300 + n, 30 + n, len(window), 40, n % 8, 0)
        stored = struct.pack("<I", 2) + stream + block + window
        yield bytes([2 | gzip, 0]) + struct.pack("<H", len(stored)) + stored + file


def indices() -> Iterator[bytes]:
    """Indices that are changed in a place, or made up of blocks and packed offsets."""
    for codec in range(3):
        yield bytes([codec])
        for place in (0, 8, 12, 16, 24, 32, 40, 48, 52, 56, 64, 76, 80, 90, 96, 100):
            yield bytes([codec]) + bytes(place) + b"\x01"
        for records, width in ((1, 0), (5, 1), (70, 2), (200, 8), (2**40, 1)):
            block = struct.pack("<QQ", 17, width) + struct.pack("<QQ", 0, 5 << 8 | width)
            for packed in (bytes(range(40)), b"\xff" * 90, b""):
                head = struct.pack("<QQHH", records, 3000, len(packed), 0)
                yield bytes([8 | codec]) + head + block + packed


def walks() -> Iterator[bytes]:
    """Files described by what stands in them: records, headers that lie, records in records."""
    for segment in (0, 3, 40):
        for parts in (b"", b"\x00\x05", b"\x01\x20" * 4, b"\x02\x40\x03\x09" * 3):
            for end in (b"", b"\x03\xff", b"\x04\x07junk---"):
                yield bytes([segment]) + b"\x00\x03\x02\x30" * 8 + parts + end


def scripts() -> Iterator[bytes]:
    """Files of records, some in records, of forged headers and damage: tests/salvage/check.rs."""
    steps = [(0, 0), (0, 9), (1, 40), (3, 5), (4, 9), (28, 20), (5, 0), (6, 0), (7, 0)]
    for n in range(300):
        rng = random.Random(n)
        script = bytearray([rng.choice([1, 2, 3])])
        for _ in range(rng.randrange(1, 24)):
            step, size = rng.choice(steps)
            if step % 8 == 7:
                step, size = 7 | rng.randrange(32) << 3, rng.randrange(200)
            script += bytes([step, size])
            script += rng.randbytes(size) if step % 8 <= 3 else b""
        yield bytes(script)
    for n in range(20):
        records = [random.Random(k).randbytes(k * n % 90) for k in range(6)]
        yield b"\0" + framed(records)
        yield b"\0" + framed([*records, framed(records)])[n:]


def framed(records: list[bytes]) -> bytes:
    """A file of these records."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        with tfrecs.RecordWriter(path) as out:
            out.write_batch(records)
        return path.read_bytes()


def requests(layouts: list[int]) -> Iterator[bytes]:
    """What asks for nothing in particular, and for columns of every type and layout."""
    yield b"\0"
    codes = DTYPES * len(layouts)
    for code in range(codes):
        yield bytes([3, code, (code * 5 + 1) % codes])


# What failed once.
FOUND = {
    "example_columns": [
        # A new name twice, the second time without a list; then the name once.
        "000a130a0a0a016112051a030a01010a050a016112007e7265637e0a0c0a0a0a016112051a030a0105"
    ],
    "tensor_proto": [
        # Two tensors of strings that repeat.
        "00"
        + "7e7265637e".join(
            "12081202084212020803080712081202084212020803" + strings
            for strings in ("42054203420163", "4203420163")
        )
    ],
}


def seeds(target: str) -> Iterator[bytes]:
    """The inputs that fuzzing begins with."""
    match target:
        case "example_columns":
            records, prefixes = joined(list(examples())), list(requests(FEATURE_LAYOUTS))
            yield from fitting_examples()
        case "sequence_columns":
            records = joined(list(sequences()))
            yield from fitting_sequences()
            contexts, lists = list(requests(FEATURE_LAYOUTS)), list(requests(LIST_LAYOUTS))
            prefixes = [b"\0\0", *(contexts[1 + 7 * n % 210] + one for n, one in enumerate(lists))]
        case "gzip_chunks":
            yield from chunked()
            return
        case "index":
            yield from indices()
            return
        case "ranges":
            yield from walks()
            return
        case "framing" | "salvage":
            yield from scripts()
            return
        case "tensor_proto":
            records = list(tensors())
            prefixes = [b"\0"] * len(records) + [bytes([number]) for number in TYPED]
        case _:
            raise SystemExit(f"no such target: {target}")
    for n, prefix in enumerate(prefixes):
        first, *others = (records[(n + k) % len(records)] for k in range(n % 3 + 1))
        yield prefix + BOUNDARY.join([first, *others])
        yield prefix + BOUNDARY.join([first, first + first])
    yield from map(bytes.fromhex, FOUND.get(target, []))


def write(inputs: Iterator[bytes], folder: Path) -> None:
    """One file an input, under the name that libFuzzer would give it."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


def pack(inputs: set[bytes], corpus: Path) -> None:
    """One file of all inputs, the smallest first."""
    with tfrecs.RecordWriter(corpus) as writer:
        for data in sorted(inputs, key=lambda data: (len(data), data)):
            writer.write(data)
    print(f"{corpus}: {len(inputs)} inputs, {corpus.stat().st_size} bytes")


def main() -> None:
    """Runs the command line."""
    verb, target, folder = sys.argv[1:]
    corpus = CORPUS / f"{target}.tfrecord.gz"
    match verb:
        case "seed":
            write(seeds(target), Path(folder))
        case "unpack":
            write((bytes(record) for record in tfrecs.RecordReader(corpus)), Path(folder))
        case "pack":
            found = (path.read_bytes() for path in Path(folder).iterdir())
            pack({*seeds(target), *found}, corpus)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
