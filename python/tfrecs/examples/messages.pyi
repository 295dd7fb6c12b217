# The classes of messages.py are built at import, so the fields that protobuf gives them are written
# out here. What every message has (SerializeToString, CopyFrom, ...) comes from Message, which
# types-protobuf describes. protobuf refuses subclasses of them, hence `final`.
# The documentation is in messages.py.

# ruff: noqa: N802 (ClearField, HasField and WhichOneof are protobuf's names)

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias, final

from google.protobuf.descriptor import Descriptor
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

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

_Kind: TypeAlias = Literal["bytes_list", "float_list", "int64_list"]

@final
class BytesList(Message):
    DESCRIPTOR: Descriptor
    VALUE_FIELD_NUMBER: Final[int]
    @property
    def value(self) -> RepeatedScalarFieldContainer[bytes]: ...
    def __init__(self, *, value: Iterable[bytes] | None = None) -> None: ...
    def ClearField(self, field_name: Literal["value"]) -> None: ...

@final
class FloatList(Message):
    DESCRIPTOR: Descriptor
    VALUE_FIELD_NUMBER: Final[int]
    @property
    def value(self) -> RepeatedScalarFieldContainer[float]: ...
    def __init__(self, *, value: Iterable[float] | None = None) -> None: ...
    def ClearField(self, field_name: Literal["value"]) -> None: ...

@final
class Int64List(Message):
    DESCRIPTOR: Descriptor
    VALUE_FIELD_NUMBER: Final[int]
    @property
    def value(self) -> RepeatedScalarFieldContainer[int]: ...
    def __init__(self, *, value: Iterable[int] | None = None) -> None: ...
    def ClearField(self, field_name: Literal["value"]) -> None: ...

@final
class Feature(Message):
    DESCRIPTOR: Descriptor
    BYTES_LIST_FIELD_NUMBER: Final[int]
    FLOAT_LIST_FIELD_NUMBER: Final[int]
    INT64_LIST_FIELD_NUMBER: Final[int]
    @property
    def bytes_list(self) -> BytesList: ...
    @property
    def float_list(self) -> FloatList: ...
    @property
    def int64_list(self) -> Int64List: ...
    def __init__(
        self,
        *,
        bytes_list: BytesList | None = None,
        float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None: ...
    def HasField(self, field_name: Literal["kind"] | _Kind) -> bool: ...
    def ClearField(self, field_name: Literal["kind"] | _Kind) -> None: ...
    def WhichOneof(self, oneof_group: Literal["kind"]) -> _Kind | None: ...

@final
class Features(Message):
    @final
    class FeatureEntry(Message):
        DESCRIPTOR: Descriptor
        KEY_FIELD_NUMBER: Final[int]
        VALUE_FIELD_NUMBER: Final[int]
        key: str
        @property
        def value(self) -> Feature: ...
        def __init__(self, *, key: str | None = None, value: Feature | None = None) -> None: ...
        def HasField(self, field_name: Literal["value"]) -> bool: ...
        def ClearField(self, field_name: Literal["key", "value"]) -> None: ...

    DESCRIPTOR: Descriptor
    FEATURE_FIELD_NUMBER: Final[int]
    @property
    def feature(self) -> MessageMap[str, Feature]: ...
    def __init__(self, *, feature: Mapping[str, Feature] | None = None) -> None: ...
    def ClearField(self, field_name: Literal["feature"]) -> None: ...

@final
class Example(Message):
    DESCRIPTOR: Descriptor
    FEATURES_FIELD_NUMBER: Final[int]
    @property
    def features(self) -> Features: ...
    def __init__(self, *, features: Features | None = None) -> None: ...
    def HasField(self, field_name: Literal["features"]) -> bool: ...
    def ClearField(self, field_name: Literal["features"]) -> None: ...

@final
class FeatureList(Message):
    DESCRIPTOR: Descriptor
    FEATURE_FIELD_NUMBER: Final[int]
    @property
    def feature(self) -> RepeatedCompositeFieldContainer[Feature]: ...
    def __init__(self, *, feature: Iterable[Feature] | None = None) -> None: ...
    def ClearField(self, field_name: Literal["feature"]) -> None: ...

@final
class FeatureLists(Message):
    @final
    class FeatureListEntry(Message):
        DESCRIPTOR: Descriptor
        KEY_FIELD_NUMBER: Final[int]
        VALUE_FIELD_NUMBER: Final[int]
        key: str
        @property
        def value(self) -> FeatureList: ...
        def __init__(self, *, key: str | None = None, value: FeatureList | None = None) -> None: ...
        def HasField(self, field_name: Literal["value"]) -> bool: ...
        def ClearField(self, field_name: Literal["key", "value"]) -> None: ...

    DESCRIPTOR: Descriptor
    FEATURE_LIST_FIELD_NUMBER: Final[int]
    @property
    def feature_list(self) -> MessageMap[str, FeatureList]: ...
    def __init__(self, *, feature_list: Mapping[str, FeatureList] | None = None) -> None: ...
    def ClearField(self, field_name: Literal["feature_list"]) -> None: ...

@final
class SequenceExample(Message):
    DESCRIPTOR: Descriptor
    CONTEXT_FIELD_NUMBER: Final[int]
    FEATURE_LISTS_FIELD_NUMBER: Final[int]
    @property
    def context(self) -> Features: ...
    @property
    def feature_lists(self) -> FeatureLists: ...
    def __init__(
        self, *, context: Features | None = None, feature_lists: FeatureLists | None = None
    ) -> None: ...
    def HasField(self, field_name: Literal["context", "feature_lists"]) -> bool: ...
    def ClearField(self, field_name: Literal["context", "feature_lists"]) -> None: ...
