"""`tf.io.TFRecordWriter` and its options."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from tfrecs.errors import SpecError
from tfrecs.records.writer import RecordWriter
from tfrecs.tf.functions.file_io import path_of
from tfrecs.tf.tensor.values import Tensor


class TFRecordCompressionType:
    """`tf.python_io.TFRecordCompressionType`: how TensorFlow 1 named compressions."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NAMES = {None: "", 0: "", 1: "ZLIB", 2: "GZIP", "": "", "GZIP": "GZIP", "ZLIB": "ZLIB"}


class TFRecordOptions:
    """As `tf.io.TFRecordOptions`: how a file is compressed.

    Raises:
        InvalidArgumentError: There is no such compression.
    """

    compression_type_map = {0: "", 1: "ZLIB", 2: "GZIP"}  # noqa: RUF012 - as TensorFlow has it

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        """Keep what is given."""
        self.compression_type = self.get_compression_type_string(compression_type)
        self.compression_method = compression_method
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return "", "GZIP" or "ZLIB" for options, a name, or a number of TensorFlow 1."""
        if isinstance(options, TFRecordOptions):
            return options.compression_type
        try:
            return _NAMES[options]
        except (KeyError, TypeError):
            raise SpecError(f'Not a valid compression_type: "{options}"') from None

    def of_zlib(self) -> dict[str, int | None]:
        """Return zlib's parameters, as RecordWriter takes them."""
        names = (
            "flush_mode",
            "input_buffer_size",
            "output_buffer_size",
            "window_bits",
            "compression_level",
            "mem_level",
            "compression_strategy",
        )
        return {name: getattr(self, name) for name in names}


class TFRecordWriter:
    """As `tf.io.TFRecordWriter`: the file is there from the beginning, and grows.

    tfrecs.RecordWriter shows a file under its name only when it is whole.

    Example:
        >>> from tfrecs import tf
        >>> with tf.io.TFRecordWriter("words.tfrecord") as out:
        ...     out.write(b"a word")
        >>> [record.numpy() for record in tf.data.TFRecordDataset("words.tfrecord")]
        [b'a word']
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        """Open the file, which is empty then.

        Raises:
            NotFoundError: There is no such folder; and other errors of files.
            InvalidArgumentError: There is no such compression.
        """
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        self._writer = RecordWriter(
            path_of(path), options.compression_type, atomic=False, sync=False, **options.of_zlib()
        )

    def write(self, record: Any) -> None:
        """Write a record: bytes, or text as UTF-8."""
        given = record.numpy() if isinstance(record, Tensor) else record
        self._writer.write(given.encode() if isinstance(given, str) else given)

    def flush(self) -> None:
        """Make all that was written readable."""
        self._writer.flush()

    def close(self) -> None:
        """Write the rest; what is closed already stays so."""
        if not self._writer.closed:
            self._writer.close()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it, whatever happened: what was written is there."""
        self.close()

    def __del__(self) -> None:
        """Close it, as TensorFlow's does."""
        if hasattr(self, "_writer"):
            self.close()
