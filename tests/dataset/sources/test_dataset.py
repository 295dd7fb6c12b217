"""Dataset: files → batches on several threads, in order."""

from __future__ import annotations

import gc
import gzip
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tasks import has_threads, needs_proc, own_threads

import tfrecs
from torture.heard import ended_by

SPEC: dict[str, Any] = {
    "n": tfrecs.FixedLenFeature([], "int64"),
    "name": tfrecs.FixedLenFeature([], "string", default_value=b"?"),
    "tags": tfrecs.VarLenFeature("string"),
    "x": tfrecs.FixedLenSequenceFeature([2], "float32", allow_missing=True),
    "at": tfrecs.SparseFeature("i", "v", "float32", 9),
    "rows": tfrecs.RaggedFeature("int64", "flat", [tfrecs.RaggedFeature.RowLengths("lengths")]),
}


def example(n: int) -> bytes:
    row: dict[str, Any] = {"n": n, "tags": [b"t"] * (n % 3), "x": [0.5] * (2 * (n % 4))}
    row |= {"i": [*range(n % 5)], "v": [1.0 * n] * (n % 5)}
    row |= {"flat": [*range(n % 7)], "lengths": [n % 7]}
    return tfrecs.encode_example(row | ({"name": f"r{n}"} if n % 2 else {}))


def write(path: Path, records: list[bytes], compression_type: str = "") -> Path:
    with tfrecs.RecordWriter(path, compression_type) as out:
        out.write_batch(records)
    return path


def shards(folder: Path, sizes: list[int], compression_type: str = "") -> list[Path]:
    """Write files of that many examples, numbered on."""
    numbers = iter(range(sum(sizes)))
    return [
        write(
            folder / f"{shard}.tfrecord",
            [example(next(numbers)) for _ in range(size)],
            compression_type,
        )
        for shard, size in enumerate(sizes)
    ]


def assert_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, tfrecs.SparseTensor):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found.tolist() == expected.tolist()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.integers(1, 50),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from(["", "GZIP", "ZLIB"]),
)
def test_batches_are_what_parse_example_makes_of_the_records_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    n: int,
    threads: int,
    drop: bool,
    compression_type: str,
) -> None:
    paths = shards(tmp_path_factory.mktemp("shards"), sizes, compression_type)
    total = sum(sizes)
    starts = range(0, total - n + 1 if drop else total, n)
    expected = [[example(i) for i in range(at, min(at + n, total))] for at in starts]
    raw = tfrecs.Dataset(paths, num_threads=threads).batch(n, drop_remainder=drop)
    assert [batch.tolist() for batch in raw] == expected
    parsed = tfrecs.Dataset(paths, SPEC, num_threads=threads).batch(n, drop_remainder=drop)
    found = list(parsed)
    assert len(found) == len(expected)
    for batch, records in zip(found, expected, strict=True):
        contract = tfrecs.parse_example(records, SPEC)
        assert list(batch) == list(SPEC)
        assert batch.num_rows == len(records)
        for name, column in contract.items():
            assert_same(batch[name], column)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("size", [100, 16_000, 60_000, 600_000])
def test_large_records_are_the_same_by_whatever_way_they_are_read(
    tmp_path: Path, size: int, verify: bool
) -> None:
    records = [
        tfrecs.encode_example({"data": bytes([n]) * (size + n), "n": n}) for n in range(30)
    ] + [tfrecs.encode_example({"data": b"small", "n": n}) for n in range(30, 40)]
    path = write(tmp_path / "a", records)
    spec = {"data": tfrecs.FixedLenFeature([], "string"), "n": tfrecs.FixedLenFeature([], "int64")}
    for threads in (1, 3):
        options: dict[str, Any] = {"num_threads": threads, "verify": verify}
        raw = [batch.tolist() for batch in tfrecs.Dataset([path, path], **options).batch(7)]
        assert [record for batch in raw for record in batch] == records * 2
        batches = [*tfrecs.Dataset([path, path], spec, **options).batch(7)]
        assert np.concatenate([batch["n"] for batch in batches]).tolist() == [*range(40)] * 2
        data = [value for batch in batches for value in batch["data"].tolist()]
        assert data == [tfrecs.decode_example(record)["data"][0] for record in records] * 2


def test_kept_batches_stay_as_they_are(tmp_path: Path) -> None:
    paths = shards(tmp_path, [500])
    batches = list(tfrecs.Dataset(paths, SPEC, num_threads=3).batch(10))
    again = tfrecs.Dataset(paths, SPEC, num_threads=3).batch(10)
    for batch, other in zip(batches, again, strict=True):
        for name in SPEC:
            assert_same(batch[name], other[name])


