"""Random bytes for given features: every legal way to write them on the wire, and broken ones.

Map: a `Pen` writes features, map entries and whole messages; unless it is `odd`, in ways that
TensorFlow's parsers and protobuf's read alike. What it wrote that they read differently it notes in
`seen`, by name. `mutated` damages bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from reference_wire import (
    BYTES,
    FIELDS,
    FIXED32,
    FIXED64,
    GROUP,
    VARINT,
    Feature,
    Value,
    delimited,
    number,
    packed,
    tag,
    unpacked,
    varint,
)

EXTRA_KEYS = (b"unasked", b"\xff\xfe", b"a\0", b"")
_LENGTHS = [varint(size) for size in range(1 << 14)]
_HEADS = [tag(field, BYTES) for field in range(4)]
_INTS = {value: varint(value & (2**64 - 1)) for value in range(-200, 1 << 10)}


def wrap(field: int, payload: bytes) -> bytes:
    """`delimited`, for small fields and sizes."""
    size = len(payload)
    return _HEADS[field] + (_LENGTHS[size] if size < 1 << 14 else varint(size)) + payload


def unknown_field(rng: Random, first: int) -> bytes:
    """A field that the message does not have; numbers below `first` are taken."""
    field = rng.choice((first, 9, 15, 16, 1000, 2**29 - 1))
    way = rng.randrange(5)
    if way == 0:
        return tag(field, VARINT) + varint(2**64 - 1)
    if way == 1:
        return tag(field, FIXED64) + b"\xff" * 8
    if way == 2:
        return tag(field, FIXED32) + b"\x0a" * 4
    return delimited(field, b"" if way == 3 else b"\xff not a message")


def unknown_group(field: int) -> bytes:
    inside = tag(1, VARINT) + b"\1" + tag(3, GROUP) + tag(3, GROUP + 1)
    return tag(field, GROUP) + inside + tag(field, GROUP + 1)


class Pen:
    """Writes messages, each in another way.

    Attributes:
        rate: how odd, if at all: 1 is very much.
        seen: what was odd about what was written, since it was last cleared.
    """

    def __init__(self, rng: Random, *, odd: bool, in_sequences: bool) -> None:
        self.rng = rng
        self.odd = odd
        self.in_sequences = in_sequences
        self.rate = rng.choice((0.15, 1))
        self.seen: set[str] = set()

    def _now(self, chance: float) -> bool:
        return self.rng.random() < chance

    def _oddly(self, chance: float, *ways: str) -> str:
        """One of the ways to be odd, or "" for none of them."""
        if not self.odd or not self._now(chance * self.rate):
            return ""
        way = self.rng.choice(ways)
        self.seen.add(way)
        return way

    # ------------------------------------------------------------ lists and features

    def values(self, kind: str, values: Sequence[Value]) -> bytes:
        """An Int64List, FloatList or BytesList."""
        way = self._oddly(0.15, *_ODD_LISTS)
        if way:
            return self._odd_values(way, kind, values)
        if not values:
            return b"" if kind == "string" or self._now(0.5) else b"\x0a\0"
        if kind == "string" or self._now(0.3):
            return unpacked(kind, values)
        if kind == "int64":
            return wrap(1, b"".join([_INTS.get(v) or number(kind, v) for v in values]))
        return packed(kind, values)

    def _odd_values(self, way: str, kind: str, values: Sequence[Value]) -> bytes:
        cut = self.rng.randint(0, len(values))
        head, tail = values[:cut], values[cut:]
        if way == "list: split":
            return packed(kind, head) + packed(kind, tail)
        if way == "list: mixed":
            first, last = self.rng.sample([packed, unpacked], 2)
            return first(kind, head) + last(kind, tail)
        if way == "list: wide":
            return _wide(kind, values)
        if way == "list: unknown":
            odd = unknown_field(self.rng, 2)
        else:
            wires = [w for w in (VARINT, FIXED32, FIXED64) if w != _WIRES[kind]]
            wire = self.rng.choice(wires)
            odd = tag(1, wire) + bytes({VARINT: 1, FIXED32: 4, FIXED64: 8}[wire])
        return unpacked(kind, head) + odd + unpacked(kind, tail)

    def feature(self, feature: Feature) -> bytes:
        kind, values = feature
        body = b"" if kind is None else wrap(FIELDS[kind], self.values(kind, values))
        way = self._oddly(
            0.1,
            "feature: unknown before",
            "feature: unknown after",
            "feature: wrong wire type",
            "feature: two kinds",
            "feature: list twice",
        )
        if not way:
            return body
        if way == "feature: unknown before":
            return unknown_field(self.rng, 4) + body
        if way == "feature: unknown after":
            return body + unknown_field(self.rng, 4)
        if way == "feature: wrong wire type":
            return tag(self.rng.randint(1, 3), VARINT) + b"\1" + body
        other = kind or "int64"
        if way == "feature: two kinds":
            other = self.rng.choice([k for k in FIELDS if k != kind])
        again = wrap(FIELDS[other], self.values(other, [] if self._now(0.5) else _SOME[other]))
        return again + body if self._now(0.5) else body + again

    def steps(self, features: Sequence[Feature]) -> bytes:
        """A FeatureList."""
        parts = [wrap(1, self.feature(feature)) for feature in features]
        if self._oddly(0.1, "steps: unknown"):
            parts.insert(self.rng.randint(0, len(parts)), unknown_field(self.rng, 2))
        return b"".join(parts)

    # ------------------------------------------------------------ maps

    def entry(self, key: bytes, value: bytes, other: bytes) -> bytes:
        """A map entry, its key and value in either order; `other` is a value to be merged in."""
        parts = [wrap(1, key), wrap(2, value)]
        # TensorFlow reads a value before its key in Examples, but not in SequenceExamples.
        if self._oddly(0.1, "entry: value first") if self.in_sequences else self._now(0.25):
            parts.reverse()
        way = self._oddly(
            0.08, "entry: no key", "entry: no value", "entry: two keys", "entry: two values",
            "entry: unknown",
        )  # fmt: skip
        if way == "entry: no key":
            parts = [wrap(2, value)]
        elif way == "entry: no value":
            parts = [wrap(1, key)]
        elif way == "entry: two keys":
            parts.insert(0, wrap(1, self.rng.choice((b"a", b"", b"other"))))
        elif way == "entry: two values":
            parts.append(wrap(2, other))
        elif way:
            parts.insert(self.rng.randint(0, 2), unknown_field(self.rng, 3))
        return wrap(1, b"".join(parts))

    def entries(self, values: Mapping[str, bytes], others: Sequence[bytes]) -> list[bytes]:
        """The entries of a map: keys that nobody asked for too, and some keys twice."""
        groups: list[bytes] = []
        for name, value in values.items():
            key, group = name.encode(), b""
            if self._now(0.08) and (value or self._oddly(1, "map: empty last")):
                group = self.entry(key, self.rng.choice(others), b"")
            groups.append(group + self.entry(key, value, self.rng.choice(others)))
        if self._now(0.3):
            groups.append(self.entry(self.rng.choice(EXTRA_KEYS), self.rng.choice(others), b""))
        if self._now(0.5):
            self.rng.shuffle(groups)
        return groups

    def map(self, field: int, entries: Sequence[bytes]) -> list[bytes]:
        """A message's map: in one piece or, as concatenation makes it, in two."""
        cut = self.rng.randint(0, len(entries)) if self._now(0.15) else 0
        pieces = []
        for part in (entries[:cut], entries[cut:]) if cut else (entries,):
            inside = list(part)
            if self._oddly(0.05, "map: unknown"):
                inside.insert(self.rng.randint(0, len(inside)), unknown_field(self.rng, 2))
            pieces.append(wrap(field, b"".join(inside)))
        return pieces

    # ------------------------------------------------------------ messages

    def features(self, features: Mapping[str, Feature]) -> list[bytes]:
        others = [self.feature(other) for other in _OTHERS]
        written = {key: self.feature(feature) for key, feature in features.items()}
        return self.map(1, self.entries(written, others))

    def lists(self, lists: Mapping[str, Sequence[Feature]]) -> list[bytes]:
        others = [self.steps(steps) for steps in _OTHER_STEPS]
        written = {key: self.steps(steps) for key, steps in lists.items()}
        return self.map(2, self.entries(written, others))

    def message(self, pieces: list[bytes], first_unknown: int) -> bytes:
        if self._now(0.15):
            unknown = unknown_field(self.rng, first_unknown)
            pieces.insert(self.rng.randint(0, len(pieces)), unknown)
        if self._oddly(0.03, "message: group"):
            pieces.insert(self.rng.randint(0, len(pieces)), unknown_group(7))
        return b"".join(pieces)

    def example(self, features: Mapping[str, Feature]) -> bytes:
        return self.message(self.features(features), 2)

    def sequence(
        self, context: Mapping[str, Feature], lists: Mapping[str, Sequence[Feature]]
    ) -> bytes:
        parts = [self.features(context), self.lists(lists)]
        if self._now(0.2):
            parts.reverse()
        return self.message([piece for part in parts for piece in part], 3)


