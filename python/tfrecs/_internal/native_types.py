"""What is handed to the native side and back, as types."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Path: TypeAlias = str | PathLike[str]

Memory: TypeAlias = bytes | bytearray | memoryview | npt.NDArray[np.generic]
"""A contiguous buffer."""

Limits: TypeAlias = tuple[int | None, int | None]
"""max_record_bytes, max_decompressed_bytes; None: what holds by default."""

Place: TypeAlias = tuple[list[tuple[int, int, int, int]], int, int, int]
"""The open files (place in the cycle, which file, number and offset of the next record), whose turn
it is, how many records it has given, and the next file."""

Steps: TypeAlias = tuple[Sequence[tuple[Path, Path]], Sequence[Path], bool]
"""Of a set of files: what is renamed (from, to), what is removed then, and whether it is synced."""


class NativeFeature(NamedTuple):
    """A column to decode."""

    name: str
    dtype: str
    layout: str
    """"fixed", "ragged" or "repeated"."""
    shape: Sequence[int] | None
    """Of an element."""
    default: Any = None
    """Of "fixed", the default values: a list, or for floats an array, which keeps every bit; None:
    the feature is required. Of "repeated" in feature lists, whether a list may be missing."""


class RecordFormat(NamedTuple):
    """What a record of a file is that is no TFRecord file."""

    kind: str
    """"lines", "fixed" (records of one length) or "whole" (a file is one record)."""
    header: int = 0
    """Of "lines", how many lines at the beginning are no records; of "fixed", how many bytes."""
    record: int = 0
    """Of "fixed", how many bytes a record has."""
    footer: int = 0
    """Of "fixed", how many bytes at the end are no records."""


class ReadingInTurn(NamedTuple):
    """How such files are read."""

    format: RecordFormat
    compression_type: str
    limits: Limits
    cycle: int
    """How many files are read at a time."""
    block: int
    """How many records come of one before it is the next one's turn."""


class Writing(NamedTuple):
    """How a file is written."""

    compression_type: str
    mode: str
    atomic: bool
    sync: bool
    threads: int | None
    """That compress a GZIP file in parts; None: one stream of the original zlib."""
    resume: bool
    digest: bool
    """Whether a digest of the records is kept."""
    deflate: Sequence[int | None]
    """level, window_bits, mem_level, strategy, flush_mode, input_buffer_size."""
    sources: Sequence[Path] | None
    """Sources; if given, the file must be regular, and gets no wider permissions than theirs."""


List: TypeAlias = list[int] | list[float] | list[bytes]

SequenceExample: TypeAlias = tuple[dict[str, List], dict[str, list[List]]]
"""The context, and the feature lists."""

Plain: TypeAlias = Callable[[str, Any], Any]
"""Makes a value (of the feature named) one of Python's own plain types."""

Pieces: TypeAlias = tuple[str, Any, Memory | None, Sequence[int], Sequence[Memory], Memory | None]
"""A column: name, values (numbers, or byte strings' bytes; or an Arrow array, and nothing else),
offsets of byte strings, shape of an element, row splits of each level of lists, outermost first,
missing rows (uint8)."""
