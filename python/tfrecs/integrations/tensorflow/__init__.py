"""TensorFlow: elements as its tensors, in a tf.data.Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# First: it says what to install where TensorFlow is missing.
from tfrecs.integrations.tensorflow.tensors import tensors  # isort: split

import tensorflow as tf

from tfrecs.dataset.plan.node import Node
from tfrecs.integrations.tensorflow.passes import Passes, loaded
from tfrecs.integrations.tensorflow.signature import signature_of

__all__ = ["dataset_of", "tensors"]


def dataset_of(
    node: Node,
    epoch: int,
    signature: Any,
    state: Mapping[str, Any] | str | bytes | None,
    with_states: bool,
) -> Any:
    """Return what `Dataset.to_tf` does."""
    begin = None if state is None else loaded(node, state)
    found = signature_of(node, epoch) if signature is None else signature
    if with_states:
        found = (found, tf.TensorSpec([], tf.string))
    passes = Passes(node, epoch, begin, with_states)
    return tf.data.Dataset.from_generator(passes, output_signature=found)
