"""Everything people do with TFRecord files, without TensorFlow.

Records are bytes in files (RecordReader, RecordWriter, ShardedWriter, count, verify), also in
damaged ones (salvage, repair); what killed writers leave is found by leftovers, and what a data set
must have, by read_manifest. Examples are features in records: rows (encode_example,
decode_example), columns (encode_batch, decode_batch), TensorFlow's parsing contract (parse_example)
and protobuf messages (Example and the other eight).
A Dataset reads all of that in batches, shuffled, divided, and on from where it stopped.
Records of other messages: lists of examples (parse_example_list), tensorboard's events
(read_events), and any protobuf message (decode_proto).
Every exception is an Error, but for the TypeError and IndexError of Python's own protocols.
"""

from typing import TYPE_CHECKING, Any

from tfrecs._internal.optional import load as _load
from tfrecs.columns.batch import Batch
from tfrecs.errors import (
    CorruptRecordError,
    Error,
    FileError,
    LimitError,
    MissingFeatureWarning,
    MissingLibraryError,
    NotTFRecordError,
    OutOfMemoryError,
    ParseError,
    SkippedFilesWarning,
    SpecError,
    StateError,
    TruncatedFileError,
)
from tfrecs.examples.events import follow_events, read_events
from tfrecs.examples.example_lists import encode_example_list, parse_example_list
from tfrecs.examples.rows import (
    decode_batch,
    decode_example,
    decode_sequence_example,
    encode_batch,
    encode_example,
    encode_sequence_example,
)
from tfrecs.examples.sequences import decode_sequence_batch, encode_sequence_batch
from tfrecs.expressions import col
from tfrecs.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from tfrecs.parsing import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from tfrecs.records.index_files import build_index
from tfrecs.records.indexed import IndexedRecords, open  # noqa: A004 - as gzip.open
from tfrecs.records.manifest import Manifest, read_manifest
from tfrecs.records.ranges import FileRange, Range, plan_ranges, read_range
from tfrecs.records.reader import RecordReader, Records, count, verify
from tfrecs.records.salvage import RepairReport, Salvage, SkippedRegion, repair, salvage
from tfrecs.records.sharded import ShardedWriter
from tfrecs.records.writer import RecordWriter
from tfrecs.storage.journal import FinishedSet
from tfrecs.storage.leftovers import leftovers
from tfrecs.storage.staging import new_folder
from tfrecs.tensors import BytesArray, RaggedTensor, SparseTensor
from tfrecs.tensors.decode_raw import decode_raw
from tfrecs.tensors.tensor_proto import parse_tensor, serialize_tensor

if TYPE_CHECKING:
    from tfrecs.dataset import (
        Dataset,
        DatasetIterator,
        DatasetTimings,
        make_batched_features_dataset,
    )
    from tfrecs.examples.messages import (
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
    from tfrecs.examples.protos import decode_proto
    from tfrecs.formats.csv import convert_csv
    from tfrecs.formats.images import convert_images
    from tfrecs.media.audio import Audio, decode_audio
    from tfrecs.media.batches import DecodedBatch
    from tfrecs.media.images import decode_image, encode_image

__version__ = "0.1.0"

__all__ = [
    "Audio",
    "Batch",
    "BytesArray",
    "BytesList",
    "CorruptRecordError",
    "Dataset",
    "DatasetIterator",
    "DatasetTimings",
    "DecodedBatch",
    "Error",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FileError",
    "FileRange",
    "FinishedSet",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FloatList",
    "IndexedRecords",
    "Int64List",
    "LimitError",
    "Manifest",
    "MissingFeatureWarning",
    "MissingLibraryError",
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
    "SkippedFilesWarning",
    "SkippedRegion",
    "SparseFeature",
    "SparseTensor",
    "SpecError",
    "StateError",
    "TruncatedFileError",
    "VarLenFeature",
    "build_index",
    "col",
    "convert_csv",
    "convert_images",
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
    "new_folder",
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

# What is loaded when it is first asked for: the message classes and what reads others need
# protobuf, images and audio libraries of their own, all extras that `import tfrecs` must not load;
# and a dataset is many small modules, which whoever only reads records need not wait for.
_LATER = {
    "Audio": "tfrecs.media.audio",
    "BytesList": "tfrecs.examples.messages",
    "Dataset": "tfrecs.dataset",
    "DatasetIterator": "tfrecs.dataset",
    "DatasetTimings": "tfrecs.dataset",
    "DecodedBatch": "tfrecs.media.batches",
    "Example": "tfrecs.examples.messages",
    "Feature": "tfrecs.examples.messages",
    "FeatureList": "tfrecs.examples.messages",
    "FeatureLists": "tfrecs.examples.messages",
    "Features": "tfrecs.examples.messages",
    "FloatList": "tfrecs.examples.messages",
    "Int64List": "tfrecs.examples.messages",
    "SequenceExample": "tfrecs.examples.messages",
    "convert_csv": "tfrecs.formats.csv",
    "convert_images": "tfrecs.formats.images",
    "decode_audio": "tfrecs.media.audio",
    "decode_image": "tfrecs.media.images",
    "decode_proto": "tfrecs.examples.protos",
    "encode_image": "tfrecs.media.images",
    "make_batched_features_dataset": "tfrecs.dataset",
}


# The modules with public names of their own.
_MODULES = ("errors", "formats", "testing", "tf")


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(_load(_LATER[name]), name)
    if name in _MODULES:
        return _load(f"tfrecs.{name}")
    raise AttributeError(f"module 'tfrecs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__doc__", "__file__", "__name__", "__path__"})
