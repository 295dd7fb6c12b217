"""PyTorch: tensors, datasets for its DataLoader, and a loader without worker processes."""

from __future__ import annotations

from typing import Any

# First: it says what to install where PyTorch is missing.
from tfrecs.integrations.torch.tensors import nested_tensor, sparse_coo_tensor  # isort: split

from tfrecs._internal.checks import checked_limit
from tfrecs.dataset.distributed.ranks import Ranks
from tfrecs.dataset.plan.node import Node
from tfrecs.integrations.torch.dataset import TorchDataset, TorchIterator, distributed_rank
from tfrecs.integrations.torch.device import transfer_to
from tfrecs.integrations.torch.elements import TorchElements
from tfrecs.integrations.torch.loader import TorchLoader

__all__ = [
    "TorchDataset",
    "TorchIterator",
    "TorchLoader",
    "dataset_of",
    "loader_of",
    "nested_tensor",
    "sparse_coo_tensor",
]


def dataset_of(
    node: Node, epoch: int, ranks: tuple[Any, Any, str], kinds: tuple[str, str, str]
) -> TorchDataset:
    """Return what `Dataset.to_torch` does."""
    return TorchDataset(node, epoch, Ranks(*ranks, distributed_rank), TorchElements(*kinds))


def loader_of(
    node: Node,
    epoch: int,
    ranks: tuple[Any, Any, str],
    kinds: tuple[str, str, str],
    device: Any,
    prefetch: int,
    pin_memory: bool | None,
) -> TorchLoader:
    """Return what `Dataset.to_torch_loader` does."""
    ahead = checked_limit("prefetch", prefetch)
    ranked, elements = Ranks(*ranks, distributed_rank), TorchElements(*kinds)
    return TorchLoader(node, epoch, ranked, elements, transfer_to(device, pin_memory), ahead)
