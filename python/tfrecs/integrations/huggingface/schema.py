"""What the elements of a plan are as `datasets.Features`, as far as the plan says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import datasets
import numpy as np

from tfrecs.dataset.plan.kind import Parsed, parsed_of
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.spec import Spec
from tfrecs.errors import SpecError
from tfrecs.features import Features, SparseFeature
from tfrecs.integrations.huggingface.tables import RECORD, table_of
from tfrecs.parsing import parse_example, parse_sequence_example
from tfrecs.tensors import BytesArray


def features_of(node: Node, given: Mapping[str, Any] | None) -> Any:
    """Return the features of the elements, some of which may be given; None if they are unknown.

    Raises:
        SpecError: One is given that the elements do not have.
    """
    parsed = parsed_of(node)
    if parsed is None:
        return None if given is None else datasets.Features(given)
    known = datasets.Features.from_arrow_schema(_nothing(parsed).schema)
    unknown = set(given or {}) - set(known)
    if unknown:
        raise SpecError(f"the elements have no {sorted(unknown)}, but {sorted(known)}")
    return datasets.Features({**known, **(given or {})})


def sparse_names(node: Node) -> frozenset[str]:
    """Return which columns are SparseFeatures."""
    parsed = parsed_of(node)
    return frozenset() if parsed is None else _sparse(parsed.spec)


def _sparse(spec: Spec) -> frozenset[str]:
    groups: list[Features | None] = [spec.features, spec.context, spec.lists]
    named = [one for group in groups if group is not None for one in group.items()]
    return frozenset(name for name, feature in named if isinstance(feature, SparseFeature))


def _nothing(parsed: Parsed) -> Any:
    """Return the table of no records."""
    spec = parsed.spec
    none = BytesArray(np.empty(0, np.uint8), np.zeros(1, np.int64))
    element: Any = {RECORD: none}
    if spec.is_of_sequences:
        element = parse_sequence_example([], spec.context, spec.lists)
    elif spec.features is not None:
        element = parse_example([], spec.features)
    return table_of((none, element) if parsed.keyed else element, _sparse(spec))
