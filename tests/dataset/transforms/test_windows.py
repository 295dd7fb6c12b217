"""What is shuffled in windows is read in cells; nobody can tell, but by the time that it takes."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import Any

import frames
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from orders import Step, gathered, order_at, order_length

import tfrecs
from tfrecs.columns.batch import Batch

FEATURES: Any = (("n", "int64", "fixed", [], None),)


def example(number: int, padding: int = 0) -> bytes:
    return tfrecs.encode_example({"n": number, "padding": b"\0" * padding})


def files(folder: Path, sizes: list[int], codecs: list[str], padding: int = 0) -> list[Path]:
    folder.mkdir(exist_ok=True)
    numbers = iter(range(sum(sizes)))
    return [
        frames.save(
            folder / f"{at}",
            frames.compressed(
                codec, frames.plain(example(number, padding) for number in islice(numbers, size))
            ),
        )
        for at, (size, codec) in enumerate(zip(sizes, codecs, strict=False))
    ]


def numbers_of(batches: Any) -> list[list[int]]:
    return [Batch(columns)["n"].tolist() for columns, _ in batches]


WINDOWS = st.tuples(
    st.just("window"), st.integers(0, 9), st.integers(1, 20) | st.sampled_from([100, 2**62])
)
BELOW = st.lists(
    st.sampled_from([("shuffle", 1), ("blocks", 2, 3), ("skip", 3), ("repeat", 2)]), max_size=2
)
ABOVE = st.lists(
    st.sampled_from(
        [
            ("repeat", 3),
            ("repeat", None),
            ("shard", 2, 1, 0, "pad"),
            ("shard", 3, 0, 1, "drop"),
            ("stripe", 4, 2, 1),
            ("skip", 9),
            ("take", 50),
            ("window", 4, 6),
            ("shuffle", 5),
        ]
    ),
    max_size=3,
)


@settings(max_examples=80, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=3),
    codecs=st.lists(st.sampled_from(frames.CODECS), min_size=3, max_size=3),
    below=BELOW,
    window=WINDOWS,
    above=ABOVE,
    batch=st.integers(1, 40),
    first=st.integers(0, 4),
    threads=st.integers(1, 4),
    epoch=st.integers(0, 3),
)
def test_batches_are_of_the_records_in_this_order(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    codecs: list[str],
    below: list[Step],
    window: Step,
    above: list[Step],
    batch: int,
    first: int,
    threads: int,
    epoch: int,
) -> None:
    records = tfrecs.open(files(tmp_path_factory.mktemp("windows"), sizes, codecs))
    steps: list[Step] = [("records", len(records)), *below, window, *above]
    try:
        length = order_length(steps)
    except tfrecs.SpecError:
        reject()  # Without end, and shuffled.
    start = first * batch
    stop = start + 300 if length is None else length
    order = order_at(steps, start, stop, epoch)
    expected = [order[at : at + batch] for at in range(0, len(order), batch)]
    named: dict[str, Any] = {
        "batch": batch,
        "first_batch": first,
        "num_threads": threads,
        "epoch": epoch,
    }
    if length is None:
        expected = expected[:-1]
    count = len(expected) if length is None else None
    raw = gathered(records, steps, **named)
    assert [some.tolist() for some in islice(raw, count)] == [
        [example(number) for number in some] for some in expected
    ]
    raw.close()
    found = gathered(records, steps, **named, features=FEATURES)
    for (columns, places), some in zip(islice(found, count), expected, strict=True):
        assert Batch(columns)["n"].tolist() == some
        for row, number in enumerate(some):
            error = places.parse_error(row, "", "n", "wrong")
            assert (error.path, error.record) == records.locate(number)
    found.close()


@pytest.fixture(scope="module", params=["", "GZIP", "ZLIB"])
def paths(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of 2,000 records and 6 MB together: several cells."""
    return files(tmp_path_factory.mktemp("large"), [1000, 0, 1000], [request.param] * 3, 3000)


@pytest.fixture
def large(paths: list[Path]) -> tfrecs.IndexedRecords:
    return tfrecs.open(paths)


@pytest.mark.parametrize("size", [1, 50, 700, 5000])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_windows_over_many_cells(large: tfrecs.IndexedRecords, size: int, threads: int) -> None:
    for below in ([], [("blocks", 3, 300)], [("shuffle", 2)]):
        steps: list[Step] = [("records", 2000), *below, ("window", 1, size), ("repeat", 2)]
        order = order_at(steps, 0, 4000, 1)
        batches = gathered(large, steps, epoch=1, batch=90, num_threads=threads, features=FEATURES)
        assert [*chain.from_iterable(numbers_of(batches))] == order
        batches = gathered(large, steps, epoch=1, batch=90, first_batch=30, num_threads=threads)
        assert [one for some in batches for one in some] == large[order[30 * 90 :]].tolist()


def test_dropped_early_and_closed(large: tfrecs.IndexedRecords) -> None:
    steps: list[Step] = [("records", 2000), ("window", 1, 500), ("repeat", None)]
    for taken in range(8):
        batches = gathered(large, steps, num_threads=4, batch=100)
        for _ in range(taken):
            next(batches)
        if taken % 2:
            batches.close()
            assert list(batches) == []


