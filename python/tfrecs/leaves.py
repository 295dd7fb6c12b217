"""The way from a function to the optional library behind it, which is loaded when first needed.

A module that imports an optional library is a leaf: nothing else imports it, `load()` does. So an
error that says what to install is made in one place, whichever function a person has called.
"""

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


def load(module: str) -> ModuleType:
    """Return a module that needs an optional library.

    Raises:
        MissingLibraryError: The library is not installed; the text says how to install it.
    """
    try:
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
