"""Features that no record has are reported once, when 10,000 records are known."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecs
from tfrecs.parsing import missing_features as missing

RECORD = tfrecs.encode_example({"label": 1})
SEQUENCE = tfrecs.encode_sequence_example({"label": 1}, {"tokens": [[1]]})
KINDS: dict[str, Any] = {
    "VarLenFeature": tfrecs.VarLenFeature("int64"),
    "RaggedFeature": tfrecs.RaggedFeature("int64"),
    "FixedLenSequenceFeature": tfrecs.FixedLenSequenceFeature([], "int64", allow_missing=True),
}
ENOUGH = 10_000


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call before a test counts."""
    monkeypatch.setattr(missing, "_of_functions", {})


def said(run: Callable[[], Any]) -> list[str]:
    """What is warned of, at a line of this file or of the pool whose thread it is."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    found = [one for one in caught if one.category is tfrecs.MissingFeatureWarning]
    assert {Path(one.filename).name for one in found} <= {Path(__file__).name, "thread.py"}
    return [str(one.message) for one in found]


def consume(of: Iterable[Any]) -> None:
    for _ in of:
        pass


@pytest.mark.parametrize("kind", KINDS)
def test_parse_example(kind: str) -> None:
    spec = {"lable": KINDS[kind], "label": KINDS[kind]}
    assert said(lambda: tfrecs.parse_example([RECORD] * (ENOUGH - 1), spec)) == []
    lines = said(lambda: tfrecs.parse_example([RECORD], spec))
    assert lines == [
        "none of the first 10,000 records has the feature 'lable'; did you mean \"label\"?"
    ]
    assert said(lambda: tfrecs.parse_example([RECORD] * ENOUGH, spec)) == []


def test_decode_batch() -> None:
    spec: Any = {"lable": KINDS["VarLenFeature"]}
    (line,) = said(lambda: tfrecs.decode_batch([RECORD] * ENOUGH, spec))
    assert "'lable'; did you mean \"label\"?" in line
    (line,) = said(
        lambda: tfrecs.decode_sequence_batch(
            [SEQUENCE] * ENOUGH, sequence_features={"token": spec["lable"]}
        )
    )
    assert "'token'; did you mean \"tokens\"?" in line


def test_sparse_features_name_their_keys() -> None:
    spec = {"x": tfrecs.SparseFeature("index", "value", "float32", 10)}
    lines = said(lambda: tfrecs.parse_example([RECORD] * ENOUGH, spec))
    assert [line.split("feature ")[1] for line in lines] == ["'index'", "'value'"]


def test_one_record_with_the_feature_is_enough() -> None:
    spec = {"label": tfrecs.VarLenFeature("int64")}
    records = [tfrecs.encode_example({})] * ENOUGH
    assert said(lambda: tfrecs.parse_example([*records[1:], RECORD], spec)) == []
    assert said(lambda: tfrecs.parse_example(records, spec)) == []


def test_an_empty_list_is_a_feature_if_it_has_a_type() -> None:
    spec = {"label": tfrecs.VarLenFeature("float32")}
    typed = tfrecs.encode_example({"label": np.array([], np.float32)})
    assert said(lambda: tfrecs.parse_example([typed] * ENOUGH, spec)) == []
    untyped = tfrecs.encode_example({"label": []})
    missing._of_functions.clear()
    (line,) = said(lambda: tfrecs.parse_example([untyped] * ENOUGH, spec))
    assert line.endswith("has the feature 'label'")


def test_features_with_a_default_are_asked_for_knowingly() -> None:
    spec = {"lable": tfrecs.FixedLenFeature([], "int64", default_value=0)}
    assert said(lambda: tfrecs.parse_example([RECORD] * ENOUGH, spec)) == []


def test_sequences(tmp_path: Path) -> None:
    context = {"lable": tfrecs.VarLenFeature("int64"), "label": tfrecs.VarLenFeature("int64")}
    lists: Any = {
        "token": tfrecs.FixedLenSequenceFeature([], "int64", allow_missing=True),
        "tokens": tfrecs.VarLenFeature("int64"),
    }
    records = [SEQUENCE] * ENOUGH
    path = tmp_path / "a.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        for record in records:
            out.write(record)
    for run in (
        lambda: tfrecs.parse_sequence_example(records, context, lists),
        lambda: consume(
            tfrecs.Dataset(path, context_features=context, sequence_features=lists).batch(999)
        ),
    ):
        context_line, list_line = said(run)
        assert "'lable'; did you mean \"label\"?" in context_line
        assert "'token'; did you mean \"tokens\"?" in list_line


SPEC: dict[str, Any] = {"lable": tfrecs.VarLenFeature("int64")}

PASSES: dict[str, Callable[[tfrecs.Dataset], Any]] = {
    "batch": lambda ds: ds.batch(64),
    "shuffle": lambda ds: ds.shuffle(1).batch(64),
    "buffer": lambda ds: ds.shuffle(1, 100).batch(64),
    "filter": lambda ds: ds.filter(tfrecs.col("label") == 1).batch(64),
    "buckets": lambda ds: ds.bucket_by_length(tfrecs.col("lable").length(), [2], [64, 64]),
    "repeat": lambda ds: ds.repeat(2).batch(64),
    "one by one": lambda ds: ds,
    "prefetch": lambda ds: ds.batch(64).prefetch(4),
}


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_of_a_dataset(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord.gz"
    with tfrecs.RecordWriter(path) as out:
        for _ in range(ENOUGH + 200):
            out.write(RECORD)
    spec: dict[str, Any] = {**SPEC, "label": tfrecs.FixedLenFeature([], "int64")}
    ds = PASSES[name](tfrecs.Dataset(path, spec))
    (line,) = said(lambda: consume(ds))
    assert "'lable'; did you mean \"label\"?" in line
    assert int(line.split()[4].replace(",", "")) in range(ENOUGH, ENOUGH + 1024)
    assert said(lambda: consume(ds)) == []


def test_another_dataset_is_told_again() -> None:
    for _ in range(2):
        assert len(said(lambda: consume(tfrecs.Dataset([RECORD] * ENOUGH, SPEC).batch(100)))) == 1


def test_functions_of_a_user_are_told_too() -> None:
    ds = tfrecs.Dataset([RECORD] * ENOUGH).map(lambda r: tfrecs.parse_single_example(r, SPEC))
    with pytest.warns(tfrecs.MissingFeatureWarning, match='did you mean "label"'):
        consume(ds)


def test_what_functions_remember_is_bounded() -> None:
    for n in range(1000):
        tfrecs.parse_example([RECORD], {f"x{n}": tfrecs.VarLenFeature("int64")})
    assert len(missing._of_functions) <= missing._MOST


def test_no_hint_where_the_file_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        for _ in range(ENOUGH):
            out.write(RECORD)
    batches = iter(tfrecs.Dataset(path, SPEC).batch(ENOUGH // 2))
    next(batches)
    path.unlink()
    (line,) = said(lambda: next(batches))
    assert line.endswith("has the feature 'lable'")


def test_one_feature_at_another_place_of_the_specification() -> None:
    """What is counted for one specification is not looked up in the columns of another."""
    records = [tfrecs.encode_example({"a": 1})]
    fixed, varied = tfrecs.FixedLenFeature([], "int64", 0), tfrecs.VarLenFeature("int64")
    first = tfrecs.parse_example(records, {"a": fixed, "b": fixed, "v": varied})
    second = tfrecs.parse_example(records, {"v": varied})
    assert first["v"].dense_shape.tolist() == second["v"].dense_shape.tolist() == [1, 0]
