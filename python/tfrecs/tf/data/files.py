"""`TFRecordDataset`, `TextLineDataset`, `FixedLengthRecordDataset`: records of files by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from tfrecs._internal.checks import checked_integer, checked_limits, checked_threads
from tfrecs._internal.native_types import RecordFormat
from tfrecs.dataset import Dataset as Plan
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.sources.files import Files, Reading
from tfrecs.dataset.sources.text import Foreign
from tfrecs.errors import SpecError
from tfrecs.storage.paths import local_path
from tfrecs.tf.data.dataset import AUTOTUNE, Dataset
from tfrecs.tf.data.rows import Generated, listed
from tfrecs.tf.tensor.conversion import integer
from tfrecs.tf.tensor.values import Tensor

Opener = Callable[[tuple[str, ...], int], Node]


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as `tf.data.TFRecordDataset`.

    Names are taken as they are: patterns are for `Dataset.list_files`. A file is opened, and found
    missing, when it is its turn.

    Args:
        filenames: A name, several, or a dataset of names.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: Means nothing here.
        num_parallel_reads: How many files are read in turn, a record of each; None and AUTOTUNE
            read one after the other.

    Raises:
        InvalidArgumentError: An argument makes no sense.
        TypeError: A name is no text.

    Example:
        >>> from tfrecs import tf
        >>> with tf.io.TFRecordWriter("three.tfrecord") as out:
        ...     for n in range(3):
        ...         out.write(b"%d" % n)
        >>> for record in tf.data.TFRecordDataset("three.tfrecord").skip(1):
        ...     print(record)
        tf.Tensor(b'1', shape=(), dtype=string)
        tf.Tensor(b'2', shape=(), dtype=string)
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        """Describe what to read."""
        _check_buffer(buffer_size, -1)
        compression = _compression(compression_type)

        def opened(paths: tuple[str, ...], turns: int) -> Node:
            reading = Reading(
                compression,
                True,
                checked_limits(None, None),
                checked_threads(None),
                False,
                False,
                None,
            )
            if turns == 1 or len(paths) == 1:
                return Files(paths, Spec(), reading)
            each = [Plan.of(Files((path,), Spec(), reading)) for path in paths]
            numbers = Plan.of(listed("files()", range(len(paths))))
            return numbers.interleave(each.__getitem__, turns, 1).node

        super().__init__(_records_of(filenames, opened, num_parallel_reads))


class TextLineDataset(Dataset):
    r"""The lines of text files, as `tf.data.TextLineDataset`: without `\n`, nor any `\r`.

    Args:
        filenames: As for TFRecordDataset.
        compression_type: As for TFRecordDataset.
        buffer_size: Means nothing here.
        num_parallel_reads: As for TFRecordDataset.

    Example:
        >>> from tfrecs import tf
        >>> tf.io.write_file("ages.csv", "name,age\nada,36\n")
        >>> [line.numpy() for line in tf.data.TextLineDataset("ages.csv").skip(1)]
        [b'ada,36']
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        """Describe what to read."""
        _check_buffer(buffer_size, 0)
        opened = _foreign("from_lines()", RecordFormat("lines"), _compression(compression_type))
        super().__init__(_records_of(filenames, opened, num_parallel_reads))


class FixedLengthRecordDataset(Dataset):
    """Records of one length of binary files, as `tf.data.FixedLengthRecordDataset`.

    Args:
        filenames: As for TFRecordDataset.
        record_bytes: How many bytes each record has.
        header_bytes: How many stand before the first one of each file.
        footer_bytes: How many stand after the last one.
        buffer_size: Means nothing here.
        compression_type: As for TFRecordDataset.
        num_parallel_reads: As for TFRecordDataset.

    Example:
        >>> from tfrecs import tf
        >>> tf.io.write_file("pairs.bin", b"HEADaabb")
        >>> ds = tf.data.FixedLengthRecordDataset("pairs.bin", 2, header_bytes=4)
        >>> list(ds.as_numpy_iterator())
        [b'aa', b'bb']
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        buffer_size: int | None = None,
        compression_type: str | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        """Describe what to read."""
        _check_buffer(buffer_size, 0)
        sizes = [
            integer(size or 0, "a number of bytes")
            for size in (header_bytes, record_bytes, footer_bytes)
        ]
        header, record, footer = sizes
        if record <= 0 or header < 0 or footer < 0:
            raise SpecError(
                f"record_bytes must be > 0, header_bytes and footer_bytes >= 0, not {record}, "
                f"{header} and {footer}"
            )
        kind = RecordFormat("fixed", header, record, footer)
        call = f"from_fixed_length({record})"
        opened = _foreign(call, kind, _compression(compression_type))
        super().__init__(_records_of(filenames, opened, num_parallel_reads))


def _foreign(call: str, kind: RecordFormat, compression: str) -> Opener:
    limits = checked_limits(None, None)

    def opened(paths: tuple[str, ...], turns: int) -> Node:
        return Foreign(call, paths, kind, compression, limits, turns, 1)

    return opened


def _records_of(filenames: Any, opened: Opener, num_parallel_reads: int | None) -> Plan:
    """Return the plan of the records of files, which may be named by a dataset."""
    turns = 1 if num_parallel_reads in (None, AUTOTUNE) else num_parallel_reads
    turns = checked_integer("num_parallel_reads", turns)
    if turns < 1:
        raise SpecError(f"`cycle_length` must be > 0: num_parallel_reads is {turns}")
    if isinstance(filenames, Dataset):
        one = lambda name: Plan.of(opened(_names(name), 1))  # noqa: E731
        return filenames.plan.interleave(one, turns, 1)
    names = _names(filenames)
    # Of no names there are no elements, but their number is unknown to TensorFlow all the same.
    return Plan.of(opened(names, turns) if names else Generated("files()", lambda: iter(())))


def _names(given: Any) -> tuple[str, ...]:
    """Return names of files.

    Raises:
        TypeError: One is none.
    """
    given = given.numpy() if isinstance(given, Tensor) else given
    if isinstance(given, str | bytes | os.PathLike):
        return (local_path(given),)  # type: ignore[arg-type]
    if isinstance(given, np.ndarray):
        given = given.reshape(-1).tolist()
    if not isinstance(given, list | tuple):
        raise TypeError(
            "The `filenames` argument must contain `tf.string` elements. Got "
            f"{type(given).__name__!r} elements."
        )
    return tuple([name for one in given for name in _names(one)])


def _compression(given: Any) -> str:
    """Return the name of a compression.

    Raises:
        SpecError: There is none of that name, which TensorFlow takes for "" in TFRecord files.
    """
    given = given.numpy().decode() if isinstance(given, Tensor) else given
    if given not in (None, "", "GZIP", "ZLIB"):
        raise SpecError(f'Unsupported compression_type: "{given}"; there are "", "GZIP", "ZLIB"')
    return given or ""


def _check_buffer(buffer_size: Any, least: int) -> None:
    if buffer_size is not None and integer(buffer_size, "buffer_size") < least:
        raise SpecError(f"`buffer_size` must be >= {least}, not {buffer_size}")
