"""What parse_example takes as features, defaults, serialized and names: against TensorFlow's own.

The tables hold arguments, not answers: TensorFlow gives the answer when the test runs. Where we
take more than TensorFlow does, or refuse what it takes, a test of its own says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference
import strategies
import tensorflow as tf
from reference_wire import Feature, encode

import tfrecs
from oracle import judge

HAS_A = (
    strategies.join([strategies.Wire(b"\n\x01a\x12\x05\x1a\x03\n\x01\x01")]).wrap(1).wrap(1).data
)
EMPTY = b""

# Given the library (tf.io or tfrecs), the features.
Features = Callable[[Any], Any]


def answer(parse: Callable[..., Any], refusals: Any, read: Callable[[Any], Any], *args: Any) -> Any:
    """What a library makes of the arguments: its columns, or that it refuses them."""
    try:
        return read(parse(*args))
    except refusals as error:
        assert str(error)
        return "refused"


def theirs(call: Callable[[Any], Any]) -> Any:
    return answer(call, judge.REFUSALS, judge.columns, tf.io)


def ours(call: Callable[[Any], Any], error: Any) -> Any:
    def read(result: dict[str, Any]) -> Any:
        return {name: reference.column(value) for name, value in result.items()}

    return answer(call, error, read, tfrecs)


SPECS: dict[str, Features] = {
    "None": lambda _: None,
    "nothing asked for": lambda _: {},
    "no feature": lambda _: {"a": 3},
    "shape None": lambda io: {"a": io.FixedLenFeature(None, "int64")},
    "shape int": lambda io: {"a": io.FixedLenFeature(1, "int64")},
    "shape NumPy int": lambda io: {"a": io.FixedLenFeature(np.int64(1), "int64")},
    "shape tuple": lambda io: {"a": io.FixedLenFeature((1,), "int64")},
    "shape array": lambda io: {"a": io.FixedLenFeature(np.array([1]), "int64")},
    "shape of NumPy ints": lambda io: {"a": io.FixedLenFeature([np.int32(1)], "int64")},
    "shape of ones": lambda io: {"a": io.FixedLenFeature([1, 1, 1], "int64")},
    "shape float": lambda io: {"a": io.FixedLenFeature([1.0], "int64")},
    "shape str": lambda io: {"a": io.FixedLenFeature("1", "int64")},
    "shape bool": lambda io: {"a": io.FixedLenFeature([True], "int64")},
    "shape negative": lambda io: {"a": io.FixedLenFeature([-1], "int64")},
    "shape negative int": lambda io: {"a": io.FixedLenFeature(-1, "int64")},
    "shape second negative": lambda io: {"a": io.FixedLenFeature([1, -1], "int64")},
    "shape first unknown": lambda io: {"a": io.FixedLenFeature([None], "int64")},
    "shape second unknown": lambda io: {"a": io.FixedLenFeature([1, None], "int64")},
    "shape too large": lambda io: {"a": io.FixedLenFeature([2**62, 4], "int64")},
    "dtype None": lambda io: {"a": io.FixedLenFeature([], None)},
    "dtype NumPy class": lambda io: {"a": io.FixedLenFeature([], np.int64)},
    "dtype NumPy dtype": lambda io: {"a": io.FixedLenFeature([], np.dtype("int64"))},
    "dtype object": lambda io: {"b": io.FixedLenFeature([], object, "x")},
    "dtype NumPy str": lambda io: {"b": io.FixedLenFeature([], np.dtype("U"), "x")},
    "dtype NumPy bytes": lambda io: {"b": io.FixedLenFeature([], np.dtype("S"), "x")},
    "dtype float": lambda io: {"b": io.FixedLenFeature([], float, 1)},
    "dtype 'float'": lambda io: {"b": io.FixedLenFeature([], "float", 1)},
    "dtype unheard of": lambda io: {"a": io.FixedLenFeature([], "text")},
    "var": lambda io: {"a": io.VarLenFeature("int64")},
    "var NumPy class": lambda io: {"a": io.VarLenFeature(np.int64)},
    "var dtype None": lambda io: {"a": io.VarLenFeature(None)},
    "var dtype unheard of": lambda io: {"a": io.VarLenFeature("text")},
    "key int": lambda io: {1: io.VarLenFeature("int64")},
    "key None": lambda io: {None: io.VarLenFeature("int64")},
    "key no UTF-8": lambda io: {"\ud800": io.VarLenFeature("int64")},
    "keys str and bytes": lambda io: {
        "a": io.VarLenFeature("int64"),
        b"b": io.VarLenFeature("int64"),
    },
}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("single", [False, True], ids=["batch", "single"])
def test_features(name: str, single: bool) -> None:
    def call(io: Any) -> Any:
        features = SPECS[name](io)
        if single:
            return io.parse_single_example(HAS_A, features)
        return io.parse_example([HAS_A], features)

    assert ours(call, tfrecs.SpecError) == theirs(call)


NAN = np.array(0x7FC0BEEF, np.uint32).view(np.float32)

# Shape, dtype and values for default_value, of a feature that the record does not have.
_DEFAULTS: list[tuple[list[int], str, list[Any]]] = [
    ([], "int64", [1, True, -(2**63), 2**63, [1], [[1]], "1", b"1", None, []]),
    ([], "int64", [1.0, 1.5, [1.0], 1j, float("nan"), {}]),
    ([], "int64", [np.int8(-1), np.uint64(7), np.bool_(True), np.int64(2**62)]),
    ([2], "int64", [1, [1], [1, 2], (1, 2), [1, 2, 3], [[1, 2]], [[1], [2]]]),
    ([2], "int64", [range(2), [1, None], [True, False], [1, 2.0], [1, "2"]]),
    ([2], "int64", [np.array([1, 2], dtype) for dtype in ("i1", "u2", "<i4", ">i4", ">i8", "?")]),
    ([2], "int64", [[np.int32(1), np.int32(2)]]),
    ([1], "int64", [1]),
    ([3, 1], "int64", [[1, 2, 3]]),
    ([2, 2], "int64", [[[1, 2], [3, 4]], [1, 2, 3, 4], [[1, 2], [3]]]),
    ([], "float32", [1, 1.5, True, 0.1, 1e300, -1e-300, 2**24 + 1, 2**100]),
    ([], "float32", ["1", b"1", 1j, None, float("inf"), -0.0]),
    ([], "float32", [np.float16(0.1), np.float32(0.1), np.float64(0.1), np.float64(1e300)]),
    ([], "float32", [NAN, np.int64(2**24 + 1), np.bool_(1)]),
    ([2], "float32", [[1, 2.5], [0.1, True], np.array([1, 2]), [1.5, "2"]]),
    ([], "string", ["x", b"x\0", "é", "", np.str_("x"), np.bytes_(b"x"), ["x"]]),
    ([], "string", [1, 1.5, True, None, "\ud800", [], {}]),
    ([2], "string", [["a", b"b"], ("a", "b"), ["a", 1], "ab", np.array(["a", "é"])]),
    ([2], "string", [np.array([b"a", "é"], object)]),
    ([3], "string", ["abc"]),
    ([1], "string", ["abc"]),
    *[([0], dtype, [[], None]) for dtype in strategies.DTYPES],
    ([0], "int64", [1]),
    ([2, 0], "float32", [[]]),
    ([0, 2], "string", [np.empty((0, 2), object)]),
]
DEFAULTS = [(shape, dtype, value) for shape, dtype, values in _DEFAULTS for value in values]


@pytest.mark.parametrize(("shape", "dtype", "default"), DEFAULTS, ids=repr)
def test_default(shape: Any, dtype: str, default: Any) -> None:
    def call(io: Any) -> Any:
        features = {"b": io.FixedLenFeature(shape, dtype, default)}
        return io.parse_example([EMPTY, EMPTY], features)

    # The default that counts as none is a fault of the data, any other of the spec.
    none = default is None or (0 in shape and np.size(default) == 0)
    assert ours(call, tfrecs.ParseError if none else tfrecs.SpecError) == theirs(call)


@pytest.mark.parametrize(
    ("dtype", "default", "made_of_it"),
    [
        ("int64", np.float32(1.5), 1),
        ("int64", np.array([2.5]), 2),
        ("int64", np.uint64(2**63), -(2**63)),
        ("int64", np.array("1"), 1),
    ],
    ids=repr,
)
def test_lossy_defaults(dtype: str, default: Any, made_of_it: Any) -> None:
    """TensorFlow casts what NumPy would cast; we refuse what that would change."""
    assert parse_default(tf.io, dtype, default).numpy() == made_of_it
    with pytest.raises(tfrecs.SpecError, match="default_value"):
        parse_default(tfrecs, dtype, default)


def parse_default(io: Any, dtype: str, default: Any) -> Any:
    return io.parse_single_example(EMPTY, {"b": io.FixedLenFeature([], dtype, default)})["b"]


@pytest.mark.parametrize("dtype", [int, bytes, str, "int", "bytes", "str"], ids=repr)
def test_wider_dtypes(dtype: Any) -> None:
    """Python's types and their names, of which TensorFlow knows float only."""
    with pytest.raises((TypeError, ValueError)):
        tf.io.parse_single_example(EMPTY, {"b": tf.io.FixedLenFeature([], dtype)})
    default = 1 if dtype in (int, "int") else b"x"
    features = {"b": tfrecs.FixedLenFeature([], dtype, default)}
    found: Any = tfrecs.parse_example([EMPTY], features)["b"]
    assert found.tolist() == [default]


