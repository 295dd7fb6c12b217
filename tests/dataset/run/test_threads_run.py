"""Other Python threads run while one call reads, makes or copies much.

How long they wait is measured by `make bench ARGS="--parts threads"`; here they are counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tfrecs

MB = 1 << 20
# So often another thread must have run during a call of some 50 ms or more. Where a call keeps the
# interpreter to itself, it gets its turn when the call ends.
TURNS = 2

Call = Callable[[], object]


class Beats:
    """How often a thread has run."""

    def __init__(self) -> None:
        self.count = 0
        self.ended = False

    def run(self) -> None:
        while not self.ended:
            self.count += 1
            time.sleep(0.0005)


@contextmanager
def beating() -> Iterator[Beats]:
    beats = Beats()
    thread = threading.Thread(target=beats.run)
    thread.start()
    try:
        yield beats
    finally:
        beats.ended = True
        thread.join()


def turns_during(call: Call) -> int:
    """How often another thread runs between the first and the last instruction of a call."""
    with beating() as beats:
        time.sleep(0.01)
        before = beats.count
        call()
        return beats.count - before


@pytest.fixture(scope="module")
def content() -> bytes:
    return bytes(range(256)) * (160 * MB // 256)


@pytest.fixture(scope="module")
def integers() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(3_000_000) << 20


def test_large_records_are_copied_beside_other_threads(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write(content)
    calls: dict[str, Call] = {
        "open": lambda: tfrecs.open(path, index="memory")[0],
        "reader": lambda: list(tfrecs.RecordReader(path)),
        "records": lambda: tfrecs.Records([content]),
        "tolist": tfrecs.Records([content]).tolist,
    }
    turns = {name: turns_during(call) for name, call in calls.items()}
    assert {name: count for name, count in turns.items() if count < TURNS} == {}


def test_large_examples_are_decoded_beside_other_threads(
    content: bytes, integers: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> None:
    large = tfrecs.encode_example({"x": content})
    wide = tfrecs.encode_example({"x": integers})
    many = tfrecs.encode_example({"x": [b"text"] * 2_000_000})
    steps = tfrecs.encode_sequence_example({}, {"x": [[1, 2]] * 500_000})
    calls: dict[str, Call] = {
        "a byte string": lambda: tfrecs.decode_example(large),
        "integers": lambda: tfrecs.decode_example(wide),
        "byte strings": lambda: tfrecs.decode_example(many),
        "steps": lambda: tfrecs.decode_sequence_example(steps),
    }
    turns = {name: turns_during(call) for name, call in calls.items()}
    assert {name: count for name, count in turns.items() if count < TURNS} == {}


def test_large_examples_are_encoded_beside_other_threads(
    content: bytes, integers: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> None:
    values = integers.tolist()
    calls: dict[str, Call] = {
        "a byte string": lambda: tfrecs.encode_example({"x": content}),
        "an array": lambda: tfrecs.encode_example({"x": integers}),
        "every other element": lambda: tfrecs.encode_example({"x": np.repeat(integers, 4)[::2]}),
        "floats": lambda: tfrecs.encode_example({"x": np.repeat(integers, 4).astype(np.float64)}),
        "a list": lambda: tfrecs.encode_example({"x": values}),
        "byte strings": lambda: tfrecs.encode_example({"x": [content[:MB]] * 200}),
    }
    turns = {name: turns_during(call) for name, call in calls.items()}
    assert {name: count for name, count in turns.items() if count < TURNS} == {}


def test_long_lists_are_whole(integers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    for count in (0, 1, (1 << 15) - 1, 1 << 15, (1 << 15) + 1, 100_000):
        values = integers[:count]
        record = tfrecs.encode_example(
            {"i": values, "f": values.astype("f4"), "l": values.tolist()}
        )
        found = tfrecs.decode_example(record)
        assert found["i"] == found["l"] == values.tolist()
        assert found["f"] == values.astype("f4").tolist()


def test_a_list_of_two_kinds_is_refused_wherever_they_meet() -> None:
    for count in (1, (1 << 15) - 1, 1 << 15, (1 << 15) + 1, 1 << 16, (1 << 16) + 1):
        with pytest.raises(tfrecs.SpecError, match="its values are int or bool and float"):
            tfrecs.encode_example({"x": [*range(count), 0.5]})
        mixed = [*range(count), True, *range(count)]
        assert tfrecs.decode_example(tfrecs.encode_example({"x": mixed})) == {"x": mixed}
