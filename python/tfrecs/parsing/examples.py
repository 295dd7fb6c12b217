"""`tf.io.parse_example` and `tf.io.parse_single_example`, without TensorFlow."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from tfrecs import _core
from tfrecs.errors import SpecError
from tfrecs.features import Features
from tfrecs.parsing.assemble import Assembly
from tfrecs.parsing.missing_features import MissingFeatures, of_function
from tfrecs.parsing.plan import Plan, plan_examples
from tfrecs.parsing.serialized import Serialized, SerializedRecords, single_source, source_of

# Arrays, BytesArrays, SparseTensors and RaggedTensors: which, the feature says.
Parsed: TypeAlias = dict[str, Any]


def parse_example(
    serialized: Serialized, features: Features, example_names: Sequence[str] | str | None = None
) -> Parsed:
    """Parse a batch of serialized `tf.train.Example` messages into arrays.

    The contract is that of `tf.io.parse_example`, value for value and error for error; where it
    departs on purpose, docs/compatibility.md says so.

    Args:
        serialized: B records: a sequence of bytes, Records, a BytesArray or a 1-D NumPy array. A
            single bytes object (or a 0-d array) is parsed as by parse_single_example.
        features: What to parse, by name.
        example_names: Names of the records for error messages, as many as there are records.

    Returns:
        By name, for each kind of feature (strings are always BytesArrays):
            FixedLenFeature: an array of shape (B, *shape).
            FixedLenSequenceFeature: an array of shape (B, longest, *shape), padded.
            VarLenFeature: a SparseTensor of dense_shape (B, longest row).
            SparseFeature: a SparseTensor of dense_shape (B, *size), sorted by index.
            RaggedFeature: a RaggedTensor of B rows.

    Raises:
        SpecError: Something is wrong with `features`, or the shape of `serialized`.
        ParseError: A record is broken, or does not hold what `features` asks for; the text names
            the record and the feature.

    Example:
        >>> import tfrecs
        >>> records = [tfrecs.encode_example({"x": [1.0, 2.0], "label": n}) for n in range(3)]
        >>> spec = {
        ...     "x": tfrecs.FixedLenFeature([2], "float32"),
        ...     "label": tfrecs.FixedLenFeature([], "int64"),
        ... }
        >>> batch = tfrecs.parse_example(records, spec)
        >>> batch["x"].shape, batch["label"].tolist()
        ((3, 2), [0, 1, 2])
    """
    source = source_of(serialized, example_names)
    return _parsed(source, features)


def parse_single_example(
    serialized: Serialized, features: Features, example_names: Sequence[str] | str | None = None
) -> Parsed:
    """Parse one serialized `tf.train.Example` message.

    The contract is that of `tf.io.parse_single_example`.

    Args:
        serialized: The record: bytes, or a 0-d array.
        features: What to parse, by name.
        example_names: The name of the record for error messages.

    Returns:
        What parse_example returns, without the dimension of the batch: for a FixedLenFeature an
        array of its shape (0-d for a scalar), for a FixedLenSequenceFeature one of shape
        (length, *shape), and for a RaggedFeature with no partitions but uniform ones an array.

    Raises:
        SpecError: Something is wrong with `features`, or `serialized` is no scalar.
        ParseError: The record is broken, or does not hold what `features` asks for.

    Example:
        >>> import tfrecs
        >>> record = tfrecs.encode_example({"label": 7, "tags": ["a", "b"]})
        >>> spec = {
        ...     "label": tfrecs.FixedLenFeature([], "int64"),
        ...     "tags": tfrecs.VarLenFeature("string"),
        ... }
        >>> example = tfrecs.parse_single_example(record, spec)
        >>> int(example["label"]), example["tags"].values.tolist()
        (7, [b'a', b'b'])
    """
    return _parsed(single_source(serialized, example_names), features)


def _parsed(source: SerializedRecords, features: Features) -> Parsed:
    if not features:
        raise SpecError(f"Argument `features` cannot be None or falsy. Got {features}")
    plan = plan_examples(features)
    return _planned(source, plan, of_function(plan.columns))


def parse_planned(record: bytes, plan: Plan, missing: MissingFeatures) -> Parsed:
    """Parse one record by a plan, which is the same for many: as parse_single_example."""
    return _planned(single_source(record, None), plan, missing)


def _planned(source: SerializedRecords, plan: Plan, missing: MissingFeatures) -> Parsed:
    columns = _core.decode_batch(source.records, tuple(plan.columns), source.names)
    missing.look(columns, source.records)
    return Assembly(columns, source).features(plan)