NARROW = ("int32", "int8", "uint64", "uint8", "bool", "float64", "float16", "bfloat16")


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(
    "kind",
    [
        lambda io, dtype: io.FixedLenFeature([1], dtype),
        lambda io, dtype: io.VarLenFeature(dtype),
        lambda io, dtype: io.SparseFeature("i", "a", dtype, 5),
        lambda io, dtype: io.RaggedFeature(dtype, "a"),
    ],
    ids=["fixed", "var", "sparse", "ragged"],
)
def test_narrower_and_wider_types(kind: Any, dtype: str) -> None:
    """TensorFlow parses int64, float32 and string only; we convert to what is asked for."""
    values: dict[bytes, Feature] = {
        b"a": ("float32", [0x3F800000]) if "float" in dtype else ("int64", [1]),
        b"i": ("int64", [0]),
    }
    record = encode(values)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        tf.io.parse_example([record], {"f": kind(tf.io, dtype)})
    name = "a" if "Sparse" not in str(kind(tfrecs, dtype)) else "f"
    found: Any = tfrecs.parse_example([record], {name: kind(tfrecs, dtype)})[name]
    flat = getattr(found, "flat_values", getattr(found, "values", found))
    assert flat.dtype.name == dtype
    assert flat.ravel().tolist() == [1]


