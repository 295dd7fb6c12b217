"""The native part of tfrecs. Not public: use the names of `tfrecs`."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from tfrecs._internal import native_types as _n
from tfrecs.errors import Error, ParseError

__all__ = ["Batching", "Order", "Output", "ReadOptions"]
__all__ += ["Buffer", "Columns", "EventDecoder", "Exclusive", "Foreign", "Gather", "IndexedFile"]
__all__ += ["Indexing", "Iteration", "Meter", "Reader", "RecordSequence", "Records", "Salvage"]
__all__ += ["Samples", "Scan", "Turn", "Watch", "WholeFile", "Writer", "compression_named"]
__all__ += ["compression_of_name", "coordinates", "count_records", "decode_batch", "decode_example"]
__all__ += ["decode_png", "decode_raw", "decode_sequence_batch", "decode_sequence_example"]
__all__ += ["digest_file", "encode_batch", "encode_example", "encode_sequence_batch"]
__all__ += ["encode_sequence_example", "file_identity", "find_temporaries", "finish_set"]
__all__ += ["first_outside", "is_locked", "keep_open", "message_kind", "name_hint"]
__all__ += ["parse_tensors", "pick_records", "publish_set", "resize_image"]
__all__ += ["serialize_strings", "side_by_side", "sparse_column", "sparse_indices", "split_lists"]
__all__ += ["tensor_header"]

@final
class Records:
    """A batch of records: a sequence of bytes over one buffer."""

    def __new__(cls, records: Records | Iterable[bytes]) -> Self: ...
    @staticmethod
    def from_buffers(data: _n.Memory, offsets: _n.Memory) -> Records:
        """Records that lie one after the other in `data`, from one offset to the next."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int, /) -> bytes: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int], /) -> Records: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def __eq__(self, value: object, /) -> bool: ...
    @property
    def nbytes(self) -> int: ...
    def tolist(self) -> list[bytes]: ...
    def parse_error(
        self, index: int, reason: str, feature: str | None = None, name: str | None = None
    ) -> ParseError:
        """A ParseError in record `index` (called `name`), which says where that record stands."""
    def _keys(self, numbered: bool) -> tuple[Buffer, Buffer]:
        """The keys (file and, if `numbered`, number), and where each ends (int64)."""
    def _numbered(self) -> Records:
        """The same records, each of which knows its number here if it came from no file."""
    def _named(self, path: str, numbers: list[int]) -> Records:
        """The same records, which came from `path` and have these numbers there."""
    def _digest(self) -> tuple[int, int, int]:
        """How many records, how many bytes they have, and a checksum of them in order."""

def pick_records(batches: Sequence[tuple[Records, npt.NDArray[np.int64]]]) -> Records:
    """Some of the records of each batch, by their places there, in one batch of their own."""

@final
class Reader(Iterator[bytes]):
    """Reads the records of one file."""

    def __new__(
        cls, path: _n.Path, compression_type: str, verify: bool, limits: _n.Limits = ...
    ) -> Self: ...
    @property
    def compression_type(self) -> str:
        """How the file is compressed: "", "GZIP" or "ZLIB"."""
    def __next__(self) -> bytes: ...
    def read_batch(self, n: int) -> Records:
        """The next records, at most `n`; none at the end."""
    def skip(self, n: int) -> int:
        """Skips at most `n` records and says how many there were."""
    def tell(self) -> tuple[int, int]:
        """The number of the next record and its offset in the stream of frames."""
    def read_between(self, begin: int, end: int, record: int) -> None:
        """Continues with record number `record`, which begins at `begin`, and ends at `end`."""
    def resume(self) -> None:
        """Lets reading continue where the file has grown since."""
    def _panic(self) -> None:
        """Panics while it reads, as a mistake in the core would; for tests."""
    def close(self) -> None: ...