def test_an_array_that_is_kept_outlives_its_batch(tmp_path: Path) -> None:
    paths = shards(tmp_path, [400])
    kept = []
    for number, batch in enumerate(tfrecs.Dataset(paths, SPEC, num_threads=2).batch(10)):
        if number % 3 == 0:
            kept.append((number, batch["n"], batch["name"]))
        del batch
    gc.collect()
    for number, values, names in kept:
        rows = range(10 * number, 10 * number + 10)
        assert values.tolist() == [*rows]
        assert names.tolist() == [b"r%d" % n if n % 2 else b"?" for n in rows]


def sequence(n: int) -> bytes:
    return tfrecs.encode_sequence_example(
        {"id": n}, {"tokens": [*range(n % 5)], "tags": [["a"] * (n % 2), ["b"]]}
    )


def test_sequence_examples_are_what_parse_sequence_example_makes(tmp_path: Path) -> None:
    records = [sequence(n) for n in range(50)]
    path = write(tmp_path / "s", records)
    context = {"id": tfrecs.FixedLenFeature([], "int64")}
    lists: dict[str, Any] = {
        "tokens": tfrecs.FixedLenSequenceFeature([], "int64", allow_missing=True),
        "tags": tfrecs.RaggedFeature("string"),
    }
    ds = tfrecs.Dataset(path, context_features=context, sequence_features=lists).batch(20)
    starts = 0
    for found in ds:
        some = records[starts : starts + 20]
        starts += 20
        for one, other in zip(
            found, tfrecs.parse_sequence_example(some, context, lists), strict=True
        ):
            assert list(one) == list(other)
            for name, value in other.items():
                assert_same(one[name], value)
    assert starts == 60
    single = [*tfrecs.Dataset(path, context_features=context)]
    assert [int(row["id"]) for row, _ in single] == [*range(50)]


def test_padded_arrays_are_kept_and_their_memory_is_used_again(tmp_path: Path) -> None:
    """Whether the array, or the batch, or nothing is kept: rows are 0 to 6 long, and at last 50."""
    rows = [
        [[float(n), float(step), 0.5] for step in range(n % 7 if n < 396 else 50)]
        for n in range(400)
    ]
    records = [
        tfrecs.encode_sequence_example({}, {"xs": row, "ns": [*range(len(row))]}) for row in rows
    ]
    lists: dict[str, Any] = {
        "xs": tfrecs.FixedLenSequenceFeature([3], "float32"),
        "ns": tfrecs.FixedLenSequenceFeature([], "uint8"),
    }
    path = write(tmp_path / "s", records)
    kept: list[Any] = []
    addresses = []
    for number, (_, batch, lengths) in enumerate(
        tfrecs.Dataset(path, sequence_features=lists, num_threads=2).batch(4)
    ):
        addresses.append(batch["xs"].ctypes.data)
        if number % 5 != 0:
            kept.append((number, batch if number % 5 == 1 else {**batch}, lengths))
        del batch
    assert len(set(addresses)) < len(addresses)
    for number, found, lengths in kept:
        some = records[4 * number : 4 * number + 4]
        _, expected, _ = tfrecs.parse_sequence_example(some, None, lists)
        for name, value in expected.items():
            assert_same(found[name], value)
        wanted = [len(row) for row in rows[4 * number : 4 * number + 4]]
        assert [of.tolist() for of in lengths.values()] == [wanted, wanted]


def test_without_batch_it_gives_record_by_record(tmp_path: Path) -> None:
    paths = shards(tmp_path, [300, 5])
    records = [example(n) for n in range(305)]
    assert list(tfrecs.Dataset(paths)) == records
    for row, record in zip(tfrecs.Dataset(paths, SPEC), records, strict=True):
        expected = tfrecs.parse_single_example(record, SPEC)
        assert row["n"] == expected["n"]


def test_a_batch_goes_to_arrow(tmp_path: Path) -> None:
    pa = needs.optional("pyarrow")
    (batch,) = tfrecs.Dataset(shards(tmp_path, [5]), SPEC).batch(9)
    assert pa.record_batch(batch).column("n").to_pylist()[0] in (0, [0])


# --- What can be wrong ---


