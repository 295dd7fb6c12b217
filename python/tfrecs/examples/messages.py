"""The nine message classes of TFRecord files, with the protobuf API, without TensorFlow.

They are real protobuf classes of the official runtime (the ``protobuf`` extra), so everything that
protobuf offers works on them: ``SerializeToString``, ``MergeFrom``, ``json_format``,
``text_format``, ``pickle``, ``copy``. They bear TensorFlow's full names (``tensorflow.Example``),
so bytes, text, JSON and ``Any`` type names agree with ``tf.train.Example`` and its siblings.

The runtime refuses two different definitions of one name in one descriptor pool, and TensorFlow and
others put theirs into the process-wide default pool. Ours live in a pool of their own: nothing
collides, whichever is imported first. The price is protobuf's rule that messages of different pools
do not mix: to put one of theirs into one of ours, go through its bytes
(``Example.FromString(theirs.SerializeToString())``).

The classes are built here, at import, instead of by ``protoc``: generated code registers in the
default pool and is tied to a range of runtime versions. ``messages.pyi`` tells type checkers and
editors about the fields; a test holds it to the classes.
"""

from __future__ import annotations

from tfrecs.errors import MissingLibraryError

try:
    from google.protobuf.descriptor_pb2 import (
        DescriptorProto,
        FieldDescriptorProto,
        FileDescriptorProto,
        MessageOptions,
        OneofDescriptorProto,
    )
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message
    from google.protobuf.reflection import GeneratedProtocolMessageType
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        "the message classes (tfrecs.Example and its siblings) need the protobuf runtime: "
        'pip install "tfrecs[protobuf]" '
        "(tfrecs.encode_example and tfrecs.decode_example do without)",
        name=error.name,
    ) from error

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]

_PACKAGE = "tensorflow"


def _singular(name: str, number: int, message: str) -> FieldDescriptorProto:
    """``message name = number;``."""
    return FieldDescriptorProto(
        name=name,
        number=number,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=f".{_PACKAGE}.{message}",
    )


def _repeated(name: str, number: int, message: str) -> FieldDescriptorProto:
    """``repeated message name = number;``."""
    field = _singular(name, number, message)
    field.label = FieldDescriptorProto.LABEL_REPEATED
    return field


def _value_list(name: str, kind: FieldDescriptorProto.Type.ValueType) -> DescriptorProto:
    """``message name { repeated kind value = 1; }``, packed where it can be (proto3's default)."""
    value = FieldDescriptorProto(
        name="value", number=1, label=FieldDescriptorProto.LABEL_REPEATED, type=kind
    )
    return DescriptorProto(name=name, field=[value])


def _string_map(name: str, field: str, entry: str, message: str) -> DescriptorProto:
    """``message name { map<string, message> field = 1; }``: a map is a list of entry messages."""
    key = FieldDescriptorProto(
        name="key",
        number=1,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
        type=FieldDescriptorProto.TYPE_STRING,
    )
    entry_type = DescriptorProto(
        name=entry,
        field=[key, _singular("value", 2, message)],
        options=MessageOptions(map_entry=True),
    )
    return DescriptorProto(
        name=name, field=[_repeated(field, 1, f"{name}.{entry}")], nested_type=[entry_type]
    )


def _feature() -> DescriptorProto:
    """``message Feature { oneof kind { ... } }``."""
    members = [
        _singular("bytes_list", 1, "BytesList"),
        _singular("float_list", 2, "FloatList"),
        _singular("int64_list", 3, "Int64List"),
    ]
    for member in members:
        member.oneof_index = 0
    return DescriptorProto(
        name="Feature", field=members, oneof_decl=[OneofDescriptorProto(name="kind")]
    )