@final
class IndexedFile:
    """A file, and where each of its records is."""

    @staticmethod
    def load(
        path: _n.Path, stored: _n.Path, was_found: bool, is_local: bool = False
    ) -> IndexedFile | None:
        """The index in `stored`; None if it is of another file, or `was_found` and a stranger's."""
    @staticmethod
    def from_bytes(path: _n.Path, index: bytes) -> IndexedFile | None:
        """The index that these bytes are; None if they are none, or of another file."""
    @staticmethod
    def from_text(path: _n.Path, text: str) -> IndexedFile | None:
        """The index that a text of offsets and lengths gives; None if it does not fit the file."""
    def to_bytes(self) -> bytes: ...
    def save(self, place: _n.Path, as_text: bool, is_local: bool = False) -> None:
        """Writes the index to a file, whole or not at all, or a text of offsets and lengths."""
    def __len__(self) -> int: ...
    @property
    def path(self) -> Path: ...
    @property
    def absolute(self) -> Path:
        """The file, wherever the process goes."""
    @property
    def compression_type(self) -> str:
        """How it is compressed: "", "GZIP" or "ZLIB"."""
    @property
    def size(self) -> int: ...
    def end(self) -> int: ...
    def first_from(self, offset: int) -> tuple[int, int]: ...

@final
class Indexing(Iterator[IndexedFile]):
    """Goes over all records of files, and hands out each file with its index, in order."""

    def __new__(
        cls, paths: list[str], compression_type: str, threads: int, limits: _n.Limits
    ) -> Self: ...
    def __next__(self) -> IndexedFile: ...

def keep_open(most: int) -> None:
    """Keeps at most that many files of sequences open from now on."""

def compression_named(name: str) -> str:
    """TensorFlow's name of a compression, by any of its spellings; "auto" stays."""

def compression_of_name(path: _n.Path) -> str | None:
    """The compression that the ending of a file's name says, or None."""

def count_records(path: _n.Path, compression_type: str, threads: int, limits: _n.Limits) -> int:
    """The number of records in a file, by their headers where that can be done."""

