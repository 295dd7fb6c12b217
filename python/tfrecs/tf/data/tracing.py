"""What a function given to `map` does, found out by calling it with a value that is not there yet.

TensorFlow calls it so, once, and runs the graph that comes of it. Here one kind of graph is
recognised: records go in, one of the parse functions takes them, and what comes out is all that was
parsed, or some of it in tuples and dicts. Such a function need not be called again: its features
are parsed where the records are read, natively and in columns. Any other function is called with
element after element; but what it parses of each is parsed for many records together, before it
asks for it (parsed_ahead.py).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.plan.spec import Spec
from tfrecs.features import FixedLenFeature, SparseFeature, VarLenFeature
from tfrecs.tf.data.steps import Picked
from tfrecs.tf.functions.parsing import EXAMPLE, EXAMPLES, SEQUENCE, SEQUENCES, Features
from tfrecs.tf.graph.deferred import Deferred, Looked, deferring
from tfrecs.tf.tensor.nest import like


@dataclass(frozen=True)
class Trace:
    """What a function parses, and what it returns of that.

    Attributes:
        spec: What is parsed.
        in_batches: Whether of batches of records.
        form: The structure that it returns, with a Picked for each value.
    """

    spec: Spec
    in_batches: bool
    form: Any


def traced(function: Callable[..., Any]) -> tuple[Trace | None, Features | None]:
    """Return what a function of records does, if it only parses them; else what it parses first.

    That is None, unless it is once, and of features of which many records are parsed as each is.
    """
    record = Looked()
    try:
        with deferring() as others:
            made = function(record)
        # What it does besides may be what it is called for: tf.py_function can do anything. And
        # where it asks whether a value is a SparseTensor, it may do another thing if it is.
        if others:
            return None, _first(record)
        found: set[tuple[Deferred, int]] = set()
        form = _form(made, found)
        return _trace(record, found, form), _first(record)
    except Exception:  # noqa: BLE001 - it does something else: with an element it can say so
        return None, _first(record)


def _first(record: Looked) -> Features | None:
    if len(record.calls) != 1:
        return None
    call = record.calls[0]
    _, features, names = call.args
    alike = all(isinstance(one, FixedLenFeature | VarLenFeature) for one in features.values())
    return features if call.function is EXAMPLE and names is None and alike else None


def _form(made: Any, found: set[tuple[Deferred, int]]) -> Any:
    """Return the structure of what a function has made.

    Which calls it is made by is noted, and how long the ways are from what they return.
    """
    if isinstance(made, Mapping):
        return {name: _form(one, found) for name, one in made.items()}
    if isinstance(made, tuple):
        return like(made, [_form(one, found) for one in made])
    way: list[Any] = []
    while made.function is operator.getitem:
        made, key = made.args
        way.insert(0, key)
    found.add((made, len(way)))
    return Picked(tuple(way))


def _trace(record: Deferred, found: set[tuple[Deferred, int]], form: Any) -> Trace | None:
    """Return what is parsed, if all is of one call, of the records themselves.

    A way that is longer than to a feature leads to a part of its array: another one in a batch.
    """
    ((call, length),) = found
    given, *asked, names = call.args
    if given is not record or names is not None:
        return None
    parser = call.function
    if parser in (EXAMPLE, EXAMPLES) and length == 1:
        return Trace(Spec(*asked), parser.in_batches, form)
    if parser in (SEQUENCE, SEQUENCES) and length == 2:  # noqa: PLR2004 - the part, the name
        return Trace(Spec(None, *asked), parser.in_batches, form)
    return None


def stacks(spec: Spec) -> bool:
    """Whether what is parsed of single records, side by side, is what is parsed of batches.

    It is not where a batch is padded, or ragged, and single records are arrays.
    """
    alike = (FixedLenFeature, VarLenFeature, SparseFeature)
    return spec.features is not None and all(
        isinstance(feature, alike) for feature in spec.features.values()
    )