def test_empty_list() -> None:
    """TensorFlow takes [] for floats; for us it is a batch of no records."""
    features = SPECS["var"]
    with pytest.raises(ValueError, match="float32"):
        tf.io.parse_example([], features(tf.io))
    empty = tf.io.parse_example(tf.constant([], tf.string), features(tf.io))
    found = tfrecs.parse_example([], features(tfrecs))
    assert {"a": reference.column(found["a"])} == judge.columns(empty)


@pytest.mark.parametrize("text", ["", "text", ["", ""], np.array([""])], ids=repr)
def test_text_is_no_record(text: Any) -> None:
    with pytest.raises((tfrecs.SpecError, TypeError)):
        tfrecs.parse_example(text, SPECS["var"](tfrecs))
    with pytest.raises((tfrecs.SpecError, TypeError)):
        tfrecs.parse_single_example(text, SPECS["var"](tfrecs))


SERIALIZED: dict[str, Any] = {
    "bytes": HAS_A,
    "empty bytes": b"",
    "list": [HAS_A, EMPTY],
    "tuple": (HAS_A, EMPTY),
    "array of objects": np.array([HAS_A, EMPTY], object),
    "array of bytes": np.array([HAS_A, HAS_A]),
    "array of no dimension": np.array(HAS_A, object),
    "NumPy bytes": np.bytes_(HAS_A),
    "empty array": np.array([], object),
    "nested": [[HAS_A]],
    "array of two dimensions": np.array([[HAS_A]], object),
    "nested and not": [[HAS_A], HAS_A],
    "None": None,
    "list of None": [None],
    "int": 1,
    "list of int": [1],
    "list of bytes and int": [HAS_A, 1],
    "array of int": np.array([1]),
    "dict": {},
}


@pytest.mark.parametrize("name", SERIALIZED)
@pytest.mark.parametrize("single", [False, True], ids=["batch", "single"])
def test_serialized(name: str, single: bool) -> None:
    def call(io: Any) -> Any:
        parse = io.parse_single_example if single else io.parse_example
        features = {"a": io.VarLenFeature("int64"), "b": io.FixedLenFeature([1], "string", "x")}
        return parse(SERIALIZED[name], features)

    assert ours(call, (tfrecs.Error, TypeError)) == theirs(call)


# serialized, example_names
NAMES: dict[str, tuple[Any, Any]] = {
    "one": ([EMPTY], ["first"]),
    "each": ([HAS_A, EMPTY], ["first", "second"]),
    "scalar": (EMPTY, "first"),
    "none": ([EMPTY], None),
    "empty": ([EMPTY], []),
    "too few": ([EMPTY, EMPTY], ["first"]),
    "too many": ([EMPTY], ["first", "second"]),
    "one name for a list": ([EMPTY], "first"),
    "list of names for a scalar": (EMPTY, ["first"]),
    "array": ([EMPTY], np.array(["first"])),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("default", [None, 7], ids=["missing", "found"])
def test_example_names(name: str, default: int | None) -> None:
    serialized, names = NAMES[name]

    def call(io: Any) -> Any:
        features = {"b": io.FixedLenFeature([], "int64", default)}
        return io.parse_example(serialized, features, example_names=names)

    assert ours(call, tfrecs.Error) == theirs(call)


def test_an_error_names_the_example() -> None:
    def call(io: Any) -> Any:
        features = {"a": io.FixedLenFeature([], "int64")}
        return io.parse_example([HAS_A, EMPTY], features, example_names=["first", "second"])

    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: second, Feature: a "):
        call(tf.io)
    with pytest.raises(tfrecs.ParseError, match="second"):
        call(tfrecs)