@pytest.mark.parametrize("features", [None, FEATURES])
@pytest.mark.parametrize("steps", [[], [("repeat", 2)], [("shard", 2, 0, 0, "pad")]])
def test_damage_is_told_where_the_order_comes_to_it(
    tmp_path: Path, features: Any, steps: list[Step]
) -> None:
    paths = files(tmp_path, [100, 100, 100], ["", "", ""])
    records = tfrecs.open(paths, index="memory")
    everything: list[Step] = [("records", 300), ("window", 8, 40), *steps]
    order = order_at(everything, 0, 300, 0)
    damaged = next(number for number in order if 150 < number < 190)
    path, number = records.locate(damaged)
    data = bytearray(Path(path).read_bytes())
    start = frames.starts(list(map(example, range(100, 200))))[number]
    data[start + 14] ^= 1
    Path(path).write_bytes(data)
    records = tfrecs.open(paths, index="memory")
    batches = gathered(records, everything, features=features)
    for _ in range(order.index(damaged) // 7):
        next(batches)
    with pytest.raises(tfrecs.CorruptRecordError) as caught:
        next(batches)
    assert (caught.value.path, caught.value.record, caught.value.offset) == (path, number, start)
    assert list(batches) == []


@pytest.mark.parametrize("codec", ["", "GZIP"])
def test_what_does_not_fit_is_told_with_its_place(tmp_path: Path, codec: str) -> None:
    records = tfrecs.open(files(tmp_path, [50, 50], [codec, codec]), index="memory")
    steps: list[Step] = [("records", 100), ("window", 8, 30)]
    first = order_at(steps, 0, 1, 0)[0]
    wrong: Any = (("n", "bytes", "fixed", [], None),)
    with pytest.raises(tfrecs.ParseError) as caught:
        next(gathered(records, steps, features=wrong))
    starts = frames.starts(list(map(example, range(50))))
    assert (caught.value.path, caught.value.record) == records.locate(first)
    assert caught.value.offset == starts[first]


def test_errors_in_batches_that_were_copied_have_their_place(tmp_path: Path) -> None:
    records = tfrecs.open(files(tmp_path, [50, 50], ["", "GZIP"]), index="memory")
    steps: list[Step] = [("records", 100), ("window", 8, 30)]
    order = order_at(steps, 0, 100, 0)
    read = records[order]
    (copied,) = gathered(records, steps, batch=100)
    assert copied == read
    for row in range(100):
        ours, theirs = (some.parse_error(row, "", "n", "wrong") for some in (copied, read))
        assert (ours.path, ours.record, ours.offset) == (theirs.path, theirs.record, theirs.offset)


def test_a_file_that_has_changed_is_noticed(tmp_path: Path) -> None:
    paths = files(tmp_path, [50, 50], ["", ""])
    records = tfrecs.open(paths, index="memory")
    paths[1].write_bytes(b"")
    with pytest.raises(tfrecs.StateError, match="changed"):
        list(gathered(records, [("records", 100), ("window", 8, 30)]))


# --- Compressed files ---


def test_compressed_files_are_shuffled_in_blocks(tmp_path: Path) -> None:
    sizes = [300, 200]
    plain = tfrecs.Dataset(files(tmp_path / "plain", sizes, ["", ""]), FEATURES_BY_NAME).shuffle(5)
    mixed_paths = files(tmp_path, sizes, ["", "GZIP"], 40_000)
    mixed = tfrecs.Dataset(mixed_paths, FEATURES_BY_NAME).shuffle(5)
    found = [int(row["n"]) for row in plain]
    assert found == order_at([("records", 500), ("shuffle", 5)], 0, 500, 0)
    total = sum(len(example(number, 40_000)) + 16 for number in range(500))
    block = (2 << 20) * 500 // total
    steps = [("records", 500), ("blocks", 5, block), ("window", 5, 16 * block)]
    found = [int(n) for batch in mixed.batch(30) for n in batch["n"]]
    assert found == order_at(steps, 0, 500, 0)
    assert sorted(found) == [*range(500)]
    assert [int(row["n"]) for row in mixed] == found


FEATURES_BY_NAME = {"n": tfrecs.FixedLenFeature([], "int64")}


def test_blocks_are_the_same_for_ever() -> None:
    steps = [("records", 22), ("blocks", 7, 4)]
    assert order_at(steps, 0, 22, 3) == [
        12,
        13,
        14,
        15,
        0,
        1,
        2,
        3,
        8,
        9,
        10,
        11,
        4,
        5,
        6,
        7,
        16,
        17,
        18,
        19,
        20,
        21,
    ]
    assert order_at([*steps, ("window", 7, 8)], 0, 22, 3) == [
        13,
        2,
        15,
        3,
        1,
        11,
        4,
        0,
        12,
        6,
        10,
        14,
        5,
        7,
        9,
        19,
        8,
        17,
        16,
        18,
        20,
        21,
    ]