def test_errors_name_file_record_and_feature(tmp_path: Path) -> None:
    good = shards(tmp_path, [25])[0]
    wrong = write(tmp_path / "wrong", [example(0), tfrecs.encode_example({"n": "text"})])
    batches = iter(tfrecs.Dataset([good, wrong], SPEC, num_threads=2).batch(10))
    assert [next(batches).num_rows for _ in range(2)] == [10, 10]
    with pytest.raises(tfrecs.ParseError, match="Data types don't match") as caught:
        next(batches)
    error = caught.value
    assert (error.path, error.record, error.feature) == (str(wrong), 1, "n")
    assert error.offset == 12 + len(example(0)) + 4
    assert list(batches) == []


def test_errors_found_in_python_name_the_record_too(tmp_path: Path) -> None:
    bad = tfrecs.encode_example({"n": 1, "i": [1, 2], "v": [1.0]})
    path = write(tmp_path / "bad", [example(0), bad])
    batches = iter(tfrecs.Dataset([path], SPEC).batch(5))
    with pytest.raises(tfrecs.ParseError, match="2 indices") as caught:
        next(batches)
    assert (caught.value.path, caught.value.record) == (str(path), 1)
    assert list(batches) == []


@pytest.mark.parametrize("size", [10, 50_000])
@pytest.mark.parametrize("features", [None, {"x": tfrecs.FixedLenFeature([], "string")}])
def test_damage_is_the_error_that_a_reader_gives(
    tmp_path: Path, size: int, features: dict[str, Any] | None
) -> None:
    records = [tfrecs.encode_example({"x": bytes([n]) * size}) for n in range(40)]
    whole = write(tmp_path / "whole", records).read_bytes()
    frame = 16 + len(records[0])
    for at in (3, 20 + size // 2, 21 * frame + 5, 30 * frame + 30, len(whole) - 2):
        flipped = bytearray(whole)
        flipped[at] ^= 1
        for data in (bytes(flipped), whole[:at]):
            (tmp_path / "bad").write_bytes(data)
            try:
                expected: Any = list(tfrecs.RecordReader(tmp_path / "bad"))
            except tfrecs.Error as error:
                expected = str(error)
            ds = tfrecs.Dataset(tmp_path / "bad", features, num_threads=3).batch(6)
            try:
                found: Any = [record for batch in ds for record in _records_of(batch, records)]
            except tfrecs.Error as error:
                found = str(error)
            assert found == expected


def _records_of(batch: Any, records: list[bytes]) -> list[bytes]:
    if isinstance(batch, tfrecs.Records):
        return batch.tolist()
    return [records[value[0]] for value in batch["x"].tolist()]


def test_unverified_data_is_not_looked_at(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b"abc", b"def"])
    data = bytearray(path.read_bytes())
    data[12] = ord("A")
    path.write_bytes(data)
    (batch,) = tfrecs.Dataset(path, verify=False).batch(5)
    assert batch.tolist() == [b"Abc", b"def"]
    with pytest.raises(tfrecs.CorruptRecordError, match="record 0 at byte 0"):
        list(tfrecs.Dataset(path).batch(5))


def test_a_file_that_becomes_shorter_is_an_error(tmp_path: Path) -> None:
    record = tfrecs.encode_example({"x": bytes(100_000)})
    path = write(tmp_path / "a", [record] * 200)
    batches = iter(tfrecs.Dataset(path, num_threads=1).batch(2))
    next(batches)
    os.truncate(path, 50 * (len(record) + 16) + 20)
    with pytest.raises(tfrecs.TruncatedFileError, match="record 50 at byte"):
        list(batches)