@disjoint_base
class RecordSequence:
    """Records of files, any of them: a base for a class whose `[]` would cost too much."""

    def __new__(cls, *_arguments: object, **_named: object) -> Self: ...
    def _over(
        self,
        files: list[IndexedFile],
        verify: bool,
        threads: int,
        limits: _n.Limits,
        memory_map: bool,
    ) -> None:
        """Is the records of `files` from now on, one after the other."""
    def _close(self) -> None: ...
    def _samples(self) -> list[int]: ...
    def _inflated(self) -> int | None:
        """How many bytes the records of all files have, frames and all, if any is compressed."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> bytes: ...
    @overload
    def __getitem__(self, index: slice | Iterable[int], /) -> Records: ...
    def __getitems__(self, indices: Iterable[int]) -> list[bytes]:
        """The records of a batch, as PyTorch asks for them."""

@disjoint_base
class Iteration(Iterator[bytes]):
    """Iterates over what a reader reads: a base for a class whose methods would cost too much."""

    def __new__(cls, *_arguments: object, **_named: object) -> Self: ...
    def _iterate_over(self, reader: Reader) -> None:
        """Iterates over the records of `reader` from now on."""
    def __next__(self) -> bytes: ...

@final
class Salvage:
    """Reads what can be read of one file."""

    def __new__(
        cls,
        path: _n.Path,
        compression_type: str,
        mode: str,
        max_lost_bytes: int | None,
        max_lost_records: int | None,
        limits: _n.Limits,
    ) -> Self: ...
    @property
    def compression_type(self) -> str:
        """How the file is compressed: "", "GZIP" or "ZLIB"."""
    @property
    def lost(self) -> tuple[int, int, int]:
        """Bytes and regions lost so far, and records whose headers were damaged."""
    def next_piece(self, n: int) -> Records | tuple[int, int, Error] | None:
        """The next records, at most `n`, or begin, end and reason of the next region."""
    def close(self) -> None: ...

class _Batches(Iterator[Any]):
    """Iterates over batches; none after the last, or after an error."""

    def __next__(self) -> Any: ...
    def count_in(self, meter: Meter) -> None:
        """Counts what comes from now on in `meter`."""
    def close(self) -> None:
        """Stops the threads; another thread that waits for a batch gets a StateError."""

@final
class Meter:
    """What a step of a pass has given, and how long that took (meters.py); added in nanoseconds."""

    def read(self) -> tuple[int, float, float, float, float, int, int]: ...
    def add_work(self, waited: int, worked: int) -> None: ...
    @staticmethod
    def add_idle(idle: int) -> None: ...
    def add_skipped(self, taken: int) -> None: ...

@disjoint_base
class Watch(Iterator[Any]):
    """An iterator over what another gives, which counts."""

    def __new__(cls, watched: Iterator[Any], meter: Meter) -> Self: ...
    watched: Final[Any]
    meter: Final[Meter]
    def __next__(self) -> Any: ...

@final
class Turn:
    """A lock for `with`; an error where this thread has it already, or a signal ends the wait."""

    def __new__(cls) -> Self: ...
    def __enter__(self) -> None: ...
    def __exit__(self, _exception: object, _value: object, _at: object) -> None: ...

@disjoint_base
class Exclusive(Iterator[Any]):
    """Holds a turn while it makes an element, by `_next` or of what `_take_from` was given."""

    def __new__(cls, *_arguments: Any, **_named: Any) -> Self: ...
    _turn: Final[Turn]
    def _take_from(self, source: Iterator[Any]) -> None: ...
    def __next__(self) -> Any: ...

@final
class Scan(_Batches):
    """Batches of files."""

    def __new__(
        cls,
        paths: Sequence[_n.Path],
        read: ReadOptions,
        batching: Batching,
        output: Output,
        samples: Samples | None = None,
    ) -> Self: ...
    def take_skipped(self) -> list[tuple[str, int, int, Error]]:
        """What has been skipped since the last call: path, begin, end and reason of each region."""

@final
class Samples:
    """By what files are known again: each is sampled once."""

    def __new__(cls, paths: Sequence[_n.Path]) -> Self: ...
    def of(self, begin: int, end: int, threads: int) -> list[int]: ...
    def take_over(self, found: Sequence[int]) -> None: ...
    def ranges(self) -> list[tuple[int, int]]: ...

def file_identity(path: _n.Path) -> tuple[int, int, int] | None: ...

@final
class ReadOptions:
    """How files are read."""

    def __new__(
        cls, compression_type: str, verify: bool, limits: _n.Limits, skip_corrupt: bool
    ) -> Self: ...

@final
class Batching:
    """How records are put into batches, and by how many threads."""

    def __new__(
        cls,
        size: int,
        drop_remainder: bool,
        threads: int,
        most_bytes: int | None = None,
        most_ahead: int | None = None,
    ) -> Self:
        """Batches of `size` records, or of fewer with `most_bytes`; `most_ahead` bytes may wait."""

@final
class Output:
    """What becomes of each batch of records."""

    @staticmethod
    def records(partial: bool) -> Output:
        """Records; with `partial`, those before an error come before it, as a batch of fewer."""
    @staticmethod
    def columns(features: tuple[_n.NativeFeature, ...]) -> Output:
        """Columns of Examples and the provenance of their rows."""
    @staticmethod
    def columns_and_records(features: tuple[_n.NativeFeature, ...]) -> Output:
        """Columns of Examples and the records themselves."""
    @staticmethod
    def sequence_columns(
        context: tuple[_n.NativeFeature, ...] | None, lists: tuple[_n.NativeFeature, ...] | None
    ) -> Output:
        """Columns of contexts, of feature lists, and the provenance of their rows."""
    @property
    def partial(self) -> bool: ...
    def of(self, records: Records) -> Any:
        """What becomes of records in memory; they stay beside the columns."""

@final
class Order:
    """An order of records that is computed; each method returns what a further step makes of it."""

    def __new__(cls, records: int) -> Self: ...
    def shuffle(self, seed: int, inflated: int | None = None) -> Order:
        """All in another order in each epoch; compressed ones of `inflated` bytes by blocks."""
    def window(self, seed: int, size: int) -> Order: ...
    def blocks(self, seed: int, size: int) -> Order: ...
    def repeat(self, count: int | None) -> Order: ...
    def shard(self, num: int, index: int, base: int, remainder: str) -> Order: ...
    def stripe(self, block: int, num: int, index: int) -> Order: ...
    def skip(self, count: int) -> Order: ...
    def take(self, count: int) -> Order: ...
    @property
    def length(self) -> int | None:
        """How many elements a pass has; None: it has no end."""
    def records(self, start: int, stop: int, epoch: int) -> list[int]:
        """Which records come from place `start` on, up to `stop`, in the pass of this epoch."""

@final
class Gather(_Batches):
    """Batches of records in any order."""

    def __new__(
        cls,
        pool: RecordSequence | Records,
        order: Order,
        epoch: int,
        first_batch: int,
        batching: Batching,
        output: Output,
    ) -> Self: ...

@final
class Foreign:
    """Reads the records of several files that are not TFRecord files, in turn."""

    def __new__(
        cls, paths: Sequence[str], how: _n.ReadingInTurn, place: _n.Place | None = None
    ) -> Self: ...
    def read(self, n: int, bytes: int) -> Records:  # noqa: A002 - what it is
        """The next records, at most `n`, and no more once they have `bytes`; none at the end."""
    def skip(self, n: int) -> int:
        """Passes over at most `n` records, and says how many there were."""
    def place(self) -> _n.Place: ...
    def close(self) -> None: ...

@final
class Writer:
    """Writes records to one file."""

    def __new__(cls, path: _n.Path, how: _n.Writing) -> Self: ...
    @property
    def compression_type(self) -> str:
        """How the file is compressed: "", "GZIP" or "ZLIB"."""
    @property
    def records(self) -> int: ...
    @property
    def old(self) -> tuple[int, int, bool]:
        """How many records there were, torn bytes after them, whether a dead writer left them."""
    @property
    def digest(self) -> tuple[int, int, int] | None:
        """How many records, how many bytes, and their checksum, if a digest is kept."""
    @property
    def temporary_path(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...
    def write(self, record: _n.Memory) -> None:
        """Adds a record: bytes, or anything else that is a flat buffer of bytes."""
    def write_batch(self, records: Records | Iterable[bytes]) -> None: ...
    def flush(self) -> None: ...
    def sync(self) -> None: ...
    def finish(self) -> None:
        """Completes the file and syncs it, but leaves it unpublished."""
    def close(self) -> None: ...
    def publish_as(self, path: _n.Path) -> None: ...
    def leave(self) -> None: ...
    def abandon(self) -> None: ...

@final
class Buffer:
    """Memory of a column, for `numpy.frombuffer`."""

    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Columns:
    """Columns of equal length."""

    @staticmethod
    def build(rows: int, columns: Sequence[_n.Pieces], borrowed: bool = False) -> Columns:
        """Columns of `rows` rows from pieces, copied; `borrowed` for a call they do not outlive."""
    @property
    def num_rows(self) -> int:
        """How many rows."""
    @property
    def names(self) -> list[str]:
        """The columns' names."""
    def column(
        self, index: int
    ) -> tuple[str, Buffer, Buffer | None, tuple[int, ...], tuple[Buffer, ...], Buffer | None]:
        """The pieces of a column, as of Pieces, but which rows are there, and its dtype's name."""
    def values(self, index: int) -> Buffer:
        """The values of column `index`, which has neither lists nor byte strings."""
    def column_to_arrow(self, index: int) -> tuple[object, object]:
        """A column alone, as a pair of Arrow capsules."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class EventDecoder:
    """Collects the summaries of serialized Events, a row each."""

    def __new__(
        cls, tags: Sequence[str] | None = None, plugins: Sequence[str] | None = None
    ) -> Self: ...
    def push(self, records: Records) -> None:
        """Takes the summaries of some events."""
    def take(self) -> Columns:
        """The rows since the last call, as columns."""

@final
class WholeFile:
    """A file that is written, and has no name yet; without publish() it is removed."""

    def __new__(cls, path: _n.Path, content: bytes, sync: bool) -> Self: ...
    def publish(self) -> None: ...
    def discard(self) -> None: ...
    def leave(self) -> None: ...
    @property
    def temporary_path(self) -> str | None: ...

def publish_set(journals: Sequence[WholeFile], steps: _n.Steps) -> None: ...
def finish_set(journal: _n.Path, steps: _n.Steps) -> None: ...
def is_locked(path: _n.Path) -> bool: ...
def decode_batch(
    records: Records | Iterable[bytes],
    spec: tuple[_n.NativeFeature, ...] | None,
    names: Sequence[str] | None = None,
    ignore_unknown: bool = False,
) -> Columns:
    """Decodes Examples into columns; see `tfrecs.decode_batch`."""

def decode_sequence_batch(
    records: Records | Iterable[bytes],
    context: tuple[_n.NativeFeature, ...] | None,
    lists: tuple[_n.NativeFeature, ...] | None,
    names: Sequence[str] | None = None,
    ignore_unknown: bool = False,
) -> tuple[Columns, Columns]:
    """Decodes SequenceExamples into the columns of their contexts and of their feature lists."""

def decode_png(data: bytes, max_pixels: int) -> tuple[Buffer, tuple[int, int, int], bool]:
    """The samples of a PNG image, height, width and channels, and whether samples have 16 bits."""

def resize_image(
    samples: _n.Memory,
    shape: tuple[int, int, int],
    size: tuple[int, int],
    filter: str,  # noqa: A002 - Pillow's name for it
) -> Buffer:
    """The samples of an image with another height and width, by the filter bilinear or hamming."""

def digest_file(path: _n.Path, compression_type: str) -> tuple[int, int, int]:
    """The digest of a file's records: how many, how many bytes, and their checksum."""

