"""Messages made to cost: depth, empty features, packed counts, long varints, repeated names.

`run(cases, seed)` makes each of about `cases` bytes, of twice as many, and of twenty times as many:
all are decoded or refused, and twice the bytes may take 2.3 times the time. (Memory, 32 times the
input, is a Rust test: allocations.rs.)
"""

import gc
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tfrecs

# Twice the input may take so much more time.
MOST = 2.3
# At this many times the size nothing is measured, but decoding must end or be refused.
LARGE = 20
# What takes less than this is not measured.
LEAST_SECONDS = 0.005

Bomb = Callable[[int], bytes]


def varint(value: int) -> bytes:
    """A varint."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, content: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def example(entries: bytes) -> bytes:
    """An Example whose map has these entries."""
    return field(1, entries)


def entry(name: bytes, feature: bytes) -> bytes:
    """An entry of the map."""
    return field(1, field(1, name) + field(2, feature))


def groups(size: int) -> bytes:
    """As deep as it is long, after an unknown field."""
    return b"\x7b" * (size // 2) + b"\x7c" * (size // 2)


def open_groups(size: int) -> bytes:
    """The same, and none of them ends."""
    return b"\x7b" * size


def nested(size: int) -> bytes:
    """Messages in messages: each takes the lengths of those around it."""
    out = b""
    while len(out) < size and len(out) < 2_000_000:
        out = field(15, out)
        if len(out) > 400:  # so deep that nobody should follow
            out *= max(size // len(out), 1)
            break
    return out


def empty_features(size: int) -> bytes:
    return example(field(1, b"") * (size // 2))


def empty_entries(size: int) -> bytes:
    """Of one name."""
    one = entry(b"a", b"")
    return example(one * (size // len(one)))


def one_name(size: int) -> bytes:
    """The same name again and again, each time with a value: the last one counts."""
    one = entry(b"a", field(3, field(1, b"\x07")))
    return example(one * (size // len(one)))


def two_names(size: int) -> bytes:
    """Two by turns."""
    some = entry(b"a", field(3, field(1, b"\x07"))) + entry(b"b", field(1, field(1, b"x")))
    return example(some * (size // len(some)))


def many_names(size: int) -> bytes:
    """All different, of one length, and alike but for their ends."""
    count = min(size // 40, 16_000)
    each = b"a name that begins as all others "
    some = b"".join(entry(each + b"%08d" % number, b"") for number in range(count))
    return example(some)


def many_parts(size: int) -> bytes:
    """A feature in many parts, which are merged."""
    part = field(2, field(3, field(1, b"\x07")))
    return example(field(1, field(1, b"a") + part * (size // len(part))))


def many_maps(size: int) -> bytes:
    """The map itself in many parts."""
    part = example(entry(b"a", field(3, field(1, b"\x07"))))
    return part * (size // len(part))


def packed(size: int) -> bytes:
    return example(entry(b"a", field(3, field(1, b"\x01" * size))))


def long_varints(size: int) -> bytes:
    """The longest that a varint may be."""
    return example(entry(b"a", field(3, field(1, (b"\xff" * 9 + b"\x01") * (size // 10)))))


def longer_varints(size: int) -> bytes:
    """Longer than one may be."""
    return example(entry(b"a", field(3, field(1, b"\xff" * size))))


def huge_count(size: int) -> bytes:
    """A list that announces 2^62 bytes."""
    return b"\x0a" + varint(2**62) + b"\x01" * size


def not_packed(size: int) -> bytes:
    return example(entry(b"a", field(3, b"\x08\x01" * (size // 2))))


def empty_strings(size: int) -> bytes:
    return example(entry(b"a", field(1, b"\x0a\x00" * (size // 2))))


def unknown_fields(size: int) -> bytes:
    return b"\xa0\x06\x01" * (size // 3)


BOMBS: list[Bomb] = [
    groups,
    open_groups,
    nested,
    empty_features,
    empty_entries,
    one_name,
    two_names,
    many_names,
    many_parts,
    many_maps,
    packed,
    long_varints,
    longer_varints,
    huge_count,
    not_packed,
    empty_strings,
    unknown_fields,
]

INTEGERS = {"a": tfrecs.VarLenFeature("int64")}
STRINGS = {"a": tfrecs.RaggedFeature("string")}
LISTS = {"a": tfrecs.RaggedFeature("int64")}

WAYS: dict[str, Callable[[bytes], Any]] = {
    "decode_example": tfrecs.decode_example,
    "decode_sequence_example": tfrecs.decode_sequence_example,
    "decode_batch": lambda record: tfrecs.decode_batch(tfrecs.Records([record])),
    "decode_sequence_batch": lambda record: tfrecs.decode_sequence_batch(tfrecs.Records([record])),
    "parse_example": lambda record: tfrecs.parse_example([record], INTEGERS),
    "parse_example, strings": lambda record: tfrecs.parse_example([record], STRINGS),
    "parse_sequence_example": lambda record: tfrecs.parse_sequence_example(
        [record], STRINGS, LISTS
    ),
    "parse_tensor": lambda record: tfrecs.parse_tensor(record, np.int64),
    "parse_example_list": lambda record: tfrecs.parse_example_list([record], INTEGERS),
}


def seconds(way: Callable[[bytes], Any], record: bytes) -> tuple[float, str]:
    """How long it took, and what was raised."""
    begin = time.process_time()
    try:
        way(record)
    except tfrecs.Error as error:
        return time.process_time() - begin, type(error).__name__
    return time.process_time() - begin, ""


def growth(way: Callable[[bytes], Any], one: bytes, two: bytes, turns: int = 5) -> float:
    """How many times as long twice as much takes, by the medians of several turns."""
    pairs = [(seconds(way, one)[0], seconds(way, two)[0]) for _ in range(turns)]
    first, second = (statistics.median(times) for times in zip(*pairs, strict=True))
    return 0.0 if first < LEAST_SECONDS else second / first * len(one) * 2 / len(two)


def is_worth_it(one: bytes) -> bool:
    """Whether so little is anything to measure."""
    return len(one) >= 50_000


def wrong_with(
    name: str, way: Callable[[bytes], Any], one: bytes, two: bytes, large: bytes
) -> str | None:
    """What is wrong, or None. A machine that is busy is given three chances."""
    try:
        seconds(way, one)
        seconds(way, large)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is none of ours
        return f"{name}: {error!r}"
    times = 0.0
    for _ in range(3 if is_worth_it(one) else 0):
        times = growth(way, one, two)
        if times <= MOST:
            return None
    return f"{name}: twice the input takes {times:.1f} times as long" if times else None


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Decode messages of that many bytes; what was wrong."""
    order = random.Random(seed).sample(BOMBS, len(BOMBS))
    failures = []
    gc.disable()
    for bomb in order:
        one, two, large = bomb(cases), bomb(2 * cases), bomb(LARGE * cases)
        for name, way in WAYS.items():
            if wrong := wrong_with(name, way, one, two, large):
                failures.append(f"{bomb.__name__}, {len(one)} bytes: {wrong}")
    gc.enable()
    return len(BOMBS) * len(WAYS), failures
