"""Values in mappings, tuples and lists: TensorFlow's nested structures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def like(given: Any, parts: Iterable[Any]) -> Any:
    """Return parts in a tuple of the same kind: a named one has the names."""
    return type(given)(*parts) if hasattr(given, "_fields") else tuple(parts)


def mapped(make: Callable[[Any], Any], value: Any) -> Any:
    """Return a structure with what is made of each of its values; mappings become dicts."""
    if isinstance(value, Mapping):
        return {name: mapped(make, one) for name, one in value.items()}
    if isinstance(value, tuple):
        return like(value, [mapped(make, one) for one in value])
    if isinstance(value, list):
        return [mapped(make, one) for one in value]
    return make(value)
