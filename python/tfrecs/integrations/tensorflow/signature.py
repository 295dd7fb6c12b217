"""What the elements of a plan are, in TensorFlow's words: known of the features, or seen."""

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from tfrecs.dataset.batch import Batch
from tfrecs.dataset.bucket import Bucket
from tfrecs.dataset.cache import Cache
from tfrecs.dataset.files import Files
from tfrecs.dataset.iterator import DatasetIterator
from tfrecs.dataset.node import Node
from tfrecs.dataset.order import RecordOrder
from tfrecs.dataset.padded_batch import PaddedBatch
from tfrecs.dataset.prefetch import Prefetch
from tfrecs.dataset.repeat import Repeat
from tfrecs.dataset.shard import Shard
from tfrecs.dataset.spec import Spec
from tfrecs.dataset.stage import Run
from tfrecs.dataset.take import Skip, Take
from tfrecs.dataset.unbatch import Unbatch
from tfrecs.dtypes import WIRE_TYPES, dtype_name
from tfrecs.errors import SpecError
from tfrecs.features import Features, RaggedFeature
from tfrecs.integrations.tensorflow.tensors import tensors

_WIRE = {"bytes": tf.string, "int64": tf.int64, "float32": tf.float32}

# Steps whose elements are of the same kind as their source's.
_ALIKE = (Cache, Prefetch, Repeat, Shard, Skip, Take)


def signature_of(node: Node, epoch: int) -> Any:
    """Return the `element_spec` of a plan, for which its first element is made if need be.

    Raises:
        SpecError: There is no element to see what they are.
    """
    while isinstance(node, _ALIKE) and node.order() is None:
        node = node.source
    if isinstance(node, Batch):
        source = _source(node.source)
        if source is not None:
            rows = node.size if node.drop_remainder else None
            return _parsed(*source, tf.TensorSpec([rows], tf.string))
    source = _source(node)
    if source is not None:
        return _parsed(*source, tf.TensorSpec([], tf.string))
    return _seen(node, epoch)


def _source(node: Node) -> tuple[Spec, bool] | None:
    """Return what is parsed of records, and whether they come with keys, if they are no more."""
    order = node.order()
    if isinstance(order, RecordOrder):
        return order.files.spec, order.keyed
    return (node.spec, False) if isinstance(node, Files) else None


def _parsed(spec: Spec, keyed: bool, records: tf.TensorSpec) -> Any:
    """Return what TensorFlow's own parsers make of such records: they are asked."""
    found = _parsers_answer(spec, records)
    return (records, found) if keyed else found


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
    """Return what the first element is; behind batch() the next may have another number of rows."""
    with DatasetIterator(node, Run(epoch)) as it, contextlib.suppress(StopIteration):
        first = tensors(next(it))
        unknown = None if _pads(node) else int(_batches(node))
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


def _batches(node: Node) -> bool:
    """Whether the elements are batches."""
    if isinstance(node, Batch | PaddedBatch | Bucket):
        return True
    return not isinstance(node, Unbatch) and any(map(_batches, node.sources))


def _pads(node: Node) -> bool:
    """Whether elements are made as long as others that are beside them by chance."""
    return isinstance(node, PaddedBatch | Bucket) or any(map(_pads, node.sources))
