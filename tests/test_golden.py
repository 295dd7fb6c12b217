"""Golden files that TensorFlow wrote (golden/make_golden.py): the judge where it is missing."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reference
import reference_rules
import tfrecs
from reference import Columns, Dense, Fixed, Sparse, Spec, Var
from reference_rules import RejectedError

GOLDEN = Path(__file__).resolve().parent / "golden"
RECORDS = [bytes.fromhex(record) for record in json.loads((GOLDEN / "records.json").read_text())]
PARSE = json.loads((GOLDEN / "parse.json").read_text())

# TensorFlow's words, which our text keeps.
WORDS = {
    "missing": "is required but could not be found",
    "kind": "Data types don't match",
    "count": "values != expected",
}


# ---------------------------------------------------------------- records


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("records*.tfrecord*")), ids=lambda path: path.name
)
def test_records_are_read(path: Path) -> None:
    with tfrecs.RecordReader(path) as reader:
        assert list(reader) == RECORDS


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("empty.tfrecord*")), ids=lambda path: path.name)
def test_no_records_are_read(path: Path) -> None:
    with tfrecs.RecordReader(path) as reader:
        assert list(reader) == []


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("flushed.*")), ids=lambda path: path.name)
def test_a_stream_without_end_gives_its_records_and_an_error(path: Path) -> None:
    with tfrecs.RecordReader(path) as reader:
        records = iter(reader)
        assert [next(records) for _ in RECORDS] == RECORDS
        with pytest.raises(tfrecs.TruncatedFileError):
            next(records)


def test_records_are_written_as_tensorflow_writes_them(tmp_path: Path) -> None:
    for name in ("records.tfrecord", "records.tfrecord.gz", "records.tfrecord.zlib"):
        with tfrecs.RecordWriter(tmp_path / name) as writer:
            for record in RECORDS:
                writer.write(record)
    plain = (GOLDEN / "records.tfrecord").read_bytes()
    assert (tmp_path / "records.tfrecord").read_bytes() == plain
    assert gzip.decompress((tmp_path / "records.tfrecord.gz").read_bytes()) == plain
    assert zlib.decompress((tmp_path / "records.tfrecord.zlib").read_bytes()) == plain


# ---------------------------------------------------------------- parse_example


def spec_of(features: dict[str, Any]) -> Spec:
    return {name: feature_of(feature) for name, feature in features.items()}


def feature_of(feature: dict[str, Any]) -> Fixed | Var:
    if "var" in feature:
        return Var(feature["var"])
    dtype, default = feature["fixed"], feature["default"]
    values = None if default is None else tuple(values_of(dtype, default))
    return Fixed(tuple(feature["shape"]), dtype, values)


def columns_of(columns: dict[str, Any]) -> Columns:
    return {name: column_of(column) for name, column in columns.items()}


def column_of(column: dict[str, Any]) -> Dense | Sparse:
    column = column | {"values": values_of(column["dtype"], column["values"])}
    return (
        Sparse(**column)
        if "indices" in column
        else Dense(**column | {"shape": (*column["shape"],)})
    )


def values_of(dtype: str, values: list[Any]) -> list[Any]:
    return list(map(bytes.fromhex, values)) if dtype == "string" else values


def check(call: Callable[[], dict[str, Any]], expected: dict[str, Any]) -> None:
    if "columns" in expected:
        found = {name: reference.column(value) for name, value in call().items()}
        assert found == columns_of(expected["columns"])
        return
    with pytest.raises(tfrecs.ParseError) as caught:
        call()
    assert caught.value.feature == expected["refused"]["feature"]
    assert WORDS[expected["refused"]["reason"]] in str(caught.value)


@pytest.mark.parametrize("case", PARSE["cases"], ids=lambda case: f"{len(case['records'])}-records")
def test_parse(case: dict[str, Any]) -> None:
    records = list(map(bytes.fromhex, case["records"]))
    features = reference.build(tfrecs, spec_of(case["spec"]))
    check(lambda: tfrecs.parse_example(records, features), case["batch"])
    if records:
        check(lambda: tfrecs.parse_single_example(records[0], features), case["single"])


@pytest.mark.parametrize("case", PARSE["cases"], ids=lambda case: f"{len(case['records'])}-records")
def test_the_reference_agrees(case: dict[str, Any]) -> None:
    """reference.py, which other tests judge by, gives TensorFlow's answers."""
    records = list(map(bytes.fromhex, case["records"]))
    try:
        found = reference_rules.parse(records, spec_of(case["spec"]))
    except RejectedError as rejected:
        assert case["batch"]["refused"]["reason"] in {fault.reason for fault in rejected.faults}
    else:
        assert found == columns_of(case["batch"]["columns"])


@pytest.mark.parametrize(
    "case", PARSE["defaults"], ids=lambda case: f"{case['shape']}-{case['dtype']}-{case['default']}"
)
def test_default(case: dict[str, Any]) -> None:
    def call() -> dict[str, Any]:
        feature = tfrecs.FixedLenFeature(case["shape"], case["dtype"], case["default"])
        return tfrecs.parse_example([b"", b""], {"a": feature})

    if "refused" in case:
        errors = {"data": tfrecs.ParseError, "spec": tfrecs.SpecError}
        with pytest.raises(errors[case["refused"]]):
            call()
    else:
        check(call, case)


@pytest.mark.parametrize("case", PARSE["wire"], ids=lambda case: case["name"])
def test_wire(case: dict[str, Any]) -> None:
    """Where TensorFlow's parser and protobuf's differ, protobuf's reading is ours."""
    features = {"a": tfrecs.VarLenFeature("int64")}
    record, expected = bytes.fromhex(case["data"]), case["expected"]
    if expected == "refused":
        with pytest.raises(tfrecs.ParseError):
            tfrecs.parse_single_example(record, features)
    else:
        found: Any = tfrecs.parse_single_example(record, features)["a"]
        assert found.values.tolist() == (expected or [])
