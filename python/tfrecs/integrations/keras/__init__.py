"""Keras 3: what `fit`, `evaluate` and `predict` take, on its PyTorch and JAX backends."""

from __future__ import annotations

from typing import Any

# First: it says what to install where Keras is missing.
from tfrecs.integrations.keras.backend import rank_of_backend  # isort: split

from tfrecs.dataset.distributed.ranks import Ranks
from tfrecs.dataset.plan.node import Node
from tfrecs.integrations.keras.backup import KerasBackup
from tfrecs.integrations.keras.dataset import KerasDataset
from tfrecs.integrations.keras.elements import KerasElements, Keys
from tfrecs.integrations.keras.fitted import fitted

__all__ = ["KerasBackup", "KerasDataset", "dataset_of", "fitted"]


def dataset_of(
    node: Node,
    epoch: int,
    ranks: tuple[Any, Any, str],
    keys: tuple[Any, Any, Any],
    strings: str,
) -> KerasDataset:
    """Return what `Dataset.to_keras` does."""
    elements = KerasElements(Keys(*keys), strings)
    return KerasDataset(node, epoch, Ranks(*ranks, rank_of_backend), elements)
