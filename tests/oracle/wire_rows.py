"""Examples that are legal on the wire, or nearly, one kind a row; and who reads them how."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from reference import Feature, Var
from reference_wire import FIXED32, FIXED64, GROUP, VARINT, delimited, packed, tag, unpacked, varint
from strategies import unknown_group

SPEC: dict[str, Feature] = {"a": Var("int64")}
UNKNOWN = tag(9, VARINT) + b"\1"


def ints(*values: int) -> bytes:
    return delimited(3, packed("int64", values))


def floats(*values: float) -> bytes:
    return delimited(2, packed("float32", np.array(values, np.float32).view(np.uint32).tolist()))


def entry(feature: bytes, key: bytes = b"a") -> bytes:
    return delimited(1, delimited(1, key) + delimited(2, feature))


def example(*entries: bytes) -> bytes:
    return delimited(1, b"".join(entries))


class Row(NamedTuple):
    """An Example, protobuf's reading of its int64 feature "a", and TensorFlow's.

    The reading is the values, None for a feature that has no list, or "refused".
    """

    data: bytes
    protobuf: list[int] | str | None
    tensorflow: list[int] | str | None


A = delimited(1, b"a")
ONE = entry(ints(1))

SAME = {
    "packed": (example(entry(ints(1, -1))), [1, -1]),
    "unpacked": (example(entry(delimited(3, unpacked("int64", [1, -1])))), [1, -1]),
    "empty packed chunk": (example(entry(ints())), []),
    "empty list": (example(entry(delimited(3, b""))), []),
    "no kind": (example(entry(b"")), None),
    "value before key": (example(delimited(1, delimited(2, ints(1)) + A)), [1]),
    "last entry wins": (example(entry(ints(1, 2)), entry(ints(3))), [3]),
    "last entry wins, whatever the kind of the first": (example(entry(floats(1)), ONE), [1]),
    "last entry wins over a kindless one": (example(entry(b""), ONE), [1]),
    "concatenated Examples": (example(ONE) + example(entry(ints(2))), [2]),
    "concatenated Examples, other keys": (example(ONE) + example(entry(ints(2), b"b")), [1]),
    "unknown field before": (UNKNOWN + example(ONE), [1]),
    "unknown field after": (
        example(ONE) + tag(9, FIXED64) + bytes(8) + tag(9, FIXED32) + bytes(4),
        [1],
    ),
    "features as a number": (tag(1, VARINT) + b"\1" + example(ONE), [1]),
    "empty Features": (example(), None),
    "nothing": (b"", None),
    "padded length": (b"\x0a" + varint(len(ONE), padding=1) + ONE, [1]),
    "length in six bytes": (b"\x0a" + varint(len(ONE), padding=5) + ONE, [1]),
    "padded value": (example(entry(delimited(3, delimited(1, varint(1, padding=2))))), [1]),
    "value of more than 64 bits": (
        example(entry(delimited(3, delimited(1, b"\x81" + b"\x80" * 8 + b"\x7f")))),
        [1 - 2**63],
    ),
    "unknown field after the list, in Feature": (example(entry(ints(1) + UNKNOWN)), [1]),
    "cut short": (example(ONE)[:-1], "refused"),
    "varint cut short": (example(entry(delimited(3, delimited(1, b"\x81")))), "refused"),
    "varint of 11 bytes": (
        example(entry(delimited(3, delimited(1, b"\x81" + b"\x80" * 9 + b"\1")))),
        "refused",
    ),
    "group that does not end": (tag(9, GROUP) + example(ONE), "refused"),
    # Two halves of a message are broken, each by itself, though joined they would be whole.
    "value in two halves": (
        example(delimited(1, A + delimited(2, ints(1)[:-1]) + delimited(2, ints(1)[-1:]))),
        "refused",
    ),
}
DIFFERENT = {
    "list in two packed chunks": Row(
        example(entry(delimited(3, packed("int64", [1]) + packed("int64", [2])))), [1, 2], [1]
    ),
    "list packed, then unpacked": Row(
        example(entry(delimited(3, packed("int64", [1]) + unpacked("int64", [2])))), [1, 2], [1]
    ),
    "list unpacked, then packed": Row(
        example(entry(delimited(3, unpacked("int64", [1]) + packed("int64", [2])))),
        [1, 2],
        "refused",
    ),
    "empty chunk, then values": Row(
        example(entry(delimited(3, packed("int64", []) + packed("int64", [2])))), [2], []
    ),
    "list twice": Row(example(entry(ints(1) + ints(2))), [1, 2], [1]),
    "list in two halves": Row(
        example(entry(delimited(3, b"\x0a\x02\x01") + delimited(3, b"\x02"))), "refused", [1]
    ),
    "oneof set twice": Row(example(entry(ints(1) + floats(2))), "refused", [1]),
    "oneof set twice, the wanted kind last": Row(
        example(entry(floats(2) + ints(1))), [1], "refused"
    ),
    "kindless entry after another": Row(example(ONE, entry(b"")), None, [1]),
    "unknown field first in Feature": Row(example(entry(UNKNOWN + ints(1))), [1], "refused"),
    "kind as a number": Row(example(entry(tag(3, VARINT) + b"\1")), None, "refused"),
    "unknown field in the list": Row(
        example(entry(delimited(3, UNKNOWN + packed("int64", [1])))), [1], "refused"
    ),
    "list of another wire type": Row(
        example(entry(delimited(3, tag(1, FIXED64) + bytes(8)))), [], "refused"
    ),
    "unknown field in Features": Row(example(ONE, UNKNOWN), [1], "refused"),
    "unknown field in a map entry": Row(
        example(delimited(1, A + delimited(2, ints(1)) + UNKNOWN)), [1], "refused"
    ),
    "map entry without key": Row(example(delimited(1, delimited(2, ints(1))), ONE), [1], "refused"),
    "map entry without value": Row(example(delimited(1, A)), None, "refused"),
    "empty map entry": Row(example(delimited(1, b""), ONE), [1], "refused"),
    "key twice": Row(
        example(delimited(1, delimited(1, b"b") + A + delimited(2, ints(1)))), [1], "refused"
    ),
    "value twice": Row(
        example(delimited(1, A + delimited(2, ints(1)) + delimited(2, ints(2)))), [1, 2], "refused"
    ),
    "unknown group": Row(unknown_group(9) + example(ONE), [1], "refused"),
    "padded tag": Row(b"\x8a\x00" + example(ONE)[1:], [1], None),
    "junk after an unknown tag": Row(b"junk\xff", "refused", None),
    "field number 0": Row(b"\0\1" + example(ONE), "refused", [1]),
}
ROWS = DIFFERENT | {name: Row(data, read, read) for name, (data, read) in SAME.items()}

# ---------------------------------------------------------------- SequenceExamples


class SequenceRow(NamedTuple):
    """A SequenceExample, and the readings of its int64 feature list "a": the values of each step.

    None is for a list that is not there, "refused" as above.
    """

    data: bytes
    protobuf: list[list[int]] | str | None
    tensorflow: list[list[int]] | str | None


def steps(*features: bytes) -> bytes:
    return b"".join(delimited(1, feature) for feature in features)


def lists(*entries: bytes) -> bytes:
    return delimited(2, b"".join(entries))


S1 = steps(ints(1))
L1 = entry(S1)
TWO_CHUNKS = delimited(3, packed("int64", [1]) + packed("int64", [2]))

SEQUENCE_SAME: dict[str, tuple[bytes, Any]] = {
    "packed": (lists(entry(steps(ints(1, -1), ints(2)))), [[1, -1], [2]]),
    "unpacked": (lists(entry(steps(delimited(3, unpacked("int64", [1, -1]))))), [[1, -1]]),
    "empty steps": (
        lists(entry(steps(b"", delimited(3, b""), ints(), ints(1)))),
        [[], [], [], [1]],
    ),
    "no steps": (lists(entry(b"")), []),
    "nothing": (b"", None),
    "empty messages": (delimited(1, b"") + delimited(2, b""), None),
    "the context is another map": (example(entry(ints(7))) + lists(L1), [[1]]),
    "lists before the context": (lists(L1) + example(entry(ints(7))), [[1]]),
    "unknown field before": (UNKNOWN + lists(L1), [[1]]),
    "unknown field after": (lists(L1) + UNKNOWN, [[1]]),
    "last entry wins": (lists(L1, entry(steps(ints(2), ints(3)))), [[2], [3]]),
    "last entry wins, whatever the kind of the first": (lists(entry(steps(floats(1))), L1), [[1]]),
    "last entry wins, also without steps": (lists(L1, entry(b"")), []),
    "last entry wins, also without a kind": (lists(L1, entry(steps(b""))), [[]]),
    "concatenated, the same key": (lists(L1) + lists(entry(steps(ints(2)))), [[2]]),
    "concatenated, other keys": (lists(L1) + lists(entry(steps(ints(2)), b"b")), [[1]]),
    "keys that are not UTF-8": (lists(entry(S1, b"\xff"), L1), [[1]]),
    "cut short": (lists(L1)[:-1], "refused"),
    "group that does not end": (tag(9, GROUP) + lists(L1), "refused"),
    "list in two halves": (
        lists(entry(steps(delimited(3, b"\x0a\x02\x01") + delimited(3, b"\x02")))),
        "refused",
    ),
    "value in two halves": (
        lists(delimited(1, A + delimited(2, S1[:-1]) + delimited(2, S1[-1:]))),
        "refused",
    ),
}
SEQUENCE_DIFFERENT = {
    "value before key": SequenceRow(lists(delimited(1, delimited(2, S1) + A)), [[1]], "refused"),
    "list in two packed chunks": SequenceRow(lists(entry(steps(TWO_CHUNKS))), [[1, 2]], "refused"),
    "list twice in a step": SequenceRow(
        lists(entry(steps(ints(1) + ints(2)))), [[1, 2]], "refused"
    ),
    "oneof set twice": SequenceRow(lists(entry(steps(floats(2) + ints(1)))), [[1]], "refused"),
    "unknown field in FeatureLists": SequenceRow(lists(L1, UNKNOWN), [[1]], "refused"),
    "unknown field in FeatureList": SequenceRow(lists(entry(S1 + UNKNOWN)), [[1]], "refused"),
    "unknown field in a step": SequenceRow(
        lists(entry(steps(ints(1) + UNKNOWN))), [[1]], "refused"
    ),
    "map entry without value": SequenceRow(lists(delimited(1, A)), [], "refused"),
    "map entry without key": SequenceRow(
        lists(delimited(1, delimited(2, S1)), L1), [[1]], "refused"
    ),
    "value twice": SequenceRow(
        lists(delimited(1, A + delimited(2, S1) + delimited(2, S1))), [[1], [1]], "refused"
    ),
    "unknown group": SequenceRow(unknown_group(9) + lists(L1), [[1]], "refused"),
    "junk after an unknown tag": SequenceRow(lists(L1) + b"junk\xff", "refused", [[1]]),
}
SEQUENCE_ROWS = SEQUENCE_DIFFERENT | {
    name: SequenceRow(data, read, read) for name, (data, read) in SEQUENCE_SAME.items()
}
