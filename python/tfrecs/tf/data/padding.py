"""`padded_batch`, whose shapes have the structure of the elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfrecs.dataset import Dataset as Plan
from tfrecs.errors import SpecError
from tfrecs.tensors import RaggedTensor, SparseTensor
from tfrecs.tf.tensor.values import single, unwrapped


@dataclass(frozen=True)
class Padded:
    """Makes padded batches of a plan."""

    size: int
    shapes: Any
    values: Any
    drop_remainder: bool

    def __call__(self, plan: Plan) -> Plan:
        """Return the plan of batches; of other structures than dicts, by way of one."""
        rest = (_named_shapes(self.shapes), _named_values(self.values), self.drop_remainder)
        padded = plan.map(_named).padded_batch(self.size, *rest)
        return padded.map(_structured)


@dataclass(frozen=True)
class Bucketed:
    """Makes padded batches of elements of about the same length."""

    length: Callable[[Any], Any]
    boundaries: list[int]
    sizes: list[int]
    drop_remainder: bool
    to_boundary: bool

    def over(self, shapes: Any, values: Any) -> Callable[[Plan], Plan]:
        """Return what makes such batches of a plan."""

        def length_of(element: Any) -> int:
            return int(np.asarray(self.length(_structured(element))))

        padding = (_named_shapes(shapes), _named_values(values))
        flags = (self.drop_remainder, self.to_boundary)

        def bucketed(plan: Plan) -> Plan:
            named = plan.map(_named)
            buckets = named.bucket_by_length(
                length_of, self.boundaries, self.sizes, *padding, *flags
            )
            return buckets.map(_structured)

        return bucketed


# Between the parts of the name of a value in a structure; a number is a place in a tuple.
_IN = "\x1f"
_PLACE = "\x1e"


def _named(element: Any) -> dict[str, Any]:
    """Return the values of a structure by names that say where each is."""
    if isinstance(element, dict):
        parts = element.items()
    elif isinstance(element, tuple):
        parts = [(f"{_PLACE}{place}", one) for place, one in enumerate(element)]  # type: ignore[assignment]
    elif isinstance(element, SparseTensor | RaggedTensor):
        raise TypeError("padded_batch() takes arrays, and an element has a sparse or ragged tensor")
    else:
        return {"": element}
    return {
        f"{name}{_IN}{inner}": value for name, one in parts for inner, value in _named(one).items()
    }


def _structured(named: dict[str, Any]) -> Any:
    """Return the structure of which these are the values."""
    if list(named) == [""]:
        return named[""]
    parts: dict[str, dict[str, Any]] = {}
    for name, value in named.items():
        first, _, inner = name.partition(_IN)
        parts.setdefault(first, {})[inner] = value
    made = {name: _structured(one) for name, one in parts.items()}
    if all(name.startswith(_PLACE) for name in made):
        return tuple(made.values())
    return made


def _named_shapes(shapes: Any) -> dict[str, Any] | None:
    if shapes is None:
        return None
    return {name: _shape(one) for name, one in _leaves(shapes, _is_shape) if one is not None}


def _is_shape(given: Any) -> bool:
    """Whether it is a shape: None, a list or tuple of numbers and None, or a TensorShape."""
    if given is None or hasattr(given, "as_list"):
        return True
    return isinstance(given, list | tuple) and all(
        dim is None or isinstance(dim, int) for dim in given
    )


def _shape(given: Any) -> list[int | None]:
    return [None if dim in (None, -1) else int(dim) for dim in given]


def _named_values(values: Any) -> dict[str, Any] | Any:
    if values is None:
        return None
    given = unwrapped(values)
    if not isinstance(given, dict | tuple):
        return single(given)
    leaves = _leaves(given, lambda one: not isinstance(one, dict | tuple))
    return {name: single(one) for name, one in leaves if one is not None}


def _leaves(structure: Any, is_leaf: Callable[[Any], bool]) -> list[tuple[str, Any]]:
    if is_leaf(structure):
        return [("", structure)]
    if isinstance(structure, dict):
        parts = list(structure.items())
    elif isinstance(structure, tuple | list):
        parts = [(f"{_PLACE}{place}", one) for place, one in enumerate(structure)]
    else:
        raise SpecError(f"this has not the structure of the elements: {structure!r}")
    return [
        (f"{name}{_IN}{inner}", one)
        for name, part in parts
        for inner, one in _leaves(part, is_leaf)
    ]
