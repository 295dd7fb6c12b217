"""What the benchmark says must be true of what it measured. No test measures time."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from needs import REPO

import tfrecs
from figures import Row, cells, ratios
from files import made
from framing import frames, spans
from jobs import GZIP, JOBS, MEMBERS, PLAIN, SYSTEMS
from measure import Measurement
from report import Table, markdown_lines, text_lines
from rows import Fixed, Var, as_columns
from workloads import EVERY, WORKLOADS, Spec

BENCH = REPO / "bench"


def row(system: str, *seconds: float, records: int = 100, measured: int = 100) -> Row:
    runs = [Measurement(each, each, measured, 0, "", 0, 0, "1") for each in seconds]
    return Row("tab", "parse", system, records, 1_000_000, tuple(runs))


CELL = [
    row("tfrecs", 1.0, 3.0, 2.0),
    row("tfrecs-1-thread", 4.0),
    row("limit", 0.5),
    row("limit-1-thread", 1.0),
    row("tensorflow", 20.0),
    row("dali", 5.0, measured=50),
    row("vahidk", 8.0),
]


def test_ratios_are_of_medians_of_the_whole_file() -> None:
    ours = ratios(CELL[0], CELL)
    assert (ours.tensorflow, ours.peer, ours.best, ours.limit) == (10.0, 4.0, "vahidk", 4.0)
    assert CELL[5].seconds == 10.0
    assert cells(CELL[5], CELL)[0] == "~10.0"


def test_one_thread_is_compared_with_the_limit_of_one() -> None:
    assert ratios(CELL[1], CELL).limit == 4.0
    assert ratios(CELL[2], CELL) == ratios(CELL[3], CELL)


def test_nothing_is_compared_with_what_is_missing() -> None:
    alone = ratios(CELL[0], CELL[:1])
    assert (alone.tensorflow, alone.peer, alone.limit) == (None, None, None)


def test_words_are_not_repeated_below_themselves() -> None:
    table = Table("title", ("a", "b", "c"), 2, [["x", "y", "1"], ["x", "z", "22"], ["w", "z", "3"]])
    assert text_lines(table) == ["title", "a b  c", "x y  1", "  z 22", "w z  3"]
    assert markdown_lines(table)[:2] == ["| a | b | c |", "|---|---|---:|"]


def test_rows_become_the_columns_of_parse_example() -> None:
    rows: list[dict[str, list[Any]]] = [
        {"x": [1], "y": [1.0, 2.0], "z": [7]},
        {"x": [2], "y": [3.0, 4.0], "z": [8, 9]},
    ]
    spec = {"x": Fixed([], "int64"), "y": Fixed([2], "float32"), "z": Var("int64")}
    examples = [tfrecs.encode_example(row) for row in rows]
    theirs: Spec = {
        "x": tfrecs.FixedLenFeature([], "int64"),
        "y": tfrecs.FixedLenFeature([2], "float32"),
        "z": tfrecs.VarLenFeature("int64"),
    }
    parsed = tfrecs.parse_example(examples, theirs)
    wanted = {name: parsed[name].tolist() for name in ("x", "y")}
    wanted["z"] = [part.tolist() for part in parsed["z"]]
    assert as_columns(rows, spec) == wanted


def test_every_job_is_known() -> None:
    for job in JOBS.values():
        assert set(job.systems) <= set(SYSTEMS)
        assert set(job.workloads) <= set(WORKLOADS)
        assert {name for name, _ in job.at_most} <= set(SYSTEMS)


def test_files_have_the_same_records_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workloads.FOLDER", tmp_path)
    for workload in (WORKLOADS["tab"], EVERY["wide4"]):
        paths = [made(workload, 3000, form) for form in (PLAIN, GZIP, MEMBERS)]
        first, *others = (list(tfrecs.RecordReader(path)) for path in paths)
        assert len(first) == 3000
        assert all(other == first for other in others)
        with paths[0].open("rb") as file:
            assert list(frames(file)) == first
        with paths[0].open("rb") as file:
            assert sum(length for _, length in spans(file)) == paths[0].stat().st_size


def test_the_harness_runs(tmp_path: Path) -> None:
    order = "--workloads seq --jobs read iterate --systems tfrecs limit tensorflow --runs 2"
    rest = "--scale 0.01 --json --python tensorflow=/nowhere"
    command = [sys.executable, str(BENCH / "run.py"), *f"{order} {rest}".split()]
    environment = {**os.environ, "BENCH_FOLDER": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    table = json.loads(done.stdout)["parts"]["table"]
    measured = [(each["job"], each["system"], each["records"]) for each in table["rows"]]
    assert measured == [
        (job, system, 512) for job in ("read", "iterate") for system in ("tfrecs", "limit")
    ]
    assert "tensorflow: it is not installed" in table["skipped"][0]
    assert not table["failures"]
