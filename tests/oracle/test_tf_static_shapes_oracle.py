"""Static shapes: what graphs of `tfrecs.tf` know of values before they are computed.

In a graph (TensorFlow 1's placeholders) shapes and types must be TensorFlow's. In `Dataset.map` a
function gets values that are there, with shapes in which nothing is left open.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as theirs  # noqa: ICN001 - either one is called tf in programs

import tfrecs.tf
from oracle.programs import Program, outcome, same, spec_of

Given = tuple[str, Any]
Function = Callable[..., Any]

# By a short name for each: type and shape.
GIVEN: dict[str, Given] = {
    "n3": ("float32", [None, 3]),
    "23": ("float32", [2, 3]),
    "1n": ("float32", [1, None]),
    "any": ("float32", None),
    "n": ("float32", [None]),
    "one": ("float32", []),
    "image": ("uint8", [None, None, 3]),
    "pixels": ("uint8", [4, None, None, 3]),
    "images": ("float32", [4, None, None, 3]),
    "int": ("int32", []),
    "ints": ("int64", [None]),
    "three": ("int32", [3]),
    "text": ("string", []),
    "texts": ("string", [None]),
    "four": ("string", [4]),
    "any text": ("string", None),
    "bools": ("bool", [None]),
}

TEXTS = {"text", "texts", "four", "any text"}
FLOATS = ["n3", "23", "1n", "any", "n", "one", "images"]


def _of(names: list[str], functions: dict[str, Function]) -> dict[str, tuple[list[str], Function]]:
    return {
        f"{call} of {name}": ([name], function)
        for name in names
        for call, function in functions.items()
    }


CASES: dict[str, tuple[list[str], Function]] = {
    **_of(
        FLOATS,
        {
            "identity": lambda tf, x: tf.identity(x),
            "cast": lambda tf, x: tf.cast(x, tf.int32),
            "reshape": lambda tf, x: tf.reshape(x, [-1]),
            "reshape to two": lambda tf, x: tf.reshape(x, [-1, 2]),
            "reshape to six": lambda tf, x: tf.reshape(x, [6]),
            "reshape to seven": lambda tf, x: tf.reshape(x, [7]),
            "reshape to 2, -1, 3": lambda tf, x: tf.reshape(x, [2, -1, 3]),
            "reshape to nothing": lambda tf, x: tf.reshape(x, [0, -1]),
            "reshape to its shape": lambda tf, x: tf.reshape(x, tf.shape(x)),
            "reshape to rows": lambda tf, x: tf.reshape(x, [tf.shape(x)[0], -1]),
            "reshape to a scalar": lambda tf, x: tf.reshape(x, []),
            "expand 0": lambda tf, x: tf.expand_dims(x, 0),
            "expand -1": lambda tf, x: tf.expand_dims(x, -1),
            "expand 1": lambda tf, x: tf.expand_dims(x, axis=1),
            "expand 9": lambda tf, x: tf.expand_dims(x, 9),
            "squeeze": lambda tf, x: tf.squeeze(x),
            "squeeze 0": lambda tf, x: tf.squeeze(x, 0),
            "squeeze [-1]": lambda tf, x: tf.squeeze(x, [-1]),
            "concat": lambda tf, x: tf.concat([x, x], 0),
            "concat 1": lambda tf, x: tf.concat([x, x], 1),
            "concat -1": lambda tf, x: tf.concat([x, x, x], -1),
            "stack": lambda tf, x: tf.stack([x, x]),
            "stack 1": lambda tf, x: tf.stack([x, x, x], axis=1),
            "stack -1": lambda tf, x: tf.stack([x], axis=-1),
            "transpose": lambda tf, x: tf.transpose(x),
            "transpose 1, 0": lambda tf, x: tf.transpose(x, [1, 0]),
            "shape": lambda tf, x: tf.shape(x),
            "shape int64": lambda tf, x: tf.shape(x, out_type=tf.int64),
            "shape[0]": lambda tf, x: tf.shape(x)[0],
            "shape[:1]": lambda tf, x: tf.shape(x)[:1],
            "size": lambda tf, x: tf.size(x),
            "rank": lambda tf, x: tf.rank(x),
            "zeros of its shape": lambda tf, x: tf.zeros(tf.shape(x)),
            "zeros of its rows": lambda tf, x: tf.zeros([tf.shape(x)[0], 4]),
            "ones of a part": lambda tf, x: tf.ones(tf.shape(x)[-1:], tf.int64),
            "fill": lambda tf, x: tf.fill(tf.concat([tf.shape(x)[:1], [5]], 0), 1),
            "zeros_like": lambda tf, x: tf.zeros_like(x),
            "ones_like": lambda tf, x: tf.ones_like(x, tf.int32),
            "x[0]": lambda tf, x: x[0],
            "x[-1]": lambda tf, x: x[-1],
            "x[1:]": lambda tf, x: x[1:],
            "x[:2]": lambda tf, x: x[:2],
            "x[:-1]": lambda tf, x: x[:-1],
            "x[::2]": lambda tf, x: x[::2],
            "x[..., 0]": lambda tf, x: x[..., 0],
            "x[None]": lambda tf, x: x[None],
            "x[:, None]": lambda tf, x: x[:, None],
            "x[..., newaxis]": lambda tf, x: x[..., tf.newaxis],
            "x[:, 1]": lambda tf, x: x[:, 1],
            "x[:, :2]": lambda tf, x: x[:, :2],
            "x[0, 0]": lambda tf, x: x[0, 0],
            "slice": lambda tf, x: tf.slice(x, [0, 1], [-1, 2]),
            "slice to the end": lambda tf, x: tf.slice(x, [1, 1], [-1, -1]),
            "sum": lambda tf, x: tf.reduce_sum(x),
            "sum 0": lambda tf, x: tf.reduce_sum(x, 0),
            "sum -1": lambda tf, x: tf.reduce_sum(x, axis=-1),
            "mean [0, 1]": lambda tf, x: tf.reduce_mean(x, [0, 1]),
            "max kept": lambda tf, x: tf.reduce_max(x, 0, keepdims=True),
            "min of all kept": lambda tf, x: tf.reduce_min(x, keepdims=True),
            "sum of no axes": lambda tf, x: tf.reduce_sum(x, []),
            "sum 7": lambda tf, x: tf.reduce_sum(x, 7),
            "argmax": lambda tf, x: tf.argmax(x),
            "argmax -1": lambda tf, x: tf.argmax(x, -1, output_type=tf.int32),
            "gather": lambda tf, x: tf.gather(x, [0, 1]),
            "gather one": lambda tf, x: tf.gather(x, 0),
            "gather 1": lambda tf, x: tf.gather(x, [[0, 1]], axis=1),
            "tile": lambda tf, x: tf.tile(x, [2, 1]),
            "pad": lambda tf, x: tf.pad(x, [[1, 2], [0, 4]]),
            "reverse": lambda tf, x: tf.reverse(x, [0]),
            "clip": lambda tf, x: tf.clip_by_value(x, 0, 1),
            "where": lambda tf, x: tf.where(x > 1),
            "where of two": lambda tf, x: tf.where(x > 1, x, tf.zeros_like(x)),
            "where of numbers": lambda tf, x: tf.where(x > 1, 1.0, 0.0),
            "ensure": lambda tf, x: tf.ensure_shape(x, [None, 3]),
            "ensure another": lambda tf, x: tf.ensure_shape(x, [5, 4]),
            "x + 1": lambda tf, x: x + 1,
            "1 / x": lambda tf, x: 1 / x,
            "-x": lambda tf, x: -x,
            "x + row": lambda tf, x: x + tf.constant([1.0, 2.0, 3.0]),
            "x * column": lambda tf, x: x * tf.constant([[1.0], [2.0]]),
            "x < 1": lambda tf, x: x < 1,
            "equal": lambda tf, x: tf.equal(x, 1),
            "add": lambda tf, x: tf.add(x, x),
            "divide": lambda tf, x: tf.divide(x, 2),
            "maximum": lambda tf, x: tf.maximum(x, [[1.0, 2.0, 3.0]]),
            "sqrt": lambda tf, x: tf.sqrt(x),
            "matmul": lambda tf, x: tf.matmul(x, tf.ones([3, 5])),
            "matmul across": lambda tf, x: tf.matmul(x, x, transpose_b=True),
            "py_function": lambda tf, x: tf.py_function(lambda y: y, [x], tf.float32),
            "numpy_function": lambda tf, x: tf.numpy_function(lambda y: y, [x], [tf.int64])[0],
            "serialize": lambda tf, x: tf.io.serialize_tensor(x),
        },
    ),
    **_of(
        ["image", "images", "pixels", "any"],
        {
            "flat": lambda tf, x: tf.reshape(x, [-1, 12]),
            "scaled": lambda tf, x: tf.image.convert_image_dtype(x, tf.float32),
            "divided": lambda tf, x: tf.cast(x, tf.float32) / 255.0,
            "resize": lambda tf, x: tf.image.resize(x, [8, 9]),
            "resize nearest": lambda tf, x: tf.image.resize(x, (8, 9), method="nearest"),
            "resize v1": lambda tf, x: tf.compat.v1.image.resize(x, [8, 9]),
            "a crop": lambda tf, x: x[..., 1:5, :, :],
            "channels": lambda tf, x: x[..., ::-1],
        },
    ),
    **_of(
        ["text", "texts", "four", "any text"],
        {
            "decode_raw": lambda tf, x: tf.io.decode_raw(x, tf.uint8),
            "decode_raw to pixels": lambda tf, x: tf.reshape(
                tf.io.decode_raw(x, tf.uint8), [28, 28]
            ),
            "decode_raw, fixed": lambda tf, x: tf.io.decode_raw(x, tf.int32, fixed_length=8),
            "decode_jpeg": lambda tf, x: tf.io.decode_jpeg(x, channels=3),
            "decode_png": lambda tf, x: tf.io.decode_png(x, dtype=tf.uint16),
            "decode_bmp": lambda tf, x: tf.io.decode_bmp(x),
            "decode_gif": lambda tf, x: tf.io.decode_gif(x),
            "decode_image": lambda tf, x: tf.io.decode_image(x, 3),
            "decode_image, one": lambda tf, x: tf.io.decode_image(x, 3, expand_animations=False),
            "decode_csv": lambda tf, x: tf.io.decode_csv(x, [[0], [""], [1.5]]),
            "read_file": lambda tf, x: tf.io.read_file(x),
            "parse_tensor": lambda tf, x: tf.io.parse_tensor(x, tf.float32),
            "parse_single_example": lambda tf, x: tf.io.parse_single_example(x, spec_of(tf)),
            "parse_example": lambda tf, x: tf.io.parse_example(x, spec_of(tf)),
            "parse_sequence_example": lambda tf, x: tf.io.parse_sequence_example(x, *lists(tf)),
            "parse_single_sequence_example": lambda tf, x: tf.io.parse_single_sequence_example(
                x, *lists(tf)
            ),
        },
    ),
    **_of(
        ["int", "ints", "three"],
        {
            "one_hot": lambda tf, x: tf.one_hot(x, 10),
            "one_hot first": lambda tf, x: tf.one_hot(x, 10, axis=0, dtype=tf.int64),
            "one_hot of integers": lambda tf, x: tf.one_hot(x, 10, 1, 0),
            "range": lambda tf, x: tf.range(x),
            "zeros": lambda tf, x: tf.zeros(x),
            "fill": lambda tf, x: tf.fill(x, 1.5),
            "x / x": lambda tf, x: x / x,
            "x // 2": lambda tf, x: x // 2,
            "mean": lambda tf, x: tf.reduce_mean(x),
            "to a shape": lambda tf, x: tf.reshape(tf.ones([6]), x),
            "in a shape": lambda tf, x: tf.reshape(tf.ones([6]), [x, 2]),
            "in a stack": lambda tf, x: tf.reshape(tf.ones([6]), tf.stack([x, 1])),
        },
    ),
    "boolean_mask": (["n3", "bools"], lambda tf, x, mask: tf.boolean_mask(x, mask)),
    "boolean_mask of all": (["n3", "n3"], lambda tf, x, y: tf.boolean_mask(x, y > 0)),
    "boolean_mask 1": (["23", "bools"], lambda tf, x, y: tf.boolean_mask(x, y, axis=1)),
    "boolean_mask, unknown": (["n3", "any"], lambda tf, x, y: tf.boolean_mask(x, y > 0)),
    "concat of two": (["n3", "23"], lambda tf, x, y: tf.concat([x, y], 0)),
    "concat of two, 1": (["n3", "23"], lambda tf, x, y: tf.concat([x, y], 1)),
    "concat of unknown": (["any", "23"], lambda tf, x, y: tf.concat([x, y], 0)),
    "concat of others": (["n", "23"], lambda tf, x, y: tf.concat([x, y], 0)),
    "concat along unknown": (["23", "int"], lambda tf, x, at: tf.concat([x, x], at)),
    "stack of two": (["1n", "n3"], lambda tf, x, y: tf.stack([x, y])),
    "stack of others": (["n", "23"], lambda tf, x, y: tf.stack([x, y])),
    "sum of two": (["n3", "1n"], lambda tf, x, y: x + y),
    "sum of others": (["23", "images"], lambda tf, x, y: x + tf.cast(y, tf.float32)),
    "sum of unknown": (["any", "n3"], lambda tf, x, y: x + y),
    "logical_and": (["bools", "bools"], lambda tf, x, y: tf.logical_and(x, y)),
    "and": (["bools", "bools"], lambda tf, x, y: x & ~y),
    "reduce_all": (["bools"], lambda tf, x: tf.reduce_all(x)),
    "expand unknown": (["n3", "int"], lambda tf, x, at: tf.expand_dims(x, at)),
    "sum of unknown axis": (["n3", "int"], lambda tf, x, at: tf.reduce_sum(x, at)),
    "gather unknown": (["n3", "ints"], lambda tf, x, at: tf.gather(x, at)),
    "gather a place": (["n3", "int"], lambda tf, x, at: tf.gather(x, at)),
    "x[at]": (["n3", "int"], lambda tf, x, at: x[at]),
    "x[:at]": (["23", "int"], lambda tf, x, at: x[:at]),
    "x[at:at + 2]": (["23", "int"], lambda tf, x, at: x[at : at + 2]),
    "slice by unknown": (["23", "int"], lambda tf, x, at: tf.slice(x, [at, 0], [1, -1])),
    "tile by unknown": (["23", "int"], lambda tf, x, n: tf.tile(x, [n, 1])),
    "pad by unknown": (["23", "int"], lambda tf, x, n: tf.pad(x, [[0, n], [1, 1]])),
    "transpose by unknown": (["23", "three"], lambda tf, x, at: tf.transpose(x, at)),
    "where of rows": (
        ["bools", "n3"],
        lambda tf, c, x: tf.compat.v1.where(c, x, tf.zeros_like(x)),
    ),
    "where that broadcasts": (["bools", "23"], lambda tf, c, x: tf.where(c, x, 0.0)),
    "resize to unknown": (["image", "int"], lambda tf, x, n: tf.image.resize(x, [n, 4])),
    "resize to a vector": (["image", "three"], lambda tf, x, n: tf.image.resize(x, n[:2])),
    "fill with unknown": (["int"], lambda tf, n: tf.fill([n, 2], 1.0)),
    "the side of a square": (
        ["23"],
        lambda tf, x: tf.reshape(x, tf.stack([tf.shape(x)[1], tf.shape(x)[0]])),
    ),
    "one_hot of unknown depth": (["ints", "int"], lambda tf, x, n: tf.one_hot(x, n)),
}


def lists(tf: Any) -> Any:
    context = {"id": tf.io.FixedLenFeature([], tf.int64), "tags": tf.io.VarLenFeature(tf.string)}
    features = {
        "steps": tf.io.FixedLenSequenceFeature([2], tf.int64),
        "words": tf.io.VarLenFeature(tf.string),
    }
    return context, features


def kind_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: kind_of(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [kind_of(one) for one in value]
    return [value.dtype.name, str(value.get_shape())]


def in_graph(tf: Any, names: list[str], function: Function) -> Any:
    """What is known of the result of a function of placeholders."""
    v1 = tf.compat.v1
    with v1.Graph().as_default():
        return kind_of(function(tf, *[v1.placeholder(*GIVEN[name]) for name in names]))


def merged(*shapes: Any) -> Program:
    """A program that says of a placeholder's shape several times what it is."""

    def program(tf: Any) -> Any:
        with tf.compat.v1.Graph().as_default():
            given, *others = shapes
            value = tf.compat.v1.placeholder("float32", given)
            for shape in others:
                value.set_shape(shape)
            return [str(value.shape), kind_of(tf.reshape(value, [-1, 4]))]

    return program


