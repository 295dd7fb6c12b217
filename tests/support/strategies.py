"""Hypothesis strategies: specs for parse_example and serialized Examples to parse with them.

The Examples are put together byte by byte, not by protobuf's classes, so that everything legal on
the wire is produced and not only what today's writers make of it. Map: pieces of `Wire` (bytes that
know what is unusual about them) are built up from value to list, feature, map entry and Example;
`cases` joins a spec with records that mostly fit it.

An Example is *plain* if TensorFlow must be matched exactly on it. It is *odd*, with the reasons
named, where TensorFlow's fast parser is not a protobuf parser; there the protobuf rules decide, and
TensorFlow is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from reference import Fixed, Spec, Var
from reference_wire import (
    FIELDS,
    FIXED32,
    FIXED64,
    GROUP,
    VARINT,
    Value,
    delimited,
    number,
    packed,
    tag,
    unpacked,
    varint,
)

DTYPES = ("int64", "float32", "string")
KEYS = (
    "a",
    "b",
    "label",
    "",
    "é",
    "日本",
    "image/encoded",
    "b*has+a:tricky_name",
    "a b",
    "x" * 130,
)
EXTRA_KEYS = (b"unasked", b"\xff\xfe", b"a\0")

INT64S = (0, 1, -1, 127, 128, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63))
# Zeros, ones, the largest and smallest, infinities, quiet and signalling NaNs, one with a payload.
FLOAT_BITS = (
    *(0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0x00000001),
    *(0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FC0BEEF),
)
STRINGS = (b"", b"\0", b"a\0\0", b"text", "é".encode(), b"\xff\xfe\x00\x01", b"y" * 200)


@dataclass(frozen=True)
class Wire:
    """Bytes, and what about them makes TensorFlow's parser and protobuf's differ."""

    data: bytes
    odd: frozenset[str] = frozenset()

    def wrap(self, number: int) -> Wire:
        """As a length-delimited field."""
        return Wire(delimited(number, self.data), self.odd)


def join(pieces: Iterable[Wire], *odd: str) -> Wire:
    """The pieces one after the other."""
    pieces = list(pieces)
    reasons = frozenset(odd).union(*(piece.odd for piece in pieces))
    return Wire(b"".join(piece.data for piece in pieces), reasons)


# ---------------------------------------------------------------- values and unknown fields

VALUES: dict[str, SearchStrategy[Value]] = {
    "int64": st.sampled_from(INT64S) | st.integers(-3, 300) | st.integers(-(2**63), 2**63 - 1),
    "float32": st.sampled_from(FLOAT_BITS) | st.integers(0, 2**32 - 1),
    "string": st.sampled_from(STRINGS) | st.binary(max_size=8),
}

_unknown_payloads: SearchStrategy[Callable[[int], bytes]] = st.sampled_from(
    [
        lambda number: tag(number, VARINT) + varint(2**64 - 1),
        lambda number: tag(number, FIXED64) + b"\xff" * 8,
        lambda number: tag(number, FIXED32) + b"\x0a" * 4,
        lambda number: delimited(number, b""),
        lambda number: delimited(number, b"\xff not a message"),
    ]
)


@st.composite
def unknown_fields(draw: DrawFn, first_number: int) -> bytes:
    """A field that Example does not have (numbers below `first_number` are taken)."""
    number = draw(st.sampled_from([first_number, 9, 15, 16, 1000, 2**29 - 1]))
    return draw(_unknown_payloads)(number)


def unknown_group(number: int) -> bytes:
    """A group: a wire type that nothing writes any more and every protobuf parser skips."""
    inside = tag(1, VARINT) + b"\1" + tag(3, GROUP) + tag(3, GROUP + 1)
    return tag(number, GROUP) + inside + tag(number, GROUP + 1)


# ---------------------------------------------------------------- lists, features, entries


@st.composite
def lists(draw: DrawFn, dtype: str, values: Sequence[Value], *, odd: bool) -> Wire:
    """An Int64List, FloatList or BytesList of these values."""
    if odd and draw(_one_in(3)):
        return draw(_odd_lists(dtype, values))
    if not values and draw(st.booleans()):
        return Wire(b"")  # what protobuf writes; an empty packed chunk is the other way
    return Wire((packed if draw(st.booleans()) else unpacked)(dtype, values))


@st.composite
def _odd_lists(draw: DrawFn, dtype: str, values: Sequence[Value]) -> Wire:
    cut = draw(st.integers(0, len(values)))
    head, tail = values[:cut], values[cut:]
    way = draw(st.sampled_from(["split", "packed+unpacked", "unpacked+packed", "unknown", "wide"]))
    if way == "split":
        return Wire(packed(dtype, head) + packed(dtype, tail), frozenset({"list: split"}))
    if way == "packed+unpacked":
        return Wire(packed(dtype, head) + unpacked(dtype, tail), frozenset({"list: mixed"}))
    if way == "unpacked+packed":
        return Wire(unpacked(dtype, head) + packed(dtype, tail), frozenset({"list: mixed"}))
    if way == "wide":
        return Wire(_wide_list(dtype, values), frozenset({"list: padded varints"}))
    unknown = draw(unknown_fields(2) | _wrong_wire_types(dtype))
    return Wire(
        unpacked(dtype, head) + unknown + unpacked(dtype, tail), frozenset({"list: unknown"})
    )


def _wide_list(dtype: str, values: Sequence[Value]) -> bytes:
    """A packed list, or a list of bytes, whose varints are longer than they need be."""
    if dtype == "string":
        return b"".join(b"\x0a" + varint(len(value), padding=2) + value for value in values)
    if dtype == "float32":
        body = b"".join(number(dtype, value) for value in values)
    else:
        numbers = [value & (2**64 - 1) for value in values]
        body = b"".join(varint(number, 1 if number < 2**56 else 0) for number in numbers)
    return b"\x0a" + varint(len(body), padding=1) + body


def _wrong_wire_types(dtype: str) -> SearchStrategy[bytes]:
    """The list's own field number with a wire type that it cannot have: an unknown field."""
    ways = {
        VARINT: tag(1, VARINT) + b"\7",
        FIXED32: tag(1, FIXED32) + b"\0" * 4,
        FIXED64: tag(1, FIXED64) + b"\0" * 8,
    }
    ways.pop({"int64": VARINT, "float32": FIXED32}.get(dtype, -1), None)
    return st.sampled_from(list(ways.values()))


