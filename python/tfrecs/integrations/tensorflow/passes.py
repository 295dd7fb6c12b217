"""Passes over a plan, each of which a tf.data iterator takes its elements of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.stages.stage import Run
from tfrecs.dataset.stages.state import State
from tfrecs.errors import StateError
from tfrecs.integrations.tensorflow.tensors import tensors


class Passes:
    """Begins a pass at each call: the next epoch, or first of all what a state says."""

    def __init__(self, node: Node, epoch: int, begin: State | None, with_states: bool) -> None:
        """Keep the plan; nothing is read yet."""
        self._node = node
        self._epoch = epoch
        self._begin = begin
        self._with_states = with_states

    def __call__(self) -> Iterator[Any]:
        """Give the elements of the next pass; TensorFlow drops the iterator when it is done."""
        with self._next() as it:
            for element in it:
                made = tensors(element)
                yield (made, json.dumps(it.state_dict())) if self._with_states else made

    def _next(self) -> DatasetIterator:
        it = DatasetIterator(self._node, Run(self._epoch))
        if self._begin is not None:
            it.load_state_dict(self._begin)
            self._begin = None
        self._epoch = it.epoch + 1
        return it


def loaded(node: Node, state: Mapping[str, Any] | str | bytes) -> State:
    """Return a state of the plan, which may be JSON.

    Raises:
        StateError: It is none, or of another plan, or of other files.
    """
    try:
        found = json.loads(state) if isinstance(state, str | bytes) else dict(state)
    except ValueError as error:
        raise StateError(f"the state is no JSON: {error}") from error
    with DatasetIterator(node, Run()) as it:
        it.load_state_dict(found)
    return found
