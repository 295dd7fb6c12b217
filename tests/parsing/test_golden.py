"""Golden files that TensorFlow wrote (golden/make_golden.py): the judge where it is missing."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reference
import reference_rules
from golden_cases import columns_of, faults_of, spec_of
from reference import SequenceColumns, SequenceSpec
from reference_rules import Fault, RejectedError

import tfrecs

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
RECORDS = [bytes.fromhex(record) for record in json.loads((GOLDEN / "records.json").read_text())]
PARSE = json.loads((GOLDEN / "parse.json").read_text())

# Of broken bytes it is not said which words tell of them.
WORDS = {"malformed": ("",), **reference_rules.WORDS}


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


# ---------------------------------------------------------------- the parse functions

FAMILIES = ("Example", "SequenceExample")
BATCH = {"Example": "parse_example", "SequenceExample": "parse_sequence_example"}
SINGLE = {"Example": "parse_single_example", "SequenceExample": "parse_single_sequence_example"}
RULES: dict[str, Callable[..., Any]] = {
    "parse_example": reference_rules.parse,
    "parse_single_example": reference_rules.parse_single,
    "parse_sequence_example": reference_rules.parse_sequence,
    "parse_single_sequence_example": reference_rules.parse_single_sequence,
}


def questions(family: str) -> Iterator[Any]:
    """Every question of a family: a function, what to parse with which spec, and the outcome."""
    for number, case in enumerate(PARSE[family]):
        spec, records = spec_of(case["spec"]), list(map(bytes.fromhex, case["records"]))
        yield pytest.param(BATCH[family], records, spec, case["batch"], id=f"{number}")
        for i, (record, expected) in enumerate(zip(records, case["singles"], strict=True)):
            if expected is not None:
                yield pytest.param(SINGLE[family], record, spec, expected, id=f"{number}.{i}")


QUESTIONS = [question for family in FAMILIES for question in questions(family)]


def features_of(spec: Any) -> list[Any]:
    parts = spec if isinstance(spec, SequenceSpec) else [spec]
    return [reference.build(tfrecs, part) for part in parts]


def settled(found: Any, spec: Any) -> Any:
    return found if isinstance(found, SequenceColumns) else reference.settled(found, spec)


@pytest.mark.parametrize(("function", "given", "spec", "expected"), QUESTIONS)
def test_parse(function: str, given: Any, spec: Any, expected: dict[str, Any]) -> None:
    def call() -> Any:
        return getattr(tfrecs, function)(given, *features_of(spec))

    faults = faults_of(expected.get("refused", []))
    try:
        found = settled(in_our_form(call()), spec)
    except tfrecs.ParseError as error:
        check_refused(error, faults, numbered=isinstance(given, list))
        return
    if not faults:
        assert found == columns_of(expected["columns"])
        return
    # What is broken where nobody asked need not be noticed.
    assert {fault.reason for fault in faults} == {"malformed"}
    assert found == settled(RULES[function](given, spec, strict=False), spec)


def in_our_form(result: Any) -> Any:
    if isinstance(result, tuple):
        return SequenceColumns(*map(reference.columns, (*result, {})[:3]))
    return reference.columns(result)


def check_refused(error: tfrecs.ParseError, faults: list[Fault], *, numbered: bool) -> None:
    """It is refused for one of the faults; where bytes are broken, another may be met first."""
    assert any(
        (not numbered or error.record == fault.record)
        and (fault.reason == "malformed" or error.feature in (fault.feature, *fault.keys))
        and any(words in str(error) for words in WORDS[fault.reason])
        for fault in faults
    ), (error, faults)


@pytest.mark.parametrize(("function", "given", "spec", "expected"), QUESTIONS)
def test_the_reference_agrees(
    function: str, given: Any, spec: Any, expected: dict[str, Any]
) -> None:
    """reference_rules.py, which other tests judge by, gives TensorFlow's answers."""
    try:
        found = RULES[function](given, spec)
    except RejectedError as rejected:
        assert rejected.faults == faults_of(expected["refused"])
    else:
        assert settled(found, spec) == columns_of(expected["columns"])


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
        assert reference.columns(call()) == columns_of(case["columns"])


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


@pytest.mark.parametrize("case", PARSE["sequence_wire"], ids=lambda case: case["name"])
def test_sequence_wire(case: dict[str, Any]) -> None:
    """The same of feature lists."""
    features = {"a": tfrecs.RaggedFeature("int64")}
    record, expected = bytes.fromhex(case["data"]), case["expected"]
    if expected == "refused":
        with pytest.raises(tfrecs.ParseError):
            tfrecs.parse_single_sequence_example(record, None, features)
    else:
        found: Any = tfrecs.parse_single_sequence_example(record, None, features)[1]["a"]
        assert found.tolist() == (expected or [])
