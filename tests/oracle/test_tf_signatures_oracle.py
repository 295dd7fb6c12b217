"""The order of arguments in `tfrecs.tf`, and in `tfrecs.tf.compat.v1`, is TensorFlow's."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as theirs  # noqa: ICN001 - either one is called tf in programs

import tfrecs.tf
from oracle.programs import same

Pair = tuple[Callable[..., Any], Callable[..., Any]]

MODULES = ["", "data", "data.experimental", "image", "io", "io.gfile", "math", "sparse", "train"]
# Programs do not call these classes themselves, and give the name of a device by position.
SKIPPED = {
    *(".DType", ".RaggedTensor", ".Tensor", ".ReaderBase", "data.Dataset", "data.Iterator"),
    *("data.Options", ".device"),
}


def at(tf: Any, path: str) -> Any:
    for name in filter(None, path.split(".")):
        tf = getattr(tf, name)
    return tf


def is_compared(name: str, ours: Any, other: Any) -> bool:
    mine = str(getattr(ours, "__module__", "")).startswith("tfrecs")
    return name[0] != "_" and mine and callable(ours) and callable(other)


def pairs(prefix: str) -> Iterator[tuple[str, Pair]]:
    for module in MODULES:
        ours, other = (at(tf, f"{prefix}.{module}".strip(".")) for tf in (tfrecs.tf, theirs))
        for name in dir(ours):
            pair = getattr(ours, name, None), getattr(other, name, None)
            if f"{module}.{name}" not in SKIPPED and is_compared(name, *pair):
                yield f"{prefix} {module} {name}", pair  # type: ignore[misc]


def methods(prefix: str, *paths: str) -> Iterator[tuple[str, Pair]]:
    for path in paths:
        ours, other = (at(tf, f"{prefix}.{path}".strip(".")) for tf in (tfrecs.tf, theirs))
        for name in dir(ours):
            pair = getattr(ours, name, None), getattr(other, name, None)
            if name[0] != "_" and inspect.isroutine(pair[0]) and callable(pair[1]):
                yield f"{prefix} {path} {name}", pair  # type: ignore[misc]


CLASSES = ("data.Dataset", "data.TFRecordDataset", "Tensor", "TensorShape", "io.TFRecordWriter")


def has_signature(function: Callable[..., Any]) -> bool:
    """Whether Python knows the arguments of a function, as it does not of some in C++."""
    try:
        inspect.signature(function)
    except ValueError:
        return False
    return True


ALL = [*pairs(""), *pairs("compat.v1"), *methods("", *CLASSES)]
FUNCTIONS = {name: pair for name, pair in ALL if all(map(has_signature, pair))}


def positional(function: Callable[..., Any]) -> list[str]:
    """The names of positional arguments, up to one that takes all others."""
    names = []
    for one in inspect.signature(function).parameters.values():
        if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.POSITIONAL_ONLY):
            break
        names.append(one.name)
    return names


@pytest.mark.parametrize("pair", FUNCTIONS.values(), ids=FUNCTIONS)
def test_positional_arguments_are_in_the_same_order(pair: Pair) -> None:
    made, wanted = map(positional, pair)
    assert made == wanted[: len(made)]


# Defaults of other values that mean the same: no channels given, a shuffle that is new each time,
# and no kind of exception that is passed on.
SAME_DEFAULTS = {
    ("channels", 0, None),
    ("reshuffle_each_iteration", None, True),
    ("clean_stop_exception_types", (), None),
}
PLAIN = (bool, int, float, str, bytes, tuple, type(None))


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """The defaults that are plain values; a name has no effect."""
    found = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in found if isinstance(one.default, PLAIN)}


def is_same_default(name: str, made: Any, wanted: Any) -> bool:
    alike = type(made) is type(wanted) and made == wanted
    return alike or name == "name" or (name, made, wanted) in SAME_DEFAULTS


@pytest.mark.parametrize("pair", FUNCTIONS.values(), ids=FUNCTIONS)
def test_defaults_are_the_same(pair: Pair) -> None:
    ours, theirs = map(defaults, pair)
    compared = {name: (ours[name], theirs[name]) for name in ours.keys() & theirs.keys()}
    assert {k: v for k, v in compared.items() if not is_same_default(k, *v)} == {}


def matrix(tf: Any) -> Any:
    return tf.constant([[1.0, 2.0], [3.0, 4.0]])


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "shape": lambda tf, x: tf.shape(x, "name", tf.int64),
    "size": lambda tf, x: tf.size(x, "name", tf.int64),
    "boolean_mask": lambda tf, x: tf.boolean_mask(x, [True, False], "name", 1),
    "reduce_sum": lambda tf, x: tf.reduce_sum(x, None, None, "name", 1, True),
    "reduce_max": lambda tf, x: tf.reduce_max(x, 0, True, "name"),
    "squeeze": lambda tf, x: tf.squeeze(x[None], None, "name", [0]),
    "expand_dims": lambda tf, x: tf.expand_dims(x, None, "name", 0),
    "argmax": lambda tf, x: tf.argmax(x, 1, "name", None, tf.int32),
    "concat": lambda tf, x: tf.concat([x, x], 1, "name"),
    "gather": lambda tf, x: tf.gather(x, [1], None, "name", 1),
    "transpose": lambda tf, x: tf.transpose(x, [1, 0], "name", False),
    "pad": lambda tf, x: tf.pad(x, [[1, 0], [0, 0]], "CONSTANT", "name", 7),
    "zeros_like": lambda tf, x: tf.zeros_like(x, tf.int32, "name", False),
    "ones_like by keyword": lambda tf, x: tf.ones_like(tensor=x, name="name"),
    "to_int32": lambda tf, x: tf.to_int32(x, "name"),
    "to_float": lambda tf, x: tf.to_float(x, name="name"),
    "decode_raw": lambda tf, x: tf.decode_raw(b"ab", tf.uint8, True, "name"),
    "decode_csv": lambda tf, x: tf.decode_csv(["1,n"], [[0], [5]], ",", True, "name", "n", [0, 1]),
    "io.decode_csv": lambda tf, x: tf.io.decode_csv(["1;2"], [[0], [5]], ";", True, "name"),
    "parse_example": lambda tf, x: tf.parse_example(
        [b""], {"a": tf.FixedLenFeature([], tf.int64, 3)}, "name", ["first"]
    ),
    "math.reduce_sum": lambda tf, x: tf.math.reduce_sum(x, 0, None, "name", None, True),
    "image.resize_bilinear": lambda tf, x: tf.image.resize_bilinear(
        np.ones([1, 2, 2, 1], np.float32), [3, 3], True, "name"
    ),
    "too many": lambda tf, x: tf.size(x, "name", tf.int64, 1),
    "twice": lambda tf, x: tf.size(x, "name", name="name"),
    "one unknown": lambda tf, x: tf.size(x, of=1),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_of_version_1(call: Callable[[Any, Any], Any]) -> None:
    same(lambda tf: call(tf.compat.v1, matrix(tf)))
