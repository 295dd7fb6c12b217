"""What the elements of a plan are, in TensorFlow's words: known of the features, or seen."""

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from tfrecs.dataset.plan.kind import parsed_of
from tfrecs.dataset.plan.node import Node, pads
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.stages.stage import Run
from tfrecs.errors import SpecError
from tfrecs.features import Features, RaggedFeature
from tfrecs.integrations.tensorflow.tensors import tensors
from tfrecs.tensors.dtypes import WIRE_TYPES, dtype_name

_WIRE = {"bytes": tf.string, "int64": tf.int64, "float32": tf.float32}


def signature_of(node: Node, epoch: int) -> Any:
    """Return the `element_spec` of a plan, for which its first element is made if need be.

    Raises:
        SpecError: There is no element to see what they are.
    """
    parsed = parsed_of(node)
    if parsed is None:
        return _seen(node, epoch)
    # What TensorFlow's own parsers make of such records: they are asked.
    records = tf.TensorSpec([parsed.rows] if parsed.in_batches else [], tf.string)
    found = _parsers_answer(parsed.spec, records)
    return (records, found) if parsed.keyed else found


def _parsers_answer(spec: Spec, records: tf.TensorSpec) -> Any:
    single = "single_" if records.shape.rank == 0 else ""
    if not spec.parses:
        return records
    if not spec.is_of_sequences:
        parse = getattr(tf.io, f"parse_{single}example")
        return _with_dtypes(_traced(parse, records, _features(spec.features)), spec.features)
    parse = getattr(tf.io, f"parse_{single}sequence_example")
    context, lists = _features(spec.context) or None, _features(spec.lists) or None
    first, second, *lengths = _traced(parse, records, context, lists)
    return (_with_dtypes(first, spec.context), _with_dtypes(second, spec.lists), *lengths)


def _traced(parse: Any, records: tf.TensorSpec, *features: Any) -> Any:
    graph = tf.function(lambda some: parse(some, *features)).get_concrete_function(records)
    return tf.nest.map_structure(tf.type_spec_from_value, graph.structured_outputs)


def _features(features: Features | None) -> dict[str, Any]:
    return {name: _feature(name, one) for name, one in (features or {}).items()}


def _feature(name: str, feature: Any) -> Any:
    """Return TensorFlow's class of a feature, as far as results depend on it."""
    options = feature._asdict()
    options["dtype"] = _WIRE[WIRE_TYPES[dtype_name(feature.dtype, name)]]
    options.pop("default_value", None)
    if isinstance(feature, RaggedFeature):
        options["row_splits_dtype"] = tf.as_dtype(feature.row_splits_dtype)
        options["partitions"] = [
            getattr(tf.io.RaggedFeature, type(one).__name__)(*one) for one in feature.partitions
        ]
    return getattr(tf.io, type(feature).__name__)(**options)


def _with_dtypes(specs: Any, features: Features | None) -> Any:
    """Return the specs with the types that are asked for, of which TensorFlow parses but three."""
    return {name: _with_dtype(specs[name], (features or {})[name]) for name in specs}


def _with_dtype(spec: Any, feature: Any) -> Any:
    name = dtype_name(feature.dtype, None)
    dtype = tf.string if name == "bytes" else tf.as_dtype(name)
    if isinstance(spec, tf.RaggedTensorSpec):
        return tf.RaggedTensorSpec(spec.shape, dtype, spec.ragged_rank, spec.row_splits_dtype)
    return type(spec)(spec.shape, dtype)


def _seen(node: Node, epoch: int) -> Any:
    """Return what the first element is; after batch() the next may have another number of rows."""
    with DatasetIterator(node, Run(epoch)) as it, contextlib.suppress(StopIteration):
        first = tensors(next(it))
        unknown = None if pads(node) else int(node.gives_batches)
        return tf.nest.map_structure(lambda one: _spec_of(one, unknown), first)
    raise SpecError("there is no element to see what they are: to_tf() needs output_signature")


def _spec_of(value: Any, unknown: int | None) -> Any:
    """Return the spec of a value, of which the first dimensions are unknown, or (None) all."""
    spec = tf.type_spec_from_value(value)
    if isinstance(spec, tf.RaggedTensorSpec):
        shape = [None, *spec.shape[1:]]
        return tf.RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    shape = list(spec.shape)
    if isinstance(spec, tf.SparseTensorSpec):
        return tf.SparseTensorSpec([None] * len(shape), spec.dtype)
    some = len(shape) if unknown is None else min(unknown, len(shape))
    return tf.TensorSpec([None] * some + shape[some:], spec.dtype)
