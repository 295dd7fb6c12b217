"""bfloat16, which NumPy does not have and ml_dtypes adds."""

import numpy as np

try:
    import ml_dtypes
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'bfloat16 needs the library ml_dtypes: pip install "tfrecs[bfloat16]"', name=error.name
    ) from error

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