@st.composite
def features(draw: DrawFn, dtype: str | None, values: Sequence[Value], *, odd: bool) -> Wire:
    """A Feature of this kind; None has no kind set."""
    body = draw(lists(dtype, values, odd=odd)).wrap(FIELDS[dtype]) if dtype else Wire(b"")
    if not (odd and draw(_one_in(3))):
        return body
    way = draw(st.sampled_from(["before", "after", "oneof", "repeated", "wrong wire type"]))
    if way == "before":
        return join([Wire(draw(unknown_fields(4))), body], "feature: unknown")
    if way == "after":
        return join([body, Wire(draw(unknown_fields(4)))], "feature: unknown")
    if way == "wrong wire type":
        other = tag(draw(st.integers(1, 3)), VARINT) + b"\1"
        return join([Wire(other), body], "feature: unknown")
    second = draw(st.sampled_from(DTYPES)) if way == "oneof" else dtype or "int64"
    more = draw(st.lists(VALUES[second], max_size=2))
    again = draw(lists(second, more, odd=odd)).wrap(FIELDS[second])
    return join([again, body] if draw(st.booleans()) else [body, again], f"feature: {way}")


@st.composite
def entries(draw: DrawFn, key: bytes, feature: Wire, *, odd: bool) -> Wire:
    """A map entry, key and value in either order."""
    parts = [Wire(delimited(1, key)), feature.wrap(2)]
    if draw(_one_in(4)):
        parts.reverse()
    if not (odd and draw(_one_in(4))):
        return join(parts).wrap(1)
    way = draw(st.sampled_from(["no key", "no value", "two keys", "two values", "unknown"]))
    if way == "no key":
        return join([feature.wrap(2)], "entry: no key").wrap(1)
    if way == "no value":
        return join([Wire(delimited(1, key))], "entry: no value").wrap(1)
    if way == "two keys":
        first = Wire(delimited(1, draw(st.sampled_from([b"a", b"", b"other"]))))
        return join([first, *parts], "entry: two keys").wrap(1)
    if way == "two values":
        dtype = draw(st.sampled_from(DTYPES))
        other = draw(features(dtype, draw(st.lists(VALUES[dtype], max_size=2)), odd=odd))
        return join([*parts, other.wrap(2)], "entry: two values").wrap(1)
    parts.insert(draw(st.integers(0, 2)), Wire(draw(unknown_fields(3))))
    return join(parts, "entry: unknown").wrap(1)


