"""The types of numbers that NumPy does not have and ml_dtypes adds: bfloat16 and smaller ones."""

from typing import Any

import numpy as np

from tfrecs.errors import MissingLibraryError

try:
    import ml_dtypes
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'bfloat16 and numbers of 8 bits and fewer need ml_dtypes: pip install "tfrecs[bfloat16]"',
        name=error.name,
    ) from error


def small_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a type of ml_dtypes.

    Raises:
        ModuleNotFoundError: The installed ml_dtypes is too old to have it.
    """
    found = getattr(ml_dtypes, name, None)
    if found is None:
        raise MissingLibraryError(
            f"{name} needs a newer ml_dtypes than {ml_dtypes.__version__}", name="ml_dtypes"
        )
    dtype: np.dtype[Any] = np.dtype(found)
    return dtype
