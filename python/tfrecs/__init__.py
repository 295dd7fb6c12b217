"""Everything people do with TFRecord files, without TensorFlow.

Records are bytes in files (RecordReader, RecordWriter, ShardedWriter, count, verify). Examples are
features in records: rows (encode_example, decode_example), columns (encode_batch, decode_batch),
TensorFlow's parsing contract (parse_example) and protobuf messages (Example and the other eight).
Every exception is an Error.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tfrecs.arrays import BytesArray, RaggedTensor, SparseTensor
from tfrecs.batch import Batch
from tfrecs.errors import (
    CorruptRecordError,
    Error,
    FileError,
    NotTFRecordError,
    ParseError,
    SpecError,
    StateError,
    TruncatedFileError,
)
from tfrecs.examples import (
    decode_batch,
    decode_example,
    decode_sequence_example,
    encode_batch,
    encode_example,
    encode_sequence_example,
)
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
from tfrecs.records import RecordReader, Records, RecordWriter, count, verify
from tfrecs.sequences import decode_sequence_batch, encode_sequence_batch
from tfrecs.sharded import ShardedWriter

if TYPE_CHECKING:
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

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "BytesArray",
    "BytesList",
    "CorruptRecordError",
    "Error",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FileError",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FloatList",
    "Int64List",
    "NotTFRecordError",
    "ParseError",
    "RaggedFeature",
    "RaggedTensor",
    "RecordReader",
    "RecordWriter",
    "Records",
    "SequenceExample",
    "ShardedWriter",
    "SparseFeature",
    "SparseTensor",
    "SpecError",
    "StateError",
    "TruncatedFileError",
    "VarLenFeature",
    "count",
    "decode_batch",
    "decode_example",
    "decode_sequence_batch",
    "decode_sequence_example",
    "encode_batch",
    "encode_example",
    "encode_sequence_batch",
    "encode_sequence_example",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "verify",
]

# The message classes need the protobuf runtime, an extra that `import tfrecs` must not load.
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


def __getattr__(name: str) -> Any:
    if name in _MESSAGES:
        return getattr(import_module("tfrecs.messages"), name)
    raise AttributeError(f"module 'tfrecs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
