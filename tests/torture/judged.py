"""Decode mutated Examples and SequenceExamples beside protobuf: same verdict, same values.

`run(cases, seed)` also decodes each record into columns: the verdict must be the same, but where
the columns of a record cannot be told from a kind. Protobuf is the C library under Python's
`google.protobuf` (upb).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from random import Random
from typing import Any

import reference_wire
from google.protobuf.message import DecodeError

import tfrecs
from torture.odd_wire import make_odd

Values = tuple[str, list[Any]]


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Decode mutated records, Examples and SequenceExamples in turn."""
    rng, failures = Random(seed), []
    for case in range(cases):
        is_sequence = bool(case % 2)
        record = make_odd(rng, is_sequence=is_sequence)
        failures += [f"{record.hex()}: {why}" for why in faults(record, is_sequence=is_sequence)]
    return cases, failures


def faults(record: bytes, *, is_sequence: bool) -> Iterator[str]:
    """What differs from protobuf's reading of a record."""
    expected = protobuf_reads(record, is_sequence=is_sequence)
    found = we_read(record, is_sequence=is_sequence)
    is_known = has_number_0 if found is None else drops_entries
    if found != expected and not is_known(record, found, expected, is_sequence=is_sequence):
        yield f"{found} is not protobuf's {expected}"
    if is_accepted_as_columns(record, is_sequence=is_sequence) not in (found is not None, None):
        yield "columns are judged otherwise"


def we_read(record: bytes, *, is_sequence: bool) -> Any:
    """The values by name, with floats as their bits; None: refused."""
    try:
        if is_sequence:
            context, lists = tfrecs.decode_sequence_example(record, unknown_fields="ignore")
            steps = {name: [bits(step) for step in steps] for name, steps in lists.items()}
            return {name: bits(values) for name, values in context.items()}, steps
        features = tfrecs.decode_example(record, unknown_fields="ignore")
    except tfrecs.ParseError:
        return None
    return {name: bits(values) for name, values in features.items()}


def protobuf_reads(record: bytes, *, is_sequence: bool) -> Any:
    """The same, as protobuf has it."""
    try:
        if not is_sequence:
            return features_of(tfrecs.Example.FromString(record).features)
        message = tfrecs.SequenceExample.FromString(record)
    except DecodeError:
        return None
    lists = {
        name: [values_of(feature) for feature in steps.feature]
        for name, steps in message.feature_lists.feature_list.items()
    }
    return features_of(message.context), lists


def features_of(features: Any) -> dict[str, list[Any]]:
    """The values of Features by name."""
    return {name: values_of(feature) for name, feature in features.feature.items()}


def values_of(feature: Any) -> list[Any]:
    """The values of a Feature."""
    kind = feature.WhichOneof("kind")
    return bits(getattr(feature, kind).value) if kind else []


def bits(values: Any) -> list[Any]:
    """The values in a form that compares NaNs too."""
    return [struct.pack("<d", value) if isinstance(value, float) else value for value in values]


def drops_entries(record: bytes, found: Any, expected: Any, *, is_sequence: bool) -> bool:
    """Whether protobuf's parser for Python has set entries of maps aside that have unknown fields.

    Its parsers in C++ and Java keep them, and so do we (docs/compatibility.md).
    """
    if expected is None:
        return False
    pairs = zip(found, expected, strict=True) if is_sequence else [(found, expected)]
    return all(
        ours == theirs or has_odd_entry(record, number)
        for number, (ours, theirs) in enumerate(pairs, 1)
    )


def has_number_0(record: bytes, _: Any, __: Any, *, is_sequence: bool) -> bool:
    """Whether a field has number 0: in unknown groups upb takes it, C++ does not."""
    decode = reference_wire.decode_sequence if is_sequence else reference_wire.decode
    try:
        decode(record)
    except reference_wire.MalformedError as error:
        return str(error) == "field number 0"
    return False


def has_odd_entry(record: bytes, number: int) -> bool:
    """Whether an entry of this map has other fields than a key and a value."""
    return any(
        (field, wire) not in ((1, reference_wire.BYTES), (2, reference_wire.BYTES))
        for entries in contents(record, number)
        for entry in contents(entries, 1)
        for field, wire, _ in reference_wire.fields(entry)
    )


def contents(message: bytes, number: int) -> list[bytes]:
    """The bytes of all fields of a number."""
    return [
        content
        for field, wire, content in reference_wire.fields(message)
        if (field, wire) == (number, reference_wire.BYTES)
    ]


def is_accepted_as_columns(record: bytes, *, is_sequence: bool) -> bool | None:
    """Whether a record becomes columns; None: a map has a name twice, maybe of two kinds."""
    try:
        if is_sequence:
            tfrecs.decode_sequence_batch([record], unknown_fields="ignore")
        else:
            tfrecs.decode_batch([record], unknown_fields="ignore")
    except tfrecs.ParseError as error:
        return None if "types don't match" in str(error) else False
    return True
