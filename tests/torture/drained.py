"""What comes out of a file, and what ends it; where files for that are kept."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import tfrecs

# In memory where that is possible: the cases are many, and each is a new file.
_SHM = Path("/dev/shm")


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that goes when it is left."""
    place = _SHM if _SHM.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name)


def drained(records: Iterable[bytes]) -> tuple[list[bytes], tfrecs.Error | None]:
    """The records that come, and the error that ends them."""
    found: list[bytes] = []
    try:
        found.extend(records)
    except tfrecs.Error as error:
        return found, error
    return found, None


def in_batches(path: Path, size: int = 3) -> Iterator[bytes]:
    """The records of a file by read_batch."""
    reader = tfrecs.RecordReader(path)
    while batch := reader.read_batch(size):
        yield from batch


def misplaced(error: tfrecs.Error | None, path: Path, record: int, offset: int) -> str | None:
    """What is wrong with what an error says of its place."""
    if error is None:
        return "no error"
    if (error.path, error.record, error.offset) != (str(path), record, offset):
        return f"{error!r} instead of record {record} at byte {offset}"
    return None if error.reason in str(error) else f"{error!r} does not say why"
