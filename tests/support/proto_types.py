"""Message types to try decode_proto with, as protoc would describe them. Needs protobuf."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool, message_factory, text_format
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
)

# Every type of a number, by the name of a field that has it.
NUMBERS = {
    "double": "float64",
    "float": "float32",
    "int64": "int64",
    "uint64": "uint64",
    "int32": "int32",
    "fixed64": "uint64",
    "fixed32": "uint32",
    "bool": "bool",
    "uint32": "uint32",
    "sfixed32": "int32",
    "sfixed64": "int64",
    "sint32": "int32",
    "sint64": "int64",
}

TEXT = """
file {
  name: "inner.proto" package: "p" syntax: "proto3"
  message_type {
    name: "Inner"
    field { name: "n" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
    field { name: "ns" number: 2 label: LABEL_REPEATED type: TYPE_INT64 }
    field { name: "inner" number: 3 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".p.Inner" }
    field { name: "many" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".p.Inner" }
  }
}
file {
  name: "frame.proto" package: "p" syntax: "proto3" dependency: "inner.proto"
  message_type {
    name: "Frame"
    field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    field { name: "data" number: 2 label: LABEL_REPEATED type: TYPE_BYTES }
    field { name: "one" number: 3 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".p.Inner" }
    field { name: "many" number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".p.Inner" }
    field { name: "camera" number: 5 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".p.Frame.Camera" }
    field { name: "counts" number: 6 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".p.Frame.CountsEntry" }
    field { name: "by_id" number: 7 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".p.Frame.ByIdEntry" }
    field { name: "left" number: 8 label: LABEL_OPTIONAL type: TYPE_INT32 oneof_index: 0 }
    field { name: "right" number: 9 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 }
    field { name: "maybe" number: 10 label: LABEL_OPTIONAL type: TYPE_FLOAT oneof_index: 1 proto3_optional: true }
    nested_type {
      name: "CountsEntry" options { map_entry: true }
      field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
      field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_INT64 }
    }
    nested_type {
      name: "ByIdEntry" options { map_entry: true }
      field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
      field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".p.Inner" }
    }
    enum_type {
      name: "Camera"
      value { name: "UNKNOWN" number: 0 }
      value { name: "FRONT" number: 1 }
    }
    oneof_decl { name: "side" }
    oneof_decl { name: "_maybe" }
  }
}
file {
  name: "old.proto" package: "old" syntax: "proto2"
  message_type {
    name: "Old"
    field { name: "count" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 default_value: "7" }
    field { name: "text" number: 2 label: LABEL_REQUIRED type: TYPE_STRING }
    field { name: "part" number: 3 label: LABEL_REPEATED type: TYPE_GROUP type_name: ".old.Old.Part" }
    nested_type {
      name: "Part"
      field { name: "size" number: 4 label: LABEL_OPTIONAL type: TYPE_INT32 }
    }
  }
}
"""  # noqa: E501 - one field a line


def _numbers() -> DescriptorProto:
    """A message with a field and a list of every type of a number."""
    message = DescriptorProto(name="Numbers")
    for place, name in enumerate(NUMBERS):
        kind = getattr(FieldDescriptorProto, f"TYPE_{name.upper()}")
        for prefix, label, number in (
            ("one_", FieldDescriptorProto.LABEL_OPTIONAL, place + 1),
            ("all_", FieldDescriptorProto.LABEL_REPEATED, place + 101),
        ):
            message.field.add(name=prefix + name, number=number, label=label, type=kind)
    return message


def descriptor_set() -> FileDescriptorSet:
    """The types p.Inner, p.Frame, p.Numbers and old.Old."""
    files = text_format.Parse(TEXT, FileDescriptorSet())
    files.file[1].message_type.append(_numbers())
    return files


SET = descriptor_set().SerializeToString()


def _message_classes(*names: str) -> list[Any]:
    """The types as classes, in a pool that is not decode_proto's."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_set().file:
        pool.AddSerializedFile(file.SerializeToString())
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names]


Frame, Inner, Numbers, Old = _message_classes("p.Frame", "p.Inner", "p.Numbers", "old.Old")
