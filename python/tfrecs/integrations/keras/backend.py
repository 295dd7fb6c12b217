"""What Keras computes with: PyTorch or JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfrecs.dataset.distributed.narrow_dtypes import Narrowing
from tfrecs.errors import MissingLibraryError

try:
    import keras
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'to_keras() needs the library Keras: pip install "tfrecs[keras]"', name=error.name
    ) from error

BACKEND = keras.backend.backend()
if BACKEND == "jax":
    import jax
elif BACKEND == "torch":
    import torch

_narrowing = Narrowing('jax.config.update("jax_enable_x64", True) has JAX keep 64 bits')


def rank_of_backend() -> tuple[int, int] | None:
    """Return which process this is of how many that train together, as the backend says."""
    if BACKEND == "torch":
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    if BACKEND == "jax" and jax.process_count() > 1:
        return jax.process_index(), jax.process_count()
    return None


def as_known(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array that the backend takes as it is: JAX makes 32 bits of 64, and checks nothing.

    Raises:
        SpecError: An integer does not fit.
    """
    if BACKEND != "jax" or array.dtype.kind not in "iu":
        return array
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    return array if array.dtype == dtype else _narrowing(array, dtype)


def random_states() -> list[Any]:
    """Return the states of PyTorch's own random numbers, from which Keras draws there."""
    if BACKEND != "torch":
        return []
    return [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]


def set_random_states(states: list[Any]) -> None:
    """Continue with random numbers from there; of devices that are not there nothing is set."""
    if not states:
        return
    torch.set_rng_state(states[0])
    for device, state in zip(range(torch.cuda.device_count()), states[1:], strict=False):
        torch.cuda.set_rng_state(state, device)


def random_texts(states: list[Any]) -> list[str]:
    """Return states for JSON."""
    return [state.numpy().tobytes().hex() for state in states]


def random_of_texts(texts: list[str]) -> list[Any]:
    """Return the states that are in JSON; of another backend none."""
    if BACKEND != "torch":
        return []
    return [torch.frombuffer(bytearray.fromhex(text), dtype=torch.uint8) for text in texts]