def test_missing_files_and_other_formats(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file matches"):
        tfrecs.Dataset(str(tmp_path / "*.tfrecord"))
    with pytest.raises(FileNotFoundError):
        list(tfrecs.Dataset(tmp_path / "nowhere").batch(2))
    (tmp_path / "html").write_text("<!DOCTYPE html><html>")
    with pytest.raises(tfrecs.NotTFRecordError, match="HTML"):
        list(tfrecs.Dataset(tmp_path / "html").batch(2))


def test_wrong_requests_say_what_is_wrong(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [b""])
    ds = tfrecs.Dataset(path)
    for n in (0, -1, True, 1.5, "3"):
        with pytest.raises(tfrecs.SpecError, match="positive number of records"):
            ds.batch(n)  # type: ignore[arg-type]
    with pytest.raises(tfrecs.SpecError, match="batches of 2 already"):
        ds.batch(2).batch(2)
    with pytest.raises(tfrecs.SpecError, match="num_threads"):
        tfrecs.Dataset(path, num_threads=0)
    with pytest.raises(tfrecs.SpecError, match="a file holds one of the two"):
        tfrecs.Dataset(path, SPEC, context_features=SPEC)
    with pytest.raises(tfrecs.SpecError, match="mapping of names to features"):
        tfrecs.Dataset(path, ["x"])  # type: ignore[arg-type]
    with pytest.raises(tfrecs.SpecError, match="compression_type"):
        list(tfrecs.Dataset(path, compression_type="BZ2").batch(1))


def test_batch_describes_a_new_dataset(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [example(1)])
    ds = tfrecs.Dataset(path, {"n": tfrecs.FixedLenFeature([], "int64")})
    batched = ds.batch(4, drop_remainder=True)
    assert batched is not ds
    assert repr(batched) == "\n".join(
        [
            f"Dataset({str(path)!r})",
            "  features:",
            "    n: FixedLenFeature(shape=[], dtype='int64', default_value=None)",
            "  .batch(4, drop_remainder=True)",
        ]
    )
    assert ".batch" not in repr(ds)
    assert repr(tfrecs.Dataset([path, path])) == "Dataset(2 files)"


# --- Threads ---


@needs_proc
def test_nothing_is_left_after(tmp_path: Path) -> None:
    paths = shards(tmp_path, [2000])
    files = len([*Path("/proc/self/fd").iterdir()])
    for taken in (0, 1, 3):
        batches = iter(tfrecs.Dataset(paths, SPEC, num_threads=4).batch(5))
        for _ in range(taken):
            next(batches)
        assert own_threads() <= 4  # the last ones may not have begun
        del batches
        gc.collect()
        assert has_threads(0)
    for batch in tfrecs.Dataset(paths, num_threads=4).batch(5):
        assert len(batch) == 5
        break
    list(tfrecs.Dataset(paths, num_threads=4).batch(5))
    gc.collect()
    assert has_threads(0)
    assert len([*Path("/proc/self/fd").iterdir()]) == files


def test_several_iterators_at_once_and_from_several_threads(tmp_path: Path) -> None:
    ds = tfrecs.Dataset(shards(tmp_path, [300]), SPEC, num_threads=2).batch(7)
    for one, other in zip(ds, ds, strict=True):
        assert one["n"].tolist() == other["n"].tolist()
    shared = iter(ds)
    seen: list[int] = []

    def take() -> None:
        seen.extend(n for batch in shared for n in batch["n"].tolist())

    takers = [threading.Thread(target=take) for _ in range(4)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert sorted(seen) == [*range(300)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_is_told_and_can_begin_anew(tmp_path: Path) -> None:
    ds = tfrecs.Dataset(shards(tmp_path, [300]), SPEC, num_threads=2).batch(7)
    batches = iter(ds)
    next(batches)
    context = multiprocessing.get_context("fork")
    queue: Any = context.Queue()

    def child() -> None:
        try:
            next(batches)
        except tfrecs.StateError as error:
            queue.put((str(error), sum(batch.num_rows for batch in ds)))

    process = context.Process(target=child)
    process.start()
    text, rows = queue.get(timeout=60)
    process.join()
    assert "another process" in text
    assert (process.exitcode, rows) == (0, 300)
    assert sum(batch.num_rows for batch in batches) == 293


def test_a_dataset_can_be_pickled(tmp_path: Path) -> None:
    ds = tfrecs.Dataset(shards(tmp_path, [30]), SPEC).batch(7)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(rows_of, (ds,)) == 30
    before = [dict(batch) for batch in ds]  # recipes have been made, which stay behind
    for batch, columns in zip(pickle.loads(pickle.dumps(ds)), before, strict=True):
        for name, column in batch.items():
            assert_same(column, columns[name])


def rows_of(ds: tfrecs.Dataset) -> int:
    return sum(batch.num_rows for batch in ds)


INTERRUPTED = """
import gzip, os, signal, sys, threading, tfrecs
ds = tfrecs.Dataset(sys.argv[1], num_threads=2).batch(1 << 40)
print("begun", flush=True)
try:
    list(ds)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_control_c_ends_the_wait(tmp_path: Path) -> None:
    # Gzipped members that hold nothing, for as long as it is read: only a signal ends it.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(pipe)], stdout=subprocess.PIPE, text=True
    )
    with process, ended_by(60, process):
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as writer:
            nothing = gzip.compress(b"") * 1000
            for _ in range(20):
                writer.write(nothing)
            process.send_signal(signal.SIGINT)
            while True:
                writer.write(nothing)
        assert process.stdout.read() == "interrupted\n"
    assert process.returncode == 0
