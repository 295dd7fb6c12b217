"""Errors of worker processes, which keep their place on the way to the caller.

Of an error in a worker a DataLoader takes along the class and the traceback's text, and calls the
one with the other. So that what comes of it knows its path, record and offset too, the error is
given a class of its own, which is pickled as the original one and the place.
"""

from __future__ import annotations

import copyreg
from typing import Any

from tfrecs.errors import Error


class _Placed(type):
    """The class of an error, of which it is the only one."""


class _Remade:
    """What a pickled one becomes: called with a text, it makes an error of the original class."""

    def __init__(self, kind: type[Error], place: dict[str, Any]) -> None:
        self.kind, self.place = kind, place
        self.__name__ = kind.__name__

    def __call__(self, message: str) -> Error:
        return self.kind(message, **self.place)


def with_place(error: Error) -> None:
    """Let an error be pickled by its class, as a DataLoader does, and keep its place."""
    if isinstance(type(error), _Placed):
        return
    # As for pickling: what the constructor takes.
    kind, _, place = error.__reduce__()[1]
    names = {"__module__": kind.__module__, "__slots__": (), "made_of": (kind, place)}
    placed: Any = _Placed(kind.__name__, (kind,), names)
    error.__class__ = placed


def _reduced(placed: Any) -> tuple[Any, ...]:
    return _Remade, placed.made_of


copyreg.pickle(_Placed, _reduced)
