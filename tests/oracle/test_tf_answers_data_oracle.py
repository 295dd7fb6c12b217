"""Datasets and images of `tfrecs.tf` beside TensorFlow's where they once were others, silently."""

from collections.abc import Iterator
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from oracle.programs import Program, plain, same, write_files


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()


# --- Sparse values, empty passes, cardinality ---


def sparse_value(tf: Any, *values: Any) -> Any:
    return tf.compat.v1.SparseTensorValue(np.array([[0]]), np.array(values), np.array([2]))


def thrice(tf: Any, make: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(make)


SPARSE: dict[str, Program] = {
    "elements": lambda tf: thrice(tf, lambda _: sparse_value(tf, 1)),
    "batches": lambda tf: thrice(tf, lambda _: sparse_value(tf, 1)).batch(2),
    "in a dict": lambda tf: thrice(tf, lambda n: {"a": sparse_value(tf, 1), "b": n}).batch(2),
    "in a tuple": lambda tf: thrice(tf, lambda n: (n, sparse_value(tf, 1))).batch(2),
    "of lists": lambda tf: thrice(
        tf, lambda n: tf.compat.v1.SparseTensorValue([[0]], [n], [2])
    ).batch(2),
    "one": lambda tf: tf.data.Dataset.from_tensors(sparse_value(tf, 1)),
    "slices": lambda tf: tf.data.Dataset.from_tensor_slices(
        tf.compat.v1.SparseTensorValue(
            np.array([[0, 0], [1, 1]]), np.array([1, 2]), np.array([2, 2])
        )
    ),
}


@pytest.mark.parametrize("program", SPARSE.values(), ids=SPARSE)
def test_sparse_values_are_sparse_tensors(program: Program) -> None:
    same(lambda tf: list(program(tf)))


PASSES = [[0, 0, 1, 0, 2, 0], [1, 0, 2, 0, 0, 3], [0, 0, 0], [1, 1, 1], [0, 1], [2, 0, 0, 0, 1]]


@pytest.mark.parametrize("counts", PASSES, ids=str)
@pytest.mark.parametrize("times", [1, 2, 6, 7, None])
def test_repeat_over_passes_of_other_lengths(counts: list[int], times: int | None) -> None:
    def program(tf: Any) -> Any:
        begun = []

        def generate() -> Any:
            begun.append(1)
            return iter(range(counts[len(begun) - 1] if len(begun) <= len(counts) else 0))

        elements = tf.data.Dataset.from_generator(generate, tf.int32, ()).repeat(times)
        return [int(one) for one in elements], len(begun)

    same(program)


LENGTHS: dict[str, Program] = {
    "finite": lambda tf: tf.data.Dataset.range(3),
    "empty": lambda tf: tf.data.Dataset.range(0),
    "endless": lambda tf: tf.data.Dataset.range(2).repeat(),
    "unknown": lambda tf: tf.data.Dataset.range(5).filter(lambda n: n > 1),
    "files": lambda tf: tf.data.TFRecordDataset("ex.tfrecord").map(lambda _: np.int64(1)),
    "lines": lambda tf: tf.data.TextLineDataset("lines.txt").map(lambda _: np.int64(1)),
}
STEPS: dict[str, Any] = {
    "repeat 0": lambda tf, ds: ds.repeat(0),
    "repeat 2": lambda tf, ds: ds.repeat(2),
    "repeat": lambda tf, ds: ds.repeat(),
    "take 0": lambda tf, ds: ds.take(0),
    "take 2": lambda tf, ds: ds.take(2),
    "take all": lambda tf, ds: ds.take(-1),
    "skip 1": lambda tf, ds: ds.skip(1),
    "skip 9": lambda tf, ds: ds.skip(9),
    "batch": lambda tf, ds: ds.batch(2),
    "batch, dropped": lambda tf, ds: ds.batch(2, True),
    "padded_batch": lambda tf, ds: ds.padded_batch(2),
    "shuffle": lambda tf, ds: ds.shuffle(2),
    "shard": lambda tf, ds: ds.shard(2, 1),
    "map": lambda tf, ds: ds.map(lambda n: n),
    "cache": lambda tf, ds: ds.cache(),
    "prefetch": lambda tf, ds: ds.prefetch(1),
    "enumerate": lambda tf, ds: ds.enumerate(),
    "filter": lambda tf, ds: ds.filter(lambda n: n > 0),
    "unbatch": lambda tf, ds: ds.batch(2).unbatch(),
    "unbatch, dropped": lambda tf, ds: ds.batch(2, True).unbatch(),
    "unbatch, repeated": lambda tf, ds: ds.batch(2).repeat(2).unbatch(),
    "buckets": lambda tf, ds: ds.bucket_by_sequence_length(lambda n: 1, [2], [2, 2]),
    "repeat, take": lambda tf, ds: ds.repeat().take(4),
    "repeat, skip, shard": lambda tf, ds: ds.repeat().skip(2).shard(3, 1),
}
OF_TWO: dict[str, Any] = {
    "concatenate": lambda tf, one, other: one.concatenate(other),
    "zip": lambda tf, one, other: tf.data.Dataset.zip((one, other)),
    "sample": lambda tf, one, other: tf.data.Dataset.sample_from_datasets([one, other]),
    "sample, stop": lambda tf, one, other: tf.data.Dataset.sample_from_datasets(
        [one, other], [0.5, 0.5], stop_on_empty_dataset=True
    ),
    "interleave": lambda tf, one, other: one.interleave(lambda _: other, 2),
    "flat_map": lambda tf, one, other: one.flat_map(lambda _: other),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_cardinality_of_steps(step: Any) -> None:
    for make in LENGTHS.values():
        same(lambda tf, make=make: int(step(tf, make(tf)).cardinality()))  # type: ignore[misc]


@pytest.mark.parametrize("step", OF_TWO.values(), ids=OF_TWO)
def test_cardinality_of_two_datasets(step: Any) -> None:
    for one, other in product(LENGTHS.values(), repeat=2):

        def program(tf: Any, one: Program = one, other: Program = other) -> Any:
            return int(step(tf, one(tf), other(tf)).cardinality())

        same(program)


# --- JPEG ---


def jpegs() -> Iterator[bytes]:
    """Yield images of all samplings, odd sizes and qualities, grey, coloured and progressive."""
    draw = np.random.default_rng(26)
    for number in range(90):
        height, width = draw.integers(1, 90, 2).tolist()
        rows, columns = np.mgrid[0:height, 0:width]
        smooth = np.stack(
            [127 + 120 * np.sin(rows / 7 + n) * np.cos(columns / 5) for n in range(3)]
        )
        noise = draw.integers(0, 256, (3, height, width))
        pixels = np.moveaxis(noise if number % 2 else smooth, 0, -1).astype(np.uint8)
        image = Image.fromarray(pixels if number % 3 else pixels[..., 0])
        out = BytesIO()
        how = {"subsampling": int(draw.integers(3))} if number % 3 else {}
        quality, progressive = int(draw.integers(5, 100)), bool(draw.integers(2))
        image.save(out, "JPEG", quality=quality, progressive=progressive, **how)
        yield out.getvalue()


def test_jpeg_is_decoded_to_the_same_bits() -> None:
    for data in jpegs():
        for channels in (0, 1, 3):
            same(jpeg_of("decode_jpeg", data, channels=channels))
        same(jpeg_of("decode_jpeg", data, dct_method="INTEGER_ACCURATE"))
        for name in ("decode_image", "decode_png", "decode_gif", "decode_bmp"):
            same(jpeg_of(name, data))
        same(jpeg_of("decode_image", data, dtype="float32"))


def jpeg_of(name: str, data: bytes, **how: Any) -> Program:
    return lambda tf: getattr(tf.io, name)(data, **how)


# --- cache(file) ---


def next_or_error(tf: Any, elements: Any) -> Any:
    try:
        return int(next(elements, -1))
    except tf.errors.AlreadyExistsError:
        return "AlreadyExistsError"


def two_writers(tf: Any, again: bool) -> Any:
    dataset = tf.data.Dataset.range(3).cache(f"{tf.__name__}.cache")
    other = tf.data.Dataset.range(3).cache(f"{tf.__name__}.cache") if again else dataset
    first, second = iter(dataset), iter(other)
    return [next_or_error(tf, one) for one in (first, second, first, first, first)]


CACHES: dict[str, Program] = {
    "two iterators": lambda tf: two_writers(tf, False),
    "two datasets": lambda tf: two_writers(tf, True),
    "beside itself": lambda tf: next_or_error(
        tf, iter(tf.data.Dataset.zip((kept := tf.data.Dataset.range(3).cache("a.cache"), kept)))
    ),
    "one after the other": lambda tf: [
        list(kept := tf.data.Dataset.range(3).cache(f"{tf.__name__}.cache")),
        next(iter(kept)),
        next(iter(kept)),
    ],
    "in memory": lambda tf: [
        next(first := iter(kept := tf.data.Dataset.range(3).cache())),
        list(kept),
        list(first),
    ],
}


@pytest.mark.parametrize("program", CACHES.values(), ids=CACHES)
def test_one_iterator_writes_a_cache(program: Program) -> None:
    same(program)


# --- Elements after one that fails ---


def outcomes(tf: Any, elements: Any) -> list[Any]:
    """Return what an iterator gives, errors as the name of the class of tf.errors."""
    given: list[Any] = []
    for _ in range(12):
        try:
            given.append(plain(next(elements)))
        except StopIteration:
            return [*given, "end"]
        except tf.errors.OpError as error:
            kinds = [kind.__name__ for kind in type(error).__mro__]
            given.append(next(name for name in kinds if hasattr(tf.errors, name)))
    return given


def lines(tf: Any, **how: Any) -> Any:
    given = tf.data.Dataset.from_tensor_slices([b"1,2", b"x,2", b"3,4"])
    return given.map(lambda line: tf.io.decode_csv(line, [[1], [1]]), **how)


def first_of(tf: Any, line: Any) -> Any:
    return tf.io.decode_csv(line, [[1], [1]])[0]


def texts(tf: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices([b"1,2", b"x,2", b"3,4"])


FAILING: dict[str, Program] = {
    "map": lines,
    "parallel": lambda tf: lines(tf, num_parallel_calls=2),
    "batch": lambda tf: lines(tf).batch(1),
    "batches of two": lambda tf: lines(tf).batch(2),
    "padded": lambda tf: lines(tf).padded_batch(2),
    "prefetch": lambda tf: lines(tf).prefetch(2),
    "repeat": lambda tf: lines(tf).repeat(2),
    "take": lambda tf: lines(tf).take(2),
    "skip": lambda tf: lines(tf).skip(1),
    "filter": lambda tf: lines(tf).filter(lambda a, b: True),
    "another map": lambda tf: lines(tf).map(lambda a, b: a + b),
    "enumerate": lambda tf: lines(tf).enumerate(),
    "zip": lambda tf: tf.data.Dataset.zip((tf.data.Dataset.range(5), lines(tf))),
    "zip, first": lambda tf: tf.data.Dataset.zip((lines(tf), tf.data.Dataset.range(5))),
    "concatenate": lambda tf: lines(tf).concatenate(lines(tf)),
    "cache": lambda tf: lines(tf).cache(),
    "unbatch": lambda tf: lines(tf).batch(1).unbatch(),
    "interleave": lambda tf: tf.data.Dataset.range(2).interleave(lambda _: lines(tf), 2),
    "flat_map": lambda tf: tf.data.Dataset.range(2).flat_map(lambda _: lines(tf)),
    "predicate": lambda tf: texts(tf).filter(lambda line: first_of(tf, line) > 0),
    "datasets": lambda tf: texts(tf).flat_map(
        lambda line: tf.data.Dataset.from_tensors(first_of(tf, line))
    ),
    "reshape": lambda tf: tf.data.Dataset.range(5).map(lambda n: tf.reshape(tf.range(n), [2])),
    "raw": lambda tf: tf.data.Dataset.from_tensor_slices([b"ab", b"abc", b"cd"]).map(
        lambda text: tf.io.decode_raw(text, tf.int16)
    ),
    "files": lambda tf: tf.data.Dataset.from_tensor_slices(["lines.txt", "no", "lines.txt"]).map(
        tf.io.read_file
    ),
    "no images": lambda tf: tf.data.Dataset.from_tensor_slices([b"a", b"b"]).map(
        tf.io.decode_image
    ),
}


@pytest.mark.parametrize("program", FAILING.values(), ids=FAILING)
def test_elements_after_one_that_fails(program: Program) -> None:
    same(lambda tf: outcomes(tf, iter(program(tf))))


ERRORS = [
    ValueError, KeyError, RuntimeError, TypeError, ZeroDivisionError, IndexError, MemoryError,
    NotImplementedError, OSError, AssertionError, FileNotFoundError, AttributeError,
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS)
def test_errors_of_python_functions(error: type[Exception]) -> None:
    def fail(number: Any) -> Any:
        if int(number) == 1:
            raise error("no")
        return number

    def generate() -> Any:
        yield 0
        raise error("no")

    def called(tf: Any) -> Any:
        return tf.data.Dataset.range(3).map(lambda n: tf.py_function(fail, [n], tf.int64))

    def called_with_arrays(tf: Any) -> Any:
        return tf.data.Dataset.range(3).map(lambda n: tf.numpy_function(fail, [n], tf.int64))

    def generated(tf: Any) -> Any:
        return tf.data.Dataset.from_generator(generate, tf.int32, ())

    for program in (called, called_with_arrays, generated):
        same(lambda tf, program=program: outcomes(tf, iter(program(tf))))  # type: ignore[misc]
