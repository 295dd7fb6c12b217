"""Where arrays go: to a device, or in parts to those of a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tfrecs._internal.wording import counted
from tfrecs.dataset.distributed.narrow_dtypes import Narrowing
from tfrecs.errors import MissingLibraryError, SpecError

try:
    import jax
except ModuleNotFoundError as error:
    raise MissingLibraryError(
        'to_jax() needs the library JAX: pip install "tfrecs[jax]"', name=error.name
    ) from error

from jax.sharding import NamedSharding, PartitionSpec

_ADVICE = 'jax.config.update("jax_enable_x64", True) has JAX keep 64 bits'


@dataclass(frozen=True)
class Placing:
    """Puts arrays where the computing is.

    Attributes:
        device: A device, or a sharding that does not divide; None is JAX's default device.
        sharding: What divides arrays among devices; None if nothing does.
        narrowing: What makes 32 bits of 64 where JAX has no more.
    """

    device: Any
    sharding: Any
    narrowing: Narrowing

    @classmethod
    def of(cls, sharding: Any, mesh: Any) -> Placing:
        """Return where `Dataset.to_jax` was told to put batches.

        Raises:
            SpecError: Both are given, or something else.
        """
        narrowing = Narrowing(_ADVICE)
        if mesh is not None:
            if sharding is not None:
                raise SpecError("either sharding or mesh is given: a sharding knows its mesh")
            if not isinstance(mesh, jax.sharding.Mesh):
                raise SpecError(f"mesh must be a jax.sharding.Mesh, not {mesh!r}")
            return cls(None, NamedSharding(mesh, PartitionSpec(mesh.axis_names)), narrowing)
        if isinstance(sharding, jax.Device | jax.sharding.SingleDeviceSharding) or sharding is None:
            return cls(sharding, None, narrowing)
        if not isinstance(sharding, jax.sharding.Sharding):
            raise SpecError(f"sharding must be a jax.sharding.Sharding, not {sharding!r}")
        return cls(None, sharding, narrowing)

    @property
    def divides(self) -> bool:
        """Whether arrays are divided among devices."""
        return self.sharding is not None

    @property
    def spans_processes(self) -> bool:
        """Whether some of the devices are other processes'."""
        devices = self.sharding.device_set if self.divides else ()
        return len({device.process_index for device in devices}) > 1

    def __call__(self, array: np.ndarray[Any, Any]) -> jax.Array:
        """Put an array where it belongs; this process has its rows, others have theirs.

        Raises:
            SpecError: JAX has no such numbers, or the rows cannot be divided.
        """
        narrow = self._narrowed(array)
        return self._sharded(narrow) if self.divides else jax.device_put(narrow, self.device)

    def _narrowed(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if not any(jax.dtypes.issubdtype(array.dtype, kind) for kind in (np.number, np.bool_)):
            raise SpecError(f"JAX has no arrays of {array.dtype}")
        dtype = jax.dtypes.canonicalize_dtype(array.dtype)
        return array if array.dtype == dtype else self.narrowing(array, dtype)

    def _sharded(self, array: np.ndarray[Any, Any]) -> jax.Array:
        if not array.ndim:
            raise SpecError("a single number cannot be divided among devices: batch() comes first")
        sharding = sharding_for(self.sharding, array.ndim)
        processes, parts = divisions(sharding)
        here = parts // processes
        if len(array) % here:
            raise SpecError(
                f"{counted(len(array), 'row')} cannot be divided among {counted(here, 'device')}: "
                "choose the size of a batch so, and drop_remainder=True"
            )
        shape = (len(array) * processes, *array.shape[1:])
        return jax.make_array_from_process_local_data(sharding, array, shape)


@lru_cache
def sharding_for(sharding: Any, ndim: int) -> Any:
    """Return the same for arrays that have that many dimensions, if these are fewer."""
    if not isinstance(sharding, NamedSharding) or len(sharding.spec) <= ndim:
        return sharding
    return NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec[:ndim]))


@lru_cache
def divisions(sharding: Any) -> tuple[int, int]:
    """Return into how many parts rows are divided: those of processes, and of all devices."""
    rows = _rows(sharding)
    return len(set(rows.values())), len(frozenset().union(*rows.values()))


def rows_of_process(sharding: Any) -> tuple[int, int] | None:
    """Return which part of the rows is this process's, of how many; None if it is alone.

    Raises:
        SpecError: Processes share some of their rows, and not others.
    """
    if sharding is None:
        return (jax.process_index(), jax.process_count()) if jax.process_count() > 1 else None
    rows = _rows(sharding)
    parts = sorted(set(rows.values()), key=min)
    if sum(map(len, parts)) != len(frozenset().union(*parts)):
        raise SpecError(
            "processes share some rows of this sharding and not others, so there is no part of a "
            "batch for each: divide the rows among whole processes"
        )
    return parts.index(rows[jax.process_index()]), len(parts)


def _rows(sharding: Any) -> dict[int, frozenset[tuple[int, int]]]:
    """Return where the rows of each process begin and end, if there are as many as devices."""
    most = len(sharding.device_set)
    ndim = max(len(getattr(sharding, "spec", ())), 1)
    found: dict[int, set[tuple[int, int]]] = {}
    for device, places in sharding.devices_indices_map((most,) * ndim).items():
        start, stop, _ = places[0].indices(most)
        found.setdefault(device.process_index, set()).add((start, stop))
    return {process: frozenset(rows) for process, rows in found.items()}
