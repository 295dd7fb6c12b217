"""`tf.train`: the messages of records; and what TensorFlow 1 had there (queues/)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfrecs._internal.optional import load
from tfrecs.tf.functions.leaf import found, names_in

if TYPE_CHECKING:
    from tfrecs.examples.messages import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        SequenceExample,
    )

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]


def __getattr__(name: str) -> Any:
    """Return a message, whose runtime is an extra, or a name of TensorFlow 1."""
    if name in __all__:
        return getattr(load("tfrecs.examples.messages"), name)
    return found("tf.train", name, __all__)


def __dir__() -> list[str]:
    return sorted([*__all__, *names_in("tf.train")])