SET: dict[str, Program] = {
    "of unknown": merged(None, [2, None]),
    "of unknown rank, twice": merged(None, [None, 3], [2, None]),
    "another dimension": merged([None, 3], [2, None]),
    "what is known": merged([2, 3], None),
    "another shape": merged([2, 3], [3, 3]),
    "another rank": merged([2, 3], [6]),
    "another one, later": merged(None, [4], [5]),
    "a TensorShape": lambda tf: merged(None, tf.TensorShape([2, None]))(tf),
}


@pytest.mark.parametrize("program", SET.values(), ids=SET)
def test_shapes_that_are_set(program: Program) -> None:
    same(program)


def lone(name: str) -> Any:
    """A value that fits what is given by a name, with a length of 2 for what is left open."""
    dtype, shape = GIVEN[name]
    dims = [2, 3] if shape is None else [dim or 2 for dim in shape]
    return np.ones(dims, dtype)


def in_map(tf: Any, names: list[str], function: Function) -> Any:
    """The shapes and types that a function given to map sees of its result."""
    seen = []

    def look(*values: Any) -> Any:
        seen.append(kind_of(function(tf, *values)))
        return 0

    dataset = tf.data.Dataset.from_tensors(tuple(map(lone, names)))
    list(dataset.map(look))
    return seen[0]


IN_MAP = {name: case for name, case in CASES.items() if not {*case[0]} & TEXTS}


@pytest.mark.parametrize("case", IN_MAP.values(), ids=IN_MAP)
def test_what_functions_of_map_see(case: tuple[list[str], Function]) -> None:
    made, wanted = (outcome(lambda tf: in_map(tf, *case), tf) for tf in (tfrecs.tf, theirs))
    if isinstance(made, set) or isinstance(wanted, set):
        assert isinstance(made, set)
        return
    assert made[0] == wanted[0]
    as_theirs = [shape_in(text) for text in (wanted[1], made[1])]
    assert as_theirs[0].is_compatible_with(as_theirs[1])
    assert as_theirs[1].is_fully_defined()


def shape_in(text: str) -> Any:
    return theirs.TensorShape(None if text == "<unknown>" else eval(text))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_graphs_know(case: tuple[list[str], Function]) -> None:
    same(lambda tf: in_graph(tf, *case))
