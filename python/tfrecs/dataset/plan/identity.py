"""How states and caches recognise their files.

By names, sizes and samples of the bytes (`record/storage/identity.rs`). A state goes by the files
that were opened, so that a run resumes on a copy elsewhere, and not on other content. A cache stays
on one machine, and also goes by the time of the last change and the inode.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

from tfrecs import _core
from tfrecs._internal.checks import checked_threads
from tfrecs._internal.logging import logger
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import StateError

Samples = _core.Samples


def short_digest(what: Any) -> str:
    """Return 16 hexadecimal digits that differ for different plain values."""
    return hashlib.sha256(repr(what).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sampled_state(samples: Samples | None) -> State | None:
    """Return one digest of the samples of all files that have been sampled, and which these are."""
    if samples is None:
        return None
    ranges = samples.ranges()
    return {"ranges": [at for pair in ranges for at in pair], "digest": _digest(samples, ranges)}


def _digest(samples: Samples, ranges: Iterable[tuple[int, int]]) -> str:
    threads = checked_threads(None)
    return short_digest([samples.of(begin, end, threads) for begin, end in ranges])


def check_sampled(samples: Samples, saved: Saved | None, count: int) -> None:
    """Refuse a state of files with other content; those that it has no samples of are not compared.

    Raises:
        StateError: It is one.
        FileError: A file cannot be read.
    """
    if saved is None:
        return
    ranges = _ranges(saved.only(["ranges", "digest"]).integers("ranges", 2 * count, count))
    if saved.string("digest") != _digest(samples, ranges):
        raise StateError(
            "the state is of other files: names and sizes are the same, but not what is in them"
        )
    missing = count - sum(end - begin for begin, end in ranges)
    if missing:
        logger.info("%d of %d files are known to the state by name and size only", missing, count)


def _ranges(flat: Sequence[int]) -> list[tuple[int, int]]:
    ranges = list(zip(flat[::2], flat[1::2], strict=False))
    if len(flat) % 2 or list(flat) != sorted(flat):
        raise StateError("the state is none: its ranges of files are not in order")
    return ranges


def local_entries(paths: Iterable[str]) -> list[str]:
    """Return 8 hexadecimal digits for each file that change when it changes, on this machine.

    Raises:
        FileError: One cannot be read.
    """
    return [short_digest(_core.file_identity(path))[:8] for path in paths]


def first_changed(paths: Sequence[str], ours: Sequence[str], theirs: Any) -> str | None:
    """Return the name of the first file that is not what it was."""
    if not isinstance(theirs, list) or len(theirs) != len(ours):
        return None
    pairs = zip(paths, ours, theirs, strict=True)
    return next((os.path.basename(path) for path, one, other in pairs if one != other), None)  # noqa: PTH119