def _file() -> FileDescriptorProto:
    """Define what TensorFlow's feature.proto and example.proto define, in one file."""
    return FileDescriptorProto(
        name="tfrecs/messages.proto",
        package=_PACKAGE,
        syntax="proto3",
        message_type=[
            _value_list("BytesList", FieldDescriptorProto.TYPE_BYTES),
            _value_list("FloatList", FieldDescriptorProto.TYPE_FLOAT),
            _value_list("Int64List", FieldDescriptorProto.TYPE_INT64),
            _feature(),
            _string_map("Features", "feature", "FeatureEntry", "Feature"),
            DescriptorProto(name="FeatureList", field=[_repeated("feature", 1, "Feature")]),
            _string_map("FeatureLists", "feature_list", "FeatureListEntry", "FeatureList"),
            DescriptorProto(name="Example", field=[_singular("features", 1, "Features")]),
            DescriptorProto(
                name="SequenceExample",
                field=[
                    _singular("context", 1, "Features"),
                    _singular("feature_lists", 2, "FeatureLists"),
                ],
            ),
        ],
    )


_DESCRIPTORS = DescriptorPool().AddSerializedFile(_file().SerializeToString()).message_types_by_name

# Class statements, not message_factory.GetMessageClass: they give each class its module, its name
# and its docstring, and so pickling by reference. There is one class a descriptor, and a container
# makes the classes of its members where there are none yet: so members come before containers, and
# the entries of a map (which the pure-Python runtime does not make by itself) inside them.


class BytesList(Message, metaclass=GeneratedProtocolMessageType):
    r"""A list of byte strings: one of the three kinds of a `Feature`.

    Attributes:
        value: the byte strings. A ``str`` is refused: encode it first.

    Example:
        >>> import tfrecs
        >>> names = tfrecs.BytesList(value=[b"ada", "émile".encode()])
        >>> names.value.append(b"grace")
        >>> list(names.value)
        [b'ada', b'\xc3\xa9mile', b'grace']
    """

    DESCRIPTOR = _DESCRIPTORS["BytesList"]


class FloatList(Message, metaclass=GeneratedProtocolMessageType):
    """A list of 32-bit floats: one of the three kinds of a `Feature`.

    Attributes:
        value: the numbers, each rounded to the nearest 32-bit float.

    Example:
        >>> import tfrecs
        >>> prices = tfrecs.FloatList(value=[1.5, 2])
        >>> prices.value.extend([0.25])
        >>> list(prices.value)
        [1.5, 2.0, 0.25]
    """

    DESCRIPTOR = _DESCRIPTORS["FloatList"]


class Int64List(Message, metaclass=GeneratedProtocolMessageType):
    """A list of 64-bit signed integers: one of the three kinds of a `Feature`.

    Attributes:
        value: the integers; one beyond 64 bits raises ``ValueError``.

    Example:
        >>> import tfrecs
        >>> labels = tfrecs.Int64List(value=[3, -1])
        >>> labels.value.append(2**63 - 1)
        >>> list(labels.value)
        [3, -1, 9223372036854775807]
    """

    DESCRIPTOR = _DESCRIPTORS["Int64List"]


class Feature(Message, metaclass=GeneratedProtocolMessageType):
    """The value of one feature: a list of byte strings, of floats or of integers, or nothing.

    Setting one of the three clears the other two.

    Attributes:
        bytes_list: a `BytesList`.
        float_list: a `FloatList`.
        int64_list: an `Int64List`.

    Example:
        >>> import tfrecs
        >>> age = tfrecs.Feature(int64_list=tfrecs.Int64List(value=[36]))
        >>> age.WhichOneof("kind")
        'int64_list'
        >>> age.float_list.value.append(36.5)
        >>> age.WhichOneof("kind"), age.HasField("int64_list")
        ('float_list', False)
    """

    DESCRIPTOR = _DESCRIPTORS["Feature"]


