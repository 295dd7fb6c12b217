"""cache(path): elements in a file, whole or not at all, and only those of this plan and files."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from plans import SPEC, STEPS, example

import tfrecs
from tfrecs.dataset.transforms.element_codec import decode, encode
from tfrecs.testing import assert_resumes, same

COUNT = 24


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with tfrecs.RecordWriter(tmp_path / "a.tfrecord") as out:
        out.write_batch([example(n) for n in range(COUNT)])
    return tmp_path / "a.tfrecord"


def files_beside(path: Path) -> set[str]:
    return {one.name for one in path.parent.iterdir()} - {path.name}


def plain(element: Any) -> Any:
    """What a cache makes of an element: a dict of a Batch."""
    if isinstance(element, tfrecs.Batch):
        return dict(element)
    return tuple(map(plain, element)) if isinstance(element, tuple) else element


@pytest.mark.parametrize("name", STEPS)
def test_what_comes_out_is_what_went_in(path: Path, name: str) -> None:
    ds = STEPS[name](tfrecs.Dataset(path, SPEC))
    expected = list(map(plain, islice(ds, 100)))
    finite = STEPS[name](tfrecs.Dataset(path, SPEC)).take(100)
    cached = finite.cache(path.parent / "kept")
    assert same(list(map(plain, cached)), expected), "the first pass"
    again = list(cached)
    assert same(again, expected), "and those after it"
    assert [type(one) for one in again] == [type(one) for one in expected]
    assert same(list(cached.repeat(2)), expected * 2)


def test_it_resumes_while_it_is_made_and_when_it_is_there(path: Path) -> None:
    kept = path.parent / "kept"
    ds = tfrecs.Dataset(path, SPEC).shuffle(1).batch(5)
    makes: list[Callable[[], tfrecs.Dataset]] = [
        lambda: ds.map(dict).cache(kept),
        lambda: ds.map(dict).cache(kept).repeat(3).map(len),
        lambda: tfrecs.Dataset(path, SPEC).map(twice).cache(kept).shuffle(3, 7).batch(4),
    ]
    for make in makes:
        it = iter(make())
        states, rest = [it.state_dict()], []
        for element in it:
            rest.append(element)
            states.append(it.state_dict())
        for step, state in enumerate(states):
            kept.unlink(missing_ok=True)
            again = iter(make())
            again.load_state_dict(json.loads(json.dumps(state)))
            assert same(list(again), rest[step:])
        assert kept.exists()
        assert_resumes(make())
        kept.unlink()


def test_passes_that_do_not_end_leave_nothing_after(path: Path) -> None:
    ds = tfrecs.Dataset(path, SPEC).map(dict).cache(path.parent / "kept")
    it = iter(ds)
    next(it)
    it.close()
    assert not files_beside(path)
    it = iter(ds)
    next(it)
    del it
    assert not files_beside(path)
    for broken in (ds.map(lambda _: 1 // 0), tfrecs.Dataset(path).map(lambda _: 1 // 0)):
        with pytest.raises(ZeroDivisionError):
            list(broken.cache(path.parent / "other"))
    assert not files_beside(path)
    list(ds.take(COUNT - 1))
    assert not files_beside(path)
    list(ds.prefetch(2).take(3))
    assert not files_beside(path)
    list(ds)
    assert "kept" in files_beside(path)


def test_what_a_killed_pass_left_is_removed(path: Path) -> None:
    script = """
