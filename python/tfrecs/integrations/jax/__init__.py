"""JAX: batches as its arrays, on a device or divided among those of a mesh."""

from __future__ import annotations

from typing import Any

# First: it says what to install where JAX is missing.
from tfrecs.integrations.jax.placing import Placing, rows_of_process  # isort: split

from tfrecs._internal.checks import checked_limit
from tfrecs.dataset.distributed.ranks import Ranks
from tfrecs.dataset.plan.node import Node
from tfrecs.integrations.jax.elements import JaxElements
from tfrecs.integrations.jax.loader import JaxLoader

__all__ = ["JaxLoader", "loader_of"]


def loader_of(
    node: Node,
    epoch: int,
    ranks: tuple[Any, Any, str],
    kinds: tuple[str, str, str],
    where: tuple[Any, Any],
    prefetch: int,
) -> JaxLoader:
    """Return what `Dataset.to_jax` does."""
    ahead = checked_limit("prefetch", prefetch)
    placing = Placing.of(*where)
    ranked = Ranks(*ranks, lambda: rows_of_process(placing.sharding))
    return JaxLoader(node, epoch, ranked, JaxElements(*kinds, placing), ahead)
