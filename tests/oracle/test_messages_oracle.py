"""The message classes beside TensorFlow's own: the same bytes, text, JSON and errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from google.protobuf import any_pb2, json_format, text_format
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs.examples import messages

# A message as the fields to make it of, in the words of either library (tfrecs, tf.train).
Build = Callable[[Any], Any]
KINDS = {"bytes_list": "BytesList", "float_list": "FloatList", "int64_list": "Int64List"}

values = {
    "bytes_list": st.lists(st.binary(max_size=8), max_size=5),
    "float_list": st.lists(st.floats(width=32, allow_nan=False), max_size=5),
    "int64_list": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
}
names = st.text(max_size=5)


@st.composite
def features(draw: st.DrawFn) -> Build:
    kind = draw(st.sampled_from([None, *KINDS]))
    if kind is None:
        return lambda library: library.Feature()
    content = draw(values[kind])
    return lambda library: library.Feature(**{kind: getattr(library, KINDS[kind])(value=content)})


@st.composite
def feature_maps(draw: st.DrawFn) -> Build:
    builds = draw(st.dictionaries(names, features(), max_size=5))
    return lambda library: library.Features(feature={k: b(library) for k, b in builds.items()})


@st.composite
def examples(draw: st.DrawFn) -> Build:
    build = draw(feature_maps())
    return lambda library: library.Example(features=build(library))


@st.composite
def sequence_examples(draw: st.DrawFn) -> Build:
    context = draw(feature_maps())
    lists = draw(st.dictionaries(names, st.lists(features(), max_size=4), max_size=3))

    def build(library: Any) -> Any:
        by_name = {
            name: library.FeatureList(feature=[step(library) for step in steps])
            for name, steps in lists.items()
        }
        return library.SequenceExample(
            context=context(library), feature_lists=library.FeatureLists(feature_list=by_name)
        )

    return build


any_message = examples() | sequence_examples()


@given(any_message)
def test_the_same_bytes(build: Build) -> None:
    ours, theirs = build(tfrecs), build(tf.train)
    assert ours.SerializeToString(deterministic=True) == theirs.SerializeToString(
        deterministic=True
    )
    assert ours.ByteSize() == theirs.ByteSize()


@given(any_message)
def test_each_reads_the_others_bytes(build: Build) -> None:
    ours, theirs = build(tfrecs), build(tf.train)
    assert type(ours).FromString(theirs.SerializeToString()) == ours
    assert type(theirs).FromString(ours.SerializeToString()) == theirs


@given(any_message)
def test_the_same_text_and_json(build: Build) -> None:
    ours, theirs = build(tfrecs), build(tf.train)
    text = text_format.MessageToString(ours)
    assert text == text_format.MessageToString(theirs)
    assert text_format.Parse(str(ours), type(theirs)()) == theirs
    assert text_format.Parse(repr(theirs), type(ours)()) == ours
    json = json_format.MessageToJson(ours, sort_keys=True)
    assert json == json_format.MessageToJson(theirs, sort_keys=True)
    # Not always a success: protobuf refuses what it prints for the largest float.
    assert outcome(json_format.Parse, json, type(ours)()) == outcome(
        json_format.Parse, json, type(theirs)()
    )


@given(examples(), examples())
def test_merging_does_the_same(first: Build, second: Build) -> None:
    ours, theirs = first(tfrecs), first(tf.train)
    ours.MergeFrom(second(tfrecs))
    theirs.MergeFrom(second(tf.train))
    assert ours == tfrecs.Example.FromString(theirs.SerializeToString())


@given(examples(), st.data())
def test_damaged_bytes_have_the_same_fate(build: Build, data: st.DataObject) -> None:
    record = bytearray(build(tf.train).SerializeToString())
    for _ in range(data.draw(st.integers(1, 3)) if record else 0):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    ours, theirs = tfrecs.Example.FromString, tf.train.Example.FromString
    assert outcome(ours, bytes(record)) == outcome(theirs, bytes(record))


def outcome(parse: Callable[..., Any], *args: Any) -> bytes | tuple[type, str]:
    try:
        return bytes(parse(*args).SerializeToString(deterministic=True))
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same
        return type(error), str(error)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda library: library.BytesList(value=["text"]),
        lambda library: library.Int64List(value=[2**63]),
        lambda library: library.Int64List(value=[1.5]),
        lambda library: library.FloatList(value=["1"]),
        lambda library: library.Example(feature={}),
        lambda library: library.Example().HasField("nothing"),
        lambda library: library.Feature().WhichOneof("nothing"),
        lambda library: setattr(library.Example(), "features", library.Features()),
        lambda library: library.Example.FromString("text"),
        lambda library: hash(library.Example()),
        lambda library: type("Derived", (library.Example,), {}),
    ],
)
def test_misuse_raises_the_same_error(misuse: Build) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - TensorFlow says which
        misuse(tf.train)
    with pytest.raises(theirs.type):
        misuse(tfrecs)


@pytest.mark.parametrize("name", messages.__all__)
def test_the_same_fields(name: str) -> None:
    ours, theirs = (getattr(library, name).DESCRIPTOR for library in (tfrecs, tf.train))
    assert ours.full_name == theirs.full_name
    assert [described(field) for field in ours.fields] == [described(f) for f in theirs.fields]
    assert [oneof.name for oneof in ours.oneofs] == [oneof.name for oneof in theirs.oneofs]


def described(field: Any) -> tuple[Any, ...]:
    oneof, message = field.containing_oneof, field.message_type
    return (
        field.name,
        field.number,
        field.type,
        field.json_name,
        field.has_presence,
        field.is_packed,
        oneof and oneof.name,
        message and message.full_name,
    )


def test_any_carries_one_to_the_other() -> None:
    box = any_pb2.Any()
    box.Pack(tf.train.Example(features=tf.train.Features(feature={"a": tf.train.Feature()})))
    ours = tfrecs.Example()
    assert box.Unpack(ours)
    assert list(ours.features.feature) == ["a"]


@pytest.mark.parametrize(
    "imports",
    [
        "import tensorflow as tf; from tfrecs.examples import messages",
        "from tfrecs.examples import messages; import tensorflow as tf",
    ],
)
def test_either_may_be_imported_first(imports: str) -> None:
    code = f"""{imports}
ours, theirs = messages.Example(), tf.train.Example()
for example in (ours, theirs):
    example.features.feature["a"].int64_list.value.append(7)
assert type(ours) is not type(theirs)
assert ours.SerializeToString() == theirs.SerializeToString()
assert str(ours) == str(theirs)
spec = {{"a": tf.io.FixedLenFeature([], tf.int64)}}
print(int(tf.io.parse_single_example(ours.SerializeToString(), spec)["a"]))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "7\n"
