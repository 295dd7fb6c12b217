"""The real files that other people's programs wrote behave as their manifest says."""

import hashlib
import json
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest

import tfrecs

DATA = needs.shared_data()
FILES: list[dict[str, Any]] = json.loads((DATA / "MANIFEST.json").read_text())
VALID = [entry for entry in FILES if entry["category"] == "valid"]
EXAMPLES = [entry for entry in VALID if entry["kind"] == "tf.train.Example"]
SEQUENCES = [entry for entry in VALID if entry["kind"] == "tf.train.SequenceExample"]
# What the error must say of the files that are no TFRecords. RecordIO has no mark to know it by.
NEGATIVES = {
    "PaddlePaddle__VisualDL/vdlrecords.1621839455.log": "VisualDL",
    "google-research__pegasus/data.recordio": None,
    "google__grain/alphabet.bag-00000-of-00002": "Bagz",
    "google__grain/digits.array_record-00000-of-00002": "ArrayRecord",
}
WORDS = {"bytes": bytes, "float": float, "int64": int}


def named(entries: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", entries, ids=[entry["file"] for entry in entries])


def described(values: list[Any]) -> list[Any]:
    """A feature as the manifest describes it; one without a kind decodes as an empty list."""
    for word, kind in WORDS.items():
        if values and type(values[0]) is kind:
            return [word, len(values)]
    return ["unset", 0]


def same(found: list[Any], expected: list[Any]) -> bool:
    return found == expected or (found == ["unset", 0] and expected[1] == 0)


def test_all_files_are_here() -> None:
    assert len(FILES) == 76
    assert len(EXAMPLES) == 49
    assert {entry["file"] for entry in FILES if entry["category"] == "negative"} == set(NEGATIVES)
    present = {str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file()}
    assert present == {entry["file"] for entry in FILES} | {"MANIFEST.json"}


@named(VALID)
def test_framing(entry: dict[str, Any]) -> None:
    path = DATA / entry["file"]
    reader = tfrecs.RecordReader(path)
    assert reader.compression_type == entry["compression"].replace("none", "")
    records = list(reader)
    assert len(records) == entry["records"]
    assert min(map(len, records)) == entry["smallest_record"]
    assert max(map(len, records)) == entry["largest_record"]
    assert tfrecs.count(path) == len(records)
    report = tfrecs.verify(path)
    assert (report.ok, report.records) == (True, len(records))
    assert report.files[0].compression_type == reader.compression_type
    batched = tfrecs.RecordReader(path, reader.compression_type).read_batch(10**9)
    assert batched == records
    assert batched.nbytes == sum(map(len, records))


@named([entry for entry in VALID if "first_bytes" in (entry["first_record"] or {})])
def test_first_bytes(entry: dict[str, Any]) -> None:
    first = next(tfrecs.RecordReader(DATA / entry["file"]))
    expected = bytes.fromhex(entry["first_record"]["first_bytes"])
    assert first[: len(expected)] == expected


@named(EXAMPLES)
def test_examples(entry: dict[str, Any]) -> None:
    records = tfrecs.RecordReader(DATA / entry["file"]).read_batch(10**9)
    first = tfrecs.decode_example(records[0])
    assert first.keys() == entry["first_record"].keys()
    for name, values in first.items():
        assert same(described(values), entry["first_record"][name]), name
    rows = [tfrecs.decode_example(record) for record in records]
    check_missing(entry, rows)
    check_columns(rows, tfrecs.decode_batch(records))


def check_missing(entry: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    names = {name for row in rows for name in row}
    assert entry["missing_features"] == any(row.keys() != names for row in rows)


def check_columns(rows: list[dict[str, Any]], batch: tfrecs.Batch) -> None:
    """Columns and rows are two views of the same."""
    assert batch.num_rows == len(rows)
    assert set(batch) == {name for row in rows for name in row}
    for name, column in batch.items():
        assert isinstance(column, tfrecs.RaggedTensor)
        found = [values or [] for values in column.tolist()]
        assert found == [row.get(name, []) for row in rows], name


@named([entry for entry in EXAMPLES if entry["records"] <= 1000])
def test_examples_survive_encoding(entry: dict[str, Any]) -> None:
    records = list(tfrecs.RecordReader(DATA / entry["file"]))
    for record in records:
        features = tfrecs.decode_example(record)
        again = tfrecs.encode_example(features)
        assert tfrecs.decode_example(again) == features
    columns = tfrecs.encode_batch(tfrecs.decode_batch(records))
    for record, row in zip(records, columns, strict=True):
        filled = {name: values for name, values in tfrecs.decode_example(record).items() if values}
        found = {name: values for name, values in tfrecs.decode_example(row).items() if values}
        assert found == filled


@named(EXAMPLES)
def test_examples_agree_with_protobuf(entry: dict[str, Any]) -> None:
    needs.optional("google.protobuf")
    for number, record in enumerate(tfrecs.RecordReader(DATA / entry["file"])):
        if number == 50:
            break
        message = tfrecs.Example.FromString(record)
        expected = {
            name: list(getattr(feature, feature.WhichOneof("kind") or "int64_list").value)
            for name, feature in message.features.feature.items()
        }
        assert tfrecs.decode_example(record) == expected


@named(SEQUENCES)
def test_sequence_examples(entry: dict[str, Any]) -> None:
    records = list(tfrecs.RecordReader(DATA / entry["file"]))
    context, lists = tfrecs.decode_sequence_example(records[0])
    expected = entry["first_record"]
    assert context.keys() == expected["context"].keys()
    assert lists.keys() == expected["feature_lists"].keys()
    for name, values in context.items():
        assert same(described(values), expected["context"][name]), name
    for name, steps in lists.items():
        count, *first = expected["feature_lists"][name]
        assert len(steps) == count
        assert not steps or same(described(steps[0]), first), name
    for record in records[:500]:
        again = tfrecs.encode_sequence_example(*tfrecs.decode_sequence_example(record))
        assert tfrecs.decode_sequence_example(again) == tfrecs.decode_sequence_example(record)


@named([entry for entry in FILES if entry["category"] == "negative"])
def test_files_of_other_formats(entry: dict[str, Any]) -> None:
    path, word = DATA / entry["file"], NEGATIVES[entry["file"]]
    others = () if word else (tfrecs.CorruptRecordError,)
    kinds: tuple[type[tfrecs.Error], ...] = (tfrecs.NotTFRecordError, *others)
    with pytest.raises(kinds) as caught:
        list(tfrecs.RecordReader(path))
    assert caught.value.path == str(path)
    assert (word or "") in str(caught.value)
    with pytest.raises(kinds):
        tfrecs.count(path)
    report = tfrecs.verify(path)
    assert (report.ok, report.records) == (False, 0)


@named([entry for entry in FILES if entry["category"] == "corrupt"])
def test_the_file_with_wrong_data_checksums(entry: dict[str, Any]) -> None:
    path = DATA / entry["file"]
    with pytest.raises(tfrecs.CorruptRecordError, match="checksum of its data") as caught:
        list(tfrecs.RecordReader(path))
    assert (caught.value.path, caught.value.record, caught.value.offset) == (str(path), 0, 0)
    records = list(tfrecs.RecordReader(path, verify=False))
    assert sum(len(record) + 16 for record in records) == entry["bytes"]
    assert tfrecs.count(path) == len(records)
    assert not tfrecs.verify(path)


def test_a_data_set_by_a_pattern() -> None:
    shards = str(DATA / "tensorflow__benchmarks" / "train-*")
    assert tfrecs.count(shards) == 8 * 64
    assert tfrecs.verify(shards).records == 8 * 64


def test_mnist_in_columns() -> None:
    records = tfrecs.RecordReader(DATA / "tensorflow__tfx" / "mnist.tfrecord").read_batch(10**6)
    spec = {
        "image_floats": tfrecs.FixedLenFeature([28, 28], "float32"),
        "image_class": tfrecs.FixedLenFeature([], "int64"),
    }
    batch = tfrecs.parse_example(records, spec)
    images, labels = batch["image_floats"], batch["image_class"]
    assert isinstance(images, np.ndarray)
    assert isinstance(labels, np.ndarray)
    assert images.shape == (1000, 28, 28)
    assert images.dtype == np.float32
    assert set(labels.tolist()) == set(range(10))


@pytest.fixture(scope="module", autouse=True)
def _unchanged() -> Any:
    """No test writes into the folder."""
    yield
    for entry in FILES:
        data = (DATA / entry["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"], entry["file"]


def test_every_file_cut_in_the_middle(tmp_path: Path) -> None:
    for entry in VALID:
        data = (DATA / entry["file"]).read_bytes()[:-1]
        path = tmp_path / "cut"
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        report = tfrecs.verify(path)
        assert isinstance(report.errors[0], tfrecs.TruncatedFileError), entry["file"]
        assert report.records >= entry["records"] - 1