def find_temporaries(path: _n.Path) -> list[tuple[str, str, bool, int | None]]:
    """The temporary siblings of a file: path, file, whether a writer has it open, its process."""

def encode_batch(columns: object) -> Records:
    """Encodes columns as Examples: ours, or those of anything that speaks Arrow."""

def encode_sequence_batch(context: object, lists: object) -> Records:
    """Encodes the rows of two tables as SequenceExamples: contexts and feature lists."""

def decode_example(record: bytes, ignore_unknown: bool = False) -> dict[str, _n.List]:
    """The features of an Example as a dict of lists."""

def decode_sequence_example(record: bytes, ignore_unknown: bool = False) -> _n.SequenceExample:
    """The context of a SequenceExample as a dict of lists, its feature lists as lists of lists."""

def name_hint(record: bytes, wanted: str) -> str: ...
def message_kind(record: bytes) -> str:
    """The message that a record looks like, or "bytes"."""

def encode_example(features: Mapping[str, Any], sort_keys: bool, plain: _n.Plain) -> bytes:
    """A mapping as the bytes of an Example."""

def encode_sequence_example(
    context: Mapping[str, Any],
    feature_lists: Mapping[str, Iterable[Any]],
    sort_keys: bool,
    plain: _n.Plain,
) -> bytes:
    """Two mappings as the bytes of a SequenceExample."""