class Features(Message, metaclass=GeneratedProtocolMessageType):
    """The features of an example, by name.

    Attributes:
        feature: a map from ``str`` to `Feature`. Reading a name that is not there adds it, empty
            (``in`` and ``.get`` do not).

    Example:
        >>> import tfrecs
        >>> features = tfrecs.Features()
        >>> features.feature["label"].int64_list.value.append(7)
        >>> "label" in features.feature, "image" in features.feature
        (True, False)
    """

    DESCRIPTOR = _DESCRIPTORS["Features"]

    class FeatureEntry(Message, metaclass=GeneratedProtocolMessageType):
        """One entry of the map, as the wire has it; made by protobuf alone."""

        DESCRIPTOR = _DESCRIPTORS["Features"].nested_types_by_name["FeatureEntry"]


class Example(Message, metaclass=GeneratedProtocolMessageType):
    """One record of a dataset: named features. The usual payload of a TFRecord file.

    The same message as TensorFlow's ``tf.train.Example``, with the same bytes. `encode_example` and
    `decode_example` go between the bytes and a ``dict`` directly and faster, without protobuf.

    Attributes:
        features: its `Features`.

    Example:
        >>> import tfrecs
        >>> example = tfrecs.Example()
        >>> example.features.feature["label"].int64_list.value.append(7)
        >>> record = example.SerializeToString(deterministic=True)
        >>> tfrecs.Example.FromString(record) == example
        True
        >>> print(example)
        features {
          feature {
            key: "label"
            value {
              int64_list {
                value: 7
              }
            }
          }
        }
        <BLANKLINE>
    """

    DESCRIPTOR = _DESCRIPTORS["Example"]


class FeatureList(Message, metaclass=GeneratedProtocolMessageType):
    """One feature over the steps of a sequence: a `Feature` a step.

    Attributes:
        feature: the steps' features, all of one kind by convention.

    Example:
        >>> import tfrecs
        >>> words = tfrecs.FeatureList()
        >>> for word in (b"to", b"be"):
        ...     words.feature.add().bytes_list.value.append(word)
        >>> [step.bytes_list.value[0] for step in words.feature]
        [b'to', b'be']
    """

    DESCRIPTOR = _DESCRIPTORS["FeatureList"]


class FeatureLists(Message, metaclass=GeneratedProtocolMessageType):
    """The sequences of a sequence example, by name.

    Attributes:
        feature_list: a map from ``str`` to `FeatureList`. Reading a name that is not there adds it,
            empty (``in`` and ``.get`` do not).

    Example:
        >>> import tfrecs
        >>> lists = tfrecs.FeatureLists()
        >>> lists.feature_list["frames"].feature.add().float_list.value.extend([0.5, 1.5])
        >>> len(lists.feature_list["frames"].feature)
        1
    """

    DESCRIPTOR = _DESCRIPTORS["FeatureLists"]

    class FeatureListEntry(Message, metaclass=GeneratedProtocolMessageType):
        """One entry of the map, as the wire has it; made by protobuf alone."""

        DESCRIPTOR = _DESCRIPTORS["FeatureLists"].nested_types_by_name["FeatureListEntry"]


class SequenceExample(Message, metaclass=GeneratedProtocolMessageType):
    """One record of a dataset of sequences: features of the whole, and features a step.

    The same message as TensorFlow's ``tf.train.SequenceExample``, with the same bytes.

    Attributes:
        context: the `Features` of the sequence as a whole.
        feature_lists: its `FeatureLists`, one `Feature` a step each.

    Example:
        >>> import tfrecs
        >>> clip = tfrecs.SequenceExample()
        >>> clip.context.feature["id"].bytes_list.value.append(b"clip-1")
        >>> clip.feature_lists.feature_list["label"].feature.add().int64_list.value.append(4)
        >>> copy = tfrecs.SequenceExample.FromString(clip.SerializeToString())
        >>> copy.context.feature["id"].bytes_list.value[0]
        b'clip-1'
    """

    DESCRIPTOR = _DESCRIPTORS["SequenceExample"]
