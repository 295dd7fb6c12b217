"""The way to the names of TensorFlow 1, which are a leaf: nobody else knows of it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from tfrecs.tf.functions.suggestions import no_such

_LEAF = "tfrecs.tf.queues"


def names_in(where: str) -> list[str]:
    """Return which of them are in a module."""
    return list(import_module(_LEAF).NAMES.get(where, ()))


def found(where: str, name: str, there: Iterable[str]) -> Any:
    """Return what is called so in a module, beside what is `there`.

    Raises:
        AttributeError: Nothing is; the text names the nearest.
    """
    if name.startswith("__"):
        raise AttributeError(name)
    names = import_module(_LEAF).NAMES.get(where, {})
    if name not in names:
        raise no_such(where, name, [*there, *names])
    return names[name]
