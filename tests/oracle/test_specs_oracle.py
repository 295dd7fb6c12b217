"""What each feature kind takes as its arguments, in each function: against TensorFlow's own.

The tables hold arguments, not answers: TensorFlow gives the answer when the test runs. Where we
take more than TensorFlow does, a test of its own says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from reference_wire import Feature, SequenceMessage, encode, encode_sequence

import tfrecs
from oracle import judge
from oracle.answers import answer_of, difference

# Given the library (tf.io or tfrecs), the features.
Features = Callable[[Any], Any]

FILLED: dict[bytes, Feature] = {
    b"a": ("int64", [1, 2]),
    b"v": ("int64", [1, 2, 3]),
    b"p": ("int64", [1, 2]),
    b"f": ("float32", [0]),
    b"t": ("string", [b"text"]),
}
EXAMPLE = encode(FILLED)
SEQUENCE = encode_sequence(
    SequenceMessage(FILLED, {key: [feature, feature] for key, feature in FILLED.items()})
)
EMPTY = b""


def answer(call: Callable[[Any], Any], library: Any) -> Any:
    """What a library makes of the arguments: its columns, or that it refuses them."""
    refusals = (tfrecs.SpecError, TypeError) if library is tfrecs else judge.REFUSALS
    try:
        result = call(library)
    except refusals as error:
        assert str(error)
        return "refused"
    return answer_of(result) if library is tfrecs else answer_of(result, judge.arrays)


def check(call: Callable[[Any], Any]) -> None:
    ours, theirs = answer(call, tfrecs), answer(call, tf.io)
    if ours == "refused" or theirs == "refused":
        assert ours == theirs
    else:
        assert difference(ours, theirs) is None


# ---------------------------------------------------------------- Examples


def padded(key: str, shape: list[int], dtype: str, value: Any) -> Features:
    return lambda io: {key: io.FixedLenSequenceFeature(shape, dtype, True, value)}


def uniform(length: Any) -> Features:
    return lambda io: {
        "r": io.RaggedFeature("int64", "v", [io.RaggedFeature.UniformRowLength(length)])
    }


def split(dtype: Any) -> Features:
    return lambda io: {"a": io.RaggedFeature("int64", row_splits_dtype=dtype)}


_SEQUENCES: dict[str, Features] = {
    "allow_missing False": lambda io: {"a": io.FixedLenSequenceFeature([], "int64")},
    "shape None": lambda io: {"a": io.FixedLenSequenceFeature(None, "int64", True)},
    "shape unknown": lambda io: {"a": io.FixedLenSequenceFeature([None], "int64", True)},
    "shape partly unknown": lambda io: {"a": io.FixedLenSequenceFeature([2, None], "int64", True)},
    "shape negative": lambda io: {"a": io.FixedLenSequenceFeature([-1], "int64", True)},
    "shape tuple": lambda io: {"a": io.FixedLenSequenceFeature((2,), "int64", True)},
    "shape of ones": lambda io: {"a": io.FixedLenSequenceFeature([1, 2, 1], "int64", True)},
    "dtype None": lambda io: {"a": io.FixedLenSequenceFeature([], None, True)},
    "dtype unheard of": lambda io: {"a": io.FixedLenSequenceFeature([], "text", True)},
    "dtype class": lambda io: {"a": io.FixedLenSequenceFeature([], np.int64, True)},
    **{
        f"padding {value!r}": padded("a", [], "int64", value)
        for value in (1, [5], [[5]], [], [1, 2], 1.5, "x", True, None, np.int8(3), np.array([4]))
    },
    **{
        f"float padding {value!r}": padded("f", [1], "float32", value)
        for value in (1, 1.5, "x", [0.5], [0.5, 1.5], -0.0, 1e300, np.float64(0.1))
    },
    **{
        f"string padding {value!r}": padded("t", [1], "string", value)
        for value in ("x", b"x\0", 1, ["é"], "")
    },
}
_SPARSE: dict[str, Features] = {
    "plain": lambda io: {"s": io.SparseFeature("a", "p", "int64", 5)},
    "list of one": lambda io: {"s": io.SparseFeature(["a"], "p", "int64", [5])},
    "tuple of one": lambda io: {"s": io.SparseFeature(("a",), "p", "int64", (5,))},
    "two": lambda io: {"s": io.SparseFeature(["a", "p"], "p", "int64", [5, 6])},
    "same key for all": lambda io: {"s": io.SparseFeature("a", "a", "int64", 5)},
    "size 0": lambda io: {"s": io.SparseFeature("a", "p", "int64", 0)},
    "size -1": lambda io: {"s": io.SparseFeature("a", "p", "int64", -1)},
    "size float": lambda io: {"s": io.SparseFeature("a", "p", "int64", 5.0)},
    "size None": lambda io: {"s": io.SparseFeature("a", "p", "int64", None)},
    "size of NumPy": lambda io: {"s": io.SparseFeature("a", "p", "int64", np.int64(5))},
    "size a list": lambda io: {"s": io.SparseFeature("a", "p", "int64", [5])},
    "size no list": lambda io: {"s": io.SparseFeature(["a"], "p", "int64", 5)},
    "lengths differ": lambda io: {"s": io.SparseFeature(["a", "p"], "p", "int64", [5])},
    "no index key": lambda io: {"s": io.SparseFeature(None, "p", "int64", 5)},
    "empty index keys": lambda io: {"s": io.SparseFeature([], "p", "int64", [])},
    "empty index key": lambda io: {"s": io.SparseFeature("", "p", "int64", 5)},
    "no value key": lambda io: {"s": io.SparseFeature("a", None, "int64", 5)},
    "no dtype": lambda io: {"s": io.SparseFeature("a", "p", None, 5)},
    "dtype unheard of": lambda io: {"s": io.SparseFeature("a", "p", "text", 5)},
    "value of the index's key": lambda io: {"s": io.SparseFeature("f", "f", "float32", 5)},
}
_RAGGED: dict[str, Features] = {
    "plain": lambda io: {"a": io.RaggedFeature("int64")},
    "value key": lambda io: {"r": io.RaggedFeature("int64", "a")},
    "value key empty": lambda io: {"r": io.RaggedFeature("int64", "")},
    "value key int": lambda io: {"r": io.RaggedFeature("int64", 3)},
    "dtype None": lambda io: {"r": io.RaggedFeature(None, "a")},
    "dtype unheard of": lambda io: {"r": io.RaggedFeature("text", "a")},
    "dtype class": lambda io: {"r": io.RaggedFeature(np.int64, "a")},
    "partition": lambda io: {
        "r": io.RaggedFeature("int64", "v", [io.RaggedFeature.RowLengths("p")])
    },
    "partitions a tuple": lambda io: {
        "r": io.RaggedFeature("int64", "v", (io.RaggedFeature.RowLengths("p"),))
    },
    "partition no list": lambda io: {
        "r": io.RaggedFeature("int64", "v", io.RaggedFeature.RowLengths("p"))
    },
    "partition a key": lambda io: {"r": io.RaggedFeature("int64", "v", ["p"])},
    "partition None": lambda io: {"r": io.RaggedFeature("int64", "v", [None])},
    "partition's key None": lambda io: {
        "r": io.RaggedFeature("int64", "v", [io.RaggedFeature.RowLengths(None)])
    },
    "partition's key int": lambda io: {
        "r": io.RaggedFeature("int64", "v", [io.RaggedFeature.RowSplits(3)])
    },
    "partition of itself": lambda io: {
        "r": io.RaggedFeature("int64", "q", [io.RaggedFeature.RowLengths("q")])
    },
    "partition of other dtype": lambda io: {
        "r": io.RaggedFeature("float32", "f", [io.RaggedFeature.RowLengths("f")])
    },
    **{
        f"uniform {length!r}": uniform(length) for length in (1, 3, np.int64(3), -1, None, "1", 1.0)
    },
    **{
        f"row splits {dtype!r}": split(dtype)
        for dtype in ("int32", "int64", np.int64, np.dtype("int32"), "int16", "float32", None)
    },
    "validate str": lambda io: {"a": io.RaggedFeature("int64", validate="yes")},
    "validate True": lambda io: {"a": io.RaggedFeature("int64", validate=True)},
}
_CLASHES: dict[str, Features] = {
    "dense and sparse": lambda io: {
        "a": io.FixedLenFeature([2], "int64"),
        "s": io.SparseFeature("a", "p", "int64", 5),
    },
    "dense and ragged": lambda io: {
        "a": io.FixedLenFeature([2], "int64"),
        "r": io.RaggedFeature("int64", "a"),
    },
    "dense and partition": lambda io: {
        "p": io.FixedLenFeature([2], "int64"),
        "r": io.RaggedFeature("int64", "v", [io.RaggedFeature.RowLengths("p")]),
    },
    "sparse and ragged": lambda io: {
        "a": io.VarLenFeature("int64"),
        "r": io.RaggedFeature("int64", "a"),
    },
    "sparse, two dtypes": lambda io: {
        "f": io.VarLenFeature("float32"),
        "s": io.SparseFeature("f", "a", "int64", 5),
    },
    "two sparse, two dtypes": lambda io: {
        "s": io.SparseFeature("a", "f", "float32", 5),
        "t": io.SparseFeature("a", "f", "int64", 5),
    },
    "two sparse share": lambda io: {
        "s": io.SparseFeature("a", "p", "int64", 5),
        "t": io.SparseFeature("a", "a", "int64", 7),
        "a": io.VarLenFeature("int64"),
    },
    "ragged, two dtypes": lambda io: {
        "s": io.RaggedFeature("int64", "f"),
        "t": io.RaggedFeature("float32", "f"),
    },
    "ragged, two row splits": lambda io: {
        "s": io.RaggedFeature("int64", "a", row_splits_dtype="int32"),
        "t": io.RaggedFeature("int64", "a", row_splits_dtype="int64"),
    },
    "ragged, partition of two row splits": lambda io: {
        "s": io.RaggedFeature("int64", "p", row_splits_dtype="int64"),
        "t": io.RaggedFeature("int64", "v", [io.RaggedFeature.RowLengths("p")]),
    },
    "ragged share": lambda io: {
        "s": io.RaggedFeature("int64", "v"),
        "t": io.RaggedFeature("int64", "v", [io.RaggedFeature.RowLengths("p")]),
        "p": io.RaggedFeature("int64"),
    },
    "a class": lambda io: {"a": io.VarLenFeature},
    "None": lambda _: {"a": None},
}
SPECS: dict[str, Features] = {
    f"{group}: {name}": features
    for group, table in {
        "sequence": _SEQUENCES,
        "sparse": _SPARSE,
        "ragged": _RAGGED,
        "clash": _CLASHES,
    }.items()
    for name, features in table.items()
}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("serialized", [EXAMPLE, [EXAMPLE], [EXAMPLE, EMPTY]], ids=["1", "B", "2"])
def test_example_features(name: str, serialized: Any) -> None:
    check(lambda io: io.parse_example(serialized, SPECS[name](io)))


# ---------------------------------------------------------------- SequenceExamples

_FOR_BOTH: dict[str, Features] = {
    "None": lambda _: None,
    "nothing": lambda _: {},
    "fixed": lambda io: {"a": io.FixedLenFeature([2], "int64")},
    "fixed, wrong shape": lambda io: {"a": io.FixedLenFeature([None], "int64")},
    "fixed, default": lambda io: {"q": io.FixedLenFeature([2], "int64", [1, 2])},
    "fixed, default too short": lambda io: {"q": io.FixedLenFeature([2], "int64", [1])},
    "var": lambda io: {"a": io.VarLenFeature("int64")},
    "var, no dtype": lambda io: {"a": io.VarLenFeature(None)},
    "sparse": lambda io: {"s": io.SparseFeature("a", "p", "int64", 5)},
    "steps": lambda io: {"a": io.FixedLenSequenceFeature([2], "int64")},
    "steps, missing": lambda io: {"q": io.FixedLenSequenceFeature([2], "int64", True)},
    "steps, default": lambda io: {"q": io.FixedLenSequenceFeature([2], "int64", True, 5)},
    "steps, default 0": lambda io: {"a": io.FixedLenSequenceFeature([2], "int64", True, 0)},
    "steps, unknown shape": lambda io: {"q": io.FixedLenSequenceFeature([None], "int64", True)},
    "steps, shape None": lambda io: {"q": io.FixedLenSequenceFeature(None, "int64", True)},
    "ragged": lambda io: {"a": io.RaggedFeature("int64")},
    "ragged, partition": lambda io: {
        "r": io.RaggedFeature("int64", "v", [io.RaggedFeature.RowLengths("p")])
    },
    "ragged and var": lambda io: {
        "r": io.RaggedFeature("int64", "a"),
        "a": io.VarLenFeature("int64"),
    },
    "ragged, two dtypes": lambda io: {
        "r": io.RaggedFeature("int64", "a"),
        "s": io.RaggedFeature("float32", "a"),
    },
    "no feature": lambda _: {"a": 3},
}


@pytest.mark.parametrize("serialized", [SEQUENCE, [SEQUENCE]], ids=["single", "batch"])
@pytest.mark.parametrize("lists", _FOR_BOTH)
@pytest.mark.parametrize("context", ["None", "nothing", "var", "fixed"])
def test_list_features(context: str, lists: str, serialized: Any) -> None:
    check(lambda io: parse_sequences(io, serialized, _FOR_BOTH[context](io), _FOR_BOTH[lists](io)))


@pytest.mark.parametrize("serialized", [SEQUENCE, [SEQUENCE]], ids=["single", "batch"])
@pytest.mark.parametrize("context", _FOR_BOTH)
@pytest.mark.parametrize("lists", ["None", "nothing", "var"])
def test_context_features(context: str, lists: str, serialized: Any) -> None:
    check(lambda io: parse_sequences(io, serialized, _FOR_BOTH[context](io), _FOR_BOTH[lists](io)))


def parse_sequences(io: Any, serialized: Any, context: Any, lists: Any) -> Any:
    if isinstance(serialized, bytes):
        return io.parse_single_sequence_example(serialized, context, lists)
    return io.parse_sequence_example(serialized, context, lists)


def test_rows_of_no_length() -> None:
    """Of UniformRowLength(0), TensorFlow makes a row of a single record that has no values."""
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_example([EMPTY], {"r": _rows_of(tf.io, 0)})
    assert tf.io.parse_single_example(EMPTY, {"r": _rows_of(tf.io, 0)})["r"].shape == (1, 0)
    with pytest.raises(tfrecs.SpecError, match="positive integer"):
        _rows_of(tfrecs, 0)


def _rows_of(io: Any, length: int) -> Any:
    return io.RaggedFeature("int64", "q", [io.RaggedFeature.UniformRowLength(length)])


def test_a_key_may_be_in_the_context_and_in_the_lists() -> None:
    def call(io: Any) -> Any:
        lists = {"a": io.FixedLenSequenceFeature([2], "int64"), "f": io.RaggedFeature("float32")}
        context = {"a": io.FixedLenFeature([2], "int64"), "f": io.VarLenFeature("float32")}
        return io.parse_sequence_example([SEQUENCE], context, lists)

    check(call)


# ---------------------------------------------------------------- serialized and names

SERIALIZED: dict[str, Any] = {
    "bytes": SEQUENCE,
    "list": [SEQUENCE, EMPTY],
    "tuple": (SEQUENCE, SEQUENCE),
    "array": np.array([SEQUENCE, EMPTY], object),
    "array of no dimension": np.array(SEQUENCE, object),
    "empty array": np.array([], object),
    "two dimensions": np.array([[SEQUENCE]], object),
    "three dimensions": np.array([[[SEQUENCE]]], object),
    "two dimensions, empty": np.empty((0, 3), object),
    "None": None,
    "int": 1,
    "list of None": [None],
}


@pytest.mark.parametrize("name", SERIALIZED)
@pytest.mark.parametrize("single", [False, True], ids=["batch", "single"])
def test_serialized_sequences(name: str, single: bool) -> None:
    def call(io: Any) -> Any:
        context = {"a": io.VarLenFeature("int64"), "q": io.FixedLenFeature([], "int64", 7)}
        lists = {
            "a": io.FixedLenSequenceFeature([2], "int64", True),
            "v": io.RaggedFeature("int64"),
        }
        given = SERIALIZED[name]
        if single:
            return io.parse_single_sequence_example(given, context, lists)
        return io.parse_sequence_example(given, context, lists)

    check(call)


@pytest.mark.parametrize("names", [None, [], ["one"], ["one", "two"], ["1", "2", "3"], "one"])
def test_names_of_sequences(names: Any) -> None:
    def call(io: Any) -> Any:
        context = {"a": io.VarLenFeature("int64")}
        return io.parse_sequence_example([SEQUENCE, EMPTY], context, example_names=names)

    check(call)


@pytest.mark.parametrize("single", [False, True], ids=["batch", "single"])
def test_an_error_names_the_sequence_example(single: bool) -> None:
    def call(io: Any) -> Any:
        lists = {"v": io.FixedLenSequenceFeature([], "int64")}
        if single:
            return io.parse_single_sequence_example(EMPTY, None, lists, example_name="second")
        names = ["first", "second"]
        return io.parse_sequence_example([SEQUENCE[:0], EMPTY], None, lists, example_names=names)

    words = "is required but could not be found"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words) as theirs:
        call(tf.io)
    with pytest.raises(tfrecs.ParseError, match=words) as ours:
        call(tfrecs)
    named = "second" if single else "first"
    assert f"Name: {named}" in str(theirs.value)
    assert named in str(ours.value)
