"""Elements of datasets as what a Keras model is trained with: inputs, labels, weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfrecs.dataset.distributed.convert import Converter, checked_options
from tfrecs.errors import SpecError
from tfrecs.integrations.keras.backend import as_known
from tfrecs.tensors import RaggedTensor, SparseTensor

STRINGS = ("raise", "drop")
MOST_PARTS = 3

Key: TypeAlias = str | Sequence[str] | None
"""The name of a feature, or of several, which become a dict."""


@dataclass(frozen=True)
class Keys:
    """Which feature is what.

    Attributes:
        label: The labels; None if there are none.
        feature: The inputs; None are all others.
        weight: How much each row counts; None is that all count as much.
    """

    label: Key
    feature: Key
    weight: str | None

    def __post_init__(self) -> None:
        """Check that they belong together."""
        if self.weight is not None and self.label is None:
            raise SpecError("weight_key says how much a row's label counts: label_key is missing")

    @property
    def are_given(self) -> bool:
        """Whether any is."""
        return (self.label, self.feature, self.weight) != (None, None, None)

    def parts(self, features: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return inputs, labels and weights, as many of them as there are.

        Raises:
            SpecError: A feature is missing.
        """
        if self.feature is None:
            taken = {*_names(self.label), *_names(self.weight)}
            inputs: Any = {name: features[name] for name in features if name not in taken}
        else:
            inputs = _picked(features, "feature_key", self.feature)
        if self.label is None:
            return (inputs,)
        labels = _picked(features, "label_key", self.label)
        if self.weight is None:
            return inputs, labels
        return inputs, labels, _picked(features, "weight_key", self.weight)


def _names(key: Key) -> Sequence[str]:
    return [key] if isinstance(key, str) else key or ()


def _picked(features: Mapping[str, Any], option: str, key: Key) -> Any:
    for name in _names(key):
        if name not in features:
            raise SpecError(
                f"{option}: no feature is called {name!r}; there are "
                f"{', '.join(map(repr, features))}"
            )
    return features[key] if isinstance(key, str) else {name: features[name] for name in _names(key)}


@dataclass(frozen=True)
class KerasElements(Converter):
    """What is made of an element: a tuple of inputs, labels and weights, all of NumPy's arrays.

    Attributes:
        keys: Which feature of a batch is what.
        strings: What becomes of byte strings among them: "raise", they are an error; "drop", they
            are left out.

    Example:
        >>> import numpy as np
        >>> batch = {"age": np.array([1.0, 2.0]), "label": np.array([0.5, 1.0])}
        >>> KerasElements(Keys("label", None, None))(batch)
        ({'age': array([1., 2.])}, array([0.5, 1. ]))
        >>> KerasElements(Keys("label", "age", None))(batch)
        (array([1., 2.]), array([0.5, 1. ]))
    """

    keys: Keys
    strings: str = "raise"

    library = "Keras"

    def __post_init__(self) -> None:
        """Check the options."""
        checked_options({"strings": self.strings}, {"strings": STRINGS})

    def __call__(self, element: Any) -> tuple[Any, ...]:
        """Return what a model is trained with.

        Raises:
            SpecError: A feature is missing, or is nothing that Keras takes.
        """
        parts = self.keys.parts(element) if isinstance(element, Mapping) else self._as_is(element)
        made: tuple[Any, ...] = super().__call__(parts)
        return made

    def _as_is(self, element: Any) -> tuple[Any, ...]:
        if self.keys.are_given:
            raise SpecError(
                f"keys are those of a batch of features, and an element is {type(element).__name__}"
            )
        parts = tuple(element) if isinstance(element, tuple | list) else (element,)
        if not 1 <= len(parts) <= MOST_PARTS:
            raise SpecError(
                "Keras takes inputs, labels and weights, and an element has "
                f"{len(parts)} parts: map() can make such tuples"
            )
        return parts

    def array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return it; Keras takes it to where it computes."""
        if array.ndim == 0:
            raise SpecError("a single number is no batch: batch() makes batches")
        return as_known(array)

    def ragged(self, ragged: RaggedTensor) -> np.ndarray[Any, Any]:
        """Return a dense array, padded with zeros."""
        return self.array(ragged.to_dense())

    def sparse(self, sparse: SparseTensor) -> np.ndarray[Any, Any]:
        """Return a dense array, with zeros between."""
        return self.array(sparse.to_dense())
