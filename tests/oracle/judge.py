"""TensorFlow and the protobuf runtime, as judges: their answers in the form of reference.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

import reference
from reference import Columns, Decoded, Fault, MalformedError, RejectedError, Spec

# How TensorFlow refuses: a bad spec by any of these, bad data by InvalidArgumentError.
REFUSALS = (tf.errors.InvalidArgumentError, ValueError, TypeError)

# What TensorFlow says for each reason of reference.Fault; of surplus values, that it cannot parse.
WORDS = {
    "missing": ("is required but could not be found",),
    "kind": ("Data types don't match",),
    "count": ("!= expected", "Can't parse serialized Example"),
}
KINDS = {"int64_list": "int64", "float_list": "float32", "bytes_list": "string"}


class _Sparse(NamedTuple):
    indices: Any
    values: Any
    dense_shape: Any


def columns(result: dict[str, Any]) -> Columns:
    """TensorFlow's result of a parse function."""
    return {name: reference.column(_arrays(value)) for name, value in result.items()}


def _arrays(value: Any) -> Any:
    if isinstance(value, tf.SparseTensor):
        return _Sparse(*map(_array, (value.indices, value.values, value.dense_shape)))
    return _array(value)


def _array(tensor: Any) -> Any:
    values = tensor.numpy()
    if not isinstance(values, bytes):
        return values
    out = np.empty((), dtype=object)
    out[()] = values
    return out


def batch(records: Sequence[bytes], spec: Spec) -> Columns:
    """What parse_example must give: reference.py's answer, held against TensorFlow's.

    For plain records only. Raises what `reference.parse` raises.
    """
    tensor = tf.constant(records, tf.string)  # of a plain [], TensorFlow would make floats
    return _judge(tf.io.parse_example, tensor, reference.parse, records, spec)


def single(record: bytes, spec: Spec) -> Columns:
    """What parse_single_example must give, for a plain record: as `batch`."""
    tensor = tf.constant(record, tf.string)
    return _judge(tf.io.parse_single_example, tensor, reference.parse_single, record, spec)


def _judge(theirs: Any, tensor: Any, rules: Any, given: Any, spec: Spec) -> Columns:
    try:
        answer = columns(theirs(tensor, reference.build(tf.io, spec)))
    except tf.errors.InvalidArgumentError as error:
        refusal = str(error)
    else:
        assert rules(given, spec) == answer
        return answer
    try:
        rules(given, spec)
    except RejectedError as rejected:
        assert any(_says(refusal, fault) for fault in rejected.faults), (refusal, rejected.faults)
        raise
    raise AssertionError(f"TensorFlow alone refuses: {refusal}")


def _says(refusal: str, fault: Fault) -> bool:
    named = fault.feature is not None and fault.feature in refusal
    return named and any(words in refusal for words in WORDS[fault.reason])


def check_decoded(record: bytes) -> None:
    """Hold `reference.decode` against the protobuf runtime, where that reads the bytes as it does.

    It departs in three ways that tfrecs does not share: it refuses keys that are not UTF-8, it sets
    a map entry with an unknown field aside whole (protobuf's other parsers keep the entry),
    and it does not mind a field number 0 within an unknown group.
    """
    decoded: Decoded | None = None
    try:
        decoded = reference.decode(record)
    except MalformedError as error:
        if "field number 0" in str(error):
            return
    try:
        example = tf.train.Example.FromString(record)
    except DecodeError as error:
        assert decoded is None or "UTF-8" in str(error)
        return
    unknown: Any = UnknownFieldSet(example.features)
    if any(field.field_number == 1 for field in unknown):
        return
    assert decoded == _decoded(example)


def _decoded(example: Any) -> Decoded:
    out: Decoded = {}
    for key, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        values = getattr(feature, kind).value if kind else []
        dtype = KINDS[kind] if kind else None
        if dtype == "float32":
            values = np.array(values, dtype=np.float32).view(np.uint32).tolist()
        out[key.encode()] = (dtype, list(values))
    return out
