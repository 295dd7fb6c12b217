"""The way from a method to the optional library behind it, which is loaded when first needed."""

from importlib import import_module
from types import ModuleType


def integration(library: str) -> ModuleType:
    """Return the module of `tfrecs.integrations` for a library.

    Raises:
        ModuleNotFoundError: The library is not installed; the text says how to install it.
    """
    return import_module(f"tfrecs.integrations.{library}")
