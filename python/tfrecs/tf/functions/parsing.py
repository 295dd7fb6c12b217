"""The parse functions of `tf.io`, over values that are there and those that are not yet."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tfrecs import parsing
from tfrecs.errors import SpecError
from tfrecs.tf.graph.deferred import Deferred, Looked, is_deferred
from tfrecs.tf.graph.known import Known, known, of
from tfrecs.tf.graph.static_inputs import parsed
from tfrecs.tf.tensor.shapes import TensorShape
from tfrecs.tf.tensor.values import Tensor, single, unwrapped, wrapped

Features: TypeAlias = Mapping[str, Any]


class Parser:
    """One of the parse functions of tfrecs, of TensorFlow's values.

    Attributes:
        parse: The function.
        in_batches: Whether it takes a batch of records.
    """

    def __init__(self, parse: Callable[..., Any], *, in_batches: bool) -> None:
        """Keep the function."""
        self.parse, self.in_batches = parse, in_batches
        self.__name__ = parse.__name__

    def __call__(self, *args: Any) -> Any:
        """Return what it parses."""
        serialized, *rest = args
        if isinstance(serialized, list | tuple):
            serialized = [single(one) for one in serialized]
        return wrapped(self.parse(*map(unwrapped, (serialized, *rest))))


class ParsedRecord(Tensor):
    """A record, whose features were parsed with those of others.

    Attributes:
        row: What was parsed.
        features: What was asked for.
    """

    __slots__ = ("features", "row")

    def __init__(self, record: bytes, row: dict[str, Any], features: Features) -> None:
        """Keep the record, and what was parsed of it."""
        super().__init__(record)
        self.row, self.features = row, features

    def answers(self, features: Features) -> bool:
        """Whether these are the features that were parsed."""
        try:
            return self.features is features or bool(self.features == features)
        except ValueError:  # a default is an array
            return False


EXAMPLE = Parser(parsing.parse_single_example, in_batches=False)
EXAMPLES = Parser(parsing.parse_example, in_batches=True)
SEQUENCE = Parser(parsing.parse_single_sequence_example, in_batches=False)
SEQUENCES = Parser(parsing.parse_sequence_example, in_batches=True)


def parse_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse a batch of Examples, as tfrecs.parse_example: `tf.io.parse_example`.

    Example:
        >>> import tfrecs
        >>> from tfrecs import tf
        >>> records = [tfrecs.encode_example({"age": n}) for n in (36, 85)]
        >>> tf.io.parse_example(records, {"age": tf.io.FixedLenFeature([], tf.int64)})
        {'age': <tf.Tensor: shape=(2,), dtype=int64, numpy=array([36, 85])>}
    """
    return _examples(EXAMPLES, serialized, features, example_names)


def parse_single_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Parse one Example, as tfrecs.parse_single_example: `tf.io.parse_single_example`."""
    return _examples(EXAMPLE, serialized, features, example_names)


def parse_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse a batch of SequenceExamples, as tfrecs.parse_sequence_example."""
    asked = (serialized, context_features, sequence_features, example_names)
    return _sequences(SEQUENCES, 3, *asked)  # type: ignore[return-value]


def parse_single_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one SequenceExample, as tfrecs.parse_single_sequence_example."""
    asked = (serialized, context_features, sequence_features, example_name)
    return _sequences(SEQUENCE, 2, *asked)  # type: ignore[return-value]


def _examples(parser: Parser, serialized: Any, features: Features, names: Any) -> dict[str, Any]:
    # Not isinstance(): a deferred value notes who asks of which kind it is.
    if type(serialized) is ParsedRecord and names is None and serialized.answers(features):
        return dict(serialized.row)
    if not is_deferred(serialized):
        return parser(serialized, features, names)  # type: ignore[no-any-return]
    if not features:
        raise SpecError(f"features must say what to parse, not {features!r}")
    asked = dict(features)  # whoever gave them may change them before they are used
    call = Deferred(parser, (serialized, asked, names))
    if type(serialized) is Looked:
        serialized.calls.append(call)
    return _items(call, asked, _rows_of(parser, serialized))


def _sequences(
    parser: Parser,
    parts: int,
    serialized: Any,
    context: Features | None,
    lists: Features | None,
    names: Any,
) -> tuple[dict[str, Any], ...]:
    if not is_deferred(serialized):
        return parser(serialized, context, lists, names)  # type: ignore[no-any-return]
    context, lists = dict(context or {}), dict(lists or {})
    call = Deferred(parser, (serialized, context or None, lists or None, names))
    padded = {name: one for name, one in lists.items() if hasattr(one, "allow_missing")}
    rows = _rows_of(parser, serialized)
    made = [
        _items(Deferred(operator.getitem, (call, part)), asked, rows, in_lists=part > 0)
        for part, asked in enumerate([context, lists][:parts])
    ]
    if parts > len(made):
        lengths = Deferred(operator.getitem, (call, 2))
        made.append({name: _item(lengths, name, of("int64", rows)) for name in padded})
    return tuple(made)


def _rows_of(parser: Parser, serialized: Any) -> TensorShape:
    """Return the shape of the records, as far as it is known.

    Raises:
        ValueError: They are several, and the function takes one.
    """
    if not parser.in_batches:
        known(serialized).shape.assert_has_rank(0)
        return TensorShape([])
    return known(serialized).shape


def _items(
    call: Deferred, features: Features, rows: TensorShape, *, in_lists: bool = False
) -> dict[str, Any]:
    """Return what will be parsed, by name, of records of which there are `rows`."""
    return {
        name: _item(call, name, parsed(feature, rows, in_lists=in_lists))
        for name, feature in features.items()
    }


def _item(call: Deferred, name: str, known: Known) -> Deferred:
    return Deferred(operator.getitem, (call, name)).knowing(known)