# ---------------------------------------------------------------- whole Examples


@st.composite
def wrappings(draw: DrawFn, items: Sequence[Wire], *, odd: bool) -> Wire:
    """An Example of these map entries: in one Features or, as concatenation makes it, in two."""
    pieces: list[Wire] = []
    cut = draw(st.integers(0, len(items))) if draw(_one_in(4)) else 0
    for part in (items[:cut], items[cut:]) if cut else (items,):
        inside = list(part)
        if odd and draw(_one_in(6)):
            unknown = Wire(draw(unknown_fields(2)), frozenset({"features: unknown"}))
            inside.insert(draw(st.integers(0, len(inside))), unknown)
        pieces.append(join(inside).wrap(1))
    if draw(_one_in(4)):
        pieces.insert(draw(st.integers(0, len(pieces))), Wire(draw(unknown_fields(2))))
    if odd and draw(_one_in(6)):
        pieces.insert(0, Wire(unknown_group(7), frozenset({"example: group"})))
    return join(pieces)


@st.composite
def examples(draw: DrawFn, spec: Spec, *, odd: bool, faulty: bool) -> Wire:
    """An Example for this spec; unless `faulty` is set, TensorFlow accepts it (if it is plain)."""
    groups: list[list[Wire]] = []
    for name, feature in spec.items():
        assert isinstance(feature, Fixed | Var)
        groups.append(draw(_entries_for(name.encode(), feature, odd=odd, faulty=faulty)))
    if draw(_one_in(3)):
        key, dtype = draw(st.sampled_from(EXTRA_KEYS)), draw(st.sampled_from(DTYPES))
        extra = draw(features(dtype, draw(st.lists(VALUES[dtype], max_size=2)), odd=odd))
        groups.append([draw(entries(key, extra, odd=odd))])
    if draw(st.booleans()):
        groups.reverse()  # the groups, not the entries: the last entry of a key decides
    return draw(wrappings([entry for group in groups for entry in group], odd=odd))


@st.composite
def _entries_for(
    draw: DrawFn, key: bytes, wanted: Fixed | Var, *, odd: bool, faulty: bool
) -> list[Wire]:
    """The map entries of one key: mostly one, or none, or two of which the last wins."""
    winner = draw(_wanted_features(wanted, odd=odd, faulty=faulty))
    if winner is None:
        return []
    out = []
    if draw(_one_in(8)):
        dtype = draw(st.sampled_from([*DTYPES, None]))
        values = draw(st.lists(VALUES[dtype], max_size=2)) if dtype else []
        out.append(draw(entries(key, draw(features(dtype, values, odd=odd)), odd=odd)))
        if not winner.data:
            winner = join([winner], "map: kindless last")
    return [*out, draw(entries(key, winner, odd=odd))]