_ODD_LISTS = (
    "list: split",
    "list: mixed",
    "list: unknown",
    "list: wide",
    "list: wrong wire type",
)
_WIRES = {"int64": VARINT, "float32": FIXED32, "string": BYTES}
_SOME: dict[str, list[Value]] = {"int64": [7, -1], "float32": [0x3F800000], "string": [b"z"]}
_OTHERS: list[Feature] = [(None, []), *_SOME.items(), ("int64", []), ("string", [])]
_OTHER_STEPS: list[list[Feature]] = [[], *([feature] for feature in _OTHERS)]


def _wide(kind: str, values: Sequence[Value]) -> bytes:
    """A packed list, or a list of bytes, whose varints are longer than they need be."""
    if kind == "string":
        return b"".join(b"\x0a" + varint(len(value), padding=2) + value for value in values)
    if kind == "float32":
        body = b"".join(number(kind, value) for value in values)
    else:
        numbers = [value & (2**64 - 1) for value in values]
        body = b"".join(varint(number, 1 if number < 2**56 else 0) for number in numbers)
    return b"\x0a" + varint(len(body), padding=1) + body


def mutated(rng: Random, data: bytes) -> bytes:
    """The bytes, damaged once or twice."""
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randint(0, len(data))
        end = min(len(data), at + rng.randint(0, 4))
        way = rng.randrange(7)
        if way == 0:
            data = data[:at]
        elif way == 1:
            data = data[:at] + rng.randbytes(1) + data[at + 1 :]
        elif way == 2:
            flipped = bytes(byte ^ 1 << rng.randrange(8) for byte in data[at : at + 1])
            data = data[:at] + flipped + data[at + 1 :]
        elif way == 3:
            data = data[:at] + rng.randbytes(rng.randint(1, 3)) + data[at:]
        elif way == 4:
            data = data[:at] + data[end:]
        elif way == 5:
            data = data[:end] + data[at:]
        else:  # an over-long or endless varint
            data = data[:at] + b"\x80" * rng.randint(1, 10) + data[at:]
    return data
