"""Check arguments: positive integers, numbers of threads, limits of bytes, text, compressions."""

import codecs
import os
from typing import Any, TypeAlias

import numpy as np

from tfrecs import _core
from tfrecs.errors import SpecError

# The most bytes of a record, and out of a compressed file; None: what holds by default.
Limits: TypeAlias = tuple[int | None, int | None]

NO_LIMITS: Limits = (None, None)

# More threads than any machine has processors: a larger number is a mistake.
MOST_THREADS = 1024

# A count that no files reach: every larger one means the same, and fits into 64 bits.
UNREACHED = 2**62


def checked_limit(what: str, given: Any, wanted: str = "a positive integer") -> int:
    """Return a number, which is a positive integer.

    Raises:
        SpecError: It is not.
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise SpecError(f"{what} must be {wanted}, not {given!r}")
    return int(given)


def checked_integer(what: str, given: Any) -> int:
    """Return a number, which is an integer.

    Raises:
        SpecError: It is not.
    """
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise SpecError(f"{what} must be an integer, not {given!r}")
    number: int = given.__index__()
    return number


def checked_natural(what: str, given: Any) -> int:
    """Return a number, which is an integer of at least 0.

    Raises:
        SpecError: It is not.
    """
    number = checked_integer(what, given)
    if number < 0:
        raise SpecError(f"{what} must not be negative, and is {number}")
    return number


def checked_option(given: Any) -> Any:
    """Return an option of a compression, if it fits into 64 bits; the codec knows what is allowed.

    Raises:
        SpecError: It does not.

    Example:
        >>> checked_option(9)
        9
    """
    if isinstance(given, int) and abs(given) > UNREACHED:
        raise SpecError(f"an option of the compression is out of range: {given}")
    return given


def checked_limits(max_record_bytes: int | None, max_decompressed_bytes: int | None) -> Limits:
    """Return what whatever reads a file takes as `limits`; None: what holds by default.

    Raises:
        SpecError: One of them is no positive integer.
    """
    given = {
        "max_record_bytes": max_record_bytes,
        "max_decompressed_bytes": max_decompressed_bytes,
    }
    record, decompressed = (
        # More than 64 bits can say is no limit, and no file has it.
        limit
        if limit is None
        else min(checked_limit(name, limit, "a positive integer or None"), 2**64 - 1)
        for name, limit in given.items()
    )
    return record, decompressed


def checked_name(path: Any) -> str:
    r"""Return the name of a file or folder, which a file system can have.

    Raises:
        TypeError: It is no str, bytes or os.PathLike.
        SpecError: It has a NUL, or text that no bytes stand for.

    Example:
        >>> checked_name("a.tfrecord")
        'a.tfrecord'
    """
    name = os.fsdecode(path)
    try:
        has_nul = b"\0" in os.fsencode(name)
    except UnicodeEncodeError:
        raise SpecError(f"{name!r}: this cannot be encoded as a file's name") from None
    if has_nul:
        raise SpecError(f"{name!r}: a file's name cannot contain NUL")
    return name


def encoded_text(what: str, given: str) -> bytes:
    r"""Return text as UTF-8.

    Raises:
        SpecError: It has lone surrogates, which UTF-8 cannot express; the text says of `what`.

    Example:
        >>> encoded_text("a tag", "Ada")
        b'Ada'
    """
    try:
        return given.encode()
    except UnicodeEncodeError:
        raise SpecError(f"{what} cannot be encoded as UTF-8: {given!r}") from None


def checked_text(what: str, given: Any) -> str:
    """Return text that UTF-8 can express.

    Raises:
        SpecError: It is no str, or has lone surrogates; the text says of `what`.

    Example:
        >>> checked_text("mode", "strict")
        'strict'
    """
    if not isinstance(given, str):
        raise SpecError(f"{what} must be str, not {type(given).__name__}: {given!r}")
    encoded_text(what, given)
    return given


def checked_codec(encoding: Any, errors: Any) -> None:
    """Refuse an encoding of text, or a way of handling its errors, that Python does not have.

    Raises:
        SpecError: It has not.

    Example:
        >>> checked_codec("utf-8", "replace")
    """
    for what, given, look in (
        ("encoding", encoding, codecs.lookup),
        ("way of handling errors", errors, codecs.lookup_error),
    ):
        try:
            look(given)
        except (LookupError, TypeError, ValueError):
            raise SpecError(f"there is no {what} {given!r}") from None


def checked_batch(n: Any) -> int:
    """Return how many records a batch has at most.

    Raises:
        SpecError: It is no positive integer.

    Example:
        >>> checked_batch(2**80) == UNREACHED
        True
    """
    if isinstance(n, bool) or not hasattr(n, "__index__") or n < 1:
        raise SpecError(f"a batch has at least one record, not {n!r}")
    return min(int(n.__index__()), UNREACHED)


def checked_compression(compression_type: Any) -> str:
    """Return TensorFlow's name of a compression: "", "GZIP" or "ZLIB"; "auto" stays.

    Args:
        compression_type: Any spelling, in any case: "gzip", "gz", "zlib", "zz", "none"; None is "".

    Raises:
        SpecError: There is no such compression.

    Example:
        >>> checked_compression("gz"), checked_compression(None)
        ('GZIP', '')
    """
    if not isinstance(compression_type, str | None):
        raise SpecError(
            f"Not a valid compression_type: {compression_type!r}; it must be str or None"
        )
    try:
        return _core.compression_named(compression_type or "")
    except UnicodeEncodeError:
        raise SpecError(f"Not a valid compression_type: {compression_type!r}") from None


def checked_threads(num_threads: int | None) -> int:
    """Return how many threads to use; None: one for each processor that this process may use.

    Raises:
        SpecError: It is not an integer from 1 to 1,024.
    """
    if num_threads is None:
        return _processors()
    return _not_too_many(checked_limit("num_threads", num_threads, "a positive integer or None"))


def checked_callers(num_threads: Any) -> int:
    """Return how many threads call a function; 0: the caller's own does.

    Raises:
        SpecError: It is not an integer from 0 to 1,024.

    Example:
        >>> checked_callers(4)
        4
    """
    return _not_too_many(checked_natural("num_threads", num_threads))


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST_THREADS)
    return min(os.cpu_count() or 1, MOST_THREADS)


def _not_too_many(threads: int) -> int:
    if threads > MOST_THREADS:
        raise SpecError(f"num_threads must be at most {MOST_THREADS:,}, not {threads:,}")
    return threads
