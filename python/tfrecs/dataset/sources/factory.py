"""What a dataset can be made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from tfrecs._internal.checks import (
    UNREACHED,
    checked_compression,
    checked_limit,
    checked_limits,
    checked_natural,
)
from tfrecs._internal.native_types import RecordFormat
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.sources.files import Files, Reading
from tfrecs.dataset.sources.memory import CustomSource, Memory, Opened, RecordSource
from tfrecs.dataset.sources.text import Foreign, Listed
from tfrecs.errors import SpecError
from tfrecs.records.indexed import IndexedRecords
from tfrecs.records.reader import Records
from tfrecs.records.whole_sets import record_files
from tfrecs.storage.paths import Paths, expand_paths


def source_of(given: Any, spec: Spec, reading: Reading, *, progress: bool) -> Node:
    """Return the source that a dataset is made of: files, or records.

    Raises:
        FileError: No file matches a pattern.
        SpecError: It is neither.
    """
    if isinstance(given, IndexedRecords):
        return Opened(tuple(given.paths), spec, reading, opened=given, progress=progress)
    if isinstance(given, list | tuple) and given and all(isinstance(it, bytes) for it in given):
        given = Records(given)
    if isinstance(given, Records):
        return Memory(spec, reading.threads, given, progress=progress)
    if isinstance(given, RecordSource):
        return CustomSource(spec, reading.threads, given, progress=progress)
    return Files(tuple(record_files(given)), spec, reading, progress=progress)


class Sources(ABC):
    """Datasets of files that are not TFRecord files."""

    @classmethod
    @abstractmethod
    def of(cls, node: Node) -> Self:
        """Return the dataset of a plan."""

    @classmethod
    def from_lines(
        cls,
        paths: Paths,
        *,
        skip_header_lines: int = 0,
        compression_type: str | None = "auto",
        cycle_length: int = 1,
        block_length: int = 1,
        max_record_bytes: int | None = None,
        max_decompressed_bytes: int | None = None,
    ) -> Self:
        r"""Return a dataset of the lines of text files, as bytes.

        Lines are those of TensorFlow's TextLineDataset: each ends with a newline, of which it has
        none, nor has it any carriage return; what stands after the last newline is a line if there
        is anything. Only whole files that are cut or damaged, which TensorFlow takes for shorter
        ones, are an error here. `with_keys()` gives `file:line`, counted from 1, as editors do.

        Args:
            paths: A path, a pattern, or several of them, in order.
            skip_header_lines: How many lines to leave out at the beginning of each file.
            compression_type: "auto" finds out whether a file is compressed with gzip; "", "GZIP" or
                "ZLIB" insist.
            cycle_length: How many files are read in turn; 1 reads one after the other. A state
                takes some 60 bytes for each.
            block_length: How many lines come of one before it is the next one's turn. The place of
                a file that has ended is empty until its next turn, and then that of the next file:
                the order of `interleave`, and of TensorFlow's.
            max_record_bytes: The longest line.
            max_decompressed_bytes: The most that may come out of a compressed file.

        Raises:
            FileError: No file matches a pattern. What is wrong with a file is raised by iterating.
            SpecError: An argument makes no sense.

        Example:
            >>> import pathlib, tfrecs
            >>> _ = pathlib.Path("table.csv").write_text("name,age\nada,36\ngrace,85\n")
            >>> ds = tfrecs.Dataset.from_lines("table.csv", skip_header_lines=1)
            >>> list(ds)
            [b'ada,36', b'grace,85']
            >>> list(ds.with_keys())
            [(b'table.csv:2', b'ada,36'), (b'table.csv:3', b'grace,85')]
        """
        header = min(checked_natural("skip_header_lines", skip_header_lines), UNREACHED)
        call = f"from_lines(skip_header_lines={header}" if header else "from_lines"
        limits = checked_limits(max_record_bytes, max_decompressed_bytes)
        turns = (cycle_length, block_length)
        return cls.of(
            _foreign(call, paths, RecordFormat("lines", header), compression_type, limits, turns)
        )

    @classmethod
    def from_fixed_length(
        cls,
        paths: Paths,
        record_bytes: int,
        *,
        header_bytes: int = 0,
        footer_bytes: int = 0,
        compression_type: str | None = "auto",
        cycle_length: int = 1,
        block_length: int = 1,
        max_decompressed_bytes: int | None = None,
    ) -> Self:
        """Return a dataset of the records of binary files in which all have the same length.

        As TensorFlow's FixedLengthRecordDataset. `with_keys()` gives `file:record`.

        Args:
            paths: A path, a pattern, or several of them, in order.
            record_bytes: How many bytes each record has.
            header_bytes: How many stand before the first one of each file.
            footer_bytes: How many stand after the last one.
            compression_type: As for from_lines().
            cycle_length: As for from_lines().
            block_length: As for from_lines().
            max_decompressed_bytes: As for from_lines().

        Raises:
            FileError: No file matches a pattern.
            SpecError: An argument makes no sense.
            TruncatedFileError: By iterating: the records do not fill a file; of one that is not
                compressed, before its first record is given.

        Example:
            >>> import pathlib, tfrecs
            >>> _ = pathlib.Path("three.bin").write_bytes(b"HEADaabbcc")
            >>> ds = tfrecs.Dataset.from_fixed_length("three.bin", 2, header_bytes=4)
            >>> [batch.tolist() for batch in ds.batch(2)]
            [[b'aa', b'bb'], [b'cc']]
        """
        record = min(checked_limit("record_bytes", record_bytes), UNREACHED)
        header = min(checked_natural("header_bytes", header_bytes), UNREACHED)
        footer = min(checked_natural("footer_bytes", footer_bytes), UNREACHED)
        given = {"header_bytes": header, "footer_bytes": footer}
        rest = "".join(f", {name}={value}" for name, value in given.items() if value)
        call = f"from_fixed_length({record}{rest}"
        limits = checked_limits(None, max_decompressed_bytes)
        turns = (cycle_length, block_length)
        kind = RecordFormat("fixed", header, record, footer)
        return cls.of(_foreign(call, paths, kind, compression_type, limits, turns))

    @classmethod
    def from_files(cls, paths: Paths, *, max_record_bytes: int | None = None) -> Self:
        """Return a dataset of the contents of whole files; `with_keys()` gives their paths.

        Args:
            paths: A path, a pattern, or several of them, in order.
            max_record_bytes: The largest file.

        Raises:
            FileError: No file matches a pattern.

        Example:
            >>> import pathlib, tfrecs
            >>> for name in ("one.txt", "two.txt"):
            ...     _ = pathlib.Path(name).write_text(name[:3])
            >>> list(tfrecs.Dataset.from_files(["one.txt", "two.txt"]).with_keys())
            [(b'one.txt', b'one'), (b'two.txt', b'two')]
        """
        limits = checked_limits(max_record_bytes, None)
        return cls.of(_foreign("from_files", paths, RecordFormat("whole"), "", limits, (1, 1)))

    @classmethod
    def list_files(cls, paths: Paths) -> Self:
        """Return a dataset of the names of files, as str, for `interleave` and `map`.

        Example:
            >>> import tfrecs
            >>> for shard in range(2):
            ...     with tfrecs.RecordWriter(f"turn-{shard}.tfrecord") as out:
            ...         out.write_batch([b"%d%d" % (shard, n) for n in range(3)])
            >>> list(tfrecs.Dataset.list_files("turn-?.tfrecord").interleave(tfrecs.Dataset))
            [b'00', b'10', b'01', b'11', b'02', b'12']
        """
        return cls.of(Listed(tuple(expand_paths(paths))))


def _foreign(
    call: str,
    paths: Paths,
    kind: RecordFormat,
    compression_type: str | None,
    limits: Any,
    turns: tuple[int, int],
) -> Foreign:
    cycle = min(checked_limit("cycle_length", turns[0]), UNREACHED)
    block = min(checked_limit("block_length", turns[1]), UNREACHED)
    compression = checked_compression(compression_type)
    if compression not in ("", "auto", "GZIP", "ZLIB"):
        raise SpecError(
            f'compression_type must be "auto", "", "GZIP" or "ZLIB", not {compression!r}'
        )
    name, _, rest = call.partition("(")
    if cycle > 1:
        rest += f"{rest and ', '}cycle_length={cycle}, block_length={block}"
    call = f"{name}({rest}" + ")" if rest else f"{name}()"
    files = tuple(expand_paths(paths))
    return Foreign(call, files, kind, compression, limits, cycle, block)
