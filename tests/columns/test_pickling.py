"""Containers of data pickle and copy; under protocol 5 their memory goes out of band."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

SPEC: dict[str, Any] = {
    "n": tfrecs.FixedLenFeature([], "int64"),
    "x": tfrecs.FixedLenFeature([2, 2], "float32"),
    "flag": tfrecs.FixedLenFeature([], "bool"),
    "name": tfrecs.FixedLenFeature([], "string"),
    "list": tfrecs.VarLenFeature("int64"),
    "rows": tfrecs.RaggedFeature("float32"),
    "words": tfrecs.RaggedFeature("string"),
    "sparse": tfrecs.SparseFeature(["list"], "weights", "float32", [9]),
}


def row(n: int) -> bytes:
    k = n % 3
    return tfrecs.encode_example(
        {
            "n": n,
            "x": [n + 0.5, 1.0, 2.0, 3.0],
            "flag": n % 2,
            "name": f"r{n}",
            "list": list(range(k)),
            "weights": [0.5] * k,
            "rows": [n / 2] * k,
            "words": ["w"] * k,
        }
    )


RECORDS = [row(n) for n in range(7)]


def decoded() -> Any:
    return tfrecs.decode_batch(RECORDS)


def parsed(tmp_path: Path) -> Any:
    path = tmp_path / "a.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(RECORDS)
    return next(iter(tfrecs.Dataset(path, SPEC).batch(5)))


def sequences() -> Any:
    records = [tfrecs.encode_sequence_example({"c": n}, {"f": [[n], [n, n]]}) for n in range(3)]
    return tfrecs.decode_sequence_batch(records)[1]


CONTAINERS: dict[str, Callable[[Path], Any]] = {
    "decoded batch": lambda _: decoded(),
    "parsed batch": parsed,
    "sequence batch": lambda _: sequences(),
    "columns": lambda _: decoded().columns,
    "records": lambda _: tfrecs.Records(RECORDS),
    "no records": lambda _: tfrecs.Records([]),
    "opened": lambda folder: (parsed(folder), tfrecs.open(folder / "a.tfrecord"))[1],
    "byte strings": lambda _: tfrecs.BytesArray.from_values([b"a", b"", b"ccc", b"d"]).reshape(
        2, 2
    ),
    "slice of byte strings": lambda _: tfrecs.BytesArray.from_values([b"a", b"bb", b"ccc"])[1:],
    "ragged": lambda _: tfrecs.RaggedTensor.from_rows([[1, 2], [], [3]]),
    "slice of ragged": lambda _: tfrecs.RaggedTensor.from_rows([[1, 2], [], [3]])[1:],
    "missing rows": lambda _: decoded()["words"],
    "sparse": lambda folder: parsed(folder)["sparse"],
    "error": lambda _: tfrecs.ParseError("text", record=1, feature="a"),
}


def plain(value: Any) -> Any:
    """What is in a container, as Python's own."""
    if isinstance(value, tfrecs.Batch):
        return {name: plain(column) for name, column in value.items()}
    if type(value).__name__ == "Columns":
        return plain(tfrecs.Batch(value))
    if isinstance(value, tfrecs.SparseTensor):
        return [plain(value.indices), plain(value.values), plain(value.dense_shape)]
    if isinstance(value, Exception):
        return type(value), str(value), vars(value)
    if isinstance(value, tfrecs.IndexedRecords):
        return list(value)
    dtype = getattr(value, "dtype", None)
    return (None if dtype is None else str(dtype)), value.tolist()


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_what_was_pickled_is_the_same(tmp_path: Path, kind: str, protocol: int) -> None:
    given = CONTAINERS[kind](tmp_path)
    again = pickle.loads(pickle.dumps(given, protocol))
    assert type(again) is type(given)
    assert plain(again) == plain(given)


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_copies_are_the_same(tmp_path: Path, kind: str, how: Callable[[Any], Any]) -> None:
    given = CONTAINERS[kind](tmp_path)
    assert plain(how(given)) == plain(given)


def test_a_deep_copy_has_memory_of_its_own(tmp_path: Path) -> None:
    batch = parsed(tmp_path)
    batch["n"][0] = 70
    again = copy.deepcopy(batch)
    batch["n"][0] = 71
    assert again["n"].tolist() == [70, 1, 2, 3, 4]


def test_slices_take_their_own_values_along() -> None:
    strings = tfrecs.BytesArray.from_values([bytes(100_000), b"a"])[1:]
    rows = tfrecs.RaggedTensor.from_rows([[1] * 100_000, [2]])[1:]
    for one in (strings, rows):
        assert len(pickle.dumps(one)) < 1000


LARGE = 200_000


def large(kind: str) -> Any:
    numbers = tfrecs.encode_batch({"x": np.zeros((100, LARGE // 100), np.float32)})
    texts = tfrecs.encode_batch({"s": [bytes(LARGE // 10)] * 10})
    made: dict[str, Callable[[], Any]] = {
        "batch": lambda: tfrecs.decode_batch(numbers),
        "fixed": lambda: tfrecs.parse_example(
            numbers, {"x": tfrecs.FixedLenFeature([LARGE // 100], "float32")}
        )["x"],
        "strings": lambda: tfrecs.decode_batch(texts),
        "byte strings": lambda: tfrecs.BytesArray.from_values([bytes(LARGE)]),
        "ragged": lambda: tfrecs.RaggedTensor.from_rows([np.zeros(LARGE, np.int8)]),
        "records": lambda: texts,
    }
    return made[kind]()


@pytest.mark.parametrize("kind", ["batch", "fixed", "strings", "byte strings", "ragged", "records"])
def test_memory_goes_out_of_band(kind: str) -> None:
    given = large(kind)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(given, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 5000
    assert sum(buffer.raw().nbytes for buffer in buffers) >= LARGE
    again = pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])
    assert plain(again) == plain(given)


def totals(batch: tfrecs.Batch) -> tuple[list[str], int]:
    return list(batch), int(batch["n"].sum())


def test_process_pools_take_batches(tmp_path: Path) -> None:
    parsed(tmp_path)
    batches = list(tfrecs.Dataset(tmp_path / "a.tfrecord", SPEC).batch(3))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(totals, batches))
    assert found == [(list(SPEC), 3), (list(SPEC), 12), (list(SPEC), 6)]


def test_bfloat16_is_kept() -> None:
    bfloat16 = needs.optional("ml_dtypes").bfloat16
    spec = {"x": tfrecs.FixedLenFeature([2], "bfloat16")}
    batch = tfrecs.decode_batch([tfrecs.encode_example({"x": [1.5, 2.0]})], spec)
    again = pickle.loads(pickle.dumps(batch))
    assert again["x"].dtype == bfloat16
    assert again["x"].tolist() == [[1.5, 2.0]]


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "i": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
                "f": st.lists(st.floats(width=32), max_size=3),
                "s": st.lists(st.binary(max_size=5), max_size=3),
            },
        ),
        max_size=6,
    )
)
def test_any_batch_survives(rows: list[dict[str, Any]]) -> None:
    batch = tfrecs.decode_batch([tfrecs.encode_example(one) for one in rows])
    again = pickle.loads(pickle.dumps(batch))
    assert repr(plain(again)) == repr(plain(batch))
    assert list(tfrecs.encode_batch(again)) == list(tfrecs.encode_batch(batch))
