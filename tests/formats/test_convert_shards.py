"""What all conversions share: splits, shards, bad inputs, and that a set appears whole or not."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs.formats.shards import (
    Conversion,
    Outcome,
    Output,
    Skipped,
    allot,
    default_split,
    write_shards,
)

BAD = tfrecs.ParseError("x: is bad", path="x", reason="is bad")
SPLITS = {"train": 0.75, "test": 0.25}


def write(
    output: Output, outcomes: Iterable[Outcome], splits: Iterable[int] | None = None
) -> Conversion:
    inputs = list(outcomes)
    numbers = [0] * len(inputs) if splits is None else list(splits)
    return write_shards(
        ((number, f"input-{i}", inputs[i]) for i, number in enumerate(numbers)),
        output,
        total=len(inputs),
        input_bytes=len(inputs),
    )


def test_shards_are_named_and_filled_in_turn(tmp_path: Path) -> None:
    output = Output(tmp_path / "out", SPLITS, {"train": 2, "test": 1}, "GZIP")
    report = write(output, [b"a", b"b", b"c", b"d"], [0, 0, 1, 0])
    names = [Path(path).name for path in report.paths]
    assert names == [
        "train-00000-of-00002.tfrecord.gz",
        "train-00001-of-00002.tfrecord.gz",
        "test-00000-of-00001.tfrecord.gz",
    ]
    assert [list(tfrecs.RecordReader(path)) for path in report.paths] == [
        [b"a", b"d"],
        [b"b"],
        [b"c"],
    ]
    assert (report.written, report.splits["train"].written) == (4, 3)


@pytest.mark.parametrize(("compression", "suffix"), [("", ""), ("GZIP", ".gz"), ("ZLIB", ".zlib")])
def test_compression_is_in_the_name_and_in_the_file(
    compression: str, suffix: str, tmp_path: Path
) -> None:
    (path,) = write(Output(tmp_path, {"all": 1}, None, compression), [b"a"]).paths
    assert path.endswith(f"all-00000-of-00001.tfrecord{suffix}")
    assert tfrecs.RecordReader(path).compression_type == compression


def test_the_number_of_shards_follows_the_size(tmp_path: Path) -> None:
    output = Output(tmp_path, SPLITS)
    assert output.shards_of("train", 1 << 30) == 6
    assert output.shards_of("test", 1 << 30) == 2
    assert output.shards_of("test", 1) == 1


def test_a_bad_input_fails_the_conversion(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.ParseError, match="x: is bad"):
        write(Output(tmp_path / "out", SPLITS), [b"a", BAD])
    assert not (tmp_path / "out").exists()


def test_a_bad_input_is_skipped_and_reported(tmp_path: Path) -> None:
    report = write(Output(tmp_path, {"all": 1}, on_error="skip"), [b"a", BAD, b"c"])
    assert report.skipped == [Skipped("input-1", "is bad")]
    assert list(tfrecs.RecordReader(report.paths[0])) == [b"a", b"c"]


def test_nothing_but_bad_inputs_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.ParseError, match="is bad"):
        write(Output(tmp_path / "out", {"all": 1}, on_error="skip"), [BAD, BAD])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_leaves_what_was_there(error: type[BaseException], tmp_path: Path) -> None:
    def interrupted() -> Iterable[tuple[int, str, bytes]]:
        yield 0, "input", b"a" * 1_000_000
        raise error

    write(Output(tmp_path, SPLITS), [b"old"])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    output = Output(tmp_path, SPLITS, 3, overwrite=True)
    with pytest.raises(error):
        write_shards(interrupted(), output, total=2, input_bytes=1)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_failure_leaves_a_folder_that_was_there(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.ParseError):
        write(Output(tmp_path, SPLITS), [BAD])
    assert list(tmp_path.iterdir()) == []


def test_shards_of_the_same_split_are_never_mixed(tmp_path: Path) -> None:
    write(Output(tmp_path, {"all": 1}, 2), [b"old", b"old"])
    with pytest.raises(FileExistsError, match="all-00000-of-00002"):
        Output(tmp_path, {"all": 1}, 3, "GZIP")
    (tmp_path / "all-00000-of-00002.txt").touch()
    (tmp_path / "all-in-00000-of-00001.tfrecord").touch()
    report = write(Output(tmp_path, {"all": 1}, 3, "GZIP", overwrite=True), [b"new"])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [Path(path).name for path in report.paths]
        + ["all-00000-of-00002.txt", "all-in-00000-of-00001.tfrecord"]
    )


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "{shard} {x} 100% é"
    (path,) = write(Output(folder, {"all": 1}), [b"a"]).paths
    assert Path(path).parent == folder


def test_progress_begins_and_ends(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    output = Output(tmp_path, {"all": 1}, progress=lambda done, total: calls.append((done, total)))
    write(output, [b"a"] * 5000)
    assert calls[0] == (0, 5000)
    assert calls[-1] == (5000, 5000)
    assert calls == sorted(calls)
    assert len(calls) < 1000


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"splits": {"a": 0.5, "b": 0.6}}, "add up to 1.1"),
        ({"splits": {}}, "add up to 0"),
        ({"splits": {"a": 1.0, "b": 0.0}}, "above 0"),
        ({"splits": {"a": float("nan")}}, "above 0"),
        ({"splits": {"../a": 1.0}}, "cannot be named"),
        ({"splits": {"a": 1.0}, "num_shards": {"b": 1}}, "num_shards names"),
        ({"splits": {"a": 1.0}, "num_shards": 0}, "at least 1 shard"),
        (
            {"splits": {"a": 1.0}, "compression_type": "BZIP2"},
            "Not a valid compr",
        ),
        ({"splits": {"a": 1.0}, "on_error": "ignore"}, "not 'ignore'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(tfrecs.SpecError, match=text):
        Output(tmp_path, **options)


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/people.csv", "people"), ("photos/", "photos"), ("my data.csv", "my_data"), ("/", "data")],
)
def test_the_input_names_the_only_split(path: str, name: str) -> None:
    assert default_split(path) == {name: 1.0}


FRACTIONS = st.lists(st.integers(1, 20), min_size=1, max_size=4).map(
    lambda parts: {str(i): part / sum(parts) for i, part in enumerate(parts)}
)


@given(st.lists(st.integers(0, 50), max_size=20), FRACTIONS, st.integers())
def test_every_group_is_split_as_evenly_as_can_be(
    groups: list[int], splits: dict[str, float], seed: int
) -> None:
    choices = allot(groups, splits, random.Random(seed))
    assert choices == allot(groups, splits, random.Random(seed))
    assert len(choices) == sum(groups)
    end = 0
    for size in groups:
        begin, end = end, end + size
        for number, fraction in enumerate(splits.values()):
            assert abs(choices[begin:end].count(number) - fraction * size) < 2
            assert abs(choices[:end].count(number) - fraction * end) < 1


def test_uneven_splits_get_what_is_due_most_first() -> None:
    choices = allot([5], {"a": 0.38, "b": 0.38, "c": 0.24}, random.Random(0))
    assert [choices.count(split) for split in range(3)] == [2, 2, 1]


def test_small_groups_add_up() -> None:
    choices = allot([1] * 100, {"train": 0.9, "test": 0.1}, random.Random(0))
    assert choices.count(1) == 10
