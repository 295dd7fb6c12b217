"""TensorFlow and the protobuf runtime, as judges: their answers in the form of reference.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import reference
import reference_rules
import reference_wire
import tensorflow as tf
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from reference import Columns, SequenceColumns, SequenceSpec, Spec
from reference_rules import Fault, RejectedError
from reference_wire import Decoded, Feature, MalformedError, SequenceMessage

# How TensorFlow refuses: a bad spec by any of these, bad data by the first two.
REFUSALS = (tf.errors.InvalidArgumentError, ValueError, TypeError)
BAD_DATA = (tf.errors.InvalidArgumentError, ValueError)

# What TensorFlow says for each reason of a Fault; of surplus values, that it cannot parse.
WORDS: Mapping[str, tuple[str, ...]] = {
    "missing": ("is required but could not be found", "Inconsistent max number of elements"),
    "kind": ("Data types don't match",),
    "count": (
        "!= expected",
        "Can't parse serialized Example",
        "Inconsistent max number of elements",
        "Unexpected number of elements",
        "unexpected number of values",
    ),
    "stride": ("not a multiple of stride length", "should be divisible by"),
    "misfit": (
        "are not compatible",
        "ConcatOp : Dimension",
        "do not form a valid",
        "are incompatible",
        "Incompatible shapes",
        "Input to reshape",
        "must equal nvals",
        "not aligned",
        "must be non-negative",
        "out of bounds",
        "Dimension -1 must be >= 0",
        "Expected 'tf.Tensor(False",
    ),
}
# What TensorFlow says without naming the feature.
NAMELESS = (*WORDS["misfit"], "Unexpected number of elements")
KINDS = {"int64_list": "int64", "float_list": "float32", "bytes_list": "string"}


# ---------------------------------------------------------------- results


class _Sparse(NamedTuple):
    indices: Any
    values: Any
    dense_shape: Any


class _Ragged(NamedTuple):
    nested_row_splits: Any
    flat_values: Any


def arrays(value: Any) -> Any:
    """TensorFlow's tensor of any kind, with arrays in it."""
    if isinstance(value, tf.SparseTensor):
        return _Sparse(*map(_array, (value.indices, value.values, value.dense_shape)))
    if isinstance(value, tf.RaggedTensor):
        return _Ragged([*map(_array, value.nested_row_splits)], _array(value.flat_values))
    return _array(value)


def _array(tensor: Any) -> Any:
    values = tensor.numpy()
    if not isinstance(values, bytes):
        return values
    out = np.empty((), dtype=object)
    out[()] = values
    return out


def columns(result: Mapping[str, Any]) -> Columns:
    """TensorFlow's result of a parse function."""
    return {name: reference.column(arrays(value)) for name, value in result.items()}


# ---------------------------------------------------------------- questions


def constant(records: Sequence[bytes] | bytes) -> Any:
    """What to parse; of a plain [], TensorFlow would make floats."""
    return tf.constant(records, tf.string)


def batch(records: Sequence[bytes], spec: Spec) -> Columns:
    """What parse_example must give: the reference's answer, held against TensorFlow's.

    For plain records only. Raises what `reference_rules.parse` raises.
    """
    features = reference.build(tf.io, spec)
    found: Columns = _judge(
        lambda: columns(tf.io.parse_example(constant(records), features)),
        lambda: reference_rules.parse(records, spec),
        lambda found: reference.settled(found, spec),
    )
    return found


def single(record: bytes, spec: Spec) -> Columns:
    """What parse_single_example must give, for a plain record: as `batch`."""
    features = reference.build(tf.io, spec)
    found: Columns = _judge(
        lambda: columns(tf.io.parse_single_example(constant(record), features)),
        lambda: reference_rules.parse_single(record, spec),
        lambda found: reference.settled(found, spec),
    )
    return found


def sequence_batch(records: Sequence[bytes], spec: SequenceSpec) -> SequenceColumns:
    """What parse_sequence_example must give: as `batch`."""
    features = [reference.build(tf.io, part) for part in spec]
    found: SequenceColumns = _judge(
        lambda: sequence_columns(*tf.io.parse_sequence_example(constant(records), *features)),
        lambda: reference_rules.parse_sequence(records, spec),
    )
    return found


