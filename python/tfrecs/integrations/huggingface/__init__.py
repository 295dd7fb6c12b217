"""Hugging Face: datasets of ours as theirs, and theirs as sources of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# First: it says what to install where datasets is missing.
from tfrecs.integrations.huggingface.tables import table_of  # isort: split

import datasets

from tfrecs._internal.checks import checked_limit
from tfrecs.dataset.plan.node import Node
from tfrecs.errors import SpecError
from tfrecs.integrations.huggingface.examples import SHARDS, Examples, per_table
from tfrecs.integrations.huggingface.schema import features_of
from tfrecs.integrations.huggingface.source import rows_of

__all__ = ["Examples", "dataset_of", "source_of", "table_of"]


def dataset_of(node: Node, epoch: int, features: Mapping[str, Any] | None, num_shards: Any) -> Any:
    """Return what `Dataset.to_hf` does."""
    shards = SHARDS if num_shards is None else checked_limit("num_shards", num_shards)
    examples = Examples(per_table(node), epoch, shards)
    info = datasets.DatasetInfo(features=features_of(node, features))
    return datasets.IterableDataset(examples, info=info)


def source_of(dataset: Any, batch_size: int | None) -> Node:
    """Return what `Dataset.from_hf` does.

    Raises:
        SpecError: It is no dataset, or several of them.
    """
    if isinstance(dataset, datasets.DatasetDict | datasets.IterableDatasetDict):
        raise SpecError(f"these are several datasets: take one of {', '.join(map(repr, dataset))}")
    if not isinstance(dataset, datasets.Dataset | datasets.IterableDataset):
        raise SpecError(
            f"from_hf() takes a Dataset or an IterableDataset of datasets, not {type(dataset)}"
        )
    size = None if batch_size is None else checked_limit("batch_size", batch_size)
    return rows_of(dataset, size)
