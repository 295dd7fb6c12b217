"""Writing files of records."""

import os
import warnings
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from tfrecs import _core
from tfrecs._internal.checks import (
    checked_compression,
    checked_name,
    checked_option,
    checked_threads,
)
from tfrecs._internal.native_types import Writing
from tfrecs._internal.wording import counted
from tfrecs.errors import Error, SpecError, StateError
from tfrecs.records.reader import Records
from tfrecs.storage.paths import Path


class RecordWriter:
    """Writes records to one file, which appears under its name whole or not at all.

    Until close() succeeds, the name shows what it showed before: the bytes go to a temporary
    sibling, which is synced and renamed. A `with` block that ends with an exception, and a writer
    that is dropped without close() (which warns), leave the old file as it was. Any error while
    writing is reported at write, flush or close, and then nothing is published.

    What was flushed outlives the process, however that ends: a file that is appended to or written
    in place can be read up to there; of one that is new, the temporary sibling (`temporary_path`)
    can, which stays behind when its writer is killed. leftovers() finds it, and `resume=True` goes
    on with it. After sync() it survives a power cut too.

    A file has one writer at a time: a second one, of this process or another, is refused with
    FileError (EBUSY), for as long as the first one is open or waits to be published.

    Uncompressed files are byte for byte those of TensorFlow's `tf.io.TFRecordWriter`. GZIP files
    are made of members of about 256 KB of records, which can be compressed, and later read, on
    several cores; flush() ends one. Whatever reads gzip reads them, TensorFlow too. ZLIB files are
    one stream, because that is all that the format has.

    Args:
        path: The file.
        compression_type: "auto" goes by the name (.gz and .gzip: GZIP; .zz and .zlib: ZLIB; .zst
            and others that cannot be written are refused); "", "GZIP" or "ZLIB" insist, under any
            name. Other spellings are understood: "gzip", "gz", "zlib", "none".
        level: How hard to compress, 0 (not at all) to 9; None is 6.
        mode: "w" replaces a file, "x" refuses one that exists, "a" writes after its records. In
            mode "a" the old records are read first. If the file was cut, all its whole records
            stay, with a warning: a torn record at the end of an uncompressed file is cut off; a
            gzip file, which then gets one more member, is first replaced by one that is whole.
            Any other damage is refused. Where there is no file, what a killed writer has left of
            it is one.
        atomic: False writes in place and shows every byte at once, as TensorFlow does: for logs
            that others follow. Devices and pipes are always written in place.
        sync: Whether close() waits until the bytes are on the disk, so that what is published
            survives a power cut whole. False leaves it to the system when they get there, as
            TensorFlow does; a file that can be made again need not wait.
        resume: Whether to continue with what a killed writer of this name has left, if it has left
            anything: `num_old_records` says how many records are there already. A ZLIB stream
            cannot be gone on with. What is then discarded are the new records only.
        num_threads: How many threads compress a GZIP file (at most 1,024); None is one for each
            core, 1 is the caller's own. An uncompressed file is written by one more thread from its
            fifth megabyte on, unless this is 1. The file is the same with any number.
        compression_level, window_bits, mem_level, compression_strategy, flush_mode,
            input_buffer_size: As in `tf.io.TFRecordOptions`: zlib's parameters, where the file is
            compressed, and ignored where it is not. With any of them a GZIP file is one stream,
            byte for byte that of the original zlib, which takes one thread and four times as long.
        output_buffer_size: Accepted because TensorFlow has it; it means nothing here.

    Raises:
        FileError: The file cannot be opened or written, or another writer has it open.
        SpecError: An option makes no sense.
        StateError: The writer is closed already.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("out.tfrecord.gz") as out:
        ...     out.write(b"a record")
        >>> list(tfrecs.RecordReader("out.tfrecord.gz"))
        [b'a record']

        A job that continues where it was when it was killed:

        >>> rows = [b"row 0", b"row 1", b"row 2"]
        >>> with tfrecs.RecordWriter("job.tfrecord", resume=True) as out:
        ...     for row in rows[out.num_old_records:]:
        ...         out.write(row)
        ...         out.flush()
        >>> list(tfrecs.RecordReader("job.tfrecord")) == rows
        True
    """

    _writer: _core.Writer | None = None  # for __del__, when opening fails
    _pid = 0

    def __init__(
        self,
        path: Path,
        compression_type: str | None = "auto",
        level: int | None = None,
        mode: str = "w",
        *,
        atomic: bool = True,
        sync: bool = True,
        resume: bool = False,
        num_threads: int | None = None,
        compression_level: int | None = None,
        window_bits: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
    ) -> None:
        """Open the file."""
        del output_buffer_size
        self.path = checked_name(path)
        self._atomic = atomic
        self._pid = os.getpid()  # a fork has a copy of this object, but the file is not its own
        zlib = (window_bits, mem_level, compression_strategy, flush_mode, input_buffer_size)
        as_zlib = any(option is not None for option in (compression_level, *zlib))
        checked = checked_threads(num_threads)
        threads = None if as_zlib else checked
        level = compression_level if level is None else level
        if not str(mode).isascii():
            raise SpecError(f'mode must be "w", "x" or "a", not {mode!r}')
        deflate = tuple(map(checked_option, (level, *zlib)))
        codec = checked_compression(compression_type)
        digest, sources = self._keeps_digest, self._sources
        how = Writing(codec, mode, atomic, sync, threads, resume, digest, deflate, sources)
        self._writer = _core.Writer(self.path, how)
        self._tell_what_was_there(resume)

    _keeps_digest = False  # of the records; see manifest.py
    _sources: list[str] | None = None  # see FileWriter

    def _tell_what_was_there(self, was_asked_for: bool) -> None:
        """Warn about a file that somebody has left cut, or without its name."""
        _, torn, is_resumed = self._core.old
        if is_resumed and was_asked_for:
            return
        texts = []
        if is_resumed:
            texts.append("continues with what a writer has left that was killed")
        if torn and self.compression_type:
            last = counted(torn, "byte")
            texts.append(f"the stream was cut: wrote the records of its last {last} anew")
        elif torn:
            texts.append(f"cut off {counted(torn, 'byte')} of a torn record at its end")
        try:
            for text in texts:
                warnings.warn(f"{self.path}: {text}", RuntimeWarning, stacklevel=3)
        except RuntimeWarning:
            self.discard()
            raise

    @property
    def compression_type(self) -> str:
        """How the file is compressed: "", "GZIP" or "ZLIB"."""
        return self._core.compression_type

    @property
    def num_records(self) -> int:
        """How many records this writer has written."""
        return self._core.records

    @property
    def num_old_records(self) -> int:
        """How many records there were already: in mode "a", or with `resume`."""
        return self._core.old[0]

    @property
    def temporary_path(self) -> str | None:
        """Where the records are until the file gets its name; None if it has it."""
        return self._core.temporary_path

    @property
    def closed(self) -> bool:
        """Whether the writer takes no more records."""
        return self._core.closed

    def write(self, record: bytes | bytearray | memoryview) -> None:
        """Add a record."""
        self._core.write(record)

    def write_batch(self, records: Records | Iterable[bytes]) -> None:
        """Add records: those of Records without the GIL and without making an object of any."""
        self._core.write_batch(records)

    def flush(self) -> None:
        """Hand everything so far to the operating system: it then outlives this process.

        What was flushed can be read, up to an error that says that the file is not complete. A GZIP
        file gets a member, or where it is one stream, as ZLIB always is, a full flush, from which
        on it can be inflated without what is before. Compression suffers if that comes often.
        """
        self._core.flush()

    def sync(self) -> None:
        """Flush, and wait until it is all on the disk: it then survives a power cut too."""
        self._core.sync()

    def close(self) -> None:
        """Complete the file and publish it under its name. Closing twice is no error."""
        self._core.close()

    def discard(self) -> None:
        """Give the file up: the old one, if any, stays as it was."""
        self._core.abandon()

    def finish(self) -> None:
        """Complete and sync the file, but leave it to close() or publish_as() to publish it.

        It is closed then, and another writer of its name is not refused any more.
        """
        self._core.finish()

    def publish_as(self, path: Path) -> None:
        """Publish a finished file under another name than the one it was opened for.

        Raises:
            SpecError: No file can have this name.
        """
        self._core.publish_as(checked_name(path))

    @property
    def _core(self) -> _core.Writer:
        if self._writer is None:
            raise StateError("Writer was never opened.")
        return self._writer

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Publish the file; after an exception in the block, discard it (if it is atomic)."""
        if exception_type is None:
            self.close()
        elif self._atomic:
            self.discard()
        else:
            with suppress(Error):  # what ended the block is what the caller must hear of
                self.close()

    def __del__(self) -> None:
        """Warn about a writer that was never closed, and discard its file (if it is atomic)."""
        if self._pid == os.getpid() and self._writer is not None and not self._writer.closed:
            if self._atomic:
                self._writer.abandon()
            else:
                self._writer.close()
            warnings.warn(
                f"RecordWriter for {self.path!r} was never closed"
                + (": its records are discarded" if self._atomic else ""),
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    def __repr__(self) -> str:
        """Show the path and the number of records."""
        if self._writer is None:
            return f"RecordWriter({self.path!r}, never opened)"
        state = "closed" if self.closed else "open"
        records = counted(self.num_records, "record")
        return f"RecordWriter({self.path!r}, {records}, {state})"


class FileWriter(RecordWriter):
    """Writes to a regular file only, with no wider permissions than the files it is made of.

    For what is written to a name that need not be the user's choice, or replaces a set: pipes and
    devices are refused, and never replaced.
    """

    def __init__(
        self,
        path: Path,
        *args: Any,
        sources: Iterable[Path] = (),
        digest: bool = False,
        **options: Any,
    ) -> None:
        """Open the file; with `digest`, keep one of the records."""
        self._sources = [os.fsdecode(source) for source in sources]
        self._keeps_digest = digest
        super().__init__(path, *args, **options)
