"""TensorFlow's error classes, `tf.errors`: what ours also are, wherever they match.

So `except tf.errors.DataLossError` in code that was written for TensorFlow catches what tfrecs
raises. errors.py says which of ours is which of these.
"""

from typing import Any


class OpError(Exception):
    """The root of `tf.errors`.

    Made of a text, or as TensorFlow makes it: of a node_def and an op, which mean nothing here, the
    text and a code.

    Attributes:
        error_code: The number of the status that TensorFlow gives for it.
        node_def: None.
        op: None.
    """

    error_code = 2
    node_def = None
    op = None

    def __init__(self, *args: Any) -> None:
        """Keep the text."""
        super().__init__(args[2] if len(args) > 2 else args[0] if args else "")  # noqa: PLR2004 - node_def, op, message

    @property
    def message(self) -> str:
        """The text."""
        return str(self)

    def __str__(self) -> str:
        """Return the text."""
        return str(self.args[0]) if self.args else ""


class CancelledError(OpError):
    """What was asked for is not wanted any more: a queue was closed while it waited."""

    error_code = 1


class UnknownError(OpError):
    """The kind of error is unknown."""


class InvalidArgumentError(OpError):
    """The request, or the data, is not what it must be."""

    error_code = 3


class DeadlineExceededError(OpError):
    """It took too long."""

    error_code = 4


class NotFoundError(OpError):
    """There is no such file."""

    error_code = 5


class AlreadyExistsError(OpError):
    """It is there already."""

    error_code = 6


class PermissionDeniedError(OpError):
    """The permission is missing."""

    error_code = 7


class ResourceExhaustedError(OpError):
    """It needs more than there is, or than is allowed."""

    error_code = 8


class FailedPreconditionError(OpError):
    """The object is not in a state in which it can do this."""

    error_code = 9


class AbortedError(OpError):
    """Somebody else was in the way."""

    error_code = 10


class OutOfRangeError(OpError):
    """There is nothing more: the end of the data."""

    error_code = 11


class UnimplementedError(OpError):
    """There is no such thing."""

    error_code = 12


class InternalError(OpError):
    """Something is wrong with the program itself."""

    error_code = 13


class UnavailableError(OpError):
    """It cannot be done now."""

    error_code = 14


class DataLossError(OpError):
    """Bytes are wrong, or missing."""

    error_code = 15


class UnauthenticatedError(OpError):
    """The caller is unknown."""

    error_code = 16
