"""The way from a function to the optional library behind it, which is loaded when first needed.

A module that imports an optional library is a leaf: nothing else imports it, `load()` does. So an
error that says what to install is made in one place, whichever function a person has called.
"""

import concurrent.futures.thread  # noqa: F401 - now, not in the middle of a fork: see _Forks
import os
import threading
from importlib import import_module
from types import ModuleType

from tfrecs.errors import MissingLibraryError

# An optional library by the name it is imported by: what people call it, and the extra it is in.
EXTRAS = {
    "PIL": ("Pillow", "images"),
    "datasets": ("the library datasets", "huggingface"),
    "google": ("the protobuf runtime", "protobuf"),
    "jax": ("JAX", "jax"),
    "keras": ("Keras", "keras"),
    "ml_dtypes": ("ml_dtypes", "bfloat16"),
    "pandas": ("pandas", "pandas"),
    "polars": ("Polars", "polars"),
    "pyarrow": ("pyarrow", "arrow"),
    "rich": ("rich", "cli"),
    "scipy": ("SciPy", "scipy"),
    "simplejpeg": ("simplejpeg", "images"),
    "soundfile": ("soundfile", "audio"),
    "torch": ("PyTorch", "torch"),
    "tqdm": ("tqdm", "progress"),
    "typer": ("typer", "cli"),
}

# What has no extra, because it has to be chosen by hand.
NO_EXTRA = {"tensorflow": "TensorFlow"}


# Held while a module is imported. Forks wait for it: Python has a lock for each module that is
# being imported, and a child that is forked then waits for ever when it imports the same module.
_importing = threading.RLock()
# A fork in the middle of an import, by another thread, could wait for this one in turn.
_PATIENCE = 10.0


class _Forks:
    """Lets forks wait for imports.

    What registers work for forks itself must be imported before: its part after the fork would
    run without the one before.
    """

    def __init__(self) -> None:
        self._is_held = False

    def before(self) -> None:
        self._is_held = _importing.acquire(timeout=_PATIENCE)

    def after(self) -> None:
        if self._is_held:
            _importing.release()


if hasattr(os, "register_at_fork"):
    _forks = _Forks()
    os.register_at_fork(
        before=_forks.before, after_in_parent=_forks.after, after_in_child=_forks.after
    )


def load(module: str) -> ModuleType:
    """Return a module that needs an optional library.

    Raises:
        MissingLibraryError: The library is not installed; the text says how to install it.
    """
    try:
        with _importing:
            return import_module(module)
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if isinstance(error, MissingLibraryError) or library not in {*EXTRAS, *NO_EXTRA}:
            raise
        raise MissingLibraryError(_text(library, str(error)), name=library) from error


def _text(library: str, said: str) -> str:
    """Return what the leaf has said, if it says what to install, or the same for any leaf."""
    if "pip install" in said:
        return said
    if library in NO_EXTRA:
        return f"this needs {NO_EXTRA[library]}: pip install {library}"
    name, extra = EXTRAS[library]
    return f'this needs {name}: pip install "tfrecs[{extra}]"'


def integration(library: str) -> ModuleType:
    """Return the module of `tfrecs.integrations` for a library.

    Raises:
        MissingLibraryError: The library is not installed; the text says how to install it.
    """
    return load(f"tfrecs.integrations.{library}")
