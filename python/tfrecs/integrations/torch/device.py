"""Batches on their way to a device, while the ones before them are computed with."""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

import torch

from tfrecs.dataset.distributed.loader import HostMemory, Transfer
from tfrecs.integrations.torch.elements import moved

Sent: TypeAlias = tuple[Any, list[torch.Tensor], Any]
"""A batch under way: itself, the tensors that it is made of, and what says that it has arrived."""


class Direct:
    """Pinned memory, or a device whose copies are not watched: batches are there at once."""

    def __init__(self, device: torch.device | None) -> None:
        """Go to a device, or to pinned memory."""
        self._device = device

    def send(self, batch: Any) -> Sent:
        """Copy it."""
        return moved(batch, self._move), [], None

    def _move(self, one: torch.Tensor) -> torch.Tensor:
        return one.pin_memory() if self._device is None else one.to(self._device)

    def receive(self, sent: Sent) -> Any:
        """Return it."""
        return sent[0]


class Cuda:
    """A CUDA device: copies run on a stream of their own, beside the computing."""

    def __init__(self, device: torch.device, *, pin: bool) -> None:
        """Copy to `device`, out of pinned memory or not."""
        self._device = device
        self._pin = pin
        self._stream = torch.cuda.Stream(device)

    def send(self, batch: Any) -> Sent:
        """Begin to copy a batch.

        The memory it is copied from may be let go of at once: PyTorch uses pinned memory again only
        when the copies out of it are done, and copies out of other memory wait.
        """
        tensors: list[torch.Tensor] = []

        def move(one: torch.Tensor) -> torch.Tensor:
            source = one.pin_memory() if self._pin else one
            tensors.append(source.to(self._device, non_blocking=self._pin))
            return tensors[-1]

        with torch.cuda.stream(self._stream):
            there = moved(batch, move)
            arrived = self._stream.record_event()
        return there, tensors, arrived

    def receive(self, sent: Sent) -> Any:
        """Return a batch; what the device does from now on waits for its copies."""
        batch, tensors, arrived = sent
        current = torch.cuda.current_stream(self._device)
        current.wait_event(arrived)
        for one in tensors:
            # The memory belongs to the stream it was copied on: it must not be used again there
            # before what the caller does with it is done.
            one.record_stream(current)
        return batch


def transfer_to(device: Any, pin_memory: bool | None) -> Transfer:
    """Return the way to a device; without CUDA that to a CUDA device ends in plain memory."""
    where = torch.device("cpu" if device is None else device)
    has_cuda = torch.cuda.is_available()
    if where.type == "cuda" and not has_cuda:
        warnings.warn(
            f"there is no CUDA here, so batches stay on the CPU, not {where}", stacklevel=3
        )
        where = torch.device("cpu")
    if where.type == "cuda":
        return Cuda(where, pin=pin_memory is not False)
    if where.type == "cpu":
        return Direct(None) if pin_memory and has_cuda else HostMemory()
    return Direct(where)