@st.composite
def _wanted_features(draw: DrawFn, wanted: Fixed | Var, *, odd: bool, faulty: bool) -> Wire | None:
    """The Feature that a record has for a wanted one; None is for an absent key."""
    fixed = isinstance(wanted, Fixed)
    count = prod(wanted.shape) if isinstance(wanted, Fixed) else draw(st.integers(0, 4))
    plan = draw(st.sampled_from(_plans(wanted, faulty=faulty)))
    if plan == "absent":
        return None
    dtype: str | None = wanted.dtype
    if plan == "kindless":
        dtype, count = None, 0
    elif plan == "wrong kind":
        dtype = draw(st.sampled_from([other for other in DTYPES if other != dtype]))
    elif plan == "wrong count":
        count = draw(st.sampled_from([0, max(count - 1, 0), count + 1, 2 * count]))
    values = draw(st.lists(VALUES[dtype], min_size=count, max_size=count)) if dtype else []
    if dtype and plan == "wrong count" and fixed and not odd:
        return Wire(packed(dtype, values)).wrap(FIELDS[dtype])  # as TensorFlow itself writes it
    return draw(features(dtype, values, odd=odd))


def _plans(wanted: Fixed | Var, *, faulty: bool) -> list[str]:
    plans = ["fits"] * 6
    if faulty or isinstance(wanted, Var) or wanted.default:
        plans += ["absent", "kindless"]
    if faulty:
        plans += ["wrong kind", "wrong count"]
    return plans


# ---------------------------------------------------------------- specs and cases


@st.composite
def fixed_features(draw: DrawFn) -> Fixed:
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(
        st.sampled_from([(), (), (1,), (2,), (3,), (2, 2), (1, 3), (0,), (2, 0), (2, 1, 2)])
    )
    if draw(st.booleans()):
        return Fixed(shape, dtype)
    size = prod(shape)
    default = draw(st.lists(VALUES[dtype], min_size=size, max_size=size))
    return Fixed(shape, dtype, tuple(default))


def specs(max_size: int = 4) -> SearchStrategy[Spec]:
    """Specs of one to `max_size` FixedLenFeatures and VarLenFeatures."""
    var = st.sampled_from(DTYPES).map(Var)
    return st.dictionaries(
        st.sampled_from(KEYS), fixed_features() | var, min_size=1, max_size=max_size
    )


@dataclass(frozen=True)
class Case:
    """A spec, a batch for it, and in what way the batch is odd (see the module's docstring)."""

    spec: Spec
    records: list[bytes]
    odd: frozenset[str] = field(default=frozenset())


@st.composite
def cases(draw: DrawFn, *, odd: bool) -> Case:
    """A batch of 0 to 20 Examples that mostly fit the spec; half of the batches have no misfit."""
    spec = draw(specs())
    faulty = draw(st.booleans())
    rows = draw(st.lists(examples(spec, odd=odd, faulty=faulty), min_size=1, max_size=4))
    batch = draw(st.lists(st.sampled_from(rows), max_size=20))
    return Case(spec, [row.data for row in batch], join(batch).odd)


@st.composite
def broken_cases(draw: DrawFn) -> Case:
    """A batch in which one Example is cut, or has bytes changed, put in or taken out."""
    spec = draw(specs(max_size=3))
    odd = draw(st.booleans())
    row = draw(examples(spec, odd=odd, faulty=False)).data
    batch = draw(st.lists(st.just(row), max_size=3))
    batch.insert(draw(st.integers(0, len(batch))), draw(mutations(row)))
    return Case(spec, batch, frozenset({"mutated"}))


@st.composite
def mutations(draw: DrawFn, data: bytes) -> bytes:
    """The bytes, damaged once or twice."""
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(len(data), at + 4)))
        way = draw(st.sampled_from(["cut", "change", "insert", "delete", "repeat"]))
        if way == "cut":
            data = data[:at]
        elif way == "change":
            data = data[:at] + draw(st.binary(min_size=1, max_size=1)) + data[at + 1 :]
        elif way == "insert":
            data = data[:at] + draw(st.binary(min_size=1, max_size=3)) + data[at:]
        elif way == "delete":
            data = data[:at] + data[end:]
        else:
            data = data[:end] + data[at:]
    return data


def _one_in(n: int) -> SearchStrategy[bool]:
    return st.integers(1, n).map(lambda value: value == n)