def sparse_indices(
    row_splits: _n.Memory, keys: Sequence[_n.Memory], already_sorted: bool
) -> tuple[Buffer, Buffer | None]:
    """The indices (int64: row, keys) of values, ascending in each row, and places if those move."""

def side_by_side(values: _n.Memory, row_splits: _n.Memory, longest: int, filler: bytes) -> Buffer:
    """Rows of `values` as those of a table of `longest` elements; `filler` is what they lack."""

def coordinates(row_splits: _n.Memory, values: int) -> Buffer:
    """For each of `values` values (int64) its row and its place in that row."""

def first_outside(indices: _n.Memory, shape: list[int]) -> int | None:
    """The first line of a table of indices (int64) with one outside of `shape`."""

def sparse_column(columns: Columns, index: int) -> tuple[Buffer, Buffer | None, Buffer, int]:
    """A column of lists as values, their byte offsets, row and place of each, the longest row."""

def split_lists(records: Records | Iterable[bytes]) -> tuple[Records, Records, Buffer]:
    """The contexts and examples of ExampleListWithContexts, and where lists end, from 0 on."""

def decode_raw(
    values: Records | Iterable[bytes], dtype: str, size: int, swap: int, fixed_length: int | None
) -> Buffer:
    """The numbers of `size` bytes in byte strings of one length (None), made so, or of any (0)."""

def parse_tensors(
    records: Records | Iterable[bytes], dtype: str | None, max_bytes: int | None
) -> tuple[str, tuple[int, ...], Buffer, Buffer | None]:
    """The type's name, the shape, the values one after the other, and the offsets of strings."""

def serialize_strings(shape: Sequence[int], values: Records | Iterable[bytes]) -> bytes:
    """A tensor of byte strings."""

def tensor_header(dtype: str, shape: Sequence[int], size: int) -> bytes:
    """All of a tensor's bytes but its values, which follow as they lie in memory: `size` bytes."""
