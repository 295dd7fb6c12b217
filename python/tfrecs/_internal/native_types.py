"""What is handed to the native side and back, as types."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Path: TypeAlias = str | PathLike[str]

Memory: TypeAlias = bytes | bytearray | memoryview | npt.NDArray[np.generic]
"""A contiguous buffer."""

Feature: TypeAlias = tuple[str, str, str, list[int] | None, Any]
"""Name, dtype, layout ("fixed", "ragged" or "repeated"), shape of an element, and default values;
of a feature list, whether it may be missing."""

Limits: TypeAlias = tuple[int | None, int | None]
"""max_record_bytes, max_decompressed_bytes; None: what holds by default."""

Step: TypeAlias = tuple[Any, ...]
"""("records", n), which comes first and only there, ("shuffle", seed), ("repeat", count or None),
("skip", n), ("take", n), ("shard", num, index, base, "uneven" or "drop" or "pad"),
("window", seed, size), or ("stripe", block, num, index)."""

How: TypeAlias = tuple[tuple[str, int, int, int], str, Limits, int, int]
"""A format, ("lines", how many are none, 0, 0), ("fixed", header, record, footer) or
("whole", 0, 0, 0); compression type, limits, and how many files and records come in turn."""

Place: TypeAlias = tuple[list[tuple[int, int, int, int]], int, int, int]
"""The open files (place in the cycle, which file, number and offset of the next record), whose turn
it is, how many records it has given, and the next file."""

Steps: TypeAlias = tuple[Sequence[tuple[Path, Path]], Sequence[Path], bool]
"""Of a set of files: what is renamed (from, to), what is removed then, and whether it is synced."""


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
