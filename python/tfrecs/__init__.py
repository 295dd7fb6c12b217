"""Everything people do with TFRecord files, without TensorFlow.

Records are bytes in files (RecordReader, RecordWriter, ShardedWriter, count, verify); what killed
writers leave is found by leftovers, and what a data set must have, by read_manifest. Examples are
features in records: rows (encode_example, decode_example), columns (encode_batch, decode_batch),
Records are bytes in files (RecordReader, RecordWriter, ShardedWriter, count, verify), also in
damaged ones (salvage, repair). Examples are features in records: rows (encode_example,
decode_example), columns (encode_batch, decode_batch), TensorFlow's parsing contract (parse_example)
and protobuf messages (Example and the other eight).
Records of other messages: lists of examples (parse_example_list), tensorboard's events
(read_events), and any protobuf message (decode_proto).
Every exception is an Error, but for the TypeError and IndexError of Python's own protocols.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tfrecs.access import IndexedRecords, open  # noqa: A004 - as gzip.open
from tfrecs.arrays import BytesArray, RaggedTensor, SparseTensor
from tfrecs.batch import Batch
from tfrecs.dataset import (
    Dataset,
    DatasetIterator,
    DatasetStats,
    make_batched_features_dataset,
)
from tfrecs.errors import (
    CorruptRecordError,
    Error,
    FileError,
    LimitError,
    NotTFRecordError,
    OutOfMemoryError,
    ParseError,
    SpecError,
    StateError,
    TruncatedFileError,
)
from tfrecs.events import follow_events, read_events
from tfrecs.example_lists import encode_example_list, parse_example_list
from tfrecs.examples import (
    decode_batch,
    decode_example,
    decode_sequence_example,
    encode_batch,
    encode_example,
    encode_sequence_example,
)
from tfrecs.expressions import col
from tfrecs.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecs.indices import build_index
from tfrecs.leftovers import leftovers
from tfrecs.manifest import Manifest, read_manifest
from tfrecs.parsing import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from tfrecs.ranges import FileRange, Range, plan_ranges, read_range
from tfrecs.raw import decode_raw
from tfrecs.records import RecordReader, Records, count, verify
from tfrecs.salvage import RepairReport, Salvage, SkippedRegion, repair, salvage
from tfrecs.sequences import decode_sequence_batch, encode_sequence_batch
from tfrecs.sharded import ShardedWriter
from tfrecs.tensors import parse_tensor, serialize_tensor
from tfrecs.writer import RecordWriter

if TYPE_CHECKING:
    from tfrecs.media.audio import Audio, decode_audio
    from tfrecs.media.batches import DecodedBatch
    from tfrecs.media.images import decode_image, encode_image
    from tfrecs.messages import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        SequenceExample,
    )
    from tfrecs.protos import decode_proto

__version__ = "0.1.0"

__all__ = [
    "Audio",
    "Batch",
    "BytesArray",
    "BytesList",
    "CorruptRecordError",
    "Dataset",
    "DatasetIterator",
    "DatasetStats",
    "DecodedBatch",
    "Error",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FileError",
    "FileRange",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FloatList",
    "IndexedRecords",
    "Int64List",
    "LimitError",
    "Manifest",
    "NotTFRecordError",
    "OutOfMemoryError",
    "ParseError",
    "RaggedFeature",
    "RaggedTensor",
    "Range",
    "RecordReader",
    "RecordWriter",
    "Records",
    "RepairReport",
    "Salvage",
    "SequenceExample",
    "ShardedWriter",
    "SkippedRegion",
    "SparseFeature",
    "SparseTensor",
    "SpecError",
    "StateError",
    "TruncatedFileError",
    "VarLenFeature",
    "build_index",
    "col",
    "count",
    "decode_audio",
    "decode_batch",
    "decode_example",
    "decode_image",
    "decode_proto",
    "decode_raw",
    "decode_sequence_batch",
    "decode_sequence_example",
    "encode_batch",
    "encode_example",
    "encode_example_list",
    "encode_image",
    "encode_sequence_batch",
    "encode_sequence_example",
    "follow_events",
    "leftovers",
    "make_batched_features_dataset",
    "open",
    "parse_example",
    "parse_example_list",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "plan_ranges",
    "read_events",
    "read_manifest",
    "read_range",
    "repair",
    "salvage",
    "serialize_tensor",
    "verify",
]

# The message classes, and what reads others, need the protobuf runtime, an extra that
# `import tfrecs` must not load.
_MESSAGES = {
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
}

# So do these, each its own library.
_MEDIA = {
    "Audio": "tfrecs.media.audio",
    "DecodedBatch": "tfrecs.media.batches",
    "decode_audio": "tfrecs.media.audio",
    "decode_image": "tfrecs.media.images",
    "encode_image": "tfrecs.media.images",
}


def __getattr__(name: str) -> Any:
    if name in _MESSAGES:
        return getattr(import_module("tfrecs.messages"), name)
    if name == "decode_proto":
        return import_module("tfrecs.protos").decode_proto
    if name in _MEDIA:
        return getattr(import_module(_MEDIA[name]), name)
    raise AttributeError(f"module 'tfrecs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