import os, signal, sys, tfrecs
it = iter(tfrecs.Dataset(sys.argv[1]).cache(sys.argv[1] + ".kept"))
next(it)
os.kill(os.getpid(), signal.SIGKILL)
"""
    run = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert run.returncode == -signal.SIGKILL
    assert len(files_beside(path)) == 1
    ds = tfrecs.Dataset(path).cache(f"{path}.kept")
    assert list(ds) == list(ds) == list(tfrecs.Dataset(path))
    assert files_beside(path) == {f"{path.name}.kept"}


def test_several_passes_at_once(path: Path) -> None:
    ds = tfrecs.Dataset(path).cache(path.parent / "kept")
    expected = list(tfrecs.Dataset(path))
    assert list(ds.zip(ds)) == [(one, one) for one in expected]
    assert list(ds) == expected
    (path.parent / "kept").unlink()
    script = "import sys, tfrecs; print(len(list(tfrecs.Dataset(sys.argv[1]).cache(sys.argv[2]))))"
    command = [sys.executable, "-c", script, str(path), str(path.parent / "kept")]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [run.communicate()[0] for run in runs] == [f"{COUNT}\n"] * 4
    assert list(ds) == expected
    assert files_beside(path) == {"kept"}


def twice(row: Any) -> Any:
    return row["n"] * 2


def thrice(row: Any) -> Any:
    return row["n"] * 3


def test_a_cache_of_something_else_is_refused(path: Path) -> None:
    kept = path.parent / "kept"
    ds = tfrecs.Dataset(path, SPEC)
    list(ds.shuffle(1).map(twice).cache(kept))

    def refused(other: tfrecs.Dataset, what: str) -> None:
        with pytest.raises(tfrecs.StateError, match=what) as caught:
            list(other.cache(kept))
        assert caught.value.path == str(kept)
        assert kept.exists()

    refused(ds.shuffle(2).map(twice), r"step 2 was '.shuffle\(1\)', and here is '.shuffle\(2\)'")
    refused(ds.shuffle(1), "step 3 was '.map.*twice.*', and here is nothing")
    refused(ds.shuffle(1).map(thrice), "step 3 was .*twice.* here is .*thrice")
    refused(tfrecs.Dataset(path).shuffle(1).map(twice), "step 1 was 'Dataset', and")
    refused(ds.shard(2, 0).map(twice), "step 2")
    other = path.parent / "b.tfrecord"
    with tfrecs.RecordWriter(other) as out:
        out.write(example(1))
    refused(tfrecs.Dataset(other, SPEC).shuffle(1).map(twice), "files after it")
    for data in (path.read_bytes(), b"", b"something else"):
        kept.write_bytes(data)
        with pytest.raises(tfrecs.Error, match="kept"):
            list(ds.cache(kept))


def made(factor: Any, how: str) -> Callable[[Any], Any]:
    if how == "closure":
        return lambda row: row["n"] * factor
    if how == "partial":
        return functools.partial(lambda by, row: row["n"] * by, factor)

    class Times:
        def __call__(self, row: Any) -> Any:
            return int(row["n"]) in {1, 2, "c"}

    return Times()


@pytest.mark.parametrize("value", ["lambda row: row['n'] * 3", "lambda row: abs(row['n'])"])
def test_a_function_with_another_body_has_changed(path: Path, value: str) -> None:
    """Also if the change is in a function inside it."""
    kept = path.parent / "kept"
    ds = tfrecs.Dataset(path, SPEC)
    first = "lambda row: row['n'] * 2"
    for outer in ("{}", "lambda row: ({})(row)"):
        kept.unlink(missing_ok=True)
        list(ds.map(eval(outer.format(first))).cache(kept))
        with pytest.raises(tfrecs.StateError, match=r"the function .* has changed"):
            list(ds.map(eval(outer.format(value))).cache(kept))


@pytest.mark.parametrize("how", ["closure", "partial", "object"])
def test_functions_are_known_by_their_code(path: Path, how: str) -> None:
    kept = path.parent / "kept"
    ds = tfrecs.Dataset(path, SPEC)
    expected = list(ds.map(made(2, how)))
    assert list(ds.map(made(2, how)).cache(kept)) == expected
    assert list(ds.map(made(2, how)).cache(kept)) == expected
    if how != "object":
        with pytest.raises(tfrecs.StateError, match=r"the function .* has changed"):
            list(ds.map(made(3, how)).cache(kept))
    header, *rest = tfrecs.RecordReader(kept)
    old = json.loads(header) | {"python": [3, 1], "functions": [["made", "otherwise"]]}
    with tfrecs.RecordWriter(kept) as out:
        out.write_batch([json.dumps(old).encode(), *rest])
    assert list(ds.map(made(3, how)).cache(kept)) == expected, "another Python compiles otherwise"


def test_shards_have_caches_of_their_own(path: Path) -> None:
    kept = path.parent / "kept"
    list(tfrecs.Dataset(path).shard(2, 0).cache(kept))
    with pytest.raises(tfrecs.StateError, match="shard"):
        list(tfrecs.Dataset(path).shard(2, 1).cache(kept))


def test_how_many_there_are_is_known_from_the_file(path: Path) -> None:
    ds = tfrecs.Dataset(path, SPEC).filter(lambda row: row["n"] % 2).map(twice)
    cached = ds.cache(path.parent / "kept")
    assert cached.cardinality() is None
    list(cached)
    assert cached.cardinality() == COUNT // 2


def test_what_no_file_can_keep_says_so(path: Path) -> None:
    ds = tfrecs.Dataset(path)
    for thing in ({1, 2}, np.array([None]), {1: 2}, np.zeros(1, [("a", "i4")]), 1j):
        with pytest.raises(tfrecs.SpecError, match="cannot be kept in a file"):
            list(ds.map(lambda _, thing=thing: thing).cache(path.parent / "kept"))  # type: ignore[misc]
    assert not files_beside(path)


def test_a_fork_does_not_touch_the_file_of_its_parent(path: Path) -> None:
    it = iter(tfrecs.Dataset(path).map(bytes).cache(path.parent / "kept"))
    next(it)
    child = os.fork()
    if child == 0:
        try:
            it.close()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    list(it)
    assert list(tfrecs.Dataset(path).map(bytes).cache(path.parent / "kept")) == [
        example(n) for n in range(COUNT)
    ]


DTYPES = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?"),
    arrays.complex_number_dtypes(),
    arrays.unicode_string_dtypes(),
    arrays.byte_string_dtypes(),
    arrays.datetime64_dtypes(),
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    TEXTS,
    st.binary(max_size=9),
    arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, min_side=0, max_dims=3)),
    arrays.from_dtype(np.dtype("f4")),
    st.lists(st.binary(max_size=4), max_size=6).map(tfrecs.BytesArray.from_values),
    st.lists(st.binary(max_size=4), max_size=6).map(tfrecs.Records),
    st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=3).map(
        lambda rows: tfrecs.RaggedTensor.from_rows(rows, np.int64)
    ),
)
ELEMENTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(TEXTS, inner, max_size=3),
    ),
    max_leaves=6,
)


def equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(
            equal(found[key], expected[key]) for key in expected
        )
    if isinstance(expected, list | tuple):
        return type(found) is type(expected) and all(map(equal, found, expected))
    if isinstance(expected, float):
        return type(found) is type(expected) and repr(found) == repr(expected)
    if isinstance(expected, np.ndarray | np.generic):
        same_kind = type(found) is type(expected) and found.dtype == expected.dtype
        return same_kind and found.shape == expected.shape and found.tobytes() == expected.tobytes()
    return same(found, expected)


@settings(max_examples=300)
@given(element=ELEMENTS)
def test_any_element_comes_back(element: Any) -> None:
    assert equal(decode(encode(element)), element)


@settings(max_examples=300)
@given(element=ELEMENTS, data=st.data())
def test_other_bytes_are_an_element_or_an_error(element: Any, data: st.DataObject) -> None:
    record = bytearray(encode(element))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(record) - 1))
        record[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(record)))
    for damaged in (bytes(record), bytes(record[:cut])):
        try:
            decode(damaged)
        except tfrecs.CorruptRecordError as error:
            assert "no element of a cache" in str(error)


def test_arrays_are_copies_that_can_be_written_to(optional: Callable[[str], ModuleType]) -> None:
    (back,) = decode(encode((np.arange(3),)))
    back[0] = 7
    assert back.tolist() == [7, 1, 2]
    bfloat16 = optional("ml_dtypes").bfloat16
    assert decode(encode(np.ones(2, bfloat16))).dtype == bfloat16
    sparse = tfrecs.SparseTensor([[0, 1]], [7], [2, 2])
    assert decode(encode(sparse)).to_dense().tolist() == [[0, 7], [0, 0]]
