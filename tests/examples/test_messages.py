"""The message classes: protobuf's API on them, and no quarrel with anybody else's copy.

Their bytes are the matter of test_messages_wire.py, and whether they do what TensorFlow's own do,
that of oracle/test_messages_oracle.py.
"""

from __future__ import annotations

import ast
import copy
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest

import tfrecs

needs.optional("google.protobuf")

# After the line that skips this file where there is no protobuf.
from google.protobuf import any_pb2, descriptor_pool, json_format, text_format  # noqa: E402
from google.protobuf.message import DecodeError, Message  # noqa: E402

from tfrecs.examples import messages  # noqa: E402

CLASSES = [getattr(messages, name) for name in messages.__all__]


def ints(*values: int) -> tfrecs.Feature:
    return tfrecs.Feature(int64_list=tfrecs.Int64List(value=values))


def floats(*values: float) -> tfrecs.Feature:
    return tfrecs.Feature(float_list=tfrecs.FloatList(value=values))


def strings(*values: bytes) -> tfrecs.Feature:
    return tfrecs.Feature(bytes_list=tfrecs.BytesList(value=values))


def example_of(**features: tfrecs.Feature) -> tfrecs.Example:
    return tfrecs.Example(features=tfrecs.Features(feature=features))


@pytest.fixture
def example() -> tfrecs.Example:
    return example_of(id=strings(b"a\x00\xff"), x=floats(0.5, -1.0))


# ---------------------------------------------------------------- fields


def test_lists_append_extend_assign_and_delete() -> None:
    example = tfrecs.Example()
    values = example.features.feature["a"].int64_list.value
    values.append(1)
    values.extend([2, 3])
    values[0] = 7
    del values[1]
    assert example == example_of(a=ints(7, 3))


def test_lists_take_numpy_arrays_and_scalars() -> None:
    assert list(tfrecs.Int64List(value=np.arange(3)).value) == [0, 1, 2]
    scalars: list[Any] = [np.uint8(7), np.int64(-1)]
    assert list(tfrecs.Int64List(value=scalars).value) == [7, -1]
    assert list(tfrecs.FloatList(value=np.array([0.5, 2.0])).value) == [0.5, 2.0]


def test_a_map_adds_what_is_read_but_not_what_is_asked_for() -> None:
    feature = tfrecs.Features().feature
    assert "a" not in feature
    assert feature.get("a") is None
    assert feature["a"].WhichOneof("kind") is None
    assert list(feature) == ["a"]
    del feature["a"]
    assert len(feature) == 0


def test_a_map_copies_into_an_entry_but_takes_no_assignment() -> None:
    feature = tfrecs.Features().feature
    feature["a"].CopyFrom(ints(1))
    assert feature["a"] == ints(1)
    with pytest.raises(ValueError, match=r"not be assigned|not set values"):
        feature["a"] = tfrecs.Feature()


def test_a_feature_has_one_kind_at_most() -> None:
    feature = ints(1)
    feature.bytes_list.value.append(b"x")
    assert feature.WhichOneof("kind") == "bytes_list"
    assert not feature.HasField("int64_list")
    feature.ClearField("kind")
    assert feature.WhichOneof("kind") is None


def test_presence_is_told_from_emptiness() -> None:
    example = tfrecs.Example()
    assert not example.HasField("features")
    example.features.SetInParent()
    assert example.HasField("features")
    assert example.SerializeToString() == b"\x0a\x00"
    assert floats().WhichOneof("kind") == "float_list"


def test_sub_messages_may_be_given_as_dicts() -> None:
    fields: dict[str, Any] = {"int64_list": {"value": [1, 2]}}
    assert tfrecs.Feature(**fields) == ints(1, 2)


