"""Errors of Python functions, as the classes of `tf.errors` that TensorFlow makes of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tfrecs import errors as tfrecs_errors
from tfrecs.errors.tf_errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)

_CLASSES: list[tuple[type[Exception], type[OpError]]] = [
    (StopIteration, OutOfRangeError),
    (ValueError, InvalidArgumentError),
    (TypeError, InvalidArgumentError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
]

_MARK = "_tfrecs_of_numpy_function"
_inside = threading.local()


@contextmanager
def as_tf_errors() -> Iterator[None]:
    """Raise what user code raises as one of `tf.errors`, by Python's classes.

    One of `tf.errors` itself is an UnknownError, as in TensorFlow, caused by it.
    """
    try:
        yield
    except Exception as error:
        raise _as_tf_error(error) from error


def _as_tf_error(error: Exception) -> OpError:
    if isinstance(error, OpError):
        return UnknownError(f"{type(error).__name__}: {error}")
    kinds = (theirs for ours, theirs in _CLASSES if isinstance(error, ours))
    return next(kinds, UnknownError)(f"{type(error).__name__}: {error}")


@contextmanager
def our_errors(name: str) -> Iterator[None]:
    """Raise what NumPy and Python raise for arguments that make no sense as errors of ours.

    What is a TypeError or an error of `tf.errors` already, or was raised by user code, stays.
    """
    try:
        yield
    except (tfrecs_errors.Error, OpError):
        raise
    except (AttributeError, MemoryError, OverflowError, ValueError) as error:
        if hasattr(error, _MARK):
            raise
        raise _as_our_error(error, name) from error


def _as_our_error(error: Exception, name: str) -> Exception:
    text = f"tf.{name}: {error}"
    if isinstance(error, MemoryError):
        return tfrecs_errors.OutOfMemoryError(text)
    # An argument of another type has not what is asked of it.
    return TypeError(text) if isinstance(error, AttributeError) else tfrecs_errors.SpecError(text)


@contextmanager
def marked() -> Iterator[None]:
    """Mark what a block raises as an error of tf.numpy_function, for in_dataset()."""
    try:
        yield
    except Exception as error:
        setattr(error, _MARK, True)
        raise


@contextmanager
def in_dataset() -> Iterator[None]:
    """Raise marked errors as TensorFlow does in functions of datasets: as one of `tf.errors`."""
    outer, _inside.dataset = is_in_dataset(), True
    try:
        yield
    except Exception as error:
        if getattr(error, _MARK, False):
            raise _as_tf_error(error) from error
        raise
    finally:
        _inside.dataset = outer


def is_in_dataset() -> bool:
    """Whether this thread is in a function of a dataset, whose results TensorFlow checks."""
    return getattr(_inside, "dataset", False)
