"""Tensorboard's event files: their summaries as columns, without tensorboard or TensorFlow.

An event file is a TFRecord file of `tensorflow.Event` messages. The few fields that matter are read
natively; for everything else in an event, `decode_proto` takes the message's own definition.
"""

import os
import time
from collections.abc import Generator, Iterable
from contextlib import suppress

from tfrecs import _core
from tfrecs._internal.checks import checked_name, checked_text
from tfrecs._internal.shared_iterators import SharedIterator
from tfrecs.columns.batch import Batch
from tfrecs.errors import MissingFileError, SpecError, TruncatedFileError
from tfrecs.storage.paths import Path, Paths, expand_paths

# Events are small, but for those that hold images; so few of these are in memory at a time.
_EVENTS_AT_A_TIME = 256

Names = str | Iterable[str]


def read_events(
    paths: Paths,
    *,
    tags: Names | None = None,
    plugins: Names | None = "scalars",
    tolerate_tail: bool = False,
) -> Batch:
    r"""Read the summaries in tensorboard's event files as columns, a row for each.

    Scalars are read however they were written: as `simple_value`, or as a tensor of any real type.
    A tensor that names no plugin is a scalar if it holds just one number.

    Args:
        paths: A file, a pattern, a directory (all files in it with `tfevents` in their names, in
            the order of their names; not those of its subdirectories, which are other runs), or a
            list of them. The rows of the files follow each other.
        tags: The tags to read; None is all.
        plugins: The plugins whose summaries to read, in tensorboard's words: "scalars",
            "histograms", "images", "audio", "text", …; None is all, which shows what there is.
        tolerate_tail: Whether a file may end within an event, as that of a run does that is still
            continuing, or was killed. What comes before is read.

    Returns:
        A Batch of the columns `wall_time` (float64, seconds since 1970), `step` (int64), `tag` and
        `plugin` (BytesArrays; the plugin is empty if it is not known) and `value` (float64; NaN if
        the summary is no scalar), each of shape (rows,).

    Raises:
        MissingFileError: There is no such file, or no event file in the directory.
        ParseError: A record is no event, or a scalar summary holds no single number.
        Error: As RecordReader raises.

    Example:
        >>> import struct, tfrecs
        >>> loss = b"\x0a\x0b\x0a\x04loss\x15" + struct.pack("<f", 0.25)  # a Summary
        >>> event = b"\x09" + struct.pack("<d", 1.6e9) + b"\x10\x07\x2a\x0d" + loss
        >>> with tfrecs.RecordWriter("events.out.tfevents.1600000000.host") as out:
        ...     out.write(event)
        >>> batch = tfrecs.read_events(".")
        >>> batch["step"].tolist(), batch["tag"].tolist(), batch["value"].tolist()
        ([7], [b'loss'], [0.25])
    """
    decoder = _decoder(tags, plugins)
    for path in [path for found in expand_paths(paths) for path in _event_files(found)]:
        reader = _core.Reader(path, "auto", verify=True)
        try:
            _drain(reader, decoder)
        except TruncatedFileError:
            if not tolerate_tail:
                raise
        finally:
            reader.close()
    return Batch(decoder.take())


def follow_events(
    path: Path,
    *,
    tags: Names | None = None,
    plugins: Names | None = "scalars",
    poll_interval: float = 1.0,
    timeout: float | None = None,
) -> Generator[Batch, None, None]:
    r"""Follow an event file, or a directory of them, as it grows: yield what is new as Batches.

    The first Batch is what is there already. An event that is not yet there whole is waited for,
    and so are further files of a directory. The iterator ends after `timeout`; closing it, or
    dropping it, closes the files.

    Args:
        path: A file, which must not be compressed, or a directory, as for read_events.
        tags: The tags to read, as for read_events.
        plugins: The plugins whose summaries to read, as for read_events.
        poll_interval: How often to look, in seconds.
        timeout: End when nothing new has come for so long, in seconds; 0 yields what is there.
            None continues for ever.

    Returns:
        A generator of Batches with the columns of read_events, each of at least one row.

    Raises:
        MissingFileError: There is nothing of this name.
        SpecError: The interval or the timeout is negative.
        Error: While following, as read_events raises, but for an end within an event.

    Example:
        >>> import struct, tfrecs
        >>> def event(step, loss):
        ...     value = b"\x0a\x0b\x0a\x04loss\x15" + struct.pack("<f", loss)
        ...     return bytes([0x10, step, 0x2A, len(value)]) + value
        >>> out = tfrecs.RecordWriter("events.out.tfevents.1.host", atomic=False)
        >>> batches = tfrecs.follow_events(".", poll_interval=0.01)
        >>> for step in range(3):
        ...     out.write(event(step, 1.5 - step / 2))
        ...     out.flush()
        ...     batch = next(batches)
        ...     print(batch["step"].tolist(), batch["value"].tolist())
        [0] [1.5]
        [1] [1.0]
        [2] [0.5]
        >>> out.close()
    """
    if poll_interval < 0 or (timeout is not None and timeout < 0):
        raise SpecError("poll_interval and timeout are seconds, and not negative")
    name = checked_name(path)
    if not os.path.lexists(name):
        raise MissingFileError(f"{name}: there is no such file or directory", path=name)
    return SharedIterator(_followed(name, _decoder(tags, plugins), poll_interval, timeout))


def _followed(
    path: str, decoder: _core.EventDecoder, poll_interval: float, timeout: float | None
) -> Generator[Batch, None, None]:
    readers: dict[str, _core.Reader] = {}
    last_news = time.monotonic()
    try:
        while True:
            for file in _event_files(path, may_be_none=True):
                if file not in readers:
                    readers[file] = _core.Reader(file, "", verify=True)
                _drain_for_now(readers[file], decoder)
            batch = Batch(decoder.take())
            if batch.num_rows:
                yield batch
                last_news = time.monotonic()
            elif timeout is not None and time.monotonic() - last_news >= timeout:
                return
            else:
                time.sleep(poll_interval)
    finally:
        for reader in readers.values():
            reader.close()


def _decoder(tags: Names | None, plugins: Names | None) -> _core.EventDecoder:
    return _core.EventDecoder(_names("tags", tags), _names("plugins", plugins))


def _names(what: str, names: Names | None) -> list[str] | None:
    if names is None:
        return None
    if not isinstance(names, Iterable):
        raise SpecError(f"{what} must be str, not {type(names).__name__}: {names!r}")
    found = [names] if isinstance(names, str) else list(names)
    return [checked_text(what, name) for name in found]


def _event_files(path: str, *, may_be_none: bool = False) -> list[str]:
    """The file itself, or the event files of a directory."""
    if not os.path.isdir(path):  # noqa: PTH112 - keeps the names as given
        return [path]
    names = sorted(name for name in os.listdir(path) if "tfevents" in name)  # noqa: PTH208
    if not names and not may_be_none:
        raise MissingFileError(f"{path}: no event file (…tfevents…) in this directory", path=path)
    return [os.path.join(path, name) for name in names]  # noqa: PTH118


def _drain(reader: _core.Reader, decoder: _core.EventDecoder) -> None:
    while records := reader.read_batch(_EVENTS_AT_A_TIME):
        decoder.push(records)


def _drain_for_now(reader: _core.Reader, decoder: _core.EventDecoder) -> None:
    """Read to where the file ends at the moment, and no further than its last whole event."""
    reader.resume()
    with suppress(TruncatedFileError):
        _drain(reader, decoder)