@pytest.mark.parametrize(
    ("cls", "value", "error"),
    [
        (messages.BytesList, "text", TypeError),
        (messages.BytesList, 1, TypeError),
        (messages.FloatList, "1.0", TypeError),
        (messages.Int64List, 1.5, TypeError),
        (messages.Int64List, 2**63, ValueError),
        (messages.Int64List, -(2**63) - 1, ValueError),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(cls: Any, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        cls(value=[value])


@pytest.mark.parametrize("cls", CLASSES)
def test_an_unknown_field_is_refused(cls: Any) -> None:
    with pytest.raises(ValueError, match="nothing_like_it"):
        cls(nothing_like_it=1)
    with pytest.raises(AttributeError):
        cls().nothing_like_it = 1


# ---------------------------------------------------------------- whole messages


def test_merging_replaces_map_entries_and_joins_lists(example: tfrecs.Example) -> None:
    example.MergeFrom(example_of(x=ints(1), new=tfrecs.Feature()))
    assert example == example_of(id=strings(b"a\x00\xff"), x=ints(1), new=tfrecs.Feature())
    feature = ints(1)
    feature.MergeFrom(ints(2))
    assert feature == ints(1, 2)


def test_copying_and_parsing_replace_merging_bytes_adds(example: tfrecs.Example) -> None:
    other = example_of(other=ints())
    other.CopyFrom(example)
    assert other == example
    record = example_of(b=ints(1)).SerializeToString()
    assert other.MergeFromString(record) == len(record)
    assert set(other.features.feature) == {"id", "x", "b"}
    assert other.ParseFromString(record) == len(record) == other.ByteSize()
    assert other == example_of(b=ints(1))
    other.Clear()
    assert other == tfrecs.Example()


def test_unknown_fields_are_kept() -> None:
    unknown = b"\x4a\x03new"
    assert tfrecs.Example.FromString(unknown).SerializeToString() == unknown


@pytest.mark.parametrize("cut", [1, 5, 10])
def test_truncated_bytes_are_a_decode_error(example: tfrecs.Example, cut: int) -> None:
    with pytest.raises(DecodeError):
        tfrecs.Example.FromString(example.SerializeToString()[:-cut])


def test_equality_is_by_content(example: tfrecs.Example) -> None:
    same = tfrecs.Example.FromString(example.SerializeToString())
    assert same == example
    assert same is not example
    same.features.feature["x"].float_list.value[0] = 0.25
    assert same != example
    assert example != example.SerializeToString()
    with pytest.raises(TypeError, match="unhashable"):
        hash(example)


def test_a_pickle_is_whole_and_a_copy_independent(example: tfrecs.Example) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(example, protocol))
        assert type(back) is tfrecs.Example
        assert back == example
    twin = copy.deepcopy(example)
    assert twin == example
    twin.features.feature["x"].float_list.value.append(1.0)
    assert twin != example


TEXT = """\
features {
  feature {
    key: "a b"
    value {
      bytes_list {
        value: "x"
        value: "\\000\\377\\n"
      }
    }
  }
}
"""


def test_text_form() -> None:
    example = example_of(**{"a b": strings(b"x", b"\x00\xff\n")})
    assert str(example) == repr(example) == text_format.MessageToString(example) == TEXT
    assert text_format.Parse(TEXT, tfrecs.Example()) == example


def test_json_form(example: tfrecs.Example) -> None:
    example.features.feature["n"].int64_list.value.append(2**62)
    form = {
        "features": {
            "feature": {
                "id": {"bytesList": {"value": ["YQD/"]}},
                "x": {"floatList": {"value": [0.5, -1.0]}},
                "n": {"int64List": {"value": [str(2**62)]}},  # JSON's numbers are too short for it
            }
        }
    }
    assert json_format.MessageToDict(example) == form
    assert json_format.ParseDict(form, tfrecs.Example()) == example
    assert json_format.Parse(json_format.MessageToJson(example), tfrecs.Example()) == example


def test_any_carries_an_example_under_tensorflows_name(example: tfrecs.Example) -> None:
    box = any_pb2.Any()
    box.Pack(example)
    assert box.type_url == "type.googleapis.com/tensorflow.Example"
    back = tfrecs.Example()
    assert box.Unpack(back)
    assert back == example


# ---------------------------------------------------------------- classes


@pytest.mark.parametrize("cls", CLASSES)
def test_a_class_says_what_and_whose_it_is(cls: type[Message]) -> None:
    assert f"{cls.__module__}.{cls.__qualname__}" == f"{messages.__name__}.{cls.__name__}"
    assert cls.DESCRIPTOR.full_name == f"tensorflow.{cls.__name__}"
    assert getattr(tfrecs, cls.__name__) is cls
    assert cls.__doc__ is not None
    assert ">>> " in cls.__doc__
    assert type(pickle.loads(pickle.dumps(cls()))) is cls


def test_there_are_nine() -> None:
    in_the_pool = messages.Example.DESCRIPTOR.file.message_types_by_name
    assert sorted(in_the_pool) == sorted(messages.__all__)
    assert len(messages.__all__) == 9


def test_members_are_of_the_public_classes() -> None:
    sequence = tfrecs.SequenceExample(context=example_of(a=ints()).features)
    step = sequence.feature_lists.feature_list["b"].feature.add()
    assert type(sequence.context) is tfrecs.Features
    assert type(sequence.context.feature["a"]) is tfrecs.Feature
    assert type(sequence.feature_lists.feature_list["b"]) is tfrecs.FeatureList
    assert type(step) is tfrecs.Feature
    assert type(step.int64_list) is tfrecs.Int64List


def stub_classes() -> dict[str, ast.ClassDef]:
    stub = Path(messages.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    return {node.name: node for node in ast.parse(stub).body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("cls", CLASSES)
def test_the_stub_has_the_fields_of_the_class(cls: type[Message]) -> None:
    body = stub_classes()[cls.__name__].body
    fields = set(cls.DESCRIPTOR.fields_by_name)
    methods = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    assert {name for name in methods if name.islower() and name[0] != "_"} == fields
    assert {arg.arg for arg in methods["__init__"].args.kwonlyargs} == fields
    constants = {ast.unparse(node.target) for node in body if isinstance(node, ast.AnnAssign)}
    assert constants == {"DESCRIPTOR"} | {f"{name.upper()}_FIELD_NUMBER" for name in fields}


# ---------------------------------------------------------------- other copies, other runtimes


def run_python(code: str, **environment: str) -> str:
    """Run code in a fresh interpreter: this one has its descriptor pool and its runtime already."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_default_pool_is_left_alone() -> None:
    assert messages.Example.DESCRIPTOR.file.pool is not descriptor_pool.Default()
    code = """
        import tfrecs.examples.messages
        from google.protobuf import descriptor_pool
        try:
            descriptor_pool.Default().FindMessageTypeByName("tensorflow.Example")
        except KeyError:
            print("not there")
    """
    assert run_python(code) == "not there\n"


# Somebody else's tensorflow.Example, which differs from ours, in the process-wide pool.
SOMEBODY_ELSES = """
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
file = descriptor_pb2.FileDescriptorProto(name="else.proto", package="tensorflow", syntax="proto3")
field = file.message_type.add(name="Example").field.add(name="text", number=1)
field.type, field.label = field.TYPE_STRING, field.LABEL_OPTIONAL
descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
theirs = message_factory.GetMessageClass(
    descriptor_pool.Default().FindMessageTypeByName("tensorflow.Example"))
"""
OURS = "import tfrecs\nours = tfrecs.Example\n"
BOTH_WORK = """
print(theirs(text="x").SerializeToString(), ours.FromString(b"\\n\\x00").HasField("features"))
"""


@pytest.mark.parametrize("first_and_second", [OURS + SOMEBODY_ELSES, SOMEBODY_ELSES + OURS])
def test_another_definition_in_the_process_does_not_collide(first_and_second: str) -> None:
    assert run_python(first_and_second + BOTH_WORK) == "b'\\n\\x01x' True\n"


def test_the_pure_python_runtime_does_as_well() -> None:
    code = """
        import doctest, pickle
        from google.protobuf.internal import api_implementation
        from tfrecs.examples import messages
        example = messages.Example()
        example.features.feature["a"].int64_list.value.append(1)
        assert pickle.loads(pickle.dumps(example)) == example
        results = doctest.testmod(messages)
        print(api_implementation.Type(), results.failed, results.attempted > 9)
    """
    output = run_python(code, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python")
    assert output == "python 0 True\n"


def test_without_protobuf_the_error_says_what_to_install() -> None:
    code = """
        import sys
        sys.modules["google.protobuf"] = None
        try:
            import tfrecs.examples.messages
        except ImportError as error:
            print(error)
    """
    assert 'pip install "tfrecs[protobuf]"' in run_python(code)
