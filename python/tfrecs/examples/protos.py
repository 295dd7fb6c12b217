"""Records that hold messages of any other type: their fields as columns.

The messages are parsed by the official protobuf runtime (the ``protobuf`` extra). A definition that
comes as a descriptor set lives in a descriptor pool of its own, so that it meets neither
TensorFlow's nor anybody else's definition of the same names.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, chain, islice
from operator import attrgetter, itemgetter
from pathlib import Path as File
from typing import Any, TypeAlias

import numpy as np

from tfrecs import _core
from tfrecs._internal.checks import checked_name, checked_text
from tfrecs.columns.batch import Batch
from tfrecs.errors import MissingFileError, MissingLibraryError, SpecError, file_error
from tfrecs.parsing import Serialized, source_of
from tfrecs.tensors import BytesArray, Pieces, Values, pieces_of_rows

try:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError, Message
    from google.protobuf.message_factory import GetMessageClass
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'tfrecs.decode_proto needs the protobuf runtime: pip install "tfrecs[protobuf]"',
        name=error.name,
    ) from error

MessageClass: TypeAlias = type[Message]
_AnyMessage: TypeAlias = Any  # the runtime's type stubs have two classes of descriptors, and mix
_AnyField: TypeAlias = Any
MessageType: TypeAlias = (
    MessageClass | Descriptor | FileDescriptorSet | bytes | str | os.PathLike[str]
)

# For Python's arrays and for NumPy: the type of a number, by the type of its field.
_NUMBERS: dict[int, tuple[str, type[np.generic]]] = {
    FieldDescriptor.TYPE_DOUBLE: ("d", np.float64),
    FieldDescriptor.TYPE_FLOAT: ("f", np.float32),
    FieldDescriptor.TYPE_INT32: ("i", np.int32),
    FieldDescriptor.TYPE_SINT32: ("i", np.int32),
    FieldDescriptor.TYPE_SFIXED32: ("i", np.int32),
    FieldDescriptor.TYPE_ENUM: ("i", np.int32),
    FieldDescriptor.TYPE_INT64: ("q", np.int64),
    FieldDescriptor.TYPE_SINT64: ("q", np.int64),
    FieldDescriptor.TYPE_SFIXED64: ("q", np.int64),
    FieldDescriptor.TYPE_UINT32: ("I", np.uint32),
    FieldDescriptor.TYPE_FIXED32: ("I", np.uint32),
    FieldDescriptor.TYPE_UINT64: ("Q", np.uint64),
    FieldDescriptor.TYPE_FIXED64: ("Q", np.uint64),
    FieldDescriptor.TYPE_BOOL: ("B", np.bool_),
}


def decode_proto(
    records: Serialized,
    message: MessageType,
    fields: str | Iterable[str] | None = None,
    *,
    message_type: str | None = None,
    keep_missing: bool = False,
) -> Batch:
    """Decode serialized protobuf messages of any type into columns.

    Args:
        records: The messages: a sequence of bytes, Records, a BytesArray, a 1-D NumPy array, or
            bytes for just one.
        message: What they are: a message class of the protobuf runtime, the descriptor of one, or a
            FileDescriptorSet (the object, its bytes, or the path of the file that `protoc
            --include_imports --descriptor_set_out=…` wrote).
        fields: The fields to decode, such as "context.name" or "images.image": a path leads through
            messages, lists of messages, and the `key` and `value` of a map's entries (in the order
            of the keys). None is all fields and maps of plain values at the top level.
        message_type: The full name of the message in the descriptor set.
        keep_missing: A field that a record does not set has protobuf's default. With True, where
            protobuf knows the difference (messages, members of a oneof, `optional` fields), it is a
            missing row of a RaggedTensor, whose other rows have one value.

    Returns:
        A Batch of a column for each field: an array of shape (rows,) of the field's own type
        (int32, int64, uint32, uint64, float32, float64, bool; an enum's numbers are int32), a
        BytesArray for bytes, strings (UTF-8) and whole messages (serialized); for a field that is
        repeated, or lies in one that is, a RaggedTensor with a level for each list on the way.

    Raises:
        ModuleNotFoundError: The protobuf runtime is not installed.
        SpecError: There is no such message or field, or the descriptor set is broken.
        MissingFileError: There is no such file of a descriptor set.
        ParseError: A record is no such message; the text names it.

    Example:
        >>> import tfrecs
        >>> names = tfrecs.BytesList(value=[b"ada", b"grace"]).SerializeToString()
        >>> batch = tfrecs.decode_proto([names, b""], tfrecs.BytesList)
        >>> batch["value"].tolist()
        [[b'ada', b'grace'], []]
        >>> example = tfrecs.encode_example({"age": 36, "size": [1, 2]})
        >>> path = "features.feature.value.int64_list.value"
        >>> tfrecs.decode_proto([example], tfrecs.Example, path)[path].tolist()
        [[[36], [1, 2]]]
    """
    kind = _message_class(message, message_type)
    names = _default_fields(kind) if fields is None else _given_fields(fields)
    columns = [_Column(name, _steps(kind.DESCRIPTOR, name), keep_missing) for name in names]
    found = source_of(records, None).records
    for messages in _parsed(found, kind):
        for column in columns:
            column.add(messages)
    return Batch(_core.Columns.build(len(found), [column.pieces() for column in columns]))


def _parsed(records: _core.Records | list[bytes], kind: MessageClass) -> Iterator[list[Message]]:
    """The messages, some at a time: fewer where they are large."""
    messages: list[Message] = []
    size = 0
    for index, record in enumerate(records):
        if not isinstance(record, bytes):
            raise TypeError(f"record {index}: a record must be bytes, not {type(record).__name__}")
        try:
            messages.append(kind.FromString(record))
        except DecodeError as error:
            reason = f"broken protobuf message: {error}"
            raise _core.Records(records).parse_error(index, reason) from None
        size += len(record) + 256
        if size > 1 << 16:
            yield messages
            messages, size = [], 0
    yield messages


# --- The message ---


def _message_class(message: MessageType, name: str | None) -> MessageClass:
    if isinstance(message, FileDescriptorSet):
        return _class_in_set(message.SerializeToString(deterministic=True), name)
    if isinstance(message, bytes):
        return _class_in_set(message, name)
    if isinstance(message, str | os.PathLike):
        return _class_in_set(_content(message), name)
    if name is not None:
        raise SpecError("message_type goes with a descriptor set; a class says which message it is")
    if isinstance(message, Descriptor):
        return GetMessageClass(message)
    return _given_class(message)


def _content(path: str | os.PathLike[str]) -> bytes:
    name = checked_name(path)
    try:
        return File(name).read_bytes()
    except FileNotFoundError:
        raise MissingFileError(f"{name}: there is no such descriptor set", path=name) from None
    except OSError as error:
        raise file_error(error, name) from error


def _given_class(message: Any) -> MessageClass:
    if isinstance(message, type) and issubclass(message, Message):
        return message
    given = message.__name__ if isinstance(message, type) else type(message).__name__
    raise SpecError(
        "message is a message class, its descriptor, or a FileDescriptorSet (the object, its bytes "
        f"or its file's path), not {given}"
    )


@lru_cache(maxsize=16)  # batch after batch is decoded with the same one
def _class_in_set(serialized: bytes, name: str | None) -> MessageClass:
    try:
        files = {file.name: file for file in FileDescriptorSet.FromString(serialized).file}
    except DecodeError as error:
        raise SpecError(
            "no serialized FileDescriptorSet, which `protoc --include_imports "
            f"--descriptor_set_out=FILE` writes: {error}"
        ) from None
    names = [name for file in files.values() for name in _message_names(file)]
    if name is None:
        raise SpecError(f"message_type is needed, one of the set's messages: {_some(names)}")
    if name not in names:
        raise SpecError(f"there is no message {name!r} in the set{_meant(name, names)}")
    pool = DescriptorPool()
    for file in _in_order(files):
        try:
            pool.AddSerializedFile(files[file].SerializeToString())
        except TypeError as error:
            raise SpecError(f"{file} in the descriptor set is broken: {error}") from None
    return GetMessageClass(pool.FindMessageTypeByName(name))


def _in_order(files: dict[str, FileDescriptorProto]) -> list[str]:
    """The names of the files, each after those that it imports."""
    imports = {name: list(file.dependency) for name, file in files.items()}
    for name, imported in imports.items():
        if lacking := [other for other in imported if other not in files]:
            raise SpecError(
                f"the descriptor set lacks {lacking[0]}, which {name} imports: let protoc write it "
                "with --include_imports"
            )
    try:
        return list(TopologicalSorter(imports).static_order())
    except CycleError as error:
        raise SpecError(f"files that import each other: {' → '.join(error.args[1])}") from None


def _message_names(file: FileDescriptorProto) -> Iterator[str]:
    """The full names of the messages of a file, and of those within them."""
    package = f"{file.package}." if file.package else ""
    waiting = [(package, message) for message in reversed(file.message_type)]
    while waiting:
        prefix, message = waiting.pop()
        if not message.options.map_entry:
            yield prefix + message.name
        inner = f"{prefix}{message.name}."
        waiting += [(inner, nested) for nested in reversed(message.nested_type)]


# --- The fields ---


@dataclass(frozen=True)
class _Step:
    """One name of a path: how to get from a message to what the name stands for."""

    get: Callable[[Any], Any]
    name: str
    is_list: bool = False
    has_presence: bool = False
    field: _AnyField = None  # none for a map: only its entries' keys and values


def _given_fields(fields: str | Iterable[str]) -> list[str]:
    if not isinstance(fields, Iterable):
        raise SpecError(f"a field's name must be str, not {type(fields).__name__}: {fields!r}")
    names = list(dict.fromkeys([fields] if isinstance(fields, str) else fields))
    for name in names:
        checked_text("a field's name", name)
    if not names:
        raise SpecError("fields names no field; None is all that hold plain values")
    return names


def _default_fields(kind: MessageClass) -> list[str]:
    """The fields of plain values, and of maps of them their keys and values."""
    names: list[str] = []
    for field in kind.DESCRIPTOR.fields:
        inner = field.message_type
        if inner is None:
            names.append(field.name)
        elif _is_map(field) and inner.fields_by_name["value"].message_type is None:
            names += [f"{field.name}.key", f"{field.name}.value"]
    if not names:
        inside = [field.name for field in kind.DESCRIPTOR.fields]
        raise SpecError(
            f"{kind.DESCRIPTOR.full_name} has no fields of plain values at its top level; say "
            f"which to decode, in these: {_some(inside)}"
        )
    return names


def _steps(message: _AnyMessage, path: str) -> list[_Step]:
    """The way from a message to what `path` names.

    Raises:
        SpecError: There is no such field, or it is a map.
    """
    steps: list[_Step] = []
    inner: _AnyMessage = message
    for part in path.split("."):
        if inner is None:
            raise SpecError(f"field {path!r}: {steps[-1].name!r} is no message", feature=path)
        field = inner.fields_by_name.get(part)
        if field is None:
            close = _meant(part, [field.name for field in inner.fields])
            text = f"field {path!r}: {inner.full_name} has no field {part!r}{close}"
            raise SpecError(text, feature=path)
        steps.append(_step(field))
        inner = field.message_type
    if steps[-1].field is None:
        text = f"field {path!r} is a map: ask for '{path}.key' and '{path}.value'"
        raise SpecError(text, feature=path)
    return steps


def _step(field: _AnyField) -> _Step:
    if _is_map(field):
        return _Step(_entries(field.name), field.name, is_list=True)
    if field.containing_type.GetOptions().map_entry:
        return _Step(itemgetter(field.number - 1), field.name, field=field)
    get, is_list = attrgetter(field.name), _is_repeated(field)
    return _Step(get, field.name, is_list, field.has_presence and not is_list, field)


def _entries(name: str) -> Callable[[Any], list[tuple[Any, Any]]]:
    """What gives the entries of the map `name` in the order of their keys."""
    return lambda message: sorted(getattr(message, name).items(), key=itemgetter(0))


def _is_map(field: _AnyField) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _is_repeated(field: _AnyField) -> bool:
    # `label` is gone from newer runtimes, `is_repeated` not there yet in older ones.
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)


# --- The columns ---


class _Column:
    """The column of one field while it is filled, message by message."""

    def __init__(self, name: str, steps: list[_Step], keep_missing: bool) -> None:
        self.name = name
        self.steps = steps
        leaf = steps[-1].field
        assert leaf is not None, "_steps ends with a field"
        self.number = _NUMBERS.get(leaf.type)
        self.to_bytes = _bytes_of_message if leaf.message_type is not None else None
        self.values: Any = array(self.number[0]) if self.number else []
        # Of the outermost list, the steps that may not be there; without one, of the value.
        lists = [place for place, step in enumerate(steps) if step.is_list]
        before = steps[: lists[0]] if lists else steps
        self.optional = before if keep_missing and any(step.has_presence for step in before) else []
        self.missing = bytearray()
        self.splits = [array("q", [0]) for _ in lists or self.optional[:1]]
        self.is_single = not lists

    def add(self, messages: list[Message]) -> None:
        """Append what the field is in each of `messages`."""
        absent: list[bool] = []
        if self.optional:
            absent = [not self._is_there(message) for message in messages]
            self.missing.extend(absent)
            messages = [m for m, is_absent in zip(messages, absent, strict=True) if not is_absent]
        found: Iterable[Any] = messages
        level = iter(self.splits)
        if self.optional and self.is_single:
            _end_rows(next(level), [1] * len(messages), absent)
        for step in self.steps:
            found = map(step.get, found)
            if step.is_list:
                lists = list(found)
                _end_rows(next(level), map(len, lists), absent)
                absent = []  # only outermost rows can be missing
                found = chain.from_iterable(lists)
        self.values.extend(map(self.to_bytes, found) if self.to_bytes else found)

    def _is_there(self, message: Any) -> bool:
        for step in self.optional:
            if step.has_presence and not message.HasField(step.name):
                return False
            message = step.get(message)
        return True

    def pieces(self) -> Pieces:
        """Return the column in the form that the native side takes."""
        values: Values
        if self.number is None:
            values = BytesArray.from_values(self.values)
        elif self.number[1] is np.bool_:
            values = np.array(self.values, np.uint8).view(np.bool_)
        else:
            values = np.array(self.values, self.number[1])
        splits = [np.frombuffer(ends, np.int64) for ends in self.splits]
        missing = np.frombuffer(self.missing, np.bool_) if self.optional else None
        return pieces_of_rows(self.name, values, splits, missing)


def _end_rows(ends: array[int], lengths: Iterable[int], absent: list[bool]) -> None:
    """Append where rows of these lengths end; those that are absent have no length."""
    if absent:
        given = iter(lengths)
        lengths = [0 if is_absent else next(given) for is_absent in absent]
    # Without the start, which is there already.
    ends.extend(islice(accumulate(lengths, initial=ends[-1]), 1, None))


def _bytes_of_message(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


# --- Words ---


def _meant(name: str, names: list[str]) -> str:
    """What to add to an error about a name that is not among `names`."""
    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; it has {_some(names)}"


def _some(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "") if names else "none"
