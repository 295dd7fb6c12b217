"""decode_proto: messages of any type as columns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

needs.optional("google.protobuf")

# After the line that skips this file where there is no protobuf.
from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: E402
from google.protobuf.message import DecodeError  # noqa: E402
from proto_types import NUMBERS, SET, Frame, Inner, Numbers, Old, descriptor_set  # noqa: E402


def decoded(kind: Any, messages: list[Any], fields: Any = None, **options: Any) -> tfrecs.Batch:
    records = [message.SerializeToString() for message in messages]
    return tfrecs.decode_proto(records, kind, fields, **options)


def column(kind: Any, messages: list[Any], field: str, **options: Any) -> Any:
    batch = decoded(kind, messages, field, **options)
    assert list(batch) == [field]
    return batch[field]


FRAMES = [
    Frame(
        name="é",
        data=[b"\xff", b""],
        one=Inner(n=1, ns=[1, 2]),
        many=[Inner(n=5, ns=[6]), Inner(ns=[7, 8])],
        camera=1,
        counts={"b": 2, "a": 1},
        by_id={4: Inner(n=40), -3: Inner(n=30, many=[Inner(), Inner(n=31)])},
        left=0,
        maybe=0.5,
    ),
    Frame(),
    Frame(many=[Inner()], right="r", one=Inner(), camera=99),
]


# --- Which fields ---


def test_all_plain_values_of_the_top_level_by_default() -> None:
    batch = decoded(Frame, FRAMES)
    names = ["name", "data", "camera", "counts.key", "counts.value", "left", "right", "maybe"]
    assert list(batch) == names
    assert batch.num_rows == 3
    assert {name: batch[name].tolist() for name in names} == {
        "name": ["é".encode(), b"", b""],
        "data": [[b"\xff", b""], [], []],
        "camera": [1, 0, 99],
        "counts.key": [[b"a", b"b"], [], []],
        "counts.value": [[1, 2], [], []],
        "left": [0, 0, 0],
        "right": [b"", b"", b"r"],
        "maybe": [0.5, 0.0, 0.0],
    }


@pytest.mark.parametrize("name", NUMBERS)
def test_every_type_of_number(name: str) -> None:
    dtype = np.dtype(NUMBERS[name])
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    values = [limits.min, limits.max] if limits else [True] if dtype.kind == "b" else [-1.5, 0.1]
    stored = np.array(values, dtype).tolist()
    messages = [Numbers(**{f"one_{name}": stored[-1], f"all_{name}": stored * 2}), Numbers()]
    batch = decoded(Numbers, messages, [f"one_{name}", f"all_{name}"])
    one: Any = batch[f"one_{name}"]
    many: Any = batch[f"all_{name}"]
    assert (one.dtype, one.tolist()) == (dtype, [stored[-1], 0])
    assert (many.values.dtype, many.tolist()) == (dtype, [stored * 2, []])


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("one.n", [1, 0, 0]),
        ("one.ns", [[1, 2], [], []]),
        ("one.inner.inner.n", [0, 0, 0]),
        ("many.n", [[5, 0], [], [0]]),
        ("many.ns", [[[6], [7, 8]], [], [[]]]),
        ("many.many.many.ns", [[[], []], [], [[]]]),
        ("by_id.key", [[-3, 4], [], []]),
        ("by_id.value.n", [[30, 40], [], []]),
        ("by_id.value.many.n", [[[0, 31], []], [], []]),
        ("many.inner.n", [[0, 0], [], [0]]),
    ],
)
def test_paths(field: str, expected: list[Any]) -> None:
    found = column(Frame, FRAMES, field)
    assert found.tolist() == expected
    assert isinstance(found, tfrecs.RaggedTensor) == isinstance(expected[0], list)


def test_whole_messages_are_serialized() -> None:
    one = column(Frame, FRAMES, "one")
    assert [Inner.FromString(value) for value in one.tolist()] == [m.one for m in FRAMES]
    many = column(Frame, FRAMES, "many")
    assert [[Inner.FromString(v) for v in row] for row in many.tolist()] == [
        list(message.many) for message in FRAMES
    ]
    by_id = column(Frame, FRAMES, "by_id.value").tolist()
    assert [Inner.FromString(value).n for value in by_id[0]] == [30, 40]


def test_fields_keep_the_order_asked_for() -> None:
    assert list(decoded(Frame, FRAMES, ("many.n", "name", "many.n"))) == ["many.n", "name"]
    assert list(decoded(Frame, FRAMES, iter(["right"]))) == ["right"]


def test_proto2() -> None:
    messages = [Old(text="a", count=0, part=[Old.Part(size=3), Old.Part()]), Old()]
    records = [message.SerializePartialToString() for message in messages]
    batch = tfrecs.decode_proto(records, Old, ["count", "text", "part.size"])
    assert {name: values.tolist() for name, values in batch.items()} == {
        "count": [0, 7],
        "text": [b"a", b""],
        "part.size": [[3, 0], []],
    }
    assert tfrecs.decode_proto([b"\x12\x01\xff"], Old)["text"].tolist() == [b"\xff"]


# --- What is missing ---


def test_missing_fields_can_be_kept() -> None:
    names = ["name", "left", "right", "maybe", "one.n", "one.ns", "one", "many.n", "counts.key"]
    batch = decoded(Frame, FRAMES, names, keep_missing=True)
    one = [[message.one.SerializeToString()] for message in FRAMES]
    assert {name: batch[name].tolist() for name in names} == {
        "name": ["é".encode(), b"", b""],  # proto3 does not know whether it is set
        "left": [[0], None, None],
        "right": [None, None, [b"r"]],
        "maybe": [[0.5], None, None],
        "one.n": [[1], None, [0]],
        "one.ns": [[1, 2], None, []],
        "one": [one[0], None, one[2]],
        "many.n": [[5, 0], [], [0]],
        "counts.key": [[b"a", b"b"], [], []],
    }
    left: Any = batch["left"]
    assert left.missing.tolist() == [False, True, True]


def test_a_field_that_nobody_or_everybody_sets() -> None:
    assert column(Frame, [Frame()] * 2, "left", keep_missing=True).tolist() == [None, None]
    found = column(Frame, [Frame(left=3)] * 2, "left", keep_missing=True)
    assert isinstance(found, tfrecs.RaggedTensor)
    assert found.tolist() == [[3], [3]]


# --- Which message ---


@pytest.mark.parametrize(
    "given",
    [SET, descriptor_set(), "set.pb", Path("set.pb")],
    ids=lambda given: type(given).__name__,
)
def test_descriptor_sets(given: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("set.pb").write_bytes(SET)
    for _ in range(2):
        assert column(given, FRAMES, "one.n", message_type="p.Frame").tolist() == [1, 0, 0]
    inner = tfrecs.decode_proto([b"\x20\x03"], given, message_type="old.Old.Part")
    assert inner["size"].tolist() == [3]


def test_a_descriptor() -> None:
    assert column(Frame.DESCRIPTOR, FRAMES, "one.n").tolist() == [1, 0, 0]


def test_the_order_of_the_files_does_not_matter() -> None:
    files = FileDescriptorSet(file=reversed(descriptor_set().file))
    assert column(files, FRAMES, "one.n", message_type="p.Frame").tolist() == [1, 0, 0]


def test_the_pools_do_not_meet() -> None:
    """One name, two meanings."""
    other = descriptor_set()
    other.file[0].message_type[0].field[0].name = "renamed"
    for files, name in ((descriptor_set(), "n"), (other, "renamed")):
        batch = tfrecs.decode_proto([b"\x08\x05"], files, name, message_type="p.Inner")
        assert batch[name].tolist() == [5]


def test_records_of_examples() -> None:
    records = [tfrecs.encode_example({"a": [1, 2], "b": ["x"]}), b""]
    batch = tfrecs.decode_proto(
        records,
        tfrecs.Example,
        ["features.feature.key", "features.feature.value.int64_list.value", "features"],
    )
    assert [values.tolist() for values in batch.values()][:2] == [
        [[b"a", b"b"], []],
        [[[1, 2], []], []],
    ]
    assert tfrecs.Features.FromString(batch["features"][0]).feature["b"].bytes_list.value == [b"x"]


# --- Records ---

RECORDS = [frame.SerializeToString() for frame in FRAMES]


@pytest.mark.parametrize(
    "given",
    [
        RECORDS,
        tfrecs.Records(RECORDS),
        tfrecs.BytesArray.from_values(RECORDS),
        np.array(RECORDS, "O"),
    ],
    ids=lambda records: type(records).__name__,
)
def test_records(given: Any) -> None:
    assert tfrecs.decode_proto(given, Frame)["camera"].tolist() == [1, 0, 99]


def test_one_and_no_record() -> None:
    assert tfrecs.decode_proto(RECORDS[0], Frame)["camera"].tolist() == [1]
    batch = tfrecs.decode_proto([], Frame, ["camera", "many.ns", "name"])
    assert [len(values) for values in batch.values()] == [0, 0, 0]
    assert batch["many.ns"].tolist() == []


@pytest.mark.parametrize("count", [255, 256, 257, 1000])
def test_more_records_than_are_decoded_at_a_time(count: int) -> None:
    messages = [
        Frame(many=[Inner(ns=range(n % 3))] * (n % 2), maybe=n if n % 5 else None)
        for n in range(count)
    ]
    batch = decoded(Frame, messages, ["many.ns", "maybe"], keep_missing=True)
    assert batch["many.ns"].tolist() == [[list(i.ns) for i in m.many] for m in messages]
    assert batch["maybe"].tolist() == [[n] if n % 5 else None for n in range(count)]


def test_it_is_a_table() -> None:
    pyarrow = needs.optional("pyarrow")
    batch = decoded(Frame, FRAMES, ["name", "many.ns", "left"], keep_missing=True)
    assert pyarrow.record_batch(batch).to_pydict() == {
        "name": ["é".encode(), b"", b""],
        "many.ns": [[[6], [7, 8]], [], [[]]],
        "left": [[0], None, None],
    }


# --- Errors ---


def test_a_broken_record(tmp_path: Path) -> None:
    path = str(tmp_path / "frames.tfrecord")
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([*RECORDS, b"\x0a\x05abc"])
    batch = tfrecs.RecordReader(path).read_batch(9)
    with pytest.raises(
        tfrecs.ParseError, match="broken protobuf message: Error parsing message"
    ) as caught:
        tfrecs.decode_proto(batch[2:], Frame)
    assert (caught.value.path, caught.value.record) == (path, 3)
    assert str(caught.value).startswith(f"{path}: record 3 at byte ")
    with pytest.raises(tfrecs.ParseError, match=r"^record 1: broken protobuf message"):
        tfrecs.decode_proto([b"", b"\xff"], Frame)


def test_a_record_that_is_no_bytes() -> None:
    with pytest.raises(TypeError, match="record 1: a record must be bytes, not str"):
        tfrecs.decode_proto([b"", "text"], Frame)  # type: ignore[list-item]
    with pytest.raises(tfrecs.SpecError, match="serialized is bytes or a sequence of bytes"):
        tfrecs.decode_proto("text", Frame)  # type: ignore[arg-type]


@given(st.data())
def test_any_bytes_are_decoded_as_protobuf_does(data: st.DataObject) -> None:
    record = data.draw(st.binary(max_size=40) | st.sampled_from(RECORDS).map(bytes))
    damaged = bytearray(record)
    for _ in range(data.draw(st.integers(0, 3)) if record else 0):
        damaged[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    try:
        frame = Frame.FromString(bytes(damaged))
    except DecodeError:
        with pytest.raises(tfrecs.ParseError, match=r"^record 0: "):
            tfrecs.decode_proto([bytes(damaged)], Frame, "many.ns")
        return
    batch = tfrecs.decode_proto([bytes(damaged)], Frame, ["many.ns", "by_id.key", "name"])
    assert batch["many.ns"].tolist() == [[list(inner.ns) for inner in frame.many]]
    assert batch["by_id.key"].tolist() == [sorted(frame.by_id)]
    assert batch["name"].tolist() == [frame.name.encode()]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("nam", "field 'nam': p.Frame has no field 'nam'; did you mean 'name'"),
        ("many.m", "p.Inner has no field 'm'; it has n, ns, inner, many"),
        ("name.x", "field 'name.x': 'name' is no message"),
        ("counts", "field 'counts' is a map: ask for 'counts.key' and 'counts.value'"),
        ("counts.keys", "did you mean 'key'"),
        ("", "has no field ''"),
        ("many.", "p.Inner has no field ''"),
        ([], "names no field"),
        ([1], "a field's name must be str, not int: 1"),
        (1, "a field's name must be str, not int: 1"),
    ],
)
def test_wrong_fields(fields: Any, words: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=words):
        tfrecs.decode_proto(RECORDS, Frame, fields)


def test_a_message_without_plain_values() -> None:
    with pytest.raises(tfrecs.SpecError, match="say which to decode, in these: features"):
        tfrecs.decode_proto([], tfrecs.Example)


@pytest.mark.parametrize(
    ("message", "name", "words"),
    [
        (SET, None, "message_type is needed, one of the set's messages: p.Inner, p.Frame"),
        (SET, "p.Fame", "no message 'p.Fame' in the set; did you mean 'p.Frame'"),
        (SET, "x", "no message 'x' in the set; it has p.Inner"),
        (SET, "p.Frame.CountsEntry", "no message 'p.Frame.CountsEntry'"),
        (b"\xff", "x", "no serialized FileDescriptorSet, which `protoc"),
        (b"", "x", "no message 'x' in the set; it has none"),
        (Frame, "p.Frame", "message_type goes with a descriptor set"),
        (Frame(), None, "message is a message class, its descriptor, or a FileDesc.*not Frame"),
        (dict, None, "not dict"),
        (3, None, "not int"),
    ],
)
def test_wrong_messages(message: Any, name: str | None, words: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=words):
        tfrecs.decode_proto([], message, message_type=name)


def test_broken_descriptor_sets() -> None:
    files = descriptor_set()
    del files.file[0]
    with pytest.raises(tfrecs.SpecError, match=r"lacks inner.proto, which frame.proto imports"):
        tfrecs.decode_proto([], files, message_type="p.Frame")
    files = descriptor_set()
    files.file[0].dependency.append("frame.proto")
    with pytest.raises(tfrecs.SpecError, match=r"import each other: .* → "):
        tfrecs.decode_proto([], files, message_type="p.Frame")
    files = descriptor_set()
    files.file[1].message_type[0].field[2].type_name = ".p.Nothing"
    with pytest.raises(tfrecs.SpecError, match=r"frame\.proto in the descriptor set is broken"):
        tfrecs.decode_proto([], files, message_type="p.Frame")
    with pytest.raises(FileNotFoundError, match=r"missing\.pb: there is no such") as caught:
        tfrecs.decode_proto([], "missing.pb", message_type="p.Frame")
    assert isinstance(caught.value, tfrecs.Error)


def test_without_protobuf() -> None:
    script = """
import sys
sys.modules["google.protobuf.descriptor"] = None
import tfrecs
try:
    tfrecs.decode_proto
except ModuleNotFoundError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert 'pip install "tfrecs[protobuf]"' in run.stdout
