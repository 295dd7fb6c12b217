"""Iterators, elements without a value, sparse rows, and errors of user code, beside TensorFlow."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecs.tf
from oracle.programs import Program, same, write_files


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()
    whole, plain = Path("ex.tfrecord.gz").read_bytes(), gzip.compress(b"a\nb\n" * 50)
    Path("middle.gz").write_bytes(whole[:60] + bytes([whole[60] ^ 255]) + whole[61:])
    Path("checksum.gz").write_bytes(whole[:-8] + bytes(8))
    Path("none.gz").write_bytes(b"hello world, this is no gzip")
    Path("junk.gz").write_bytes(whole + b"junk")
    Path("lines.gz").write_bytes(plain[:-8] + bytes(8))
    zipped = Path("ex.z").read_bytes()
    Path("checksum.z").write_bytes(zipped[:-4] + bytes(4))


def numbers(tf: Any, count: int) -> Any:
    return tf.data.Dataset.range(count)


def optional(tf: Any, dataset: Any, count: int) -> Any:
    iterator, found = iter(dataset), []
    for _ in range(count):
        one = iterator.get_next_as_optional()
        found.append([one.has_value(), one.get_value() if one.has_value() else None])
    return found


def records(tf: Any, names: Any, **how: Any) -> Any:
    return tf.data.TFRecordDataset(names, **how)


def slices(tf: Any, of: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(of)


ITERATORS: dict[str, Program] = {
    "optional": lambda tf: optional(tf, numbers(tf, 2), 4),
    "optional of batches": lambda tf: optional(tf, numbers(tf, 3).batch(2), 3),
    "optional of tuples": lambda tf: [
        iter(slices(tf, ([1], ["a"]))).get_next_as_optional().get_value()
    ],
    "optional, empty": lambda tf: iter(numbers(tf, 0)).get_next_as_optional().get_value(),
    "as_numpy_iterator": lambda tf: [
        (it := numbers(tf, 3).as_numpy_iterator()).next(),
        next(it),
        list(it),
    ],
    "as_numpy_iterator, itself": lambda tf: [
        iter(it := numbers(tf, 3).as_numpy_iterator()) is it,
    ],
    "slices and None": lambda tf: list(slices(tf, ([1, 2], None))),
    "slices and None in a dict": lambda tf: list(slices(tf, {"a": [1, 2], "b": None})),
    "slices and None, batched": lambda tf: list(slices(tf, ([1, 2], None)).batch(2)),
    "slices and None, mapped": lambda tf: list(slices(tf, ([1, 2], None)).map(lambda x, y: x)),
    "slices of None": lambda tf: slices(tf, None),
    "slices of None alone": lambda tf: slices(tf, (None,)),
    "None": lambda tf: tf.data.Dataset.from_tensors(None),
    "no files": lambda tf: list(records(tf, [])),
    "number of no files": lambda tf: records(tf, []).cardinality(),
    "number of no files, batched": lambda tf: records(tf, []).batch(2).cardinality(),
    "number of no files, in turn": lambda tf: records(tf, [], num_parallel_reads=2).cardinality(),
    "length of no files": lambda tf: len(records(tf, [])),
    "number of no lines": lambda tf: tf.data.TextLineDataset([]).cardinality(),
    "number of none of one length": lambda tf: tf.data.FixedLengthRecordDataset(
        [], 3
    ).cardinality(),
    **{
        f"{count} skipped of {name}": lambda tf, make=make, count=count: (  # type: ignore[misc]
            make(tf).skip(count).cardinality()
        )
        for count in (-2, -1, 0, 2)
        for name, make in {
            "three": lambda tf: numbers(tf, 3),
            "no end": lambda tf: numbers(tf, 3).repeat(),
            "unknown": lambda tf: numbers(tf, 3).filter(lambda x: x > 0),
        }.items()
    },
    "all skipped": lambda tf: list(numbers(tf, 3).skip(-1)),
    "all skipped of no end": lambda tf: list(numbers(tf, 3).repeat().skip(-1)),
}

BOOLS = [True, 2, 0, 1.5, [2, 0], "a", np.int64(3), np.array([0, 2])]


@pytest.mark.parametrize("program", ITERATORS.values(), ids=ITERATORS)
def test_iterators_are_the_same(program: Program) -> None:
    same(program)


@pytest.mark.parametrize("value", BOOLS, ids=repr)
def test_products_of_truth_values(value: Any) -> None:
    same(lambda tf: tf.constant([True, False]) * value)
    same(lambda tf: value * tf.constant([True, False]))
    same(lambda tf: tf.multiply(tf.constant([True, False]), value))
    same(lambda tf: tf.multiply(value, tf.constant([True, False])))


CLASSES = [
    *("AbortedError", "CancelledError", "DataLossError", "FailedPreconditionError"),
    *("InternalError", "InvalidArgumentError", "NotFoundError", "OutOfRangeError"),
    *("PermissionDeniedError", "UnavailableError", "UnknownError"),
]


@pytest.mark.parametrize("kind", CLASSES)
def test_errors_of_tensorflow_in_user_code(kind: str) -> None:
    def failing(tf: Any) -> Any:
        def fail(x: Any) -> Any:
            raise getattr(tf.errors, kind)(None, None, "no")

        return fail

    def generating(tf: Any) -> Any:
        def generate() -> Iterator[int]:
            yield 1
            failing(tf)(None)

        return generate

    same(lambda tf: tf.py_function(failing(tf), [1], tf.int64))
    same(lambda tf: list(tf.data.Dataset.from_generator(generating(tf), tf.int64)))
    for call in ("py_function", "numpy_function"):
        same(
            lambda tf, call=call: list(  # type: ignore[misc]
                numbers(tf, 2).map(lambda x: getattr(tf, call)(failing(tf), [x], tf.int64))
            )
        )


def sparse(tf: Any) -> Any:
    return tf.sparse.SparseTensor([[0, 1], [1, 0], [1, 2]], [5, 6, 7], [3, 3])


def words(tf: Any) -> Any:
    return tf.sparse.SparseTensor([[0, 0, 1], [1, 1, 0]], ["a", "b"], [2, 2, 3])


def floats(tf: Any) -> Any:
    spec = {"floats": tf.io.VarLenFeature(tf.float32), "id": tf.io.FixedLenFeature([], tf.int64)}
    return records(tf, "ex.tfrecord").batch(4).map(lambda one: tf.io.parse_example(one, spec))


def tensors(tf: Any, of: Any) -> Any:
    return tf.data.Dataset.from_tensors(of)


SPARSE: dict[str, Program] = {
    "rows": lambda tf: list(tensors(tf, sparse(tf)).unbatch()),
    "rows of text": lambda tf: list(tensors(tf, words(tf)).unbatch()),
    "rows of rows": lambda tf: list(tensors(tf, words(tf)).unbatch().unbatch()),
    "a vector": lambda tf: list(
        tensors(tf, tf.sparse.SparseTensor([[0], [2]], [5, 6], [3])).unbatch()
    ),
    "rows in tuples": lambda tf: list(tensors(tf, (sparse(tf), [1, 2, 3])).unbatch()),
    "unequal rows": lambda tf: list(tensors(tf, (sparse(tf), [1, 2])).unbatch()),
    "batched": lambda tf: list(tensors(tf, sparse(tf)).repeat(2).batch(2).unbatch()),
    "batched again": lambda tf: list(tensors(tf, sparse(tf)).unbatch().batch(2)),
    "parsed": lambda tf: list(floats(tf).unbatch()),
    "parsed, mapped": lambda tf: list(floats(tf).map(lambda one: one["floats"]).unbatch()),
    "parsed, batched again": lambda tf: list(floats(tf).unbatch().batch(3)),
    "slices": lambda tf: list(slices(tf, sparse(tf))),
}


@pytest.mark.parametrize("program", SPARSE.values(), ids=SPARSE)
def test_sparse_rows_are_the_same(program: Program) -> None:
    same(program)


def outcomes(dataset: Any, most: int = 12) -> list[Any]:
    """The elements of a dataset, and the word for each error between them."""
    iterator, found = iter(dataset), []
    for _ in range(most):
        try:
            found.append(next(iterator)["id"])
        except StopIteration:
            return found
        except Exception:  # noqa: BLE001 - which it is others test
            found.append("error")
    return found


FAILING: dict[str, Any] = {
    "batches": lambda tf, parse, _: records(tf, "broken").batch(2).map(parse),
    "larger batches": lambda tf, parse, _: records(tf, "broken").batch(3).map(parse),
    "whole batches": lambda tf, parse, _: (
        records(tf, "broken").batch(2, drop_remainder=True).map(parse)
    ),
    "twice": lambda tf, parse, _: records(tf, "broken").batch(2).map(parse).repeat(2),
    "ahead": lambda tf, parse, _: records(tf, "broken").batch(2).map(parse).prefetch(2),
    "compressed": lambda tf, parse, _: (
        records(tf, "broken.gz", compression_type="GZIP").batch(2).map(parse)
    ),
    "two files": lambda tf, parse, _: records(tf, ["broken", "broken"]).batch(4).map(parse),
    "one by one": lambda tf, _, parse: records(tf, "broken").map(parse),
    "one by one, batched": lambda tf, _, parse: records(tf, "broken").map(parse).batch(2),
}


@pytest.mark.parametrize("bad", [(0,), (5,), (2, 3), (1, 4), range(7)], ids=str)
@pytest.mark.parametrize("make", FAILING.values(), ids=FAILING)
def test_elements_after_records_that_do_not_parse(make: Any, bad: Any) -> None:
    train = tfrecs.tf.train
    with (
        tfrecs.tf.io.TFRecordWriter("broken") as plain,
        tfrecs.tf.io.TFRecordWriter("broken.gz", "GZIP") as zipped,
    ):
        for number in range(7):
            feature = train.Feature(int64_list=train.Int64List(value=[number]))
            message = train.Example(features=train.Features(feature={"id": feature}))
            for out in (plain, zipped):
                out.write(b"\x0a\xff" if number in bad else message.SerializeToString())

    def program(tf: Any) -> Any:
        spec = {"id": tf.io.FixedLenFeature([], tf.int64)}
        parse = tf.io.parse_example, tf.io.parse_single_example
        return outcomes(make(tf, *[lambda one, f=f: f(one, spec) for f in parse]))

    same(program)


@pytest.mark.parametrize("name", ["middle.gz", "checksum.gz", "none.gz", "junk.gz", "checksum.z"])
def test_errors_of_compressed_records(name: str) -> None:
    kind = "ZLIB" if name.endswith(".z") else "GZIP"
    same(lambda tf: list(records(tf, name, compression_type=kind)))
    same(lambda tf: list(records(tf, ["ex.tfrecord.gz", name], compression_type=kind)))
    same(lambda tf: list(tf.compat.v1.io.tf_record_iterator(name, tf.io.TFRecordOptions(kind))))


@pytest.mark.parametrize("name", ["middle.gz", "none.gz", "lines.gz"])
def test_errors_of_compressed_lines(name: str) -> None:
    same(lambda tf: list(tf.data.TextLineDataset(name, compression_type="GZIP")))


def test_a_file_of_another_compression() -> None:
    same(lambda tf: list(records(tf, "ex.tfrecord.gz")))
    same(lambda tf: list(records(tf, "ex.z", compression_type="GZIP")))
    same(lambda tf: list(records(tf, "ex.tfrecord", compression_type="ZLIB")))