def sequence_single(record: bytes, spec: SequenceSpec) -> SequenceColumns:
    """What parse_single_sequence_example must give: as `batch`."""
    features = [reference.build(tf.io, part) for part in spec]
    parse = tf.io.parse_single_sequence_example
    found: SequenceColumns = _judge(
        lambda: sequence_columns(*parse(constant(record), *features)),
        lambda: reference_rules.parse_single_sequence(record, spec),
    )
    return found


def sequence_columns(
    context: Mapping[str, Any], lists: Mapping[str, Any], lengths: Mapping[str, Any] | None = None
) -> SequenceColumns:
    return SequenceColumns(columns(context), columns(lists), columns(lengths or {}))


def _judge(theirs: Any, rules: Any, settled: Any = lambda found: found) -> Any:
    try:
        answer = theirs()
    except BAD_DATA as error:
        refusal = str(error)
    else:
        assert settled(rules()) == settled(answer)
        return answer
    try:
        rules()
    except RejectedError as rejected:
        assert any(says(refusal, fault) for fault in rejected.faults), (refusal, rejected.faults)
        raise
    raise AssertionError(f"TensorFlow alone refuses: {refusal}")


def says(refusal: str, fault: Fault) -> bool:
    """Whether TensorFlow's refusal is for this fault."""
    words = [words for words in WORDS.get(fault.reason, ()) if words in refusal]
    named = any(name in refusal for name in (fault.feature or "", *fault.keys))
    return any(named or nameless in NAMELESS for nameless in words)


# ---------------------------------------------------------------- protobuf


def check_decoded(record: bytes, decoded: Decoded | None) -> None:
    """Hold what `reference_wire.decode` made of an Example (None: refused) against protobuf.

    Its runtime for Python departs in four ways that tfrecs does not share: it refuses keys that are
    not UTF-8, and tags and lengths in more than 5 bytes; it sets a map entry with an unknown field
    aside whole (protobuf's other parsers keep the entry), and it does not mind a field number 0
    within an unknown group.
    """
    example = _parsed(tf.train.Example, record, decoded)
    if example is not None and not _has_set_aside(example.features):
        assert decoded == _features(example.features), record.hex()


def check_decoded_sequence(record: bytes, decoded: SequenceMessage | None) -> None:
    """The same of a SequenceExample."""
    example = _parsed(tf.train.SequenceExample, record, decoded)
    if example is None or _has_set_aside(example.context):
        return
    if not _has_set_aside(example.feature_lists):
        lists = {
            key.encode(): [_feature(step) for step in steps.feature]
            for key, steps in example.feature_lists.feature_list.items()
        }
        assert decoded == SequenceMessage(_features(example.context), lists), record.hex()


def decode(record: bytes) -> Decoded | None:
    """`reference_wire.decode`, held against protobuf; None if refused."""
    found: Decoded | None = _decode(record, reference_wire.decode, check_decoded)
    return found


def decode_sequence(record: bytes) -> SequenceMessage | None:
    """`reference_wire.decode_sequence`, held against protobuf; None if refused."""
    found: SequenceMessage | None = _decode(
        record, reference_wire.decode_sequence, check_decoded_sequence
    )
    return found


def _decode(record: bytes, read: Any, check: Any) -> Any:
    reference_wire.long_varints.count = 0
    try:
        decoded = read(record)
    except MalformedError as error:
        if "field number 0" not in str(error):
            check(record, None)
        return None
    check(record, decoded)
    return decoded


def _parsed(message: Any, record: bytes, decoded: Any) -> Any:
    try:
        parsed = message.FromString(record)
    except DecodeError as error:
        known = "UTF-8" in str(error) or reference_wire.long_varints.count
        assert decoded is None or known, record.hex()
        return None
    assert decoded is not None, record.hex()
    return parsed


def _has_set_aside(message: Any) -> bool:
    unknown: Any = UnknownFieldSet(message)
    return any(field.field_number == 1 for field in unknown)


def _features(features: Any) -> Decoded:
    return {key.encode(): _feature(feature) for key, feature in features.feature.items()}


def _feature(feature: Any) -> Feature:
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None, []
    values = getattr(feature, kind).value
    if kind == "float_list":
        return "float32", np.array(values, dtype=np.float32).view(np.uint32).tolist()
    return KINDS[kind], list(values)
